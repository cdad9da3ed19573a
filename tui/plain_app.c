/*
 * plain_app.c - plain mode: append-only lines and numbered choices that reach everything the application has.
 *
 * For pipes, dumb terminals, screen readers, braille displays and slow lines. What acts is a command of `ringside`,
 * so whatever plain mode does can be done on the command line too.
 */
#include "tui/cli.h"
#include "tui/course.h"
#include "tui/plain.h"
#include "tui/plain_ask.h"
#include "tui/progress.h"
#include "tui/text.h"

#include <stdlib.h>
#include <string.h>

static void outline(const struct plain *p)
{
    plain_print_text(p->course->title, 0, p->utf8, stdout);
    puts("\n");
    for (int i = 0; i < p->course->count; i++) {
        const struct course_lesson *l = &p->course->lessons[i];
        bool done = *l->exercise && progress_passed(p->progress, l->exercise);
        const char *minutes = done                                  ? _(" (%d min, done)")
                              : progress_read(p->progress, l->name) ? _(" (%d min, read)")
                                                                    : _(" (%d min)");
        printf("%2d  ", course_number(l, i));
        plain_print_text(l->title, 0, p->utf8, stdout);
        printf(minutes, l->minutes);
        printf("\n    ");
        plain_print_text(l->question, 0, p->utf8, stdout);
        puts("");
    }
}

/* The index of the lesson of that number; -1: there is none. */
static int lesson_chosen(const struct course *course, long number)
{
    for (int i = 0; i < course->count; i++)
        if (course_number(&course->lessons[i], i) == number)
            return i;
    return -1;
}

static void home(struct plain *p)
{
    static const struct plain_choice choices[] = {
        {"1, 2 ...", N_("the lesson of that number")},
        {"r", N_("runs: what there is, watch, compare, export, hops, timeline")},
        {"t", N_("train the CNN on two ranks")},
        {"a", N_("allreduces and other collectives, message by message")},
        {"c", N_("clusters: the batch system, a simulated queue, links under load")},
        {"s", N_("settings")},
        {"d", N_("doctor: what works on this machine, what does not, and the cure")},
        {"q", N_("quit")},
        {0},
    };
    char answer[PLAIN_LINE];
    outline(p);
    plain_ask(p, choices, answer);
    int chosen = lesson_chosen(p->course, plain_number(answer));
    if (chosen >= 0)
        plain_lesson(p, chosen);
    else if (!strcmp(answer, "r"))
        plain_runs(p);
    else if (!strcmp(answer, "t"))
        plain_command(cli_train, (const char *const[]){"train", NULL});
    else if (!strcmp(answer, "a"))
        plain_ring(p, NULL);
    else if (!strcmp(answer, "c"))
        plain_cluster(p);
    else if (!strcmp(answer, "s"))
        plain_settings(p);
    else if (!strcmp(answer, "d"))
        plain_command(cli_doctor, (const char *const[]){"doctor", NULL});
    else
        plain_not_understood(answer);
}

int plain_application(FILE *in, bool utf8)
{
    struct error e = {0};
    struct plain p = {.in = in, .utf8 = utf8, .course = course_load(&e)};
    if (p.course)
        p.progress = progress_load(&e);
    while (p.progress && !p.ended) {
        const char *warning = progress_warning(p.progress);
        if (warning)
            printf(_("Note: %s\n\n"), warning);
        home(&p);
        progress_refresh(p.progress);
    }
    int code = p.progress ? 0 : cli_fail(&e);
    progress_free(p.progress);
    course_free(p.course);
    return code;
}
