/*
 * plain_app.c - plain mode: append-only lines and numbered choices that reach lessons, exercises and runs.
 *
 * For pipes, dumb terminals, screen readers and slow lines. Everything that acts is a command of `ringside`, so
 * what plain mode does can be done on the command line too; each choice names its command.
 */
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "tui/cli.h"
#include "tui/course.h"
#include "tui/markdown.h"
#include "tui/plain.h"
#include "tui/progress.h"
#include "tui/recent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEASURE = 78, LINE_MAX_BYTES = 256, RUNS_SHOWN = 9 };

struct plain {
    FILE *in;
    bool utf8, ended;
    struct course *course;
    struct progress *progress;
};

/* Asks and reads one line, without blanks at its ends; the end of the input counts as q. */
static void ask(struct plain *p, const char *question, char answer[LINE_MAX_BYTES])
{
    printf("\n%s > ", question);
    fflush(stdout);
    *answer = '\0';
    if (!fgets(answer, LINE_MAX_BYTES, p->in)) {
        p->ended = true;
        snprintf(answer, LINE_MAX_BYTES, "q");
    }
    char *start = answer + strspn(answer, " \t\r\n");
    memmove(answer, start, strlen(start) + 1);
    for (size_t n = strlen(answer); n > 0 && strchr(" \t\r\n", answer[n - 1]); n--)
        answer[n - 1] = '\0';
    /* What comes through a pipe is not echoed: end the line for it. */
    if (!isatty(fileno(p->in)))
        puts(answer);
    puts("");
    if (!strcmp(answer, "q"))
        p->ended = true;
}

static void not_understood(const char *answer)
{
    if (*answer && strcmp(answer, "q") != 0 && strcmp(answer, "b") != 0)
        printf("'%s' is none of the choices.\n", answer);
}

static bool print_markdown(struct plain *p, const char *file, struct error *e)
{
    char *text = markdown_read(file, e);
    struct md_doc doc = {0};
    bool ok = text && markdown_render(&doc, text, MEASURE, e);
    plain_print_doc(&doc, p->utf8, stdout);
    markdown_free(&doc);
    free(text);
    return ok;
}

/* Runs a command of ours with up to two arguments. */
static int command(int (*run)(int, char **), const char *name, const char *verb, const char *what)
{
    char *argv[] = {strdup(name), verb ? strdup(verb) : NULL, what ? strdup(what) : NULL, NULL};
    int argc = 1 + (verb != NULL) + (what != NULL);
    fflush(stdout);
    int code = run(argc, argv);
    fflush(stdout);
    for (int i = 0; i < 3; i++)
        free(argv[i]);
    return code;
}

static void exercise(struct plain *p, const char *name)
{
    char data[PATH_MAX], relative[160], file[PATH_MAX], answer[LINE_MAX_BYTES];
    struct error e = {0};
    snprintf(relative, sizeof relative, "exercises/%.128s/task.md", name);
    printf("Exercise %s\n\n", name);
    if (!path_data(data, &e) || !path_join(file, data, relative, &e) || !print_markdown(p, file, &e))
        printf("%s\n", e.text);
    while (!p->ended) {
        ask(p, "s start: copy the starter, c check, h hint, o solution, b back, q quit", answer);
        if (!strcmp(answer, "s"))
            command(cli_exercise, "exercise", "start", name);
        else if (!strcmp(answer, "c"))
            command(cli_exercise, "exercise", "check", name);
        else if (!strcmp(answer, "h"))
            command(cli_exercise, "exercise", "hint", name);
        else if (!strcmp(answer, "o"))
            command(cli_exercise, "exercise", "solution", name);
        else if (!strcmp(answer, "b"))
            return;
        else
            not_understood(answer);
    }
}

static void lesson(struct plain *p, int index)
{
    char file[PATH_MAX], answer[LINE_MAX_BYTES];
    struct error e = {0};
    const struct course_lesson *l = &p->course->lessons[index];
    if (!course_lesson_file(l->name, getenv("RINGSIDE_LESSON_LANG"), file, &e) ||
        !print_markdown(p, file, &e))
        printf("%s\n", e.text);
    else
        progress_note_reading(p->progress, l->name, progress_reading_line(p->progress, l->name), 100);
    while (!p->ended) {
        ask(p, *l->exercise ? "e exercise, n next lesson, b back, q quit" : "n next lesson, b back, q quit",
            answer);
        if (!strcmp(answer, "e") && *l->exercise) {
            exercise(p, l->exercise);
        } else if (!strcmp(answer, "n") && index + 1 < p->course->count) {
            lesson(p, index + 1);
            return;
        } else if (!strcmp(answer, "n")) {
            puts("This is the last lesson.");
        } else if (!strcmp(answer, "b")) {
            return;
        } else {
            not_understood(answer);
        }
    }
}

