/*
 * plain_exercise.c - an exercise: its task, the learner's file, check, hints, solution, reset.
 *
 * Over a pipe there is no editor: the file's text can be typed in as lines instead.
 */
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "tui/cli.h"
#include "tui/editor.h"
#include "tui/exercise.h"
#include "tui/line_diff.h"
#include "tui/markdown.h"
#include "tui/plain.h"
#include "tui/plain_ask.h"
#include "tui/progress.h"
#include "tui/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void verb(const char *what, const char *name)
{
    plain_command(cli_exercise, (const char *const[]){"exercise", what, name, NULL});
}

static void task(struct plain *p, const struct exercise_files *x)
{
    char path[PATH_MAX];
    struct error e = {0};
    char *text = path_join(path, x->folder, "task.md", &e) ? markdown_read(path, &e) : NULL;
    if (!text || !plain_markdown(p, text, &e))
        plain_error(&e);
    free(text);
}

/* The learner's file, made from the starter where it is not there yet. */
static bool have_file(const struct exercise_files *x)
{
    struct error e = {0};
    bool made;
    if (exercise_make_file(x, &made, &e))
        return true;
    plain_error(&e);
    return false;
}

static void say_file(const struct exercise_files *x)
{
    if (have_file(x))
        printf(_("Your file: %s\n"), x->file);
}

static void show_file(struct plain *p, const struct exercise_files *x)
{
    struct error e = {0};
    char *text = have_file(x) ? markdown_read(x->file, &e) : NULL;
    int number = 1;
    if (!text && e.kind)
        plain_error(&e);
    for (char *line = text; line && *line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        printf("%3d  ", number);
        plain_print_text(line, 0, p->utf8, stdout);
        puts("");
        line = end ? end + 1 : NULL;
    }
    free(text);
}

static void edit(struct plain *p, const struct exercise_files *x)
{
    struct error e = {0};
    if (!have_file(x))
        return;
    if (!isatty(fileno(p->in)))
        printf(_("There is no terminal to edit in. Change %s elsewhere, or type it anew with w.\n"), x->file);
    else if (!editor_run(x->file, &e))
        plain_error(&e);
}

static bool write_file(const struct exercise_files *x, const char *text, struct error *e)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", x->file);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return error_set(e, ERROR_INPUT, "%s is in no folder", x->file);
    *slash = '\0';
    return rundir_write(folder, slash + 1, text, e);
}

/* Lines up to one with a dot alone become the file; what was there is kept as its backup. */
static void type_anew(struct plain *p, const struct exercise_files *x)
{
    char line[PLAIN_LINE], backup[PATH_MAX], *text = NULL;
    size_t size = 0;
    struct error e = {0};
    FILE *memory = open_memstream(&text, &size);
    if (!memory || !have_file(x)) {
        if (memory)
            fclose(memory);
        free(text);
        return;
    }
    puts(_("Type the whole file, line by line. A line with a dot alone ends it."));
    bool whole = false;
    while (!whole && plain_read(p, line)) {
        whole = !strcmp(line, ".\n") || !strcmp(line, ".\r\n") || !strcmp(line, ".");
        if (!whole)
            fputs(line, memory);
    }
    fclose(memory);
    if (!whole)
        puts(_("The input ended before the dot: your file stays as it was."));
    else if (!exercise_files_reset(x, backup, &e) || !write_file(x, text, &e))
        plain_error(&e);
    else
        printf(_("%s is written; what was there is kept as %s\n"), x->file, backup);
    free(text);
}

/* What only one of the two has, line by line. */
static void difference(struct plain *p, const struct exercise_files *x)
{
    char path[PATH_MAX];
    struct error e = {0};
    struct line_diff d = {0};
    if (!progress_passed(p->progress, x->name)) {
        puts(_("Once your file has passed, this shows how it differs from the solution."));
        return;
    }
    char *mine = markdown_read(x->file, &e);
    char *solution = mine && path_join(path, x->folder, "solution.lua", &e) ? markdown_read(path, &e) : NULL;
    bool ok = solution && line_diff_make(&d, mine, solution, &e);
    if (!ok)
        plain_error(&e);
    else if (!d.only_first && !d.only_second)
        puts(_("Your file is the solution, line by line."));
    for (int i = 0; i < d.count; i++) {
        const struct diff_line *line = &d.lines[i];
        char text[512];
        if (line->kind == DIFF_SAME)
            continue;
        snprintf(text, sizeof text, "%.*s", line->length, line->text);
        if (line->kind == DIFF_FIRST)
            printf(_("yours, line %d:     "), line->first);
        else
            printf(_("solution, line %d:  "), line->second);
        plain_print_text(text, 0, p->utf8, stdout);
        puts("");
    }
    line_diff_free(&d);
    free(mine);
    free(solution);
}

void plain_exercise(struct plain *p, const char *name)
{
    static const struct plain_choice choices[] = {
        {"t", N_("the task again")},
        {"f", N_("where your file is (it begins as the starter)")},
        {"v", N_("read your file aloud, with line numbers")},
        {"e", N_("edit your file")},
        {"w", N_("write your file anew, typed in line by line")},
        {"c", N_("check it")},
        {"h", N_("the next hint")},
        {"d", N_("how your file differs from the solution, once it has passed")},
        {"o", N_("the solution")},
        {"r", N_("begin again with the starter; your file is kept")},
        {"b", N_("back to the lesson")},
        {"q", N_("quit")},
        {0},
    };
    char answer[PLAIN_LINE];
    struct exercise_files x;
    struct error e = {0};
    printf(_("Exercise %s\n\n"), name);
    if (!exercise_find(&x, name, "", &e)) {
        plain_error(&e);
        return;
    }
    task(p, &x);
    say_file(&x);
    while (!p->ended) {
        plain_ask(p, choices, answer);
        if (!strcmp(answer, "t"))
            task(p, &x);
        else if (!strcmp(answer, "f"))
            say_file(&x);
        else if (!strcmp(answer, "v"))
            show_file(p, &x);
        else if (!strcmp(answer, "e"))
            edit(p, &x);
        else if (!strcmp(answer, "w"))
            type_anew(p, &x);
        else if (!strcmp(answer, "c"))
            verb("check", name);
        else if (!strcmp(answer, "h"))
            verb("hint", name);
        else if (!strcmp(answer, "d"))
            difference(p, &x);
        else if (!strcmp(answer, "o"))
            verb("solution", name);
        else if (!strcmp(answer, "r"))
            verb("reset", name);
        else if (!strcmp(answer, "b"))
            break;
        else
            plain_not_understood(answer);
        progress_refresh(p->progress);
    }
}
