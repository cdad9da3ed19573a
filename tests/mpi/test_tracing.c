/*
 * Traces of several ranks whose clocks disagree: what ping-pong makes of that, and the merged file, in which the
 * parts of one collective lie over each other again.
 */
#include "tests/mpi/tap.h"

#include "engine/base/trace_read.h"
#include "engine/base/trace_write.h"
#include "engine/comm/tracing.h"

#include <math.h>
#include <unistd.h>

enum { FIRST = 3, STEPS = 4, ALL = 10, LENGTH = 20000 };

#define AHEAD_S 0.75 /* each rank's clock is ahead of the one before it */

/* The last event of a name that rank 0 emitted. */
struct kept {
    struct event_sink sink;
    json_t *trace;
    int notes;
};

static bool keep(struct event_sink *sink, json_t *event, struct error *e)
{
    struct kept *k = (struct kept *)sink;
    const char *name = json_string_value(json_object_get(event, "ev"));
    (void)e;
    k->notes += strcmp(name, "note") == 0;
    if (strcmp(name, "trace") == 0) {
        json_decref(k->trace);
        k->trace = json_incref(event);
    }
    json_decref(event);
    return true;
}

/* The rank whose clock is ahead by so much believes that the run began so much earlier. */
static struct kept kept_new(struct tap *tap)
{
    return (struct kept){
        .sink = {.emit = keep, .started = sink_clock() - 1 - AHEAD_S * comm_rank(tap->comm)}};
}

static void test_clocks(struct tap *tap)
{
    struct error e = {0};
    int size = comm_size(tap->comm);
    double *offsets = calloc((size_t)size, sizeof *offsets), *bounds = calloc((size_t)size, sizeof *bounds);
    char text[256] = "";
    /* One moment for all: ranks of one host read the same clock. */
    double now = sink_clock();
    bool ok = comm_broadcast(tap->comm, &now, sizeof now, 0, &e);
    for (int which = 0; which < 2; which++) {
        double ahead = which ? AHEAD_S : 0;
        struct trace *t = trace_new(now - ahead * comm_rank(tap->comm), size, &e);
        ok = ok && t && comm_clock_offsets(tap->comm, t, offsets, bounds, &e);
        for (int r = 0; ok && comm_rank(tap->comm) == 0 && r < size; r++) {
            double off = fabs(offsets[r] - ahead * r);
            ok = off <= bounds[r] + 1e-6 && bounds[r] < 0.1 && (ahead > 0 || offsets[r] == 0);
            snprintf(text, sizeof text, "rank %d: %g s off, bound %g s", r, off, bounds[r]);
        }
        trace_free(t);
    }
    free(offsets);
    free(bounds);
    tap_check(tap, "clocks are compared within the bound that is stated", ok, *e.text ? e.text : text);
}

static bool one_step(struct tap *tap, struct tracing *t, float *x, struct hop_log *log, long step,
                     struct error *e)
{
    struct trace_lane *lane = trace_lane(tracing_trace(t), TRACE_LANE_MAIN, "compute");
    double seconds = 0;
    if (!tracing_step(t, step, &seconds, e))
        return false;
    int64_t began = trace_now(lane), at = began;
    usleep(500 + 1500 * (unsigned)comm_rank(tap->comm)); /* the last rank is the slowest */
    at = trace_span(lane, at, TRACE_FORWARD, -1);
    if (!comm_allreduce(tap->comm, "ring", x, LENGTH, tracing_begins(t, step) ? log : NULL, e))
        return false;
    trace_reduce(lane, at, TRACE_ALLREDUCE, -1, LENGTH * 4, trace_name(tracing_trace(t), "ring"));
    if (tracing_begins(t, step))
        hop_log_trace(log, lane);
    trace_span(lane, began, TRACE_STEP, -1);
    return true;
}

static const struct trace_event *sum_of(const struct trace_data *d, int rank, int step)
{
    const struct trace_row *row = trace_data_row(d, rank, TRACE_LANE_MAIN);
    for (int i = 0; row && i < row->count; i++) {
        const struct trace_event *x = &d->events[row->first + i];
        if (x->kind == TRACE_ALLREDUCE && x->step == step)
            return x;
    }
    return NULL;
}

/* Nobody leaves an allreduce before the last has come to it: with the clocks set right, all of them share a moment. */
static bool sums_overlap(const struct trace_data *d, int64_t bound, char *text)
{
    for (int step = FIRST; step < FIRST + STEPS; step++) {
        int64_t last_begin = 0, first_end = INT64_MAX;
        for (int r = 0; r < d->ranks; r++) {
            const struct trace_event *x = sum_of(d, r, step);
            if (!x)
                return false;
            last_begin = x->t0 > last_begin ? x->t0 : last_begin;
            first_end = x->t1 < first_end ? x->t1 : first_end;
        }
        snprintf(text, 256, "step %d: the last begins at %lld, the first ends at %lld ns", step,
                 (long long)last_begin, (long long)first_end);
        if (d->ranks > 1 && last_begin > first_end + 2 * bound)
            return false;
    }
    return true;
}

