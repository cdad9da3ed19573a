#include "engine/train/reducer.h"

#include "engine/base/activity.h"
#include "engine/base/timing.h"
#include "engine/comm/comm_thread.h"

#include <stdlib.h>
#include <string.h>

enum { COMPRESS_MEASURED = 50 };

/* One allreduce. */
struct reduction {
    struct comm_job job; /* first: the thread hands it back */
    struct reducer *reducer;
    float *x;
    size_t length;
    struct hop_log *log;
    struct trace_lane *lane; /* of the thread that carries it out */
    int bucket, algo_name;   /* -1: no bucket; in the trace */
};

struct reducer {
    struct reducer_spec spec;
    const char *algo;
    size_t bucket;
    struct buckets plan;
    struct reduction *reductions; /* by bucket */
    struct comm_thread *thread;   /* NULL: there was nothing to overlap yet */
    struct trace_lane *lane;      /* of the thread that computes, */
    struct trace_lane *beside;    /* and of that one */
    /* Of the step: */
    int next;                          /* bucket that is not yet on its way */
    size_t added;                      /* gradients from here on are the sums over all parts */
    double busy_before, waited_before; /* of the thread */
    double comm, exposed;              /* seconds */
    double sent_bytes;
    /* Compression: */
    struct compressor *compressor; /* NULL: none */
    size_t compressor_holds;
    unsigned steps; /* every COMPRESS_MEASURED-th is measured */
};

struct reducer *reducer_new(const struct reducer_spec *spec, struct error *e)
{
    struct reducer *r = calloc(1, sizeof *r);
    if (!r) {
        error_set(e, ERROR_FAILED, "not enough memory for the sum of the gradients");
        return NULL;
    }
    r->spec = *spec;
    r->lane = trace_lane(spec->trace, TRACE_LANE_MAIN, "compute");
    return r;
}

void reducer_free(struct reducer *r)
{
    if (!r)
        return;
    comm_thread_stop(r->thread);
    compressor_free(r->compressor);
    buckets_free(&r->plan);
    free(r->reductions);
    free(r);
}

/* Where they are computed, and not in the host's memory. */
static bool stays(const struct reducer *r)
{
    return gradients_stay(r->algo);
}

/* How many of a bucket's numbers are gradients of parameters, which may be packed. */
static size_t packed_of(const struct reduction *n)
{
    const struct reducer_spec *s = &n->reducer->spec;
    size_t begin = (size_t)(n->x - s->gradients->host), parameters = s->model->parameters;
    size_t most = parameters > begin ? parameters - begin : 0;
    return n->length < most ? n->length : most;
}

/* Gradients as they are to travel; what lies behind them as it is. */
static bool sum_up(const struct reduction *n, struct error *e)
{
    const struct reducer *r = n->reducer;
    const struct reducer_spec *s = &r->spec;
    if (!r->compressor || n->bucket < 0)
        return comm_allreduce(s->comm, gradients_host_algo(r->algo), n->x, n->length, n->log, e);
    size_t packed = packed_of(n);
    bool measure = r->steps % COMPRESS_MEASURED == 0;
    return comm_allreduce_compressed(r->compressor, r->algo, n->x, packed, measure, n->log, e) &&
           (packed == n->length ||
            comm_allreduce(s->comm, r->algo, n->x + packed, n->length - packed, NULL, e));
}

/* Of the sum that travels: what is packed has two bytes a number. */
static size_t traveling(const struct reduction *n)
{
    const struct reducer *r = n->reducer;
    size_t packed = r->compressor && n->bucket >= 0 ? packed_of(n) : 0;
    return packed * (packed ? r->spec.compress->bytes : 0) + (n->length - packed) * sizeof *n->x;
}

static bool reduce(struct comm_job *job, struct error *e)
{
    struct reduction *n = (struct reduction *)job;
    int64_t began = trace_now(n->lane);
    activity_bucket(comm_activity(n->reducer->spec.comm), n->reducer->plan.count > 1 ? n->bucket : -1);
    bool ok = sum_up(n, e);
    trace_reduce(n->lane, began, TRACE_ALLREDUCE, n->bucket, (int64_t)traveling(n), n->algo_name);
    return ok;
}