static void one_run(struct plain *p, const char *dir)
{
    char answer[LINE_MAX_BYTES];
    const char *id = rundir_id(dir);
    while (!p->ended) {
        printf("Run %s\n", id);
        ask(p, "w watch (or its report, where it has ended), s stop, b back, q quit", answer);
        if (!strcmp(answer, "w"))
            command(cli_runs, "runs", "watch", dir);
        else if (!strcmp(answer, "s"))
            command(cli_runs, "runs", "stop", dir);
        else if (!strcmp(answer, "b"))
            return;
        else
            not_understood(answer);
    }
}

static void runs(struct plain *p)
{
    char answer[LINE_MAX_BYTES];
    while (!p->ended) {
        struct recent recent = {0};
        int shown[RUNS_SHOWN], count = 0;
        recent_refresh(&recent);
        for (int i = 0; i < recent.count && count < RUNS_SHOWN; i++)
            if (!recent.runs[i].hidden)
                shown[count++] = i;
        for (int i = 0; i < count; i++) {
            const struct recent_run *run = &recent.runs[shown[i]];
            printf("%2d  %-10s %-20s", i + 1, run_state_name(run->status.state), run->label);
            if (isfinite(run->tail.accuracy))
                printf("  accuracy %.2f %%", run->tail.accuracy * 100);
            puts("");
        }
        if (!count)
            puts("No runs yet.");
        ask(p, "the number of a run, b back, q quit", answer);
        int number = atoi(answer);
        char *dir = number >= 1 && number <= count ? strdup(recent.runs[shown[number - 1]].dir) : NULL;
        recent_free(&recent);
        if (dir)
            one_run(p, dir);
        else if (!strcmp(answer, "b"))
            return;
        else
            not_understood(answer);
        free(dir);
    }
}

static void outline(const struct plain *p)
{
    plain_print_text(p->course->title, 0, p->utf8, stdout);
    puts("\n");
    for (int i = 0; i < p->course->count; i++) {
        const struct course_lesson *l = &p->course->lessons[i];
        const char *state = *l->exercise && progress_passed(p->progress, l->exercise) ? ", done"
                            : progress_read(p->progress, l->name)                     ? ", read"
                                                                                      : "";
        printf("%2d  ", course_number(l, i));
        plain_print_text(l->title, 0, p->utf8, stdout);
        printf(" (%d min%s)\n    ", l->minutes, state);
        plain_print_text(l->question, 0, p->utf8, stdout);
        puts("");
    }
}

/* The index of the lesson of that number; -1: there is none. */
static int lesson_chosen(const struct course *course, int number)
{
    for (int i = 0; i < course->count; i++)
        if (course_number(&course->lessons[i], i) == number)
            return i;
    return -1;
}

int plain_application(FILE *in, bool utf8)
{
    struct error e = {0};
    struct plain p = {.in = in, .utf8 = utf8, .course = course_load(&e)};
    char answer[LINE_MAX_BYTES];
    if (p.course)
        p.progress = progress_load(&e);
    while (p.progress && !p.ended) {
        const char *warning = progress_warning(p.progress);
        if (warning)
            printf("Note: %s\n\n", warning);
        outline(&p);
        ask(&p, "the number of a lesson, r runs, t train the CNN on two ranks, d doctor, q quit", answer);
        int chosen = lesson_chosen(p.course, atoi(answer));
        if (chosen >= 0)
            lesson(&p, chosen);
        else if (!strcmp(answer, "r"))
            runs(&p);
        else if (!strcmp(answer, "t"))
            command(cli_train, "train", NULL, NULL);
        else if (!strcmp(answer, "d"))
            command(cli_doctor, "doctor", NULL, NULL);
        else
            not_understood(answer);
        progress_refresh(p.progress);
    }
    int code = p.progress ? 0 : cli_fail(&e);
    progress_free(p.progress);
    course_free(p.course);
    return code;
}
