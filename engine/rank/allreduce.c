/*
 * allreduce.c - collectives, timed and checked, after the manner of nccl-tests.
 *
 * At each size the algorithms take turns within every iteration, so that a disturbance meets all alike; in
 * place and out of place are cases of their own. Short operations are repeated within an iteration, since a
 * clock and a barrier cost as much as they do. The time of an iteration is the longest of any rank's; the
 * time reported is the median, beside what the cost model (engine/spec/cost.h) makes of the latency and
 * bandwidth measured at the start. --tune also keeps which was the fastest at each size. NCCL's sums are those of
 * buffers in the memory of GPUs, filled from the host's and checked there.
 */
#include "engine/rank/rank.h"

#include "engine/base/activity.h"
#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/base/timing.h"
#include "engine/comm/tracing.h"
#include "engine/rank/allreduce_gpu.h"
#include "engine/rank/collective_check.h"
#include "engine/spec/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ALGOS = 16,
    MAX_CASES = 2 * MAX_ALGOS,
    WARMUPS = 2,
    SHORT_BYTES = 64 * 1024, /* up to this size an iteration is SHORT_REPEATS operations */
    SHORT_REPEATS = 10,
    MAX_HOPS = 4096,   /* a sampled operation of more transfers is not recorded */
    STOP_CHECKED = 16, /* iterations of a short operation between two looks at the stop file */
    TUNE_LEAST = 3,    /* iterations of a size that takes long */
};

#define TUNE_SECONDS 0.25 /* for a size, unless TUNE_LEAST iterations take longer */

/* One row of the table: an algorithm, in or out of place. */
struct one {
    const char *algo;
    bool inplace, gpu;  /* gpu: in its memory */
    const char *chosen; /* by auto, at this size; else NULL */
    double off;         /* what the check found */
};

/* The buffers of a size: what is summed, and where the sum goes where it is out of place. */
struct area {
    char *from, *to;
    size_t n;     /* elements */
    size_t bytes; /* of each */
};

struct bench {
    const struct job *job;
    const char *rundir;
    struct comm *comm;
    struct event_sink *sink;
    enum collective op;
    const struct element *type;
    bool shared; /* buffers are comm_buffers */
    struct allreduce_gpu gpu;
    char algos[MAX_ALGOS][32];
    int algo_count;
    struct one cases[MAX_CASES];
    int case_count;
    struct comm_links links;
    struct hop_log *log;
    struct tracing *tracing; /* NULL: nothing is recorded */
    struct trace_lane *lane;
    long traced;           /* operations so far, */
    int trace_each;        /* timed ones of each case */
    int64_t left;          /* the trace's clock when the last one ended */
    const char *meanwhile; /* what is done since then */
    double *times;         /* [case][iteration] */
    double *tuned; /* [size][algo]: where they are to be kept, the least, which disturbances spoil least */
    long op_count; /* operations sampled so far */
    int iteration; /* under way, from 1; 0: warming up */
    bool stopped, right;
};

static bool operate(struct bench *b, const struct one *one, const struct area *x, struct hop_log *log,
                    struct error *e)
{
    if (one->gpu)
        return allreduce_gpu_sum(&b->gpu, b->comm, b->type, x->n, one->inplace, 1, e);
    if (b->op != ALLREDUCE)
        return comm_collective(b->comm, b->op, one->algo, b->type, x->from, x->n, log, e);
    return comm_allreduce_to(b->comm, one->algo, b->type, x->from, one->inplace ? x->from : x->to, x->n, log,
                             e);
}

/* --- what is recorded: the checked operation of a case, and the first of those that are timed --- */

static bool trace_begins(struct bench *b, struct error *e)
{
    if (!tracing_step(b->tracing, ++b->traced, NULL, e))
        return false;
    if (b->left && trace_now(b->lane))
        trace_span(b->lane, b->left, TRACE_BETWEEN, trace_name(tracing_trace(b->tracing), b->meanwhile));
    return true;
}

/* What is to be said of an operation, before it begins. */
static struct trace_span trace_describes(const struct bench *b, const struct one *one, const struct area *x,
                                         int repeats)
{
    struct trace *trace = tracing_trace(b->tracing);
    char name[48];
    if (!trace_now(b->lane))
        return (struct trace_span){0};
    snprintf(name, sizeof name, repeats > 1 ? "%s x %d" : "%s", collective_name(b->op), repeats);
    return (struct trace_span){.kind = TRACE_ALLREDUCE,
                               .name = (int16_t)trace_name(trace, name),
                               .algo = (int16_t)trace_name(trace, one->chosen ? one->chosen : one->algo),
                               .bucket = -1,
                               .bytes = (int64_t)x->bytes};
}

