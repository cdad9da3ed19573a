/*
 * ring.c - the ring view: a sampled operation of a run, hop by hop in slow motion.
 *
 * The argument is a run. The picture moves only while something plays: how many frames a second depends on how
 * many messages move, so that a slow line is not flooded (each moving message costs some 45 bytes a frame).
 */
#include "tui/app.h"
#include "tui/axis.h"
#include "tui/ring_draw.h"
#include "tui/ring_model.h"
#include "tui/run_view.h"
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

enum { ACT_PAUSE = 1, ACT_STEP, ACT_BACK, ACT_FASTER, ACT_SLOWER, ACT_RESTART, ACT_OPERATION, ACT_LIVE };

static const struct key_binding ring_keys[] = {
    {' ', ACT_PAUSE, "pause", "pause or go on"},
    {'.', ACT_STEP, "step", "one round on"},
    {KEY_CODE_RIGHT, ACT_STEP, NULL, NULL},
    {KEY_CODE_LEFT, ACT_BACK, "back", "one round back"},
    {'+', ACT_FASTER, "speed", "faster"},
    {'=', ACT_FASTER, NULL, NULL},
    {'-', ACT_SLOWER, "speed", "slower"},
    {KEY_CODE_HOME, ACT_RESTART, "restart", "from the first round"},
    {'0', ACT_RESTART, NULL, NULL},
    {'o', ACT_OPERATION, "next op", "the next sampled operation"},
    {'f', ACT_LIVE, "live", "follow the run: always its latest operation"},
    {0, 0, NULL, NULL},
};

struct ring_view {
    struct run_model run;
    struct ring_model ring;
    bool built;
    long op;         /* which one is shown */
    int built_count; /* its messages when the model was built */
    int round;
    double travelled; /* share of the round's time that has passed */
    double speed;
    bool paused, live;
    double last, polled, ended; /* seconds since the epoch; 0: not yet */
    int frame;
    uint64_t *sets;
    char state[1100];
    char why[1100]; /* why an operation cannot be drawn */
};

static void drop(struct ring_view *v)
{
    ring_model_free(&v->ring);
    free(v->sets);
    v->sets = NULL;
    v->built = false;
}

static bool build(struct ring_view *v, const struct run_op *op)
{
    drop(v);
    struct error e = {0};
    v->op = op->op;
    v->built_count = op->count;
    if (!ring_model_build(&v->ring, op, &e)) {
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
    if (!v->run.op_count)
        return false;
    const struct run_op *latest = &v->run.ops[v->run.op_count - 1], *shown = run_model_op(&v->run, v->op);
    if (!v->built) {
        start(v, v->live ? latest : most_telling(&v->run));
        return true;
    }
    if (shown && shown->count != v->built_count)
        return build(v, shown);
    return false;
}

static void *ring_open(struct app *app, const char *argument, struct error *e)
{
    struct ring_view *v = calloc(1, sizeof *v);
    if (!v) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    if (!run_model_open(&v->run, argument, e)) {
        free(v);
        return NULL;
    }
    v->speed = 1;
    v->last = app_now(app);
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
    if (!(now - v->polled < POLL_S) || now < v->polled) {
        v->polled = now;
        bool had = v->built;
        run_model_poll(&v->run, EVENTS_A_POLL);
        changed = refresh(v) || had != v->built;
    }
    return advance(v, now) || changed;
}

static void next_operation(struct ring_view *v, struct app *app)
{
    if (v->run.op_count < 2) {
        app_message(app, ROLE_MUTED, "%s",
                    v->run.op_count ? "This run has one sampled operation."
                                    : "No operation has been sampled yet.");
        return;
    }
    int at = 0;
    while (at < v->run.op_count && v->run.ops[at].op != v->op)
        at++;
    v->live = false;
    start(v, &v->run.ops[(at + 1) % v->run.op_count]);
}

static void ring_act(void *view, struct app *app, int action)
{
    struct ring_view *v = view;
    switch (action) {
    case ACT_PAUSE: v->paused = !v->paused; break;
    case ACT_STEP:
        v->paused = true;
        if (v->built && v->round < v->ring.rounds)
            v->round++;
        v->travelled = 0;
        break;
    case ACT_BACK:
        v->paused = true;
        if (v->round > 0)
            v->round--;
        v->travelled = 0;
        v->ended = 0;
        break;
    case ACT_FASTER: v->speed = fmin(v->speed * 1.5, 12); break;
    case ACT_SLOWER: v->speed = fmax(v->speed / 1.5, 0.1); break;
    case ACT_RESTART:
        v->round = 0;
        v->travelled = v->ended = 0;
        break;
    case ACT_OPERATION: next_operation(v, app); break;
    case ACT_LIVE:
        v->live = !v->live;
        if (v->live) {
            v->paused = false;
            if (v->run.op_count && v->run.ops[v->run.op_count - 1].op != v->op)
                start(v, &v->run.ops[v->run.op_count - 1]);
        }
        app_message(app, ROLE_MUTED, "%s",
                    v->live ? "Following the run: its latest operation comes next."
                            : "Staying with this operation.");
        break;
    }
    v->frame = -1;
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
        return "A script has no ranks of its own. Open one of the runs it started to see a ring.";
    if (m->have_job && m->job.kind != JOB_RANKS && m->ranks == 1)
        return "One rank has nobody to send to. Start the job with --ranks 2 or more to see a ring.";
    if (m->have_job && m->job.kind == JOB_TRAIN && !strcmp(m->job.train.algo, "mpi"))
        return "MPI_Allreduce keeps its messages to itself. Train with --algo ring to see every hop.";
    if (run_model_ended(m))
        return "This run recorded no hops. 'ringside train --ranks 4' or 'ringside allreduce --ranks 4' "
               "record some.";
    return "No hops yet. The first ones come with the first allreduce that is sampled.";
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
    double travel = v->travelled / TRAVEL_SHARE;
    bool arrived = travel >= 1 && v->round < v->ring.rounds;
    ring_model_state(&v->ring, v->round + arrived, v->sets);
    struct ring_scene scene = {
        .model = &v->ring,
        .sets = v->sets,
        .round = v->round,
        .travel = arrived ? 1 : travel,
        .shown_s = round_s(v),
        .simulated = run_model_simulated(&v->run),
        .paused = v->paused,
    };
    ring_draw(c, area, &scene);
}

static void ring_title(void *view, char *text, size_t size)
{
    struct ring_view *v = view;
    if (!v->built)
        snprintf(text, size, "Ring of %s", v->run.id);
    else
        snprintf(text, size, "%s of %s: %s, %d ranks",
                 run_model_simulated(&v->run) ? "Simulated ring" : "Ring", v->run.id,
                 v->ring.algo[0] ? v->ring.algo : "operation", v->ring.ranks);
}

static enum role ring_status(void *view, char *text, size_t size)
{
    struct ring_view *v = view;
    if (!v->built) {
        snprintf(text, size, "%s", run_state_name(v->run.status.state));
        return ROLE_MUTED;
    }
    snprintf(text, size, "op %ld%s%s", v->op, v->live ? ", live" : "", v->paused ? ", paused" : "");
    return v->paused ? ROLE_WARN : ROLE_GOOD;
}

const struct view_class view_ring = {
    .name = "ring",
    .keys = ring_keys,
    .open = ring_open,
    .act = ring_act,
    .tick = ring_tick,
    .draw = ring_view_draw,
    .title = ring_title,
    .status = ring_status,
    .close = ring_close,
};
