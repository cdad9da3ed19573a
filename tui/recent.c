/*
 * recent.c - keeps the list of the newest runs.
 */
#include "tui/recent.h"

#include "engine/base/event.h"
#include "engine/spec/job.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_number(double a, double b)
{
    return a == b || (a != a && b != b);
}

/* Reads what can change; true where it has. */
static bool look(struct recent_run *run)
{
    struct run_status status = {0};
    struct run_tail tail;
    if (!run_status_read(run->dir, &status, NULL))
        status = (struct run_status){.state = RUN_LOST};
    run_tail_read(run->dir, &tail);
    bool changed = status.state != run->status.state || tail.step != run->tail.step ||
                   tail.done != run->tail.done || !same_number(tail.accuracy, run->tail.accuracy);
    run->status = status;
    run->tail = tail;
    return changed;
}

/* What the run event says, which stands at the beginning; a run that has not begun will be measured. */
static const char *origin_of(const char *dir, const char *kind)
{
    enum { LINES = 16 };
    struct run_reader *reader = run_reader_open(dir, NULL);
    const char *origin = !strcmp(kind, "sim") ? N_("simulated") : N_("measured");
    for (int i = 0; reader && i < LINES; i++) {
        json_t *event = run_reader_next(reader);
        const char *said = event_text(event, "origin", "");
        if (event_is(event, "run"))
            origin = !strcmp(said, "sim")      ? N_("simulated")
                     : !strcmp(said, "replay") ? N_("replayed")
                     : !strcmp(said, "byo")    ? N_("your program")
                                               : origin;
        json_decref(event);
    }
    run_reader_free(reader);
    return origin;
}

static void introduce(struct recent_run *run)
{
    json_t *job = rundir_read_json(run->dir, "job.json", NULL);
    snprintf(run->kind, sizeof run->kind, "%s", event_text(job, "kind", ""));
    snprintf(run->label, sizeof run->label, "%s", event_text(job, "label", ""));
    run->ranks = (int)job_json_ranks(job);
    run->origin = origin_of(run->dir, run->kind);
    bool nested = *event_text(job, "parent", "") != '\0';
    run->hidden = !strcmp(run->kind, "check") || (nested && !strcmp(run->kind, "ranks"));
    json_decref(job);
    if (!*run->label) {
        const char *slash = strrchr(run->dir, '/');
        snprintf(run->label, sizeof run->label, "%s", slash ? slash + 1 : run->dir);
    }
}

/* Takes over what is known of a run under the same name. */
static bool known(struct recent *recent, struct recent_run *run)
{
    for (int i = 0; i < recent->count; i++) {
        struct recent_run *old = &recent->runs[i];
        if (!old->dir || strcmp(old->dir, run->dir) != 0)
            continue;
        free(run->dir);
        *run = *old;
        old->dir = NULL;
        return true;
    }
    return false;
}

bool recent_refresh(struct recent *recent)
{
    char **dirs = NULL;
    int found = 0, kept = 0;
    bool changed = false;
    if (!rundir_list(&dirs, &found, NULL))
        return false;
    struct recent_run *runs = calloc(RECENT_MAX, sizeof *runs);
    for (int i = 0; i < found; i++) {
        if (!runs || kept == RECENT_MAX) {
            free(dirs[i]);
            continue;
        }
        struct recent_run run = {.dir = dirs[i]};
        if (!known(recent, &run)) {
            introduce(&run);
            look(&run);
            changed |= !run.hidden;
        } else if (!run_state_ended(run.status.state) || (run.status.state == RUN_LOST && !run.tail.done)) {
            changed |= look(&run);
        }
        runs[kept++] = run;
    }
    free(dirs);
    if (!runs)
        return false;
    for (int i = 0; i < recent->count; i++) {
        changed |= recent->runs[i].dir != NULL;
        free(recent->runs[i].dir);
    }
    free(recent->runs);
    *recent = (struct recent){.runs = runs, .count = kept};
    return changed;
}

void recent_free(struct recent *recent)
{
    for (int i = 0; i < recent->count; i++)
        free(recent->runs[i].dir);
    free(recent->runs);
    *recent = (struct recent){0};
}

int recent_running(const struct recent *recent)
{
    int running = 0;
    for (int i = 0; i < recent->count; i++)
        running += !recent->runs[i].hidden && !run_state_ended(recent->runs[i].status.state);
    return running;
}

void age_text(char *text, size_t size, double now, double then)
{
    double age = now - then;
    if (then <= 0)
        *text = '\0';
    else if (age < 60)
        snprintf(text, size, "%s", _("now"));
    else if (age < 3600)
        snprintf(text, size, "%d min", (int)(age / 60));
    else if (age < 2 * 86400)
        snprintf(text, size, "%d h", (int)(age / 3600));
    else
        snprintf(text, size, _("%d days"), (int)(age / 86400));
}