/* Closes the step that is one operation in the trace, with the barrier before it. */
static void trace_ends(struct bench *b, int64_t began, const char *meanwhile)
{
    b->left = trace_span(b->lane, began, TRACE_STEP, -1);
    b->meanwhile = meanwhile;
    trace_pause(tracing_trace(b->tracing));
}

static bool open_trace(struct bench *b, struct error *e)
{
    const struct job_allreduce *a = &b->job->allreduce;
    int cases = a->sizes * b->case_count;
    b->trace_each = a->trace > cases ? (int)((a->trace - cases) / cases) : 0;
    b->trace_each = b->trace_each > a->iters ? a->iters : b->trace_each;
    const struct tracing_spec spec = {.comm = b->comm,
                                      .sink = b->sink,
                                      .rundir = b->rundir,
                                      .job = "allreduce",
                                      .first = 1,
                                      .steps = a->tune || a->trace == 0 ? 0 : cases * (b->trace_each + 1L)};
    bool ok = tracing_new(&spec, &b->tracing, e);
    b->lane = trace_lane(tracing_trace(b->tracing), TRACE_LANE_MAIN, "operations");
    return ok;
}

/* --- one operation --- */

/* So that whoever waits for this rank learns what in. */
static void say_measured(struct bench *b, const struct one *one, const struct area *x)
{
    comm_measures(b->comm, b->op, one->chosen ? one->chosen : one->algo, b->type, x->n, b->iteration);
}

/* One checked operation (it warms up, too), sampled where its transfers are few enough to draw. */
static bool check_one(struct bench *b, struct one *one, const struct area *x, struct error *e)
{
    int ranks = comm_size(b->comm);
    say_measured(b, one, x);
    collective_fill(b->comm, b->type, x->from, x->n);
    if (one->gpu && !allreduce_gpu_put(&b->gpu, x->from, x->bytes, e))
        return false;
    bool sample = !one->gpu && strcmp(one->algo, "mpi") != 0 && 2 * (long)(ranks - 1) * ranks <= MAX_HOPS;
    if (!trace_begins(b, e))
        return false;
    struct trace_span about = trace_describes(b, one, x, 1);
    int64_t traced = trace_now(b->lane);
    if (!comm_barrier(b->comm, e))
        return false;
    int64_t began = trace_span(b->lane, traced, TRACE_WAIT, -1);
    if (!operate(b, one, x, sample ? b->log : NULL, e))
        return false;
    trace_put(b->lane, began, about);
    if (sample)
        hop_log_trace(b->log, b->lane);
    trace_ends(b, traced, "check and warm-up");
    /* A broadcast along a tree is no tree allreduce to draw. */
    const char *drawn = b->op == ALLREDUCE ? one->algo : collective_name(b->op);
    if (sample && !hop_log_emit(b->comm, b->log, b->op_count++, drawn, b->sink, e))
        return false;
    one->off = 0;
    if (one->gpu && !allreduce_gpu_get(&b->gpu, one->inplace, one->inplace ? x->from : x->to, x->bytes, e))
        return false;
    return !b->job->allreduce.check ||
           collective_error(b->comm, b->op, b->type, one->inplace ? x->from : x->to, x->n, &one->off, e);
}

/* The time of one iteration, the longest of any rank's, per operation; and whether the run is asked to stop. */
static bool time_one(struct bench *b, const struct one *one, const struct area *x, int repeats, bool look,
                     double *time, struct error *e)
{
    struct trace_span about = trace_describes(b, one, x, repeats);
    int64_t traced = trace_now(b->lane);
    say_measured(b, one, x);
    if (!comm_barrier(b->comm, e))
        return false;
    int64_t began = trace_span(b->lane, traced, TRACE_WAIT, -1);
    double begin = sink_clock();
    if (one->gpu && !allreduce_gpu_sum(&b->gpu, b->comm, b->type, x->n, one->inplace, repeats, e))
        return false;
    for (int k = 0; k < repeats && !one->gpu; k++)
        if (!operate(b, one, x, NULL, e))
            return false;
    double end = sink_clock(), most[2] = {(end - begin) / repeats, 0};
    trace_put(b->lane, began, about);
    if (traced)
        trace_ends(b, traced, "comparing the ranks' times");
    if (look && comm_rank(b->comm) == 0 && rundir_stop_requested(b->rundir))
        most[1] = 1;
    if (!comm_max_double(b->comm, most, 2, e))
        return false;
    *time = most[0];
    b->stopped |= most[1] > 0;
    return true;
}