/* What the trace calls the algorithm: of auto the one that it takes at this size. -1: there is no trace. */
static int algo_name(const struct reducer *r, const float *x, size_t length)
{
    const char *algo = r->algo;
    if (r->spec.trace && strcmp(algo, "auto") == 0) /* its table is there: comm_auto was called */
        algo = comm_auto_choose(r->spec.comm, length * sizeof *x, x, x, NULL);
    return trace_name(r->spec.trace, algo ? algo : r->algo);
}

/* One that holds the longest bucket. */
static bool make_compressor(struct reducer *r, struct error *e)
{
    size_t most = 1;
    for (int i = 0; i < r->plan.count; i++)
        if (r->reductions[i].length > most)
            most = r->reductions[i].length;
    if (!r->spec.compress || most <= r->compressor_holds)
        return true;
    compressor_free(r->compressor);
    r->compressor = compressor_new(r->spec.comm, r->spec.compress, most, e);
    r->compressor_holds = r->compressor ? most : 0;
    return r->compressor;
}

bool reducer_set(struct reducer *r, const char *algo, size_t bucket, struct error *e)
{
    const struct reducer_spec *s = &r->spec;
    buckets_free(&r->plan);
    free(r->reductions);
    r->reductions = NULL;
    r->algo = algo;
    r->bucket = bucket;
    bool whole = s->whole || comm_size(s->comm) == 1;
    if (!buckets_plan(&r->plan, s->model, s->gradients->parameters + s->gradients->words, whole ? 0 : bucket,
                      e))
        return false;
    r->reductions = calloc((size_t)r->plan.count, sizeof *r->reductions);
    if (!r->reductions)
        return error_set(e, ERROR_FAILED, "not enough memory for %d buckets", r->plan.count);
    if (reducer_overlaps(r))
        r->beside = trace_lane(s->trace, TRACE_LANE_COMM, "comm");
    for (int i = 0; i < r->plan.count; i++) {
        const struct bucket *b = &r->plan.list[i];
        r->reductions[i] = (struct reduction){.job = {.run = reduce},
                                              .reducer = r,
                                              .x = s->gradients->host + b->begin,
                                              .length = b->end - b->begin};
        r->reductions[i].bucket = i;
        r->reductions[i].algo_name = algo_name(r, r->reductions[i].x, r->reductions[i].length);
        r->reductions[i].lane = reducer_overlaps(r) ? r->beside : r->lane;
    }
    if (!make_compressor(r, e))
        return false;
    if (reducer_overlaps(r) && !stays(r) && !r->thread)
        r->thread = comm_thread_start(s->comm, e);
    return r->thread || stays(r) || !reducer_overlaps(r);
}

const char *reducer_algo(const struct reducer *r)
{
    return r->algo;
}

size_t reducer_bucket(const struct reducer *r)
{
    return r->bucket;
}

int reducer_buckets(const struct reducer *r)
{
    return r->plan.count;
}

bool reducer_overlaps(const struct reducer *r)
{
    return r->plan.count > 1;
}

void reducer_begin(struct reducer *r, struct hop_log **logs)
{
    r->next = 0;
    r->added = r->spec.model->parameters;
    r->comm = r->exposed = 0;
    r->busy_before = r->thread ? comm_thread_busy_s(r->thread) : 0;
    r->waited_before = r->thread ? comm_thread_waited_s(r->thread) : 0;
    for (int i = 0; i < r->plan.count; i++)
        r->reductions[i].log = logs && i < REDUCER_LOGS ? logs[i] : NULL;
}

/* Where NCCL sums: on a stream of its own, behind what the backend was asked for. Words are left to reducer_finish. */
static bool start_on_device(const struct reducer *r, const struct bucket *b, struct error *e)
{
    const struct gradients *g = r->spec.gradients;
    size_t end = b->end < g->parameters ? b->end : g->parameters;
    return b->begin >= end || comm_device_sum(r->spec.comm, &element_f32, g->computed + b->begin,
                                              g->computed + b->begin, end - b->begin, e);
}

static bool start_one(struct reducer *r, int i, struct error *e)
{
    const struct bucket *b = &r->plan.list[i];
    if (stays(r))
        return start_on_device(r, b, e);
    if (!gradients_to_host(r->spec.gradients, b->begin, b->end, e))
        return false;
    return comm_thread_put(r->thread, &r->reductions[i].job) ||
           comm_thread_wait(r->thread, e); /* for the reason */
}

