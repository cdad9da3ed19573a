/*
 * ring.c - the ring view: a sampled operation of a run, hop by hop in slow motion; or any algorithm from its schedule.
 *
 * The argument is a run, or "schedule" or "schedule:RANKS:ALGORITHM": then no run is needed, and every screen says that it
 * shows what the schedule says. `a` and `n` go from a run's operation to the schedules, `o` back. The picture moves only while something plays: how many frames a second depends on how
 * many messages move, so that a slow line is not flooded (each moving message costs some 45 bytes a frame).
 */
#include "engine/spec/cost.h"
#include "tui/app.h"
#include "tui/axis.h"
#include "tui/ring_draw.h"
#include "tui/ring_model.h"
#include "tui/run_view.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUND_S 1.8         /* a round on the screen at speed 1 */
#define TRAVEL_SHARE 0.7    /* of it the messages move; then the result stands */
#define END_S 2.0           /* the last picture stands before a newer operation follows */
#define BYTES_PER_S 1500.0  /* the animation's share of the line */
#define BYTES_PER_MOVE 50.0 /* a message moved by one cell: two places, colours and all */
#define POLL_S 0.2
enum { EVENTS_A_POLL = 8000 };

enum {
    ACT_PAUSE = 1,
    ACT_STEP,
    ACT_BACK,
    ACT_FASTER,
    ACT_SLOWER,
    ACT_RESTART,
    ACT_END,
    ACT_OPERATION,
    ACT_OPERATION_BACK,
    ACT_LIVE,
    ACT_ALGO,
    ACT_ALGO_BACK,
    ACT_MORE,
    ACT_FEWER,
    ACT_BYTES,
    ACT_LAYOUT
};

static const struct key_binding ring_keys[] = {
    {' ', ACT_PAUSE, N_("pause"), N_("pause or go on")},
    {'.', ACT_STEP, N_("step"), N_("one round on")},
    {KEY_CODE_RIGHT, ACT_STEP, NULL, NULL},
    {KEY_CODE_LEFT, ACT_BACK, N_("back"), N_("one round back")},
    {'+', ACT_FASTER, N_("speed"), N_("faster")},
    {'=', ACT_FASTER, NULL, NULL},
    {'-', ACT_SLOWER, N_("speed"), N_("slower")},
    {'a', ACT_ALGO, N_("algorithm"),
     N_("from its schedule, without a run: the next algorithm or collective")},
    {'A', ACT_ALGO_BACK, NULL, N_("the algorithm or collective before")},
    {'n', ACT_MORE, N_("ranks"), N_("from its schedule: a rank more")},
    {'N', ACT_FEWER, NULL, N_("a rank fewer")},
    {'b', ACT_BYTES, NULL, N_("from its schedule: a larger buffer; after the largest, the smallest")},
    {'o', ACT_OPERATION, N_("next op"), N_("the run's next sampled operation")},
    {'O', ACT_OPERATION_BACK, NULL, N_("the run's sampled operation before")},
    {'l', ACT_LAYOUT, N_("layout"), N_("ranks around a ring, or side by side with all rounds")},
    {'f', ACT_LIVE, N_("live"), N_("follow the run: always its latest operation")},
    {KEY_CODE_HOME, ACT_RESTART, NULL, N_("from the first round")},
    {'0', ACT_RESTART, NULL, NULL},
    {KEY_CODE_END, ACT_END, NULL, N_("after the last round")},
    {0, 0, NULL, NULL},
};

enum { SCHEDULE_RANKS = 8, NAME = 32 };
static const double BUFFERS[] = {4096, 65536, 1048576, 16777216, 268435456};

struct ring_view {
    struct run_model run;
    bool has_run;
    struct ring_model ring;
    bool built;
    long op;         /* which one is shown */
    int built_count; /* its messages when the model was built */
    bool built_whole;
    bool schedule; /* what is shown comes from a schedule */
    char algo[NAME];
    int ranks;  /* of the schedule */
    int buffer; /* in BUFFERS */
    enum ring_layout layout;
    int round;
    double travelled; /* share of the round's time that has passed */
    double speed;
    bool paused, live;
    double last, polled, ended; /* seconds since the epoch; 0: not yet */
    int frame;
    uint64_t *sets;
    char state[1100];
    char why[1100]; /* why an operation cannot be drawn */
    struct key_binding footer[sizeof ring_keys / sizeof *ring_keys];
};