/*
 * By the cost model; where we copy first (out of place, and not MPI or shm, which need not) the copy is
 * counted.
 */
static double predict(const struct bench *b, const struct one *one, double bytes)
{
    if (b->op != ALLREDUCE)
        return cost_seconds(&b->links.messages, collective_name(b->op), comm_size(b->comm), bytes);
    const char *algo = one->chosen ? one->chosen : one->algo;
    bool copies = !one->inplace && strcmp(algo, "mpi") != 0 && strcmp(algo, "shm") != 0;
    return comm_predict(b->comm, &b->links, algo, bytes, b->shared) +
           (copies ? bytes * b->links.memory.beta : 0);
}

static bool report(struct bench *b, const struct one *one, size_t bytes, double time, int iters,
                   struct error *e)
{
    int ranks = comm_size(b->comm);
    double rate = time > 0 ? (double)bytes / time : NAN, bound = collective_bound(b->comm, b->op, b->type);
    json_t *event = sink_event(b->sink, "collective");
    event_set_text(event, "op", collective_name(b->op));
    event_set_text(event, "algo", one->algo);
    if (one->chosen)
        event_set_text(event, "chosen", one->chosen);
    event_set_integer(event, "bytes", (long long)bytes);
    event_set_integer(event, "count", (long long)(bytes / b->type->bytes));
    event_set_text(event, "dtype", b->type->name);
    event_set_integer(event, "ranks", ranks);
    event_set_integer(event, "iters", iters);
    event_set_number(event, "time_s", time);
    event_set_number(event, "predicted_s", predict(b, one, (double)bytes));
    event_set_number(event, "algbw_bytes_per_s", rate);
    event_set_number(event, "busbw_bytes_per_s", rate * collective_bus_factor(b->op, ranks));
    if (b->job->allreduce.check) {
        event_set_number(event, "error", one->off);
        event_set_number(event, "error_bound", bound);
    }
    json_object_set_new(event, "inplace", json_boolean(one->inplace));
    event_set_text(event, "buffer", b->shared ? "engine" : "private");
    if (!sink_emit(b->sink, event, e))
        return false;
    if (!b->job->allreduce.check || one->off <= bound)
        return true;
    b->right = false;
    char text[256];
    snprintf(text, sizeof text,
             "%s at %zu bytes: the result is off by %.3g of the summands' size, more than the %.3g that "
             "rounding explains",
             one->algo, bytes, one->off, bound);
    return sink_note(b->sink, "error", text, e);
}

/* Checks and warms up; how many iterations this size gets. */
static bool prepare(struct bench *b, const struct area *x, int *iters, struct error *e)
{
    double all = 0, time = 0;
    b->iteration = 0;
    for (int k = 0; k < b->case_count; k++) {
        struct one *one = &b->cases[k];
        one->chosen = NULL;
        if (strcmp(one->algo, "auto") == 0 &&
            !(one->chosen = comm_auto_choose(b->comm, x->bytes, x->from, one->inplace ? x->from : x->to, e)))
            return false;
        if (!check_one(b, one, x, e))
            return false;
        /* Sums of zeros stay zeros however often they are taken: no infinities. */
        memset(x->from, 0, x->bytes);
        if (one->gpu && !allreduce_gpu_put(&b->gpu, x->from, x->bytes, e))
            return false;
        for (int i = 0; i < WARMUPS; i++)
            if (!time_one(b, one, x, 1, i == 0, &time, e))
                return false;
        all += time;
    }
    *iters = b->job->allreduce.iters;
    if (b->tuned && all * *iters > TUNE_SECONDS) /* the same on all ranks, as the times are */
        *iters = all * TUNE_LEAST > TUNE_SECONDS ? TUNE_LEAST : (int)(TUNE_SECONDS / all);
    return true;
}

static bool measure(struct bench *b, int size, const struct area *x, struct error *e)
{
    int most = b->job->allreduce.iters, iters, repeats = x->bytes <= SHORT_BYTES ? SHORT_REPEATS : 1;
    if (!prepare(b, x, &iters, e))
        return false;
    int done = 0;
    for (; done < iters && !b->stopped; done++)
        for (int k = 0; k < b->case_count; k++) {
            b->iteration = done + 1;
            bool look = k == 0 && (repeats == 1 || done % STOP_CHECKED == 0);
            if (done < b->trace_each && !trace_begins(b, e))
                return false;
            if (!time_one(b, &b->cases[k], x, repeats, look, &b->times[k * most + done], e))
                return false;
        }
    b->meanwhile = "report and next size";
    for (int k = 0; k < b->case_count && !b->stopped; k++) {
        double time = timing_median(b->times + k * most, done); /* sorts them */
        if (b->tuned)
            b->tuned[size * b->algo_count + k] = b->times[k * most];
        if (!report(b, &b->cases[k], x->bytes, time, done, e))
            return false;
    }
    return true;
}

