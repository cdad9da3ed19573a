/*
 * cli_lesson.c - `ringside lesson`: the list, or one lesson as plain text.
 */
#include "engine/base/event.h"
#include "tui/block.h"
#include "tui/cli.h"
#include "tui/course.h"
#include "tui/markdown.h"
#include "tui/options.h"
#include "tui/plain.h"
#include "tui/progress.h"
#include "tui/text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEASURE = 78 };

static bool utf8(void)
{
    return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static void list(const struct course *course, const struct progress *progress, bool json)
{
    for (int i = 0; i < course->count; i++) {
        const struct course_lesson *lesson = &course->lessons[i];
        bool passed = *lesson->exercise && progress_passed(progress, lesson->exercise);
        int percent = progress_reading_percent(progress, lesson->name);
        if (json) {
            json_t *line = event_new("lesson", -1);
            event_set_text(line, "name", lesson->name);
            event_set_text(line, "title", lesson->title);
            event_set_text(line, "question", lesson->question);
            event_set_integer(line, "minutes", lesson->minutes);
            event_set_text(line, "track", lesson->track);
            event_set_text(line, "exercise", lesson->exercise);
            event_set_integer(line, "read_percent", percent);
            json_object_set_new(line, "passed", json_boolean(passed));
            event_write(STDOUT_FILENO, line, NULL);
            continue;
        }
        char state[32] = "";
        if (passed)
            snprintf(state, sizeof state, "done");
        else if (percent)
            snprintf(state, sizeof state, "%d %% read", percent);
        printf("%-22s ", lesson->name);
        plain_print_text(lesson->title, 34, utf8(), stdout);
        printf(" %3d min%s%s\n", lesson->minutes, *state ? "  " : "", state);
    }
}

/* Of the questions in the text, after it: who reads along has had the time to answer. */
static void print_answers(const struct block_set *blocks)
{
    char *text = NULL;
    size_t size = 0;
    int count = 0;
    FILE *out = open_memstream(&text, &size);
    for (int i = 0; out && i < block_count(blocks); i++) {
        char *answer = block_solution(blocks, i);
        if (answer && *answer && !count++)
            fprintf(out, "## %s\n\n", _("Answers"));
        if (answer && *answer)
            fprintf(out, "- %s\\\n  %s\n", block_heading(blocks, i), answer);
        free(answer);
    }
    struct md_doc doc = {0};
    if (out && fclose(out) == 0 && count && markdown_render(&doc, text, MEASURE, NULL)) {
        putchar('\n');
        plain_print_doc(&doc, utf8(), stdout);
    }
    markdown_free(&doc);
    free(text);
}

static bool print(const char *name, const char *lang, bool json, struct error *e)
{
    char file[PATH_MAX];
    struct md_doc doc = {0};
    struct md_live live = {0};
    char *text = course_lesson_file(name, lang, file, e) ? markdown_read(file, e) : NULL;
    struct block_set *blocks = text ? block_set_new(name, text, NULL, e) : NULL;
    if (blocks)
        live = block_plain_for(blocks, utf8());
    bool ok = blocks && markdown_render_live(&doc, text, MEASURE, &live, e);
    if (ok && json) {
        json_t *line = event_new("lesson", -1);
        event_set_text(line, "name", name);
        event_set_text(line, "title", doc.heading_count ? doc.headings[0].text : name);
        event_set_text(line, "text", text);
        ok = event_write(STDOUT_FILENO, line, e);
    } else if (ok) {
        plain_print_doc(&doc, utf8(), stdout);
        print_answers(blocks);
    }
    markdown_free(&doc);
    block_set_free(blocks);
    free(text);
    return ok;
}

int cli_lesson(int argc, char **argv)
{
    bool json = false, help = false;
    char lang[16] = "";
    const struct option options[] = {
        {"lang", "xx", OPTION_TEXT, lang, sizeof lang, 0, 0,
         "the language, where there is a translation (en)", NULL, NULL},
        {"json", NULL, OPTION_FLAG, &json, 0, 0, 0, "one JSON object a line", NULL, NULL},
        {0},
    };
    const struct option_command command = {
        .usage = "ringside lesson [NAME] [options]",
        .summary =
            "Lists the lessons, or prints one as plain text. NAME may be its number or a part of its name.",
        .options = options,
    };
    char *names[OPTION_MAX_WORDS];
    int count = 0;
    struct error e = {0};
    setlocale(LC_CTYPE, "");
    if (!options_parse(&command, argc, argv, names, &count, &help, &e))
        return cli_fail(&e);
    if (help) {
        options_help(&command, stdout);
        return 0;
    }
    if (count > 1) {
        error_set(&e, ERROR_INPUT, "one lesson at a time: '%s' is one too many", names[1]);
        return cli_fail(&e);
    }
    struct course *course = course_load(&e);
    struct progress *progress = course ? progress_load(&e) : NULL;
    bool ok = progress != NULL;
    int index = count ? course_find(course, names[0]) : -1;
    if (ok && !count) {
        list(course, progress, json);
    } else if (ok && index < 0) {
        ok = error_set(&e, ERROR_INPUT, "no lesson is called '%s'; 'ringside lesson' lists them", names[0]);
    } else if (ok) {
        ok = print(course->lessons[index].name, *lang ? lang : NULL, json, &e);
    }
    progress_free(progress);
    course_free(course);
    return ok ? 0 : cli_fail(&e);
}
