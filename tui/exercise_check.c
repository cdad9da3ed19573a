/*
 * exercise_check.c - checks of the exercise view: started as runs, followed, cancelled, and found again.
 */
#include "engine/launch/launch.h"
#include "tui/exercise_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_A_POLL = 5000 };

void exercise_check_free(struct exercise_check *check)
{
    if (check->started)
        run_model_free(&check->m);
    *check = (struct exercise_check){0};
}

static void delete_stale(struct exercise_view *v)
{
    struct run_status status;
    if (v->stale[0] && run_status_read(v->stale, &status, NULL) && run_state_ended(status.state)) {
        rundir_delete(v->stale, NULL);
        v->stale[0] = '\0';
    }
}

bool exercise_check_start(struct exercise_view *v, bool instant, struct error *e)
{
    struct job job;
    char dir[PATH_MAX];
    job_defaults(&job, JOB_CHECK);
    job.script.instant = instant;
    /* An exercise's name is part of the label; "instant" tells the two kinds apart in the list of runs. */
    snprintf(job.label, sizeof job.label, "%s-%.48s", instant ? "instant" : "check", v->files.name);
    snprintf(job.script.exercise, sizeof job.script.exercise, "%s", v->files.name);
    memcpy(job.script.file, v->files.file, sizeof job.script.file);
    memcpy(job.script.directory, v->files.folder, sizeof job.script.directory);
    bool ok = launch_start(&job, dir, e);
    job_clear(&job);
    if (!ok)
        return false;
    /* An instant check is of no interest once the next one begins. */
    if (v->check.started && v->check.instant)
        memcpy(v->stale, v->check.m.dir, sizeof v->stale);
    delete_stale(v);
    exercise_check_free(&v->check);
    if (!run_model_open(&v->check.m, dir, e))
        return false;
    v->check.started = v->check.running = true;
    v->check.instant = instant;
    v->edited = false;
    return true;
}

void exercise_check_stop(struct exercise_view *v)
{
    if (!v->check.running || v->check.stopping)
        return;
    launch_stop(v->check.m.dir, NULL);
    v->check.stopping = true;
}

bool exercise_check_poll(struct exercise_view *v)
{
    struct exercise_check *k = &v->check;
    if (!k->started || !k->running)
        return false;
    delete_stale(v);
    bool changed = run_model_poll(&k->m, EVENTS_A_POLL);
    /* `done` is the last line of a run: until it is there, more checks may come. */
    if (k->m.done || k->m.status.state == RUN_LOST) {
        k->running = false;
        changed = true;
    }
    return changed;
}

int exercise_check_count(const struct exercise_check *check, int result)
{
    int count = 0;
    for (int i = 0; check->started && i < check->m.check_count; i++)
        count += result < 0 || (int)check->m.checks[i].result == result;
    return count;
}

bool exercise_check_passed(const struct exercise_check *check)
{
    return check->started && !check->running && check->m.done && check->m.check_count > 0 &&
           exercise_check_count(check, CHECK_PASS) == check->m.check_count;
}

/* Whether a run has recorded hops and, where `parent` is not NULL, was started by that run. */
static bool has_hops(const char *run, const char *parent, char dir[PATH_MAX])
{
    enum { EVENTS = 5000 }; /* hops of a rank script come early; a key must be answered soon */
    struct run_model m;
    bool found = false;
    if (run_model_open(&m, run, NULL) && (!parent || (m.have_job && !strcmp(m.job.parent, parent)))) {
        m.attached = true; /* a glance is no watching */
        run_model_poll(&m, EVENTS);
        found = m.op_count > 0;
        memcpy(dir, m.dir, sizeof m.dir);
    }
    run_model_free(&m);
    return found;
}

bool exercise_check_ring(const struct exercise_check *check, char dir[PATH_MAX])
{
    if (!check->started)
        return false;
    if (check->m.op_count) {
        memcpy(dir, check->m.dir, sizeof check->m.dir);
        return true;
    }
    for (int i = check->m.child_count - 1; i >= 0; i--)
        if (has_hops(check->m.children[i].id, NULL, dir))
            return true;
    /* A run says whose it is: look among the newest. */
    char **dirs;
    int count;
    bool found = false;
    if (!rundir_list(&dirs, &count, NULL))
        return false;
    for (int i = 0; i < count; i++) {
        if (!found && i < 20)
            found = has_hops(dirs[i], check->m.id, dir);
        free(dirs[i]);
    }
    free(dirs);
    return found;
}

/* The first number of a text that follows "line " or stands between colons ("file.lua:8:"), or 0. */
static int line_in(const char *text)
{
    for (const char *at = text; *at; at++) {
        bool named = !strncmp(at, "line ", 5), between = *at == ':';
        if (!named && !between)
            continue;
        char *end;
        long line = strtol(at + (named ? 5 : 1), &end, 10);
        if (line > 0 && line < 100000 && (named || (*end == ':' && at[1] >= '0' && at[1] <= '9')))
            return (int)line;
    }
    return 0;
}

int exercise_check_line(const struct exercise_check *check)
{
    for (int i = 0; check->started && i < check->m.check_count; i++) {
        const struct run_check *k = &check->m.checks[i];
        int line = k->result == CHECK_FAIL ? line_in(k->measured) : 0;
        if (line > 0)
            return line;
    }
    return 0;
}