static void drop(struct ring_view *v)
{
    ring_model_free(&v->ring);
    free(v->sets);
    v->sets = NULL;
    v->built = false;
}

/* Whether no more messages of it can come: the run is over, or another operation followed. */
static bool is_whole(const struct ring_view *v, const struct run_op *op)
{
    return v->schedule || run_model_ended(&v->run) || op->op != v->run.ops[v->run.op_count - 1].op;
}

static bool build(struct ring_view *v, const struct run_op *op)
{
    drop(v);
    struct error e = {0};
    v->op = op->op;
    v->built_count = op->count;
    v->built_whole = is_whole(v, op);
    v->why[0] = '\0';
    if (!ring_model_build(&v->ring, op, v->built_whole, &e)) {
        snprintf(v->why, sizeof v->why, "%s.", e.text);
        return false;
    }
    v->sets = calloc((size_t)v->ring.ranks * (size_t)v->ring.chunks + 1, sizeof *v->sets);
    v->built = v->sets != NULL;
    if (v->round > v->ring.rounds)
        v->round = v->ring.rounds;
    return v->built;
}

static void start(struct ring_view *v, const struct run_op *op)
{
    v->round = 0;
    v->travelled = 0;
    v->ended = 0;
    v->frame = 0;
    build(v, op);
}

/* The schedule of v->algo for v->ranks. */
static void start_schedule(struct ring_view *v)
{
    struct run_op op;
    struct error e = {0};
    v->schedule = true;
    v->live = false;
    if (ring_schedule_op(&op, v->algo, v->ranks, BUFFERS[v->buffer], &cost_default_network, &e)) {
        start(v, &op);
        free(op.hops);
        return;
    }
    drop(v);
    snprintf(v->why, sizeof v->why, "%s.", e.text);
}

static double bytes_of(const struct run_op *op)
{
    double sum = 0;
    for (int i = 0; i < op->count; i++)
        sum += op->hops[i].bytes;
    return sum;
}

/* Of a rank script's many cases the one that shows most on a small screen: four or five ranks with something to send. */
static const struct run_op *most_telling(const struct run_model *m)
{
    const struct run_op *best = &m->ops[0];
    double best_score = -INFINITY;
    for (int i = 0; i < m->op_count; i++) {
        const struct run_op *op = &m->ops[i];
        double score = (op->ranks <= 5 ? 2 * op->ranks : 5) + 1 - 1 / (1 + bytes_of(op));
        score -= bytes_of(op) < 4.0 * op->count ? 100 : 0;
        if (score > best_score) {
            best = op;
            best_score = score;
        }
    }
    return best;
}

/* An operation whose messages are still being written waits until it is followed or the run is still. */
static bool refresh(struct ring_view *v)
{
    if (!v->run.op_count || v->schedule)
        return false;
    const struct run_op *latest = &v->run.ops[v->run.op_count - 1], *shown = run_model_op(&v->run, v->op);
    if (!v->built) {
        start(v, v->live ? latest : most_telling(&v->run));
        return true;
    }
    if (shown && (shown->count != v->built_count || is_whole(v, shown) != v->built_whole))
        return build(v, shown);
    return false;
}

/* "schedule:8:halving_doubling"; false: the argument is a run. */
static bool asks_for_schedule(struct ring_view *v, const char *argument)
{
    int used = 0;
    if (argument && strncmp(argument, "schedule", 8) != 0)
        return false;
    if (argument && (sscanf(argument, "schedule:%d:%n", &v->ranks, &used) < 1 || v->ranks < 2 ||
                     v->ranks > RING_MAX_RANKS))
        v->ranks = SCHEDULE_RANKS;
    if (used)
        snprintf(v->algo, sizeof v->algo, "%s", argument + used);
    return true;
}