static void test_merge(struct tap *tap)
{
    struct error e = {0};
    char dir[64] = "/tmp/ringside-tracing-XXXXXX", text[256] = "";
    bool first = comm_rank(tap->comm) == 0, ok = !first || mkdtemp(dir);
    ok = comm_broadcast(tap->comm, dir, sizeof dir, 0, &e) && ok;
    struct kept kept = kept_new(tap);
    struct tracing_spec spec = {
        .comm = tap->comm, .sink = &kept.sink, .rundir = dir, .job = "train", .first = FIRST, .steps = STEPS};
    struct tracing *t = NULL;
    struct hop_log *log = hop_log_new(&e);
    float *x = comm_buffer(tap->comm, LENGTH, &e);
    ok = ok && log && x && tracing_new(&spec, &t, &e);
    for (long step = 1; ok && step <= ALL; step++)
        ok = one_step(tap, t, x, log, step, &e);
    ok = ok && tracing_finish(t, &e);
    tap_check(tap, "a trace is recorded and merged", ok && kept.notes == 0 && (!first || kept.trace), e.text);
    struct trace_data d = {0};
    int ranks = comm_size(tap->comm), hops = 0;
    if (first && ok) {
        ok = trace_data_read(dir, &d, &e) && d.ranks == ranks && d.first_step == FIRST &&
             d.last_step == FIRST + STEPS - 1 && fabs(d.offset_s - AHEAD_S * (ranks - 1)) < d.bound_s + 1e-3;
        for (int i = 0; ok && i < d.count; i++)
            hops += d.events[i].kind == TRACE_HOP;
        ok = ok && sums_overlap(&d, (int64_t)(d.bound_s * 1e9) + 1000, text) &&
             hops ==
                 (ranks > 1 ? 2 * 2 * (ranks - 1) * ranks : 0); /* each transfer, as both its ranks saw it */
        ok = ok && json_integer_value(json_object_get(kept.trace, "steps")) == STEPS;
    }
    tap_check(tap, "the ranks' parts of a collective overlap once clocks are set right", ok,
              *e.text ? e.text : text);
    trace_data_free(&d);
    tracing_free(t);
    json_decref(kept.trace);
    hop_log_free(log);
    comm_buffer_free(tap->comm, x);
    if (first) {
        char path[96];
        snprintf(path, sizeof path, "%s/" TRACE_FILE, dir);
        unlink(path);
        ok = rmdir(dir) == 0;
    }
    tap_check(tap, "nothing else is left in the run's folder", ok, NULL);
}

/* Stopped before the last of the steps; a folder that cannot be written; a rank that failed; no trace at all. */
static void test_ends(struct tap *tap)
{
    struct error e = {0};
    bool first = comm_rank(tap->comm) == 0;
    char dir[64] = "/tmp/ringside-tracing-XXXXXX", path[96];
    bool ok = !first || mkdtemp(dir);
    ok = comm_broadcast(tap->comm, dir, sizeof dir, 0, &e) && ok;
    snprintf(path, sizeof path, "%s/" TRACE_FILE, dir);
    float x[LENGTH] = {0};
    struct hop_log *log = hop_log_new(&e);
    struct kept kept = kept_new(tap);
    struct tracing_spec spec = {
        .comm = tap->comm, .sink = &kept.sink, .rundir = dir, .job = "train", .first = 1, .steps = 50};
    struct tracing *t = NULL;
    struct trace_data d = {0};
    ok = ok && tracing_new(&spec, &t, &e) && one_step(tap, t, x, log, 1, &e) &&
         one_step(tap, t, x, log, 2, &e) && tracing_finish(t, &e);
    if (first && ok)
        ok = trace_data_read(dir, &d, &e) && d.last_step == 2 && !d.incomplete;
    tap_check(tap, "a run that is stopped early has a trace", ok, e.text);
    trace_data_free(&d);
    tracing_free(t);
    t = NULL;

    ok = tracing_new(&spec, &t, &e) && one_step(tap, t, x, log, 1, &e);
    tracing_abandon(t);
    if (first && ok)
        ok = trace_data_read(dir, &d, &e) && d.incomplete && d.ranks == 1;
    tap_check(tap, "rank 0 alone writes what it saw where another failed", ok, e.text);
    trace_data_free(&d);
    tracing_free(t);
    t = NULL;
    unlink(path);
    ok = !first || rmdir(dir) == 0;

    ok = ok && tracing_new(&spec, &t, &e) && one_step(tap, t, x, log, 1, &e) && tracing_finish(t, &e) &&
         one_step(tap, t, x, log, 2, &e);
    tap_check(tap, "a trace that cannot be written is a note and no failure", ok && kept.notes == first,
              e.text);
    tracing_free(t);
    t = NULL;

    spec.steps = 0;
    ok = tracing_new(&spec, &t, &e) && !t && one_step(tap, t, x, log, 1, &e) && tracing_finish(t, &e);
    tracing_abandon(t);
    tap_check(tap, "no trace is asked for", ok, e.text);
    json_decref(kept.trace);
    hop_log_free(log);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    test_clocks(&tap);
    test_merge(&tap);
    test_ends(&tap);
    return tap_close(&tap);
}
