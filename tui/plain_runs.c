/*
 * plain_runs.c - the runs there are, and what can be done with one: its report, its figures as a table, and the
 * commands of `ringside runs`.
 */
#include "engine/base/files.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "tui/cli.h"
#include "tui/plain.h"
#include "tui/plain_ask.h"
#include "tui/recent.h"
#include "tui/run_model.h"
#include "tui/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS_SHOWN = 20, TABLE_ROWS = 16, LOG_LINES = 20, LOG_BYTES = 8192 };

static void verb(const char *what, const char *run, const char *more)
{
    plain_command(cli_runs, (const char *const[]){"runs", what, run, more, NULL});
}

/* --- curves as tables ------------------------------------------------------------------------------------------ */

/* A row a line, evenly picked, the last always among them. */
static void series_table(const struct run_series *s, const char *x, const char *y)
{
    if (s->count < 1)
        return;
    printf("\n%12s  %14s\n", x, y);
    int rows = s->count < TABLE_ROWS ? s->count : TABLE_ROWS;
    for (int i = 0; i < rows; i++) {
        int at = rows > 1 ? (int)((long)i * (s->count - 1) / (rows - 1)) : 0;
        printf("%12g  %14.5g\n", s->x[at], s->y[at]);
    }
}

static void figures(const char *dir)
{
    struct run_model *m = plain_read_run(dir);
    if (!m)
        return;
    series_table(&m->loss, _("step"), _("loss"));
    series_table(&m->speed, _("step"), _("samples/s"));
    series_table(&m->eval_accuracy, _("step"), _("accuracy"));
    for (int i = 0; i < m->points_count; i++) {
        const struct run_points *points = &m->points[i];
        printf("\n%s: %s", *points->title ? points->title : _("plot"), points->name);
        series_table(&points->xy, *points->x_label ? points->x_label : "x",
                     *points->y_label ? points->y_label : "y");
    }
    if (!m->loss.count && !m->eval_accuracy.count && !m->points_count)
        puts(_("This run has no curves; w prints its report."));
    run_model_free(m);
    free(m);
}

static void log_tail(struct plain *p, const char *dir)
{
    char path[PATH_MAX], bytes[LOG_BYTES + 1];
    FILE *in = path_join(path, dir, "log", NULL) ? file_stream(path, 0, NULL) : NULL;
    size_t size = 0;
    if (in) {
        if (fseek(in, -LOG_BYTES, SEEK_END) != 0)
            rewind(in);
        size = fread(bytes, 1, LOG_BYTES, in);
        fclose(in);
    }
    bytes[size] = '\0';
    char *from = bytes + size;
    for (int lines = 0; from > bytes && lines <= LOG_LINES; from--)
        lines += from[-1] == '\n';
    if (!size)
        puts(_("The log is empty."));
    for (char *line = strtok(from, "\n"); line; line = strtok(NULL, "\n")) {
        plain_print_text(line, 0, p->utf8, stdout);
        puts("");
    }
}

/* Prints the newest runs, numbered; shown: which of recent they are. Returns how many. */
static int list_runs(struct recent *recent, int shown[RUNS_SHOWN])
{
    int count = 0;
    recent_refresh(recent);
    for (int i = 0; i < recent->count && count < RUNS_SHOWN; i++)
        if (!recent->runs[i].hidden)
            shown[count++] = i;
    for (int i = 0; i < count; i++) {
        const struct recent_run *run = &recent->runs[shown[i]];
        printf("%2d  %-10s %-20s", i + 1, run_state_name(run->status.state), run->label);
        if (isfinite(run->tail.accuracy))
            printf(_("  accuracy %.2f %%"), run->tail.accuracy * 100);
        puts("");
    }
    return count;
}

/* --- one run --------------------------------------------------------------------------------------------------- */

static void compare(struct plain *p, const char *dir)
{
    char answer[PLAIN_LINE];
    struct recent recent = {0};
    int shown[RUNS_SHOWN], count = list_runs(&recent, shown);
    plain_ask_line(p, _("with which run? its number, its name or a part of it"), answer);
    long number = plain_number(answer);
    if (*answer && !p->ended)
        verb("compare", dir, number >= 1 && number <= count ? recent.runs[shown[number - 1]].dir : answer);
    recent_free(&recent);
}