static void *ring_open(struct app *app, const char *argument, struct error *e)
{
    struct ring_view *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    v->speed = 1;
    v->last = app_now(app);
    v->ranks = SCHEDULE_RANKS;
    v->buffer = 2;
    strcpy(v->algo, "ring");
    run_model_init(&v->run);
    if (asks_for_schedule(v, argument)) {
        start_schedule(v);
        return v;
    }
    if (!run_model_open(&v->run, argument, e)) {
        free(v);
        return NULL;
    }
    v->has_run = true;
    run_model_poll(&v->run, EVENTS_A_POLL);
    v->live = !run_model_ended(&v->run);
    refresh(v);
    return v;
}

static void ring_close(void *view)
{
    struct ring_view *v = view;
    drop(v);
    run_model_free(&v->run);
    free(v);
}

static double round_s(const struct ring_view *v)
{
    return ROUND_S / v->speed;
}

/* Pictures in a round: as many as the line carries. */
static int frames(const struct ring_view *v)
{
    int moving = v->round < v->ring.rounds ? v->ring.first[v->round + 1] - v->ring.first[v->round] : 1;
    double per_s = BYTES_PER_S / (BYTES_PER_MOVE * (moving > 0 ? moving : 1));
    per_s = per_s > 10 ? 10 : per_s < 1.5 ? 1.5 : per_s;
    int count = (int)(per_s * round_s(v));
    return count < 2 ? 2 : count;
}

static bool advance(struct ring_view *v, double now)
{
    double passed = now - v->last;
    v->last = now;
    if (!v->built || v->paused)
        return false;
    if (v->round >= v->ring.rounds) {
        if (v->ended == 0)
            v->ended = now;
        const struct run_op *latest = v->run.op_count ? &v->run.ops[v->run.op_count - 1] : NULL;
        if (v->live && latest && latest->op != v->op && now - v->ended > END_S) {
            start(v, latest);
            return true;
        }
        return false;
    }
    if (passed > 0.5)
        passed = 0.5; /* the application was away: go on from where it was */
    v->travelled += passed / round_s(v);
    if (v->travelled >= 1) {
        v->travelled = 0;
        v->round++;
        v->frame = 0;
        return true;
    }
    int frame = (int)(v->travelled * frames(v));
    bool changed = frame != v->frame;
    v->frame = frame;
    return changed;
}

static bool ring_tick(void *view, struct app *app, double now)
{
    (void)app;
    struct ring_view *v = view;
    bool changed = false;
    if (v->has_run && (!(now - v->polled < POLL_S) || now < v->polled)) {
        v->polled = now;
        bool had = v->built;
        run_model_poll(&v->run, EVENTS_A_POLL);
        changed = refresh(v) || had != v->built;
    }
    return advance(v, now) || changed;
}

static void next_operation(struct ring_view *v, struct app *app, int by)
{
    if (!v->has_run) {
        app_message(app, ROLE_MUTED, "%s", _("There is no run here: 'a' takes the next algorithm."));
        return;
    }
    if (v->run.op_count < 2 && !(v->schedule && v->run.op_count)) {
        app_message(app, ROLE_MUTED, "%s",
                    v->run.op_count ? _("This run has one sampled operation.")
                                    : _("No operation has been sampled yet."));
        return;
    }
    int at = 0;
    while (at < v->run.op_count && v->run.ops[at].op != v->op)
        at++;
    v->live = false;
    if (v->schedule)
        at = by > 0 ? v->run.op_count - 1 : 0;
    v->schedule = false;
    start(v, &v->run.ops[(at + v->run.op_count + by) % v->run.op_count]);
}

/* From the schedule: another algorithm (by), or so many ranks more. Begins with what the run has. */
static void change_schedule(struct ring_view *v, int by, int ranks)
{
    if (!v->schedule && v->built) {
        v->ranks = v->ring.ranks;
        if (!v->ring.yours)
            snprintf(v->algo, sizeof v->algo, "%s", v->ring.algo);
    }
    v->ranks += ranks;
    v->ranks = v->ranks < 2 ? 2 : v->ranks > RING_MAX_RANKS ? RING_MAX_RANKS : v->ranks;
    int count = 1, at = 0;
    while (ring_schedule_name(count))
        count++;
    while (at < count - 1 && strncmp(ring_schedule_name(at), v->algo, strcspn(v->algo, ":")) != 0)
        at++;
    const char *name = ring_schedule_name((at + count + by) % count);
    int per_host = 2;
    while (v->ranks % per_host) /* hosts of which there are several, as equal as can be */
        per_host++;
    if (!strcmp(name, "hierarchical") && per_host < v->ranks)
        snprintf(v->algo, sizeof v->algo, "%s:%d", name, per_host);
    else if (by || !strcmp(name, "hierarchical"))
        snprintf(v->algo, sizeof v->algo, "%s", name);
    start_schedule(v);
}

