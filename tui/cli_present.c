/*
 * cli_present.c - `ringside present`: a lesson as slides, or the instructor's notes that follow; as text on a pipe.
 */
#include "engine/base/event.h"
#include "tui/cli.h"
#include "tui/course.h"
#include "tui/loop.h"
#include "tui/options.h"
#include "tui/plain.h"
#include "tui/present_view.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEASURE = 78 };

static bool print_markdown(const char *text, bool utf8, struct error *e)
{
    struct md_doc doc = {0};
    bool ok = markdown_render(&doc, text, MEASURE, e);
    plain_print_doc(&doc, utf8, stdout);
    markdown_free(&doc);
    return ok;
}

static bool print_picture(const struct slide *s, struct block_set *blocks, bool utf8, struct error *e)
{
    puts("");
    for (int i = 0; i < block_count(blocks); i++)
        if (block_line(blocks, i) == s->picture_line) {
            plain_print_block(blocks, i, utf8, stdout);
            return true;
        }
    char *text = slide_picture(s);
    bool ok = text && print_markdown(text, utf8, e);
    free(text);
    return ok;
}

static bool print_slide(const struct slide *s, struct block_set *blocks, int number, int count, bool notes,
                        bool utf8, struct error *e)
{
    printf("%d/%d  ", number, count);
    plain_print_text(s->heading, 0, utf8, stdout);
    puts("\n");
    bool ok = print_markdown(notes ? s->notes : s->text, utf8, e);
    if (ok && !notes && s->picture && strcmp(s->info, "replay") != 0)
        ok = print_picture(s, blocks, utf8, e);
    else if (ok && !notes && s->picture)
        printf("\nringside runs replay %.*s\n", (int)strcspn(s->picture, " "), s->picture);
    puts("");
    return ok;
}

/* Every slide, or every slide's notes, one after the other. */
static int print_all(const char *lesson, bool notes, bool json, bool utf8)
{
    struct slides slides = {0};
    struct error e = {0};
    char *text;
    if (!present_lesson_read(lesson, getenv("RINGSIDE_LESSON_LANG"), &text, &slides, &e))
        return cli_fail(&e);
    struct block_set *blocks = block_set_new(lesson, text, NULL, &e);
    bool ok = blocks != NULL;
    for (int i = 0; ok && i < slides.count; i++) {
        const struct slide *s = &slides.slides[i];
        if (!json) {
            ok = print_slide(s, blocks, i + 1, slides.count, notes, utf8, &e);
            continue;
        }
        json_t *line = event_new("slide", -1);
        event_set_integer(line, "slide", i + 1);
        event_set_integer(line, "slides", slides.count);
        event_set_text(line, "heading", s->heading);
        event_set_text(line, "text", s->text);
        event_set_text(line, "picture", s->picture ? s->picture : "");
        event_set_text(line, "notes", s->notes);
        ok = event_write(STDOUT_FILENO, line, &e);
    }
    block_set_free(blocks);
    slides_free(&slides);
    free(text);
    return ok ? 0 : cli_fail(&e);
}

/* Finds the lesson that is meant; false: it has been said what is wrong. */
static bool find_lesson(const char *name, char lesson[80], int *code)
{
    struct error e = {0};
    struct course *course = course_load(&e);
    int index = course_find(course, name);
    if (course && index < 0)
        error_set(&e, ERROR_INPUT, "no lesson is called '%s'; 'ringside lesson' lists them", name);
    else if (course)
        snprintf(lesson, 80, "%s", course->lessons[index].name);
    bool found = course && index >= 0;
    course_free(course);
    if (!found)
        *code = cli_fail(&e);
    return found;
}

int cli_present(int argc, char **argv)
{
    bool notes = false, json = false, print = false;
    const struct option options[] = {
        {"notes", NULL, OPTION_FLAG, &notes, 0, 0, 0,
         "the notes and the clock of what is presented on another terminal; they follow it, and can steer it",
         NULL, NULL},
        {"print", NULL, OPTION_FLAG, &print, 0, 0, 0, "print all slides (with --notes all notes) as text",
         NULL, NULL},
        {"json", NULL, OPTION_FLAG, &json, 0, 0, 0, "the same, one JSON object a line", NULL, NULL},
        {0},
    };
    const struct option_command command = {
        .usage = "ringside present LESSON | ringside present --notes [LESSON]",
        .summary =
            "A lesson as slides on the whole window: arrows, Space, PgUp and PgDn turn them, g lists them, . "
            "blanks the\nscreen, ? shows all keys. Notes run in a second terminal under the same "
            "RINGSIDE_HOME, before or after.",
        .options = options,
    };
    char *rest[OPTION_MAX_WORDS], lesson[80] = "", open[128], why[256] = "";
    int count, code;
    struct error e = {0};
    if (!cli_options(&command, argc, argv, rest, &count, &code))
        return code;
    if (count > 1) {
        error_set(&e, ERROR_INPUT, "one lesson at a time: '%s' is one too many", rest[1]);
        return cli_fail(&e);
    }
    if (!count && (!notes || json || print)) {
        error_set(&e, ERROR_INPUT, "present: which lesson? 'ringside lesson' lists them");
        return cli_fail(&e);
    }
    if (count && !find_lesson(rest[0], lesson, &code))
        return code;
    struct settings settings;
    settings_load(&settings, NULL);
    loop_locale(settings.glyphs);
    bool utf8 = settings.glyphs != GLYPHS_ASCII && loop_utf8();
    text_choose(settings.language, utf8);
    if (json || print || (count && loop_impossible(why)))
        return print_all(lesson, notes, json, utf8);
    if (loop_impossible(why)) {
        error_set(&e, ERROR_INPUT, "notes that follow a presentation need a terminal, and %s", why);
        return cli_fail(&e);
    }
    snprintf(open, sizeof open, "%s:%s", notes ? "notes" : "present", lesson);
    return loop_run(open, loop_utf8(), &e) ? 0 : cli_fail(&e);
}
