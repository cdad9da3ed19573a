/*
 * allreduce.c - collectives, timed and checked, after the manner of nccl-tests.
 *
 * At each size the algorithms take turns within every iteration, so that a disturbance meets all alike. Short
 * operations are repeated within an iteration, since a clock and a barrier cost as much as they do. The time of an
 * iteration is the longest of any rank's; the time reported is the median. The check compares one operation with
 * the sum in float64 of numbers that every rank can make for every other rank.
 */
#include "engine/rank/rank.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/spec/schedule.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ALGOS = 16,
    WARMUPS = 2,
    SHORT_BYTES = 64 * 1024, /* up to this size an iteration is SHORT_REPEATS operations */
    SHORT_REPEATS = 10,
    MAX_HOPS = 4096,   /* a sampled operation of more transfers is not recorded */
    STOP_CHECKED = 16, /* iterations of a short operation between two looks at the stop file */
};

struct bench {
    const struct job *job;
    const char *rundir;
    struct comm *comm;
    struct event_sink *sink;
    char algos[MAX_ALGOS][32];
    int algo_count;
    struct hop_log *log;
    double *times; /* [algo][iteration] */
    long op;       /* operations sampled so far */
    bool stopped, right;
};

/* Element i of rank r: in [-1, 1), rounded to float32, from a counter-based generator (splitmix64, S. Vigna). */
static float value_of(int rank, size_t i)
{
    uint64_t z = ((uint64_t)rank << 40) + i + 1;
    z *= 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return (float)((double)(int32_t)(z >> 32) / 2147483648.0);
}

static void fill(const struct bench *b, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value_of(comm_rank(b->comm), i);
}

/*
 * The largest |x[i] - sum| / (sum of |values|) of any rank. Each of the N-1 additions of a float32 sum, in whatever
 * order, is off by at most half an ulp of its result: the bound below is (N-1) * eps/2, eps = 2^-23.
 * (N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 4.2.)
 */
static bool worst_error(const struct bench *b, const float *x, size_t n, double *worst, struct error *e)
{
    *worst = 0;
    for (size_t i = 0; i < n; i++) {
        double sum = 0, size = 0;
        for (int r = 0; r < comm_size(b->comm); r++) {
            double value = (double)value_of(r, i);
            sum += value;
            size += fabs(value);
        }
        double off = fabs((double)x[i] - sum) / (size > 0 ? size : 1);
        if (!(off <= *worst)) /* not a number is the worst */
            *worst = isnan(off) ? INFINITY : off;
    }
    return comm_max_double(b->comm, worst, 1, e);
}