static void follow_live(struct ring_view *v, struct app *app)
{
    if (!v->has_run)
        return;
    v->live = !v->live;
    if (v->live) {
        v->paused = false;
        if (v->run.op_count && (v->schedule || v->run.ops[v->run.op_count - 1].op != v->op)) {
            v->schedule = false;
            start(v, &v->run.ops[v->run.op_count - 1]);
        }
    }
    app_message(app, ROLE_MUTED, "%s",
                v->live ? _("Following the run: its latest operation comes next.")
                        : _("Staying with this operation."));
}

static struct ring_scene scene_of(const struct ring_view *v)
{
    double travel = v->travelled / TRAVEL_SHARE;
    bool arrived = travel >= 1 && v->round < v->ring.rounds;
    return (struct ring_scene){
        .model = &v->ring,
        .sets = v->sets,
        .round = v->round,
        .travel = arrived ? 1 : travel,
        .shown_s = ROUND_S / v->speed,
        .times = v->schedule                    ? RING_PREDICTED
                 : run_model_simulated(&v->run) ? RING_SIMULATED
                                                : RING_MEASURED,
        .layout = v->layout,
        .paused = v->paused,
    };
}

static void change_layout(struct ring_view *v)
{
    struct ring_scene s = scene_of(v);
    if (v->built)
        v->layout = ring_layout_of(&s) == RING_ROWS ? RING_AROUND : RING_ROWS;
}

/* Stands at a round, or after the last one. */
static void stand_at(struct ring_view *v, int round)
{
    v->paused = true;
    v->round = round < 0 || !v->built ? 0 : round > v->ring.rounds ? v->ring.rounds : round;
    v->travelled = v->ended = 0;
}

static void ring_act(void *view, struct app *app, int action)
{
    struct ring_view *v = view;
    switch (action) {
    case ACT_PAUSE: v->paused = !v->paused; break;
    case ACT_STEP: stand_at(v, v->round + 1); break;
    case ACT_BACK: stand_at(v, v->round - 1); break;
    case ACT_END: stand_at(v, v->ring.rounds); break;
    case ACT_FASTER: v->speed = fmin(v->speed * 1.5, 12); break;
    case ACT_SLOWER: v->speed = fmax(v->speed / 1.5, 0.1); break;
    case ACT_RESTART:
        v->round = 0;
        v->travelled = v->ended = 0;
        break;
    case ACT_OPERATION: next_operation(v, app, 1); break;
    case ACT_OPERATION_BACK: next_operation(v, app, -1); break;
    case ACT_LIVE: follow_live(v, app); break;
    case ACT_ALGO: change_schedule(v, 1, 0); break;
    case ACT_ALGO_BACK: change_schedule(v, -1, 0); break;
    case ACT_MORE: change_schedule(v, 0, 1); break;
    case ACT_FEWER: change_schedule(v, 0, -1); break;
    case ACT_BYTES:
        v->buffer = (v->buffer + 1) % (int)(sizeof BUFFERS / sizeof *BUFFERS);
        change_schedule(v, 0, 0);
        break;
    case ACT_LAYOUT: change_layout(v); break;
    }
    v->frame = -1;
}

/* Without a run there is none to follow, and no operation of it. */
static const struct key_binding *ring_footer(void *view)
{
    struct ring_view *v = view;
    int n = 0;
    for (const struct key_binding *k = ring_keys; k->action; k++)
        if (v->has_run ||
            (k->action != ACT_OPERATION && k->action != ACT_OPERATION_BACK && k->action != ACT_LIVE))
            v->footer[n++] = *k;
    v->footer[n] = (struct key_binding){0, 0, NULL, NULL};
    return v->footer;
}

