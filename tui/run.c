/*
 * run.c - the run view: follows a run of any kind while it goes on, and shows one that has ended.
 *
 * The argument is a run (its directory, id or another name that rundir_find takes). The view polls: run
 * directories may lie on a filesystem that sends no notices.
 */
#include "engine/launch/launch.h"
#include "tui/app.h"
#include "tui/run_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_S 0.2
enum { EVENTS_A_POLL = 8000 }; /* some 40 ms: a longer stream comes in over several ticks */

enum {
    ACT_STOP = 1,
    ACT_STOP_YES,
    ACT_RING,
    ACT_PANE,
    ACT_PANE_BACK,
    ACT_LOG,
    ACT_SCALE,
    ACT_UP,
    ACT_DOWN,
    ACT_OPEN,
    ACT_SAMPLES,
    ACT_KIND,
    ACT_KIND_BACK,
    ACT_STYLE,
    ACT_BUCKET,
    ACT_TIMELINE
};

/* `b` goes round these sizes of buckets. */
static const long BUCKETS[] = {0, 64L << 10, 256L << 10, 1L << 20, 4L << 20, 25L << 20, 100L << 20};

static const struct key_binding run_keys[] = {
    {KEY_CODE_TAB, ACT_PANE, "pane", "the next pane on its own; after the last, all again"},
    {KEY_CODE_BACKTAB, ACT_PANE_BACK, NULL, "the pane before"},
    {'m', ACT_SAMPLES, "samples", "what the model sees, says and makes, in pictures; m again: back"},
    {'r', ACT_RING, "ring", "watch the messages of this run's allreduce, hop by hop"},
    {'T', ACT_TIMELINE, NULL, "the timeline: ranks, threads and layers over time, and what bounds a step"},
    {'s', ACT_STOP, "stop", "stop this run (asks first)"},
    {'l', ACT_LOG, "log", "the last lines of the log"},
    {'b', ACT_BUCKET, NULL,
     "training: sum the gradients in larger buckets beside backward; after the largest, in one"},
    {'y', ACT_SCALE, NULL, "loss on a logarithmic axis, or back"},
    {'i', ACT_STYLE, NULL, "draw pictures as half blocks, shades or dots"},
    {KEY_CODE_LEFT, ACT_KIND_BACK, NULL, "samples: another kind (images, texts, feature maps, gates)"},
    {KEY_CODE_RIGHT, ACT_KIND, NULL, "samples: another kind (images, texts, feature maps, gates)"},
    {KEY_CODE_UP, ACT_UP, NULL, "samples: an earlier or later evaluation; else move in a list"},
    {KEY_CODE_DOWN, ACT_DOWN, NULL, "samples: an earlier or later evaluation; else move in a list"},
    {KEY_CODE_ENTER, ACT_OPEN, NULL, "open the selected run that a script has started"},
    {0, 0, NULL, NULL},
};

/* The footer while samples are shown. */
static const struct key_binding sample_keys[] = {
    {KEY_CODE_LEFT, ACT_KIND_BACK, "kind", NULL},
    {KEY_CODE_RIGHT, ACT_KIND, "kind", NULL},
    {KEY_CODE_UP, ACT_UP, "evaluation", NULL},
    {KEY_CODE_DOWN, ACT_DOWN, "evaluation", NULL},
    {'i', ACT_STYLE, "look", NULL},
    {'m', ACT_SAMPLES, "all panes", NULL},
    {KEY_CODE_TAB, ACT_PANE, "pane", NULL},
    {0, 0, NULL, NULL},
};

static const struct key_binding *run_footer(void *view)
{
    const struct run_view *v = view;
    return v->pane == PANE_SAMPLES && !v->log ? sample_keys : run_keys;
}

static void *run_open(struct app *app, const char *argument, struct error *e)
{
    struct run_view *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    if (!run_model_open_quickly(&v->m, argument, e)) {
        free(v);
        return NULL;
    }
    v->now = app_now(app);
    run_model_poll(&v->m, EVENTS_A_POLL);
    return v;
}