static double error_bound(const struct bench *b)
{
    return (comm_size(b->comm) - 1) * 0.5 * (double)FLT_EPSILON;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* One checked operation (it warms up, too), sampled where its transfers are few enough to draw. */
static bool check_one(struct bench *b, const char *algo, float *x, size_t n, double *off, struct error *e)
{
    int ranks = comm_size(b->comm);
    fill(b, x, n);
    bool sample = strcmp(algo, "mpi") != 0 && 2 * (long)(ranks - 1) * ranks <= MAX_HOPS;
    if (!comm_barrier(b->comm, e) || !comm_allreduce(b->comm, algo, x, n, sample ? b->log : NULL, e))
        return false;
    if (sample && !hop_log_emit(b->comm, b->log, b->op++, algo, b->sink, e))
        return false;
    *off = 0;
    return !b->job->allreduce.check || worst_error(b, x, n, off, e);
}

/* The time of one iteration, the longest of any rank's, per operation; and whether the run is asked to stop. */
static bool time_one(struct bench *b, const char *algo, float *x, size_t n, int repeats, bool look,
                     double *time, struct error *e)
{
    if (!comm_barrier(b->comm, e))
        return false;
    double begin = sink_clock();
    for (int k = 0; k < repeats; k++)
        if (!comm_allreduce(b->comm, algo, x, n, NULL, e))
            return false;
    double most[2] = {(sink_clock() - begin) / repeats, 0};
    if (look && comm_rank(b->comm) == 0 && rundir_stop_requested(b->rundir))
        most[1] = 1;
    if (!comm_max_double(b->comm, most, 2, e))
        return false;
    *time = most[0];
    b->stopped |= most[1] > 0;
    return true;
}

static bool report(struct bench *b, const char *algo, size_t bytes, double time, double off, struct error *e)
{
    int ranks = comm_size(b->comm);
    double rate = time > 0 ? (double)bytes / time : NAN;
    json_t *event = sink_event(b->sink, "collective");
    event_set_text(event, "op", "allreduce");
    event_set_text(event, "algo", algo);
    event_set_integer(event, "bytes", (long long)bytes);
    event_set_integer(event, "count", (long long)(bytes / sizeof(float)));
    event_set_integer(event, "ranks", ranks);
    event_set_integer(event, "iters", b->job->allreduce.iters);
    event_set_number(event, "time_s", time);
    event_set_number(event, "algbw_bytes_per_s", rate);
    event_set_number(event, "busbw_bytes_per_s", rate * 2 * (ranks - 1) / ranks);
    if (b->job->allreduce.check) {
        event_set_number(event, "error", off);
        event_set_number(event, "error_bound", error_bound(b));
    }
    json_object_set_new(event, "inplace", json_true());
    event_set_text(event, "buffer", b->job->allreduce.buffer);
    if (!sink_emit(b->sink, event, e))
        return false;
    if (!b->job->allreduce.check || off <= error_bound(b))
        return true;
    b->right = false;
    char text[256];
    snprintf(text, sizeof text,
             "%s at %zu bytes: the sum is off by %.3g of the summands' size, more than the %.3g that "
             "rounding explains",
             algo, bytes, off, error_bound(b));
    return sink_note(b->sink, "error", text, e);
}

static bool measure(struct bench *b, size_t bytes, float *x, struct error *e)
{
    size_t n = bytes / sizeof *x;
    int iters = b->job->allreduce.iters, repeats = bytes <= SHORT_BYTES ? SHORT_REPEATS : 1;
    double off[MAX_ALGOS] = {0}, ignored;
    for (int a = 0; a < b->algo_count; a++) {
        if (!check_one(b, b->algos[a], x, n, &off[a], e))
            return false;
        memset(x, 0,
               n * sizeof *x); /* sums of zeros stay zeros however often they are taken: no infinities */
        for (int k = 0; k < WARMUPS; k++)
            if (!time_one(b, b->algos[a], x, n, 1, k == 0, &ignored, e))
                return false;
    }
    memset(x, 0, n * sizeof *x);
    int done = 0;
    for (; done < iters && !b->stopped; done++)
        for (int a = 0; a < b->algo_count; a++) {
            bool look = a == 0 && (repeats == 1 || done % STOP_CHECKED == 0);
            if (!time_one(b, b->algos[a], x, n, repeats, look, &b->times[a * iters + done], e))
                return false;
        }
    for (int a = 0; a < b->algo_count && !b->stopped; a++)
        if (!report(b, b->algos[a], bytes, median(b->times + a * iters, done), off[a], e))
            return false;
    return true;
}

/*
 * "engine": where a training job's gradients lie. "private": plain memory of the caller's, as an MPI program has it.
 * (They differ in what other ranks of the host may do with them.)
 */
static float *buffer_new(struct bench *b, size_t n, struct error *e)
{
    float *x = comm_buffer(b->comm, n, e);
    if (!x || strcmp(b->job->allreduce.buffer, "private") != 0)
        return x;
    comm_buffer_free(b->comm, x); /* it would have fitted */
    x = malloc(n * sizeof *x + 1);
    if (!x)
        error_set(e, ERROR_FAILED, "out of memory for a buffer of %zu bytes", n * sizeof *x);
    return x;
}

static void buffer_free(struct bench *b, float *x)
{
    if (strcmp(b->job->allreduce.buffer, "private") != 0)
        comm_buffer_free(b->comm, x);
    else
        free(x);
}

static bool name_algos(struct bench *b, struct error *e)
{
    char list[sizeof b->job->allreduce.algos];
    snprintf(list, sizeof list, "%s", b->job->allreduce.algos);
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        if (!allreduce_algo_check(name, e))
            return false;
        if (b->algo_count == MAX_ALGOS)
            return error_set(e, ERROR_INPUT, "at most %d allreduce algorithms at once", MAX_ALGOS);
        snprintf(b->algos[b->algo_count++], sizeof b->algos[0], "%s", name);
    }
    return b->algo_count > 0 || error_set(e, ERROR_INPUT, "no allreduce algorithm was named");
}

bool rank_collectives(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                      bool *right, bool *stopped, struct error *e)
{
    struct bench b = {.job = job, .rundir = rundir, .comm = comm, .sink = sink, .right = true};
    bool ok = name_algos(&b, e);
    if (ok) {
        b.log = hop_log_new(e);
        b.times = calloc(MAX_ALGOS * (size_t)job->allreduce.iters, sizeof *b.times);
        if (!b.times)
            error_set(e, ERROR_FAILED, "out of memory for %d iterations", job->allreduce.iters);
        ok = b.log && b.times;
    }
    for (int i = 0; ok && !b.stopped && i < job->allreduce.sizes; i++) {
        size_t bytes = job->allreduce.bytes[i] / sizeof(float) * sizeof(float);
        float *x = buffer_new(&b, bytes / sizeof(float), e);
        ok = x && measure(&b, bytes, x, e);
        buffer_free(&b, x);
    }
    hop_log_free(b.log);
    free(b.times);
    *right = *right && b.right;
    *stopped = b.stopped;
    return ok;
}

bool rank_allreduce(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                    bool *right, struct error *e)
{
    bool stopped;
    if (!rank_announce(job, "cpu", comm, sink, e) ||
        !rank_collectives(job, rundir, comm, sink, right, &stopped, e))
        return false;
    if (stopped && !sink_note(sink, "info", "stopped as asked, before all sizes were measured", e))
        return false;
    json_t *done = sink_event(sink, "done");
    json_object_set_new(done, "ok", json_boolean(*right));
    return sink_emit(sink, done, e);
}