/* The wheel goes from round to round. */
static bool ring_click(void *view, struct app *app, int row, int col, enum mouse what)
{
    struct ring_view *v = view;
    (void)app, (void)row, (void)col;
    if (what != MOUSE_WHEEL_UP && what != MOUSE_WHEEL_DOWN)
        return false;
    stand_at(v, v->round + (what == MOUSE_WHEEL_DOWN ? 1 : -1));
    v->frame = -1;
    return true;
}

/* Why there is nothing to see, and what to do. */
static const char *nothing(struct ring_view *v)
{
    const struct run_model *m = &v->run;
    if (v->why[0])
        return v->why;
    if (m->status.state == RUN_FAILED || m->status.state == RUN_PENDING || m->status.state == RUN_LOST) {
        run_model_state_text(m, v->state, sizeof v->state);
        return v->state;
    }
    if (m->have_job && (m->job.kind == JOB_SCRIPT || m->job.kind == JOB_CHECK) && m->op_count == 0)
        return _("A script has no ranks of its own. Open one of the runs it started to see a ring.");
    if (m->have_job && m->job.kind != JOB_RANKS && m->ranks == 1)
        return _("One rank has nobody to send to. Start the job with --ranks 2 or more to see a ring.");
    if (m->have_job && m->job.kind == JOB_TRAIN && !strcmp(m->job.train.algo, "mpi"))
        return _("MPI_Allreduce keeps its messages to itself. Train with --algo ring to see every hop.");
    if (run_model_ended(m))
        return _("This run recorded no hops. 'ringside train --ranks 4' or 'ringside allreduce --ranks 4' "
                 "record some; 'a' shows the algorithms from their schedules.");
    return _("No hops yet. The first ones come with the first allreduce that is sampled. 'a' shows the "
             "algorithms from their schedules.");
}

static void ring_view_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    (void)app;
    struct ring_view *v = view;
    area = run_draw_slowed(&v->run, c, area);
    if (!v->built) {
        const char *text = nothing(v);
        int width = area.cols > 64 ? 64 : area.cols - 2, rows = wrap_rows(text, width);
        struct rect middle = {area.row + (area.rows - rows) / 2, area.col + (area.cols - width) / 2,
                              area.rows, width};
        wrap_text(c, middle, ROLE_MUTED, 0, text);
        return;
    }
    struct ring_scene scene = scene_of(v);
    ring_model_state(&v->ring, v->round + (scene.travel >= 1 && v->round < v->ring.rounds), v->sets);
    ring_draw(c, area, &scene);
}

static void ring_title(void *view, char *text, size_t size)
{
    struct ring_view *v = view;
    const char *name = v->ring.algo[0] ? v->ring.algo : _("operation");
    if (v->schedule)
        snprintf(text, size, _("%s, %d ranks: from the schedule"), v->algo, v->ranks);
    else if (!v->built)
        snprintf(text, size, _("Ring of %s"), v->run.id);
    else if (run_model_simulated(&v->run))
        snprintf(text, size, _("%s, %d ranks: simulated, %s"), name, v->ring.ranks, v->run.id);
    else
        snprintf(text, size, _("%s, %d ranks: %s"), name, v->ring.ranks, v->run.id);
}

static enum role ring_status(void *view, char *text, size_t size)
{
    struct ring_view *v = view;
    if (!v->built) {
        snprintf(text, size, "%s", v->schedule ? "" : _(run_state_name(v->run.status.state)));
        return ROLE_MUTED;
    }
    int faults = v->ring.fault_count;
    char first[64];
    if (faults)
        snprintf(first, sizeof first, text_plural("%d fault", "%d faults", faults), faults);
    else if (v->schedule)
        snprintf(first, sizeof first, "%s", _("schedule"));
    else
        snprintf(first, sizeof first, _("op %ld"), v->op);
    snprintf(text, size, "%s%s%s", first, v->live ? _(", live") : "", v->paused ? _(", paused") : "");
    return faults ? ROLE_BAD : v->paused ? ROLE_WARN : ROLE_GOOD;
}

const struct view_class view_ring = {
    .name = "ring",
    .keys = ring_keys,
    .footer = ring_footer,
    .open = ring_open,
    .act = ring_act,
    .click = ring_click,
    .tick = ring_tick,
    .draw = ring_view_draw,
    .title = ring_title,
    .status = ring_status,
    .close = ring_close,
};