/*
 * "engine": where a training job's gradients lie. "private": plain memory of the caller's, as an MPI program
 * has it. (They differ in what other ranks of the host may do with them.)
 */
static char *buffer_new(struct bench *b, size_t bytes, struct error *e)
{
    char *x = (char *)comm_buffer(b->comm, (bytes + sizeof(float) - 1) / sizeof(float), e);
    if (!x || b->shared)
        return x;
    comm_buffer_free(b->comm, (float *)x); /* it would have fitted */
    x = calloc(1, bytes + sizeof(float));
    if (!x)
        error_set(e, ERROR_FAILED, "out of memory for a buffer of %zu bytes", bytes);
    return x;
}

static void buffer_free(struct bench *b, char *x)
{
    if (b->shared)
        comm_buffer_free(b->comm, (float *)x);
    else
        free(x);
}

static bool measure_size(struct bench *b, int size, struct error *e)
{
    size_t ranks = (size_t)comm_size(b->comm), n = b->job->allreduce.bytes[size] / b->type->bytes;
    if (b->op == ALLGATHER || b->op == REDUCE_SCATTER || b->op == ALLTOALL)
        n = n / ranks * ranks; /* pieces of equal length */
    struct area x = {.n = n, .bytes = n * b->type->bytes};
    bool out = strcmp(b->job->allreduce.place, "in") != 0;
    bool ok = (x.from = buffer_new(b, x.bytes, e)) && (!out || (x.to = buffer_new(b, x.bytes, e))) &&
              (!b->gpu.backend || allreduce_gpu_room(&b->gpu, x.bytes, out, e)) && measure(b, size, &x, e);
    buffer_free(b, x.to);
    buffer_free(b, x.from);
    return ok;
}

static bool measure_all(struct bench *b, struct error *e)
{
    for (int i = 0; i < b->job->allreduce.sizes && !b->stopped; i++)
        if (!measure_size(b, i, e))
            return false;
    return true;
}

/* --- what is to be measured --- */

static bool add_algo(struct bench *b, const char *name, struct error *e)
{
    if (b->algo_count == MAX_ALGOS)
        return error_set(e, ERROR_INPUT, "at most %d algorithms at once", MAX_ALGOS);
    snprintf(b->algos[b->algo_count++], sizeof b->algos[0], "%s", name);
    return true;
}

static bool name_algos(struct bench *b, struct error *e)
{
    char list[sizeof b->job->allreduce.algos];
    snprintf(list, sizeof list, "%s", b->job->allreduce.algos);
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        /* A table for auto holds what there is here, and not itself. */
        if (b->job->allreduce.tune && (strcmp(name, "auto") == 0 || strcmp(name, "nccl") == 0 ||
                                       (strcmp(name, "shm") == 0 && !comm_shares_memory(b->comm))))
            continue;
        if (!add_algo(b, name, e))
            return false;
    }
    if (b->algo_count == 0)
        return error_set(e, ERROR_INPUT, "no algorithm was named");
    const char *place = b->job->allreduce.place;
    for (int i = 0; i < b->algo_count; i++)
        for (int inplace = strcmp(place, "in") == 0; inplace <= (strcmp(place, "out") != 0); inplace++)
            b->cases[b->case_count++] = (struct one){
                .algo = b->algos[i], .inplace = inplace, .gpu = allreduce_gpu_wanted(b->algos[i])};
    return true;
}

static bool say_link(struct bench *b, const char *transport, const struct cost_link *l, struct error *e)
{
    json_t *event = sink_event(b->sink, "cost");
    event_set_text(event, "transport", transport);
    event_set_number(event, "alpha_s", l->alpha);
    event_set_number(event, "beta_s_per_byte", l->beta);
    if (isfinite(comm_far_beta(l)))
        event_set_number(event, "far_beta_s_per_byte", comm_far_beta(l));
    event_set_number(event, "gamma_s_per_byte", l->gamma);
    return sink_emit(b->sink, event, e);
}

