/*
 * timeline_view.c - the timeline view: ranks × time of one step of a run, with the chain of spans that bounds it.
 *
 * The argument is a run. Its trace.json is read by a thread of its own, since a long one takes a second; a run without a trace
 * shows what its events say. The window of time is zoomed and moved; the cursor goes from span to span.
 */
#include "tui/timeline_view.h"
#include "tui/app.h"
#include "tui/background.h"
#include "tui/text.h"
#include "tui/timeline.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ACT_LEFT = 1,
    ACT_RIGHT,
    ACT_UP,
    ACT_DOWN,
    ACT_IN,
    ACT_OUT,
    ACT_PAN_LEFT,
    ACT_PAN_RIGHT,
    ACT_SPAN,
    ACT_STEP,
    ACT_ALL,
    ACT_NEXT,
    ACT_BEFORE,
    ACT_CRITICAL,
    ACT_CRITICAL_BACK,
    ACT_HOPS
};

static const struct key_binding timeline_keys[] = {
    {KEY_CODE_LEFT, ACT_LEFT, N_("span"), N_("the span before or after on this row")},
    {KEY_CODE_RIGHT, ACT_RIGHT, N_("span"), N_("the span before or after on this row")},
    {KEY_CODE_UP, ACT_UP, N_("row"), N_("another rank or thread")},
    {KEY_CODE_DOWN, ACT_DOWN, N_("row"), N_("another rank or thread")},
    {'+', ACT_IN, N_("zoom"), N_("a shorter or longer time, around the cursor")},
    {'=', ACT_IN, NULL, NULL},
    {'-', ACT_OUT, N_("zoom"), N_("a shorter or longer time, around the cursor")},
    {'n', ACT_NEXT, N_("step"), N_("the next or previous step")},
    {'N', ACT_BEFORE, NULL, N_("the next or previous step")},
    {'c', ACT_CRITICAL, N_("critical"), N_("along the critical path: the next piece, or the one before")},
    {'C', ACT_CRITICAL_BACK, NULL, N_("along the critical path: the next piece, or the one before")},
    {KEY_CODE_PAGE_UP, ACT_PAN_LEFT, NULL, N_("half a window earlier or later")},
    {KEY_CODE_PAGE_DOWN, ACT_PAN_RIGHT, NULL, N_("half a window earlier or later")},
    {KEY_CODE_ENTER, ACT_SPAN, NULL, N_("only the span under the cursor")},
    {'0', ACT_STEP, N_("whole"), N_("the whole step")},
    {KEY_CODE_HOME, ACT_STEP, NULL, NULL},
    {'w', ACT_ALL, NULL, N_("everything that was recorded")},
    {'h', ACT_HOPS, NULL, N_("single messages of sampled collectives too, or not")},
    {0, 0, NULL, NULL},
};

/* What the thread works on. */
struct reading {
    char dir[PATH_MAX];
    struct trace_data trace;
    bool ok;
    struct error e;
};

struct view {
    struct timeline_view t;
    struct run_model run;
    struct background *work;
    struct reading *reading; /* the work's argument */
    double polled;
    long events; /* of the run when the timeline was made of them */
};

static void read_it(void *argument)
{
    struct reading *r = argument;
    r->ok = trace_data_read(r->dir, &r->trace, &r->e);
}

static void release_reading(void *argument)
{
    struct reading *r = argument;
    trace_data_free(&r->trace);
    free(r);
}

/* --- the window and the cursor --- */

static void find_shown(struct timeline_view *v)
{
    v->shown_count = 0;
    for (int i = 0; i < v->trace.row_count; i++)
        if (v->trace.rows[i].count > 0 && (v->hops || v->trace.rows[i].tid < TRACE_LANES))
            v->shown[v->shown_count++] = i;
    v->row = v->row < v->shown_count ? v->row : v->shown_count - 1;
    v->row = v->row < 0 ? 0 : v->row;
}

static bool selectable(const struct timeline_view *v, int event)
{
    int kind = v->trace.events[event].kind;
    return kind != TRACE_STEP && kind != TRACE_IDLE;
}

static const struct trace_row *selected_row(const struct timeline_view *v)
{
    return &v->trace.rows[v->shown[v->row]];
}

/* The span of the selected row that begins nearest to a moment. */
static void select_at(struct timeline_view *v, double t)
{
    const struct trace_row *row = selected_row(v);
    double least = INFINITY;
    v->cursor = -1;
    for (int i = row->first; i < row->first + row->count; i++) {
        const struct trace_event *x = &v->trace.events[i];
        double away = (double)x->t0 <= t && (double)x->t1 > t ? 0 : fabs((double)x->t0 - t);
        if (selectable(v, i) && away <= least) { /* of those around it the innermost */
            least = away;
            v->cursor = i;
        }
    }
}

