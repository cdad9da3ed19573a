/*
 * run.c - the run view: follows a run of any kind while it goes on, and shows one that has ended.
 *
 * The argument is a run (its directory, id or another name that rundir_find takes). The view polls: run
 * directories may lie on a filesystem that sends no notices.
 */
#include "engine/launch/launch.h"
#include "engine/launch/replay.h"
#include "tui/app.h"
#include "tui/run_view.h"
#include "tui/text.h"

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
    ACT_FULL,
    ACT_LOG,
    ACT_SCALE,
    ACT_UP,
    ACT_DOWN,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_LEFT_FAR,
    ACT_RIGHT_FAR,
    ACT_FIRST,
    ACT_LAST,
    ACT_ZOOM_IN,
    ACT_ZOOM_OUT,
    ACT_ZOOM_ALL,
    ACT_ESCAPE,
    ACT_OVERLAY,
    ACT_COMPARE,
    ACT_EXPORT,
    ACT_EXPORT_TEXT,
    ACT_MARK,
    ACT_SAMPLES,
    ACT_STYLE,
    ACT_BUCKET,
    ACT_FASTER,
    ACT_SLOWER,
    ACT_PAUSE,
    ACT_TIMELINE
};

/* `b` goes round these sizes of buckets. */
static const long BUCKETS[] = {0, 64L << 10, 256L << 10, 1L << 20, 4L << 20, 25L << 20, 100L << 20};

static const struct key_binding run_keys[] = {
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), N_("the next pane on its own; after the last, all again")},
    {KEY_CODE_BACKTAB, ACT_PANE_BACK, NULL, N_("the pane before")},
    {KEY_CODE_LEFT, ACT_LEFT, N_("cursor"),
     N_("plots: a cursor and the values there; samples: another kind")},
    {KEY_CODE_RIGHT, ACT_RIGHT, N_("cursor"),
     N_("plots: a cursor and the values there; samples: another kind")},
    {'+', ACT_ZOOM_IN, N_("zoom"), N_("plots: half as many steps, around the cursor; twice as many; all")},
    {'=', ACT_ZOOM_IN, NULL, NULL},
    {'-', ACT_ZOOM_OUT, N_("zoom"), N_("plots: half as many steps, around the cursor; twice as many; all")},
    {'0', ACT_ZOOM_ALL, NULL, N_("plots: half as many steps, around the cursor; twice as many; all")},
    {'m', ACT_SAMPLES, N_("samples"), N_("what the model sees, says and makes, in pictures; m again: back")},
    {'r', ACT_RING, N_("ring"), N_("watch the messages of this run's allreduce, hop by hop")},
    {'T', ACT_TIMELINE, NULL,
     N_("the timeline: ranks, threads and layers over time, and what bounds a step")},
    {'s', ACT_STOP, N_("stop"), N_("stop this run (asks first)")},
    {'o', ACT_OVERLAY, N_("overlay"), N_("choose other runs to lay over the plots")},
    {'c', ACT_COMPARE, N_("compare"), N_("this run beside the overlaid ones, or others, as a table")},
    {'e', ACT_EXPORT, N_("export"), N_("write the events as a CSV table to a file")},
    {'E', ACT_EXPORT_TEXT, NULL, N_("write the report as text to a file")},
    {'l', ACT_LOG, N_("log"), N_("the last lines of the log")},
    {'y', ACT_SCALE, NULL, N_("loss on a logarithmic axis, or back")},
    {KEY_CODE_PAGE_UP, ACT_LEFT_FAR, NULL,
     N_("plots: a tenth of the steps further; where zoomed, half a window")},
    {KEY_CODE_PAGE_DOWN, ACT_RIGHT_FAR, NULL,
     N_("plots: a tenth of the steps further; where zoomed, half a window")},
    {KEY_CODE_HOME, ACT_FIRST, NULL, N_("plots: the cursor to the first or the newest step")},
    {KEY_CODE_END, ACT_LAST, NULL, N_("plots: the cursor to the first or the newest step")},
    {'b', ACT_BUCKET, NULL,
     N_("training: sum the gradients in larger buckets beside backward; after the largest, in one")},
    {'i', ACT_STYLE, NULL, N_("draw pictures as half blocks, shades or dots")},
    {'>', ACT_FASTER, NULL, N_("a replay: faster or slower")},
    {'<', ACT_SLOWER, NULL, N_("a replay: faster or slower")},
    {'p', ACT_PAUSE, NULL, N_("a replay: pause, and go on")},
    {KEY_CODE_UP, ACT_UP, NULL,
     N_("samples: an earlier or later evaluation; else move in a list, of ranks or runs")},
    {KEY_CODE_DOWN, ACT_DOWN, NULL,
     N_("samples: an earlier or later evaluation; else move in a list, of ranks or runs")},
    {KEY_CODE_ENTER, ACT_FULL, NULL,
     N_("open the selected run that a script has started; else the pane alone, or all panes")},
    {KEY_CODE_ESCAPE, ACT_ESCAPE, NULL, N_("take the cursor and the zoom away; else back")},
    {' ', ACT_MARK, NULL, NULL},
    {0, 0, NULL, NULL},
};