/* What is predicted from, and what auto goes by. */
static bool look_around(struct bench *b, struct error *e)
{
    const char *about;
    size_t longest = 0;
    for (int i = 0; i < b->job->allreduce.sizes; i++)
        longest = b->job->allreduce.bytes[i] > longest ? b->job->allreduce.bytes[i] : longest;
    if (!comm_measure_links(b->comm, longest, &b->links, e))
        return false;
    if (comm_size(b->comm) > 1 && (!say_link(b, comm_transport(b->comm)->ops->name, &b->links.messages, e) ||
                                   (b->links.shared && !say_link(b, "shm", &b->links.memory, e))))
        return false;
    for (int i = 0; i < b->algo_count; i++)
        if (strcmp(b->algos[i], "auto") == 0)
            return comm_auto(b->comm, &about, e) && sink_note(b->sink, "info", about, e);
    return true;
}

/* --- the table for auto --- */

/* Rank 0 keeps it. That it cannot be kept is worth a warning, not a failure. */
static bool keep_table(struct bench *b, struct error *e)
{
    struct tuning t;
    struct error why = {0};
    char ranges[160], text[512];
    const struct job_allreduce *a = &b->job->allreduce;
    comm_tuning_key(b->comm, b->shared ? "engine" : "private", &t.key);
    if (comm_rank(b->comm) != 0)
        return true;
    if (!tuning_from_times(&t, a->bytes, a->sizes, (const char(*)[32])b->algos, b->algo_count, b->tuned))
        return error_set(e, ERROR_FAILED, "no table can be made of %d sizes", a->sizes);
    tuning_text(&t, ranges, sizeof ranges);
    if (!tuning_save(&t, &why)) {
        snprintf(text, sizeof text, "what is the fastest could not be kept: %.300s", why.text);
        return sink_note(b->sink, "warn", text, e);
    }
    snprintf(text, sizeof text, "auto with %d ranks, %s buffers, from now on: %s", t.key.ranks, t.key.buffer,
             ranges);
    return sink_note(b->sink, "info", text, e);
}

/* Both kinds of buffer, each with a table of its own. */
static bool tune(struct bench *b, struct error *e)
{
    b->tuned = calloc((size_t)b->job->allreduce.sizes * (size_t)b->algo_count, sizeof *b->tuned);
    if (!b->tuned)
        return error_set(e, ERROR_FAILED, "out of memory for the table");
    for (int shared = 1; shared >= 0 && !b->stopped; shared--) {
        b->shared = shared;
        if (!measure_all(b, e) || (!b->stopped && !keep_table(b, e)))
            return false;
    }
    return true;
}

bool rank_collectives(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                      bool *right, bool *stopped, struct error *e)
{
    const struct job_allreduce *a = &job->allreduce;
    struct bench b = {.job = job,
                      .rundir = rundir,
                      .comm = comm,
                      .sink = sink,
                      .op = collective_named(a->collective),
                      .type = element_named(a->dtype),
                      .shared = strcmp(a->buffer, "engine") == 0,
                      .right = true};
    activity_enter(comm_activity(comm), ACTIVITY_MEASURE, 0);
    bool ok = name_algos(&b, e) && (!allreduce_gpu_wanted(a->algos) || allreduce_gpu_open(&b.gpu, comm, e));
    if (ok) {
        b.log = hop_log_new(e);
        b.times = calloc(MAX_CASES * (size_t)a->iters, sizeof *b.times);
        if (!b.times)
            error_set(e, ERROR_FAILED, "out of memory for %d iterations", a->iters);
        ok = b.log && b.times && look_around(&b, e) && open_trace(&b, e) &&
             (a->tune ? tune(&b, e) : measure_all(&b, e)) && tracing_finish(b.tracing, e);
        if (!ok)
            tracing_abandon(b.tracing);
    }
    tracing_free(b.tracing);
    allreduce_gpu_close(&b.gpu, comm);
    hop_log_free(b.log);
    free(b.times);
    free(b.tuned);
    *right = *right && b.right;
    *stopped = b.stopped;
    return ok;
}

bool rank_allreduce(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                    bool *right, struct error *e)
{
    bool stopped;
    struct device device;
    if (!device_choose(&device, allreduce_gpu_wanted(job->allreduce.algos) ? "cuda" : "cpu", comm, e) ||
        !rank_announce(job, device.name, comm, sink, e) ||
        !rank_collectives(job, rundir, comm, sink, right, &stopped, e))
        return false;
    if (stopped && !sink_note(sink, "info", "stopped as asked, before all sizes were measured", e))
        return false;
    json_t *done = sink_event(sink, "done");
    json_object_set_new(done, "ok", json_boolean(*right));
    return sink_emit(sink, done, e);
}