/* Moves the window so that the cursor's span begins in it. */
static void keep_in_sight(struct timeline_view *v)
{
    if (v->cursor < 0)
        return;
    double t = (double)v->trace.events[v->cursor].t0, span = v->end - v->begin;
    if (t >= v->begin && t < v->end)
        return;
    v->begin = t - span / 4;
    v->end = v->begin + span;
}

static void show_step(struct timeline_view *v)
{
    v->begin = (double)v->path.begin;
    v->end = (double)v->path.end;
}

/* The longest piece of the critical path: what to look at first. */
static void select_longest(struct timeline_view *v)
{
    const struct path_piece *longest = NULL;
    for (int i = 0; i < v->path.count; i++) {
        const struct path_piece *p = &v->path.pieces[i];
        if (p->event >= 0 && selectable(v, p->event) &&
            (!longest || p->t1 - p->t0 > longest->t1 - longest->t0))
            longest = p;
    }
    v->cursor = longest ? longest->event : -1;
    for (int k = 0; longest && k < v->shown_count; k++)
        if (v->shown[k] == longest->row)
            v->row = k;
}

static bool choose_step(struct timeline_view *v, long step)
{
    struct critical_path path;
    struct error e = {0};
    if (!critical_path_find(&v->trace, step, &path, &e)) {
        snprintf(v->why, sizeof v->why, "%s.", e.text);
        return false;
    }
    critical_path_free(&v->path);
    v->path = path;
    v->step = step;
    v->exposed_count = exposed_of_step(&v->trace, step, v->exposed, EXPOSED_PARTS, &v->exposed_s);
    show_step(v);
    select_longest(v);
    return true;
}

static void begin(struct timeline_view *v, long step)
{
    free(v->shown);
    v->shown = calloc((size_t)v->trace.row_count + 1, sizeof *v->shown);
    if (!v->shown)
        return;
    v->have = true;
    find_shown(v);
    v->have = v->shown_count > 0 && choose_step(v, step);
}

static void zoom(struct timeline_view *v, double factor)
{
    double at = v->begin + (v->end - v->begin) / 2, span = (v->end - v->begin) * factor;
    if (v->cursor >= 0) {
        const struct trace_event *x = &v->trace.events[v->cursor];
        at = fmin(fmax(0.5 * ((double)x->t0 + (double)x->t1), v->begin), v->end);
    }
    span = fmin(fmax(span, 1000), 4 * 3600e9);
    double share = (at - v->begin) / (v->end - v->begin);
    v->begin = at - share * span;
    v->end = v->begin + span;
}

static void move_cursor(struct timeline_view *v, int by)
{
    const struct trace_row *row = selected_row(v);
    int at = v->cursor >= 0 ? v->cursor + by : row->first;
    while (at >= row->first && at < row->first + row->count && !selectable(v, at))
        at += by;
    if (at >= row->first && at < row->first + row->count)
        v->cursor = at;
    keep_in_sight(v);
}

static void move_row(struct timeline_view *v, int by)
{
    double t = v->cursor >= 0 ? (double)v->trace.events[v->cursor].t0 : v->begin;
    int row = v->row + by;
    if (row < 0 || row >= v->shown_count)
        return;
    v->row = row;
    select_at(v, fmax(t, v->begin));
}

/* To the piece of the path after or before the cursor's begin. */
static void follow_path(struct timeline_view *v, int by)
{
    double t = v->cursor >= 0 ? (double)v->trace.events[v->cursor].t0 : v->begin;
    int at = by > 0 ? v->path.count : -1;
    for (int i = 0; i < v->path.count; i++) {
        const struct path_piece *p = &v->path.pieces[i];
        bool here = p->event >= 0 && p->event == v->cursor;
        if (here) {
            at = i + by;
            break;
        }
        if (by > 0 ? (double)p->t1 > t && i < at : (double)p->t0 < t)
            at = i;
    }
    while (at >= 0 && at < v->path.count &&
           (v->path.pieces[at].event < 0 || !selectable(v, v->path.pieces[at].event)))
        at += by;
    if (at < 0 || at >= v->path.count)
        return;
    for (int k = 0; k < v->shown_count; k++)
        if (v->shown[k] == v->path.pieces[at].row)
            v->row = k;
    v->cursor = v->path.pieces[at].event;
    keep_in_sight(v);
}