/* What the footer names while other things are shown. */
static const struct key_binding ended_keys[] = {
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), NULL},
    {KEY_CODE_LEFT, ACT_LEFT, N_("cursor"), NULL},
    {KEY_CODE_RIGHT, ACT_RIGHT, N_("cursor"), NULL},
    {'+', ACT_ZOOM_IN, N_("zoom"), NULL},
    {'-', ACT_ZOOM_OUT, N_("zoom"), NULL},
    {'m', ACT_SAMPLES, N_("samples"), NULL},
    {'r', ACT_RING, N_("ring"), NULL},
    {'o', ACT_OVERLAY, N_("overlay"), NULL},
    {'c', ACT_COMPARE, N_("compare"), NULL},
    {'e', ACT_EXPORT, N_("export"), NULL},
    {'l', ACT_LOG, N_("log"), NULL},
    {'y', ACT_SCALE, N_("log scale"), NULL},
    {0, 0, NULL, NULL},
};
static const struct key_binding other_keys[] = {
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), NULL},
    {'r', ACT_RING, N_("ring"), NULL},
    {'s', ACT_STOP, N_("stop"), NULL},
    {'l', ACT_LOG, N_("log"), NULL},
    {'c', ACT_COMPARE, N_("compare"), NULL},
    {'e', ACT_EXPORT, N_("export"), NULL},
    {0, 0, NULL, NULL},
};
static const struct key_binding sample_keys[] = {
    {KEY_CODE_LEFT, ACT_LEFT, N_("kind"), NULL},
    {KEY_CODE_RIGHT, ACT_RIGHT, N_("kind"), NULL},
    {KEY_CODE_UP, ACT_UP, N_("evaluation"), NULL},
    {KEY_CODE_DOWN, ACT_DOWN, N_("evaluation"), NULL},
    {'i', ACT_STYLE, N_("look"), NULL},
    {'m', ACT_SAMPLES, N_("all panes"), NULL},
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), NULL},
    {0, 0, NULL, NULL},
};
static const struct key_binding picker_keys[] = {
    {KEY_CODE_UP, ACT_UP, N_("select"), NULL}, {KEY_CODE_DOWN, ACT_DOWN, N_("select"), NULL},
    {' ', ACT_MARK, N_("mark"), NULL},         {KEY_CODE_ENTER, ACT_FULL, N_("lay over"), NULL},
    {'c', ACT_COMPARE, N_("compare"), NULL},   {0, 0, NULL, NULL},
};

/* Whether this kind of run has plots over its steps. */
static bool has_steps(const struct run_view *v)
{
    return !v->m.have_job || v->m.job.kind == JOB_SIM ||
           (v->m.job.kind == JOB_TRAIN && !run_model_only_tests(&v->m));
}

static const struct key_binding *run_footer(void *view)
{
    const struct run_view *v = view;
    if (v->picker)
        return picker_keys;
    if (v->pane == PANE_SAMPLES && !v->log)
        return sample_keys;
    if (!has_steps(v))
        return other_keys;
    return run_model_ended(&v->m) ? ended_keys : run_keys;
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
    run_drop_overlays(v);
    run_detail_free(&v->detail);
    picker_free(v->picker);
    if (v->export_)
        run_export_end(v->export_, NULL); /* it was not written to its end, so nothing is left */
    run_model_free(&v->m);
    free(v);
}