static void export(struct plain *p, const char *dir)
{
    char answer[PLAIN_LINE], file[PLAIN_LINE + 16];
    plain_ask_line(p, _("to which file? Enter: here, as comma-separated values"), answer);
    if (p->ended)
        return;
    snprintf(file, sizeof file, "--out=%s", answer);
    verb("export", dir, *answer ? file : NULL);
}

static void play_again(struct plain *p, const char *dir)
{
    char answer[PLAIN_LINE], speed[PLAIN_LINE + 16];
    plain_ask_line(p, _("how many times as fast? Enter: as fast as it goes"), answer);
    if (p->ended)
        return;
    snprintf(speed, sizeof speed, "--speed=%s", *answer ? answer : "0");
    verb("replay", dir, speed);
}

/* True: it is gone. */
static bool delete_run(struct plain *p, const char *dir)
{
    char answer[PLAIN_LINE];
    plain_ask_line(p, _("delete it for good? y: yes, Enter: no"), answer);
    if (strcmp(answer, "y") != 0)
        return false;
    verb("delete", dir, NULL);
    return access(dir, F_OK) != 0;
}

static void one_run(struct plain *p, const char *dir)
{
    static const struct plain_choice choices[] = {
        {"w", N_("watch it to its end; of one that has ended the report")},
        {"v", N_("its curves as tables")},
        {"h", N_("the messages of its allreduces, round by round")},
        {"t", N_("timeline: where the time of its first steps went")},
        {"l", N_("the end of its log")},
        {"c", N_("compare it with another run")},
        {"x", N_("export its figures")},
        {"p", N_("play it again")},
        {"s", N_("stop it")},
        {"k", N_("delete it")},
        {"b", N_("back to the list")},
        {"q", N_("quit")},
        {0},
    };
    char answer[PLAIN_LINE];
    while (!p->ended) {
        printf(_("Run %s\n"), rundir_id(dir));
        plain_ask(p, choices, answer);
        if (!strcmp(answer, "w"))
            verb("watch", dir, NULL);
        else if (!strcmp(answer, "v"))
            figures(dir);
        else if (!strcmp(answer, "h"))
            plain_ring(p, dir);
        else if (!strcmp(answer, "t"))
            verb("trace", dir, NULL);
        else if (!strcmp(answer, "l"))
            log_tail(p, dir);
        else if (!strcmp(answer, "c"))
            compare(p, dir);
        else if (!strcmp(answer, "x"))
            export(p, dir);
        else if (!strcmp(answer, "p"))
            play_again(p, dir);
        else if (!strcmp(answer, "s"))
            verb("stop", dir, NULL);
        else if (!strcmp(answer, "b") || (!strcmp(answer, "k") && delete_run(p, dir)))
            return;
        else if (strcmp(answer, "k") != 0)
            plain_not_understood(answer);
    }
}

/* The runs, numbered; *dir: the one that was chosen, to be freed, or NULL. */
static void list(struct plain *p, char answer[PLAIN_LINE], char **dir)
{
    static const struct plain_choice choices[] = {
        {"1, 2 ...", N_("the run of that number")},
        {"b", N_("back to the course")},
        {"q", N_("quit")},
        {0},
    };
    struct recent recent = {0};
    int shown[RUNS_SHOWN], count = list_runs(&recent, shown);
    if (!count)
        puts(_("No runs yet."));
    plain_ask(p, choices, answer);
    long number = plain_number(answer);
    *dir = number >= 1 && number <= count ? strdup(recent.runs[shown[number - 1]].dir) : NULL;
    recent_free(&recent);
}

void plain_runs(struct plain *p)
{
    char answer[PLAIN_LINE], *dir;
    while (!p->ended) {
        list(p, answer, &dir);
        if (dir)
            one_run(p, dir);
        else if (!strcmp(answer, "b"))
            return;
        else
            plain_not_understood(answer);
        free(dir);
    }
}