static void show_all(struct timeline_view *v)
{
    v->begin = INFINITY, v->end = -INFINITY;
    for (int i = 0; i < v->trace.count; i++) {
        v->begin = fmin(v->begin, (double)v->trace.events[i].t0);
        v->end = fmax(v->end, (double)v->trace.events[i].t1);
    }
}

static void show_span(struct timeline_view *v)
{
    if (v->cursor < 0)
        return;
    const struct trace_event *x = &v->trace.events[v->cursor];
    double span = fmax((double)(x->t1 - x->t0), 1000);
    v->begin = (double)x->t0 - 0.02 * span;
    v->end = (double)x->t1 + 0.02 * span;
}

/* The next step that the trace has, in a direction. */
static void change_step(struct timeline_view *v, struct app *app, int by)
{
    for (long step = v->step + by; step >= v->trace.first_step && step <= v->trace.last_step; step += by)
        if (choose_step(v, step))
            return;
    app_message(app, ROLE_MUTED, _("The trace has steps %ld to %ld."), v->trace.first_step,
                v->trace.last_step);
}

/* --- the view --- */

static bool take_events(struct view *v)
{
    struct error e = {0};
    struct trace_data trace;
    v->events = v->run.events;
    if (!timeline_of_events(&v->run, &trace, &e)) {
        snprintf(v->t.why, sizeof v->t.why, "%s",
                 _("This run has neither a trace nor events that tell where its time went."));
        return false;
    }
    /* Whoever looks at something goes on looking at it. */
    bool again = v->t.have && v->t.from_events;
    long step = again && v->t.step <= trace.last_step ? v->t.step : 1;
    double from = v->t.begin - (double)v->t.path.begin, span = v->t.end - v->t.begin;
    double at = again && v->t.cursor >= 0 ? (double)(v->t.trace.events[v->t.cursor].t0 - v->t.path.begin) : 0;
    int row = v->t.row;
    critical_path_free(&v->t.path);
    trace_data_free(&v->t.trace);
    v->t.trace = trace;
    v->t.from_events = true;
    v->t.simulated = run_model_simulated(&v->run);
    begin(&v->t, step);
    if (again && v->t.have && v->t.step == step && row < v->t.shown_count) {
        v->t.begin = (double)v->t.path.begin + from;
        v->t.end = v->t.begin + span;
        v->t.row = row;
        select_at(&v->t, (double)v->t.path.begin + at);
    }
    return true;
}

/* What the thread has read, once it has. */
static bool take_trace(struct view *v)
{
    if (!v->work || !background_done(v->work))
        return false;
    struct reading *r = v->reading;
    if (r->ok) {
        trace_data_free(&v->t.trace);
        v->t.trace = r->trace;
        r->trace = (struct trace_data){0};
        v->t.from_events = false;
        begin(&v->t, timeline_typical_step(&v->t.trace));
    } else {
        snprintf(v->t.why, sizeof v->t.why, "%s.", r->e.text);
    }
    background_free(v->work);
    v->work = NULL;
    return true;
}

static bool has_trace(const char *dir)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/trace.json", dir);
    return access(path, R_OK) == 0;
}

static bool start_reading(struct view *v, struct error *e)
{
    v->reading = calloc(1, sizeof *v->reading);
    if (!v->reading)
        return error_set(e, ERROR_FAILED, "out of memory");
    snprintf(v->reading->dir, sizeof v->reading->dir, "%s", v->run.dir);
    v->work = background_start(read_it, release_reading, v->reading, e);
    if (!v->work)
        free(v->reading);
    return v->work != NULL;
}

static void timeline_close(void *view)
{
    struct view *v = view;
    background_free(v->work);
    critical_path_free(&v->t.path);
    trace_data_free(&v->t.trace);
    free(v->t.shown);
    run_model_free(&v->run);
    free(v);
}

static void *timeline_open(struct app *app, const char *argument, struct error *e)
{
    struct view *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    v->t.cursor = -1;
    if (!run_model_open(&v->run, argument, e)) {
        free(v);
        return NULL;
    }
    run_model_poll(&v->run, 8000);
    if (!has_trace(v->run.dir)) {
        take_events(v);
        return v;
    }
    if (!start_reading(v, e)) {
        timeline_close(v);
        return NULL;
    }
    if (app_scripted(app)) {
        background_wait(v->work);
        take_trace(v);
    }
    return v;
}