/* Puts buckets on their way: those before number `end` whose gradients are final from `ready` on. */
static bool start(struct reducer *r, int end, size_t ready, struct error *e)
{
    for (; r->next < end && r->plan.list[r->next].begin >= ready; r->next++)
        if (!start_one(r, r->next, e))
            return false;
    return true;
}

bool reducer_ready(void *self, size_t from, struct error *e)
{
    struct reducer *r = self;
    const struct gradients *g = r->spec.gradients;
    if (r->spec.part &&
        !g->backend->ops->add(g->backend, g->computed + from, r->spec.part + from, r->added - from, e))
        return false;
    r->added = from;
    /* The last is left to reducer_finish, which times it: the thread may take this one's core at once. */
    return start(r, r->plan.count - 1, from, e);
}

/* What is left to start, the words meanwhile, and the end of it all. */
static bool finish_on_device(struct reducer *r, struct error *e)
{
    const struct gradients *g = r->spec.gradients;
    int64_t began = trace_now(r->lane);
    double busy, exposed;
    if (!start(r, r->plan.count, 0, e) ||
        !comm_allreduce(r->spec.comm, "mpi", gradients_words(g), g->words, NULL, e) ||
        !comm_device_wait(r->spec.comm, e))
        return false;
    trace_span(r->lane, began, TRACE_WAIT, -1);
    comm_device_times(r->spec.comm, &busy, &exposed);
    r->comm += busy;
    r->exposed += exposed;
    r->sent_bytes = comm_take_sent_bytes(r->spec.comm);
    r->steps++;
    return true;
}

bool reducer_finish(struct reducer *r, struct error *e)
{
    const struct gradients *g = r->spec.gradients;
    double before = timing_now();
    /* One rank alone has the sum already; compressed, its gradients too are rounded as if they had travelled. */
    bool ok, moves = comm_size(r->spec.comm) > 1 || r->compressor;
    if (stays(r))
        return finish_on_device(r, e);
    if (reducer_overlaps(r)) {
        int64_t began = trace_now(r->lane);
        ok = start(r, r->plan.count, 0, e) && comm_thread_wait(r->thread, e);
        trace_span(r->lane, began, TRACE_WAIT, -1);
    } else {
        ok = (!moves || gradients_to_host(g, 0, g->parameters, e)) && reduce(&r->reductions[0].job, e);
    }
    ok = ok && (!moves || gradients_to_backend(g, 0, g->parameters, e));
    double waited = timing_now() - before;
    r->sent_bytes = comm_take_sent_bytes(r->spec.comm);
    r->steps++;
    if (!reducer_overlaps(r)) {
        r->exposed += waited;
        r->comm += waited;
    }
    if (r->thread) {
        r->exposed += comm_thread_waited_s(r->thread) - r->waited_before;
        r->comm += comm_thread_busy_s(r->thread) - r->busy_before;
    }
    return ok;
}

bool reducer_sum(struct reducer *r, float *x, size_t n, struct error *e)
{
    double before = timing_now();
    struct reduction sum = {.job = {.run = reduce},
                            .reducer = r,
                            .x = x,
                            .length = n,
                            .lane = r->lane,
                            .bucket = -1,
                            .algo_name = -1};
    bool ok;
    if (r->thread) { /* which owns the comm while buckets are under way */
        int64_t began = trace_now(r->lane);
        sum.lane = r->beside;
        comm_thread_put(r->thread, &sum.job);
        ok = comm_thread_wait(r->thread, e);
        trace_span(r->lane, began, TRACE_WAIT, -1);
    } else {
        ok = reduce(&sum.job, e);
        double waited = timing_now() - before;
        r->exposed += waited;
        r->comm += waited;
    }
    return ok;
}

double reducer_sent_bytes(const struct reducer *r)
{
    return r->sent_bytes;
}

bool reducer_compression(struct reducer *r, struct compression_figures *f)
{
    return r->compressor && compressor_figures(r->compressor, f);
}

double reducer_comm_s(const struct reducer *r)
{
    return r->comm;
}

double reducer_exposed_s(const struct reducer *r)
{
    return r->exposed;
}