static void run_close(void *view)
{
    struct run_view *v = view;
    run_model_free(&v->m);
    free(v);
}

static bool run_tick(void *view, struct app *app, double now)
{
    struct run_view *v = view;
    double share;
    bool due = now - v->polled >= POLL_S || now < v->polled, reading = run_model_reading(&v->m, &share);
    if (!due && !reading)
        return false;
    bool changed = run_model_poll(&v->m, EVENTS_A_POLL);
    if (run_model_reading(&v->m, &share)) {
        app_hurry(app);
        changed = due; /* the share that has been read; what has come in is drawn as often as ever */
    }
    if (!due)
        return changed;
    v->polled = v->now = now;
    long second = (long)run_model_elapsed(&v->m, now);
    changed |= second != v->second || v->log;
    v->second = second;
    return changed;
}

/* The panes that say something of this kind of run. */
static bool has_pane(const struct run_view *v, enum run_pane pane)
{
    bool tests = run_model_only_tests(&v->m), train = !v->m.have_job || v->m.job.kind == JOB_TRAIN;
    if (pane == PANE_SAMPLES)
        return v->m.sample_count > 0 && train;
    if ((train && !tests) || pane == PANE_ALL || pane == PANE_NOTES)
        return true;
    if (v->m.job.kind == JOB_SIM)
        return pane == PANE_SPEED || pane == PANE_RANKS;
    if (v->m.job.kind == JOB_ALLREDUCE)
        return pane == PANE_LOSS || pane == PANE_RANKS;
    return (tests || v->m.job.kind == JOB_SCRIPT || v->m.job.kind == JOB_BENCH) && pane == PANE_LOSS;
}

static void change_pane(struct run_view *v, int by)
{
    do
        v->pane = (enum run_pane)(((int)v->pane + by + PANE_COUNT) % PANE_COUNT);
    while (!has_pane(v, v->pane));
}

/* In the samples' pane: another kind, or an earlier (-1) or later (1) evaluation. */
static bool choose_sample(struct run_view *v, int kind, int later)
{
    if (v->pane != PANE_SAMPLES)
        return false;
    if (kind)
        sample_choose_kind(&v->sample, v->m.samples, v->m.sample_count, kind);
    if (later)
        sample_choose_evaluation(&v->sample, v->m.samples, v->m.sample_count, later);
    return true;
}

/* Asks the training for the next size of bucket after the one that was asked for, or is used. */
static void change_bucket(const struct run_view *v, struct app *app)
{
    struct error e = {0};
    char text[24];
    long bytes = rundir_bucket_requested(v->m.dir);
    size_t i = 0, count = sizeof BUCKETS / sizeof *BUCKETS;
    if (bytes < 0)
        bytes = (long)v->m.bucket;
    while (i < count && BUCKETS[i] <= bytes)
        i++;
    long next = BUCKETS[i % count];
    format_bytes((double)next, text, sizeof text);
    if (!launch_set_bucket(v->m.dir, next, &e))
        app_message(app, ROLE_BAD, "%s", e.text);
    else if (next)
        app_message(app, ROLE_WARN, "Buckets of %s from one of the next steps on, summed beside backward.",
                    text);
    else
        app_message(app, ROLE_WARN, "One allreduce after backward from one of the next steps on.");
}