static bool run_tick(void *view, struct app *app, double now)
{
    struct run_view *v = view;
    double share;
    bool due = now - v->polled >= POLL_S || now < v->polled, changed = false;
    if (due || run_model_reading(&v->m, &share))
        changed |= run_model_poll(&v->m, EVENTS_A_POLL) && due;
    for (int i = 0; i < v->overlay_count; i++)
        if (due || run_model_reading(v->overlays[i], &share))
            changed |= run_model_poll(v->overlays[i], EVENTS_A_POLL) && due;
    if (run_work(v, app, &changed)) {
        app_hurry(app);
        changed |= due; /* the share that has been done */
    }
    if (!due)
        return changed;
    v->polled = v->now = now;
    if (v->picker)
        changed |= picker_refresh(v->picker);
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
    if (pane == PANE_SCALING)
        return has_steps(v) && run_has_scaling(v);
    if (pane == PANE_TIME)
        return has_steps(v) && v->m.compute.count > 0;
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
        v->pane = (enum run_pane)(((int)v->pane + by + PANE_COUNT) % PANE_COUNT), v->scroll = 0;
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

/* Of a replay that plays (replay.h). */
static void change_pace(const struct run_view *v, struct app *app, int action)
{
    struct error e = {0};
    struct replay_pace pace = {0};
    bool ok = replay_pace_read(v->m.dir, &pace, &e);
    if (action == ACT_PAUSE)
        pace.paused = !pace.paused;
    else
        pace.speed = replay_speed_step(pace.speed, action == ACT_FASTER ? 1 : -1);
    if (!ok || !replay_pace_set(v->m.dir, pace, &e))
        app_message(app, ROLE_MUTED, "%s", e.text);
    else if (pace.paused)
        app_message(app, ROLE_ACCENT, _("Paused; p goes on."));
    else if (pace.speed > 0)
        app_message(app, ROLE_ACCENT, _("The recording plays %g times as fast as it was."), pace.speed);
    else
        app_message(app, ROLE_ACCENT, _("The recording plays as fast as it goes."));
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
        app_message(app, ROLE_WARN, _("Buckets of %s from one of the next steps on, summed beside backward."),
                    text);
    else
        app_message(app, ROLE_WARN, _("One allreduce after backward from one of the next steps on."));
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* While runs are chosen. */
static void act_on_picker(struct run_view *v, struct app *app, int action)
{
    switch (action) {
    case ACT_UP: picker_move(v->picker, -1); break;
    case ACT_DOWN: picker_move(v->picker, 1); break;
    case ACT_LEFT_FAR: picker_move(v->picker, -10); break;
    case ACT_RIGHT_FAR: picker_move(v->picker, 10); break;
    case ACT_MARK:
        if (!picker_toggle(v->picker))
            app_message(app, ROLE_WARN, _("At most %d runs at once."), v->picker->most);
        break;
    case ACT_FULL:
        run_take_overlays(v, app);
        v->pane = has_pane(v, v->pane) ? v->pane : PANE_ALL;
        break;
    case ACT_COMPARE: run_compare(v, app); break;
    case ACT_OVERLAY:
    case ACT_ESCAPE: run_choose_overlays(v, app); break;
    default: break;
    }
}

/* Keys of the plots; false: the action is another one. */
static bool act_on_plots(struct run_view *v, int action)
{
    if (!has_steps(v))
        return action == ACT_LEFT || action == ACT_RIGHT;
    switch (action) {
    case ACT_LEFT: run_move_cursor(v, -0.01); return true;
    case ACT_RIGHT: run_move_cursor(v, 0.01); return true;
    case ACT_LEFT_FAR:
    case ACT_RIGHT_FAR:
        if (v->zoomed && !v->has_cursor)
            run_pan(v, action == ACT_LEFT_FAR ? -0.5 : 0.5);
        else
            run_move_cursor(v, action == ACT_LEFT_FAR ? -0.1 : 0.1);
        return true;
    case ACT_FIRST:
    case ACT_LAST:
        v->has_cursor = true;
        v->cursor = action == ACT_FIRST ? 0 : (double)v->m.step;
        run_move_cursor(v, action == ACT_FIRST ? -1 : 1);
        return true;
    case ACT_ZOOM_IN: run_zoom(v, 0.5); return true;
    case ACT_ZOOM_OUT: run_zoom(v, 2); return true;
    case ACT_ZOOM_ALL:
        v->zoomed = false;
        v->refit = true;
        return true;
    default: return false;
    }
}

static void escape(struct run_view *v, struct app *app)
{
    if (!v->has_cursor && !v->zoomed) {
        app_back(app);
        return;
    }
    v->has_cursor = v->zoomed = false;
    v->refit = true;
}

static void run_act(void *view, struct app *app, int action)
{
    struct run_view *v = view;
    struct error e = {0};
    if (v->picker && action != ACT_STOP_YES) {
        act_on_picker(v, app, action);
        return;
    }
    if (action == ACT_LEFT || action == ACT_RIGHT) {
        if (choose_sample(v, action == ACT_LEFT ? -1 : 1, 0))
            return;
    }
    if (act_on_plots(v, action))
        return;
    switch (action) {
    case ACT_ESCAPE: escape(v, app); break;
    case ACT_OVERLAY:
        if (has_steps(v))
            run_choose_overlays(v, app);
        else
            app_message(app, ROLE_MUTED, "%s",
                        _("Only runs with steps can be laid over each other; c compares."));
        break;
    case ACT_COMPARE: run_compare(v, app); break;
    case ACT_EXPORT: run_begin_export(v, app, EXPORT_CSV); break;
    case ACT_EXPORT_TEXT: run_begin_export(v, app, EXPORT_TEXT); break;
    case ACT_STOP:
        if (run_model_ended(&v->m))
            app_message(app, ROLE_MUTED, _("This run has ended already."));
        else
            app_ask(app, ACT_STOP_YES, _("Stop this run? What it has learnt so far is lost."));
        break;
    case ACT_STOP_YES:
        if (launch_stop(v->m.dir, &e))
            app_message(app, ROLE_WARN, _("Stopping: all ranks end after the present step."));
        else
            app_message(app, ROLE_BAD, "%s", e.text);
        break;
    case ACT_BUCKET: change_bucket(v, app); break;
    case ACT_FASTER:
    case ACT_SLOWER:
    case ACT_PAUSE: change_pace(v, app, action); break;
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
            app_message(app, ROLE_MUTED,
                        _("No samples yet: they come with each evaluation of a training job."));
        break;
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
        else if (v->pane != PANE_RANKS || v->scroll + 1 < v->m.rank_count)
            v->scroll++;
        break;
    case ACT_FULL:
        if (v->selected < v->m.child_count)
            app_open(app, &view_run, v->m.children[v->selected].id);
        else
            v->pane = v->pane != PANE_ALL ? PANE_ALL : has_pane(v, PANE_LOSS) ? PANE_LOSS : v->pane;
        break;
    }
}

static void run_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    (void)app;
    struct run_view *v = view;
    v->plot_count = 0;
    if (v->picker) {
        struct rect in = rect_inset(
            canvas_box(c, area, _("Runs to lay over the plots: Space marks, Enter lays over"), ROLE_BORDER),
            0, 1);
        picker_draw(v->picker, c, in, v->now, true);
        return;
    }
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

static bool run_mouse(void *view, struct app *app, int row, int col, enum mouse what)
{
    (void)app;
    double zoom = what == MOUSE_WHEEL_UP ? 0.5 : what == MOUSE_WHEEL_DOWN ? 2 : 0;
    return run_click(view, row, col, zoom);
}

static void run_title(void *view, char *text, size_t size)
{
    struct run_view *v = view;
    if (run_model_simulated(&v->m))
        snprintf(text, size, _("Simulated run %s"), v->m.id);
    else
        snprintf(text, size, _("Run %s"), v->m.id);
}

static enum role run_status(void *view, char *text, size_t size)
{
    struct run_view *v = view;
    static const enum role ROLES[] = {ROLE_MUTED, ROLE_ACCENT, ROLE_GOOD, ROLE_BAD, ROLE_WARN, ROLE_BAD};
    char clock[24];
    format_clock(run_model_elapsed(&v->m, v->now), clock, sizeof clock);
    const char *origin = run_model_simulated(&v->m)                           ? _("simulated")
                         : v->m.origin[0] && strcmp(v->m.origin, "real") != 0 ? v->m.origin
                                                                              : "";
    size_t used = (size_t)snprintf(text, size, "%s%s%s %s", origin, *origin ? " " : "",
                                   _(run_state_name(v->m.status.state)), clock);
    double share;
    if (v->export_ && used < size)
        snprintf(text + used, size - used, _(", written: %.0f %%"), 100 * v->share);
    else if (run_model_reading(&v->m, &share) && used < size)
        snprintf(text + used, size - used, _(", read: %.0f %%"), 100 * share);
    return ROLES[v->m.status.state];
}

const struct view_class view_run = {
    .name = "run",
    .keys = run_keys,
    .footer = run_footer,
    .open = run_open,
    .act = run_act,
    .click = run_mouse,
    .tick = run_tick,
    .draw = run_draw,
    .title = run_title,
    .status = run_status,
    .close = run_close,
};