static bool timeline_tick(void *view, struct app *app, double now)
{
    struct view *v = view;
    bool changed = take_trace(v);
    (void)app;
    if (v->work || (now - v->polled < 1 && now >= v->polled))
        return changed;
    v->polled = now;
    run_model_poll(&v->run, 8000);
    if (!v->t.have || v->t.from_events) {
        struct error e = {0};
        if (has_trace(v->run.dir)) /* it comes at the end of a run */
            return start_reading(v, &e) || changed;
        if (v->run.events != v->events)
            return take_events(v) || changed;
    }
    return changed;
}

static void timeline_act(void *view, struct app *app, int action)
{
    struct view *w = view;
    struct timeline_view *v = &w->t;
    if (!v->have)
        return;
    switch (action) {
    case ACT_LEFT: move_cursor(v, -1); break;
    case ACT_RIGHT: move_cursor(v, 1); break;
    case ACT_UP: move_row(v, -1); break;
    case ACT_DOWN: move_row(v, 1); break;
    case ACT_IN: zoom(v, 0.5); break;
    case ACT_OUT: zoom(v, 2); break;
    case ACT_PAN_LEFT:
    case ACT_PAN_RIGHT: {
        double by = (action == ACT_PAN_LEFT ? -0.5 : 0.5) * (v->end - v->begin);
        v->begin += by;
        v->end += by;
        break;
    }
    case ACT_SPAN: show_span(v); break;
    case ACT_STEP: show_step(v); break;
    case ACT_ALL: show_all(v); break;
    case ACT_NEXT: change_step(v, app, 1); break;
    case ACT_BEFORE: change_step(v, app, -1); break;
    case ACT_CRITICAL: follow_path(v, 1); break;
    case ACT_CRITICAL_BACK: follow_path(v, -1); break;
    case ACT_HOPS:
        v->hops = !v->hops;
        find_shown(v);
        select_at(v, v->begin);
        break;
    }
}

/* A press selects the span there, a double one shows it alone; the wheel zooms. */
static bool timeline_click(void *view, struct app *app, int row, int col, enum mouse what)
{
    struct view *w = view;
    struct timeline_view *v = &w->t;
    (void)app;
    if (!v->have)
        return false;
    if (what == MOUSE_WHEEL_UP || what == MOUSE_WHEEL_DOWN) {
        zoom(v, what == MOUSE_WHEEL_UP ? 0.5 : 2);
        return true;
    }
    int number = (row - v->layout.first_row) / v->layout.high;
    if (row < v->layout.first_row || number >= v->layout.rows || col < v->layout.left)
        return false;
    v->row = v->top + number;
    select_at(v, v->begin + (col - v->layout.left + 0.5) * (v->end - v->begin) / v->layout.cells);
    if (what == MOUSE_DOUBLE)
        show_span(v);
    return true;
}

static void timeline_draw_view(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct view *v = view;
    (void)app;
    if (v->t.have) {
        timeline_paint(&v->t, c, area);
        return;
    }
    const char *text = v->work     ? _("Reading the trace ...")
                       : *v->t.why ? v->t.why
                                   : _("Nothing yet: the run's events will tell.");
    char more[1400];
    snprintf(more, sizeof more,
             v->work ? "%s" : _("%s 'ringside train --trace 50' records every span of 50 steps."), text);
    int width = area.cols > 64 ? 64 : area.cols - 2, rows = wrap_rows(more, width);
    wrap_text(c,
              (struct rect){area.row + (area.rows - rows) / 2, area.col + (area.cols - width) / 2, area.rows,
                            width},
              ROLE_MUTED, 0, more);
}

static void timeline_title(void *view, char *text, size_t size)
{
    struct view *v = view;
    if (run_model_simulated(&v->run))
        snprintf(text, size, _("Simulated timeline of %s"), v->run.id);
    else
        snprintf(text, size, _("Timeline of %s"), v->run.id);
}

static enum role timeline_status(void *view, char *text, size_t size)
{
    struct view *v = view;
    snprintf(text, size, "%s",
             v->work            ? _("reading")
             : !v->t.have       ? ""
             : v->t.from_events ? _("from events")
                                : _("trace"));
    return v->t.have && !v->t.from_events ? ROLE_GOOD : ROLE_WARN;
}

const struct view_class view_timeline = {
    .name = "timeline",
    .keys = timeline_keys,
    .open = timeline_open,
    .act = timeline_act,
    .click = timeline_click,
    .tick = timeline_tick,
    .draw = timeline_draw_view,
    .title = timeline_title,
    .status = timeline_status,
    .close = timeline_close,
};