static void run_act(void *view, struct app *app, int action)
{
    struct run_view *v = view;
    struct error e = {0};
    switch (action) {
    case ACT_STOP:
        if (run_model_ended(&v->m))
            app_message(app, ROLE_MUTED, "This run has ended already.");
        else
            app_ask(app, ACT_STOP_YES, "Stop this run? What it has learnt so far is lost.");
        break;
    case ACT_STOP_YES:
        if (launch_stop(v->m.dir, &e))
            app_message(app, ROLE_WARN, "Stopping: all ranks end after the present step.");
        else
            app_message(app, ROLE_BAD, "%s", e.text);
        break;
    case ACT_BUCKET: change_bucket(v, app); break;
    case ACT_TIMELINE: app_open(app, &view_timeline, v->m.dir); break;
    case ACT_RING: app_open(app, &view_ring, v->m.dir); break;
    case ACT_PANE: change_pane(v, 1); break;
    case ACT_PANE_BACK: change_pane(v, -1); break;
    case ACT_LOG: v->log = !v->log; break;
    case ACT_SCALE: v->log_scale = !v->log_scale; break;
    case ACT_SAMPLES:
        if (v->pane == PANE_SAMPLES)
            v->pane = PANE_ALL;
        else if (has_pane(v, PANE_SAMPLES))
            v->pane = PANE_SAMPLES;
        else
            app_message(app, ROLE_MUTED, "No samples yet: they come with each evaluation of a training job.");
        break;
    case ACT_KIND: choose_sample(v, 1, 0); break;
    case ACT_KIND_BACK: choose_sample(v, -1, 0); break;
    case ACT_STYLE: v->sample.style = (enum picture_style)((v->sample.style + 1) % PICTURE_STYLES); break;
    case ACT_UP:
        if (choose_sample(v, 0, -1))
            break;
        if (v->m.child_count && v->selected > 0)
            v->selected--;
        else if (v->scroll > 0)
            v->scroll--;
        break;
    case ACT_DOWN:
        if (choose_sample(v, 0, 1))
            break;
        if (v->selected + 1 < v->m.child_count)
            v->selected++;
        else
            v->scroll++;
        break;
    case ACT_OPEN:
        if (v->selected < v->m.child_count)
            app_open(app, &view_run, v->m.children[v->selected].id);
        break;
    }
}

static void run_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    (void)app;
    struct run_view *v = view;
    area = run_draw_slowed(&v->m, c, area);
    if (v->log) {
        run_draw_log(v, c, area);
        return;
    }
    switch (v->m.have_job ? v->m.job.kind : JOB_TRAIN) {
    case JOB_TRAIN:
        if (run_model_only_tests(&v->m) && v->pane != PANE_SAMPLES)
            run_draw_script(v, c, area);
        else
            run_draw_train(v, c, area);
        break;
    case JOB_ALLREDUCE: run_draw_allreduce(v, c, area); break;
    case JOB_SCRIPT:
    case JOB_BENCH: run_draw_script(v, c, area); break;
    case JOB_CHECK: run_draw_checks(v, c, area); break;
    case JOB_RANKS: run_draw_cases(v, c, area); break;
    case JOB_SIM: run_draw_sim(v, c, area); break;
    }
}

static void run_title(void *view, char *text, size_t size)
{
    struct run_view *v = view;
    if (run_model_simulated(&v->m))
        snprintf(text, size, "Simulated run %s", v->m.id);
    else
        snprintf(text, size, "Run %s", v->m.id);
}

static enum role run_status(void *view, char *text, size_t size)
{
    struct run_view *v = view;
    static const enum role ROLES[] = {ROLE_MUTED, ROLE_ACCENT, ROLE_GOOD, ROLE_BAD, ROLE_WARN, ROLE_BAD};
    char clock[24];
    format_clock(run_model_elapsed(&v->m, v->now), clock, sizeof clock);
    const char *origin = run_model_simulated(&v->m)                           ? "simulated"
                         : v->m.origin[0] && strcmp(v->m.origin, "real") != 0 ? v->m.origin
                                                                              : "";
    snprintf(text, size, "%s%s%s %s", origin, *origin ? " " : "", run_state_name(v->m.status.state), clock);
    return ROLES[v->m.status.state];
}

const struct view_class view_run = {
    .name = "run",
    .keys = run_keys,
    .footer = run_footer,
    .open = run_open,
    .act = run_act,
    .tick = run_tick,
    .draw = run_draw,
    .title = run_title,
    .status = run_status,
    .close = run_close,
};
