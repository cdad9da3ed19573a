/* The communication thread, and sums in buckets on it. */
#include "engine/base/timing.h"
#include "engine/comm/comm_thread.h"
#include "engine/train/reducer.h"
#include "tests/mpi/tap.h"

#include <math.h>
#include <time.h>

static void sleep_s(double s)
{
    struct timespec nap = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - (double)(time_t)s) * 1e9)};
    nanosleep(&nap, NULL);
}

/* A job that notes when it was carried out; number 2 fails where it is told to. */
struct numbered {
    struct comm_job job;
    struct comm *comm;
    int number, *clock, when;
    bool fails;
};

static bool count_up(struct comm_job *job, struct error *e)
{
    struct numbered *n = (struct numbered *)job;
    n->when = ++*n->clock;
    double one = 1;
    return comm_sum_double(n->comm, &one, 1, e) && one == comm_size(n->comm) &&
           (!n->fails || error_set(e, ERROR_FAILED, "job %d fails", n->number));
}

static void test_order(struct tap *tap)
{
    enum { JOBS = 50 };
    struct error e = {0};
    struct numbered jobs[JOBS];
    int clock = 0;
    struct comm_thread *t = comm_thread_start(tap->comm, &e);
    for (int i = 0; t && i < JOBS; i++) {
        jobs[i] =
            (struct numbered){.job = {.run = count_up}, .comm = tap->comm, .number = i, .clock = &clock};
        comm_thread_put(t, &jobs[i].job);
    }
    bool ok = t && comm_thread_wait(t, &e);
    for (int i = 0; ok && i < JOBS; i++)
        ok = jobs[i].when == i + 1;
    tap_check(tap, "jobs are done one after the other", ok, e.text);

    /* The main thread's own collectives, in between. */
    double sum = 1;
    ok = comm_sum_double(tap->comm, &sum, 1, &e) && sum == comm_size(tap->comm);
    tap_check(tap, "after a wait the comm is the caller's again", ok, e.text);

    double busy = comm_thread_busy_s(t), before = comm_thread_cpu_s(t), began = timing_now();
    sleep_s(0.4);
    double burnt = (comm_thread_cpu_s(t) - before) / (timing_now() - began);
    char text[64];
    snprintf(text, sizeof text, "it burnt %.2g of a core", burnt);
    tap_check(tap, "without jobs it costs nothing", burnt < 0.01 && comm_thread_busy_s(t) == busy, text);

    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct numbered){
            .job = {.run = count_up}, .comm = tap->comm, .number = i, .clock = &clock, .fails = i == 2};
        comm_thread_put(t, &jobs[i].job);
    }
    ok = !comm_thread_wait(t, &e) && !strcmp(e.text, "job 2 fails") && jobs[3].when == 0;
    ok = ok && !comm_thread_put(t, &jobs[3].job) && !comm_thread_wait(t, &e);
    tap_check(tap, "after a job that fails no other is done", ok, e.text);
    comm_thread_stop(t);
}

static bool enter_barrier(struct comm_job *job, struct error *e)
{
    struct numbered *n = (struct numbered *)job;
    return comm_barrier(n->comm, e);
}

/* Rank 0 waits beside its main thread for ranks that come late: the core is not to be burnt meanwhile. */
static void test_waiting(struct tap *tap)
{
    struct error e = {0};
    struct numbered job = {.job = {.run = enter_barrier}, .comm = tap->comm};
    struct comm_thread *t = comm_thread_start(tap->comm, &e);
    bool ok = t != NULL;
    double burnt = 0;
    if (comm_rank(tap->comm) > 0)
        sleep_s(0.5);
    comm_thread_put(t, &job.job);
    if (comm_rank(tap->comm) == 0 && comm_size(tap->comm) > 1) {
        sleep_s(0.05);
        double before = comm_thread_cpu_s(t), began = timing_now();
        sleep_s(0.3);
        burnt = (comm_thread_cpu_s(t) - before) / (timing_now() - began);
    }
    ok = ok && comm_thread_wait(t, &e);
    char text[64];
    snprintf(text, sizeof text, "it burnt %.2g of a core", burnt);
    tap_check(tap, "beside a computation, waiting leaves most of the core", ok && burnt < 0.4,
              ok ? text : e.text);
    comm_thread_stop(t);
}

static bool expect_message(struct comm_job *job, struct error *e)
{
    const struct numbered *n = (struct numbered *)job;
    struct transport *t = comm_transport(n->comm);
    struct pending p;
    static int never;
    return t->ops->recv_start(t, 1, 999, &never, sizeof never, &p, e) && t->ops->wait(t, &p, 1, e);
}

/* Rank 0 gives up a message that nobody sends. */
static void test_given_up(struct tap *tap)
{
    struct error e = {0};
    struct numbered job = {.job = {.run = expect_message}, .comm = tap->comm};
    bool ok = true;
    if (comm_size(tap->comm) > 1 && comm_rank(tap->comm) == 0) {
        struct comm_thread *t = comm_thread_start(tap->comm, &e);
        comm_thread_put(t, &job.job);
        sleep_s(0.05);
        double began = timing_now();
        comm_thread_stop(t);
        ok = timing_now() - began < 30;
    }
    tap_check(tap, "a thread that waits for others can be stopped", ok, e.text);
}

/* --- the reducer --- */

enum { LAYERS = 12, EACH = 3001 };

static struct model_spec pretended(struct layer_spec *layers)
{
    struct model_spec m = {.layers = layers, .layer_count = LAYERS};
    memset(layers, 0, LAYERS * sizeof *layers);
    for (int i = 0; i < LAYERS; i++) {
        layers[i].tensor_count = 1;
        layers[i].tensors[0] = (struct layer_tensor){.offset = m.parameters, .elements = EACH};
        m.parameters += EACH;
    }
    return m;
}

/* What rank r's gradient k is: whole numbers, whose sums are exact in any order. */
static float gradient(int r, size_t k, int step)
{
    return (float)((int)(k * 7 + (size_t)(r * 13 + step)) % 101 - 50);
}

/* A step whose gradients get ready layer by layer; with parts, half of each comes with the last. */
static bool one_step(struct reducer *r, const struct reducer_spec *s, float *part, int step, struct error *e)
{
    int rank = comm_rank(s->comm), size = comm_size(s->comm);
    size_t n = s->model->parameters;
    float *g = s->gradients->computed, *word = gradients_words(s->gradients), inside = 1;
    reducer_begin(r, NULL);
    word[0] = (float)rank;
    word[1] = 3;
    for (size_t k = 0; k < n; k++)
        g[k] = NAN;
    for (int i = LAYERS - 1; i >= 0; i--) {
        for (size_t k = (size_t)i * EACH; k < (size_t)(i + 1) * EACH; k++) {
            g[k] = part ? 1 : gradient(rank, k, step);
            if (part)
                part[k] = gradient(rank, k, step) - 1;
        }
        if (reducer_overlaps(r) && !reducer_ready(r, (size_t)i * EACH, e))
            return false;
        if (i == 5 && !reducer_sum(r, &inside, 1, e)) /* as synchronised batchnorm does in the midst of it */
            return false;
    }
    for (size_t k = 0; part && !reducer_overlaps(r) && k < n; k++)
        g[k] += part[k];
    if (!reducer_finish(r, e))
        return false;
    int ranks_sum = size * (size - 1) / 2;
    if (inside != (float)size || word[0] != (float)ranks_sum || word[1] != (float)(3 * size))
        return error_set(e, ERROR_FAILED, "what travels beside the gradients is wrong");
    for (size_t k = 0; k < n; k++) {
        float right = 0;
        for (int i = 0; i < size; i++)
            right += gradient(i, k, step);
        if (g[k] != right)
            return error_set(e, ERROR_FAILED, "%s, buckets of %zu: element %zu is %g, not %g",
                             reducer_algo(r), reducer_bucket(r), k, (double)g[k], (double)right);
    }
    return reducer_exposed_s(r) >= 0 && reducer_comm_s(r) >= 0;
}

static void test_sums(struct tap *tap, bool parts)
{
    static const char *const algos[] = {"ring", "tree", "recursive_doubling", "mpi", "auto", "shm"};
    static const size_t sizes[] = {0, 1, 30000, 1 << 20, 12004};
    static const int counts[] = {1, 12, 4, 1, 7}; /* worked by hand, as in test_buckets.c */
    struct layer_spec layers[LAYERS];
    struct model_spec m = pretended(layers);
    struct error e = {0};
    struct backend *backend = backend_cpu_open(1, &e);
    struct gradients gradients = {0};
    bool ok = backend && gradients_new(&gradients, tap->comm, backend, m.parameters, 2, &e);
    float *part = parts ? calloc(m.parameters, sizeof *part) : NULL;
    const struct reducer_spec spec = {.comm = tap->comm, .model = &m, .gradients = &gradients, .part = part};
    struct reducer *r = ok ? reducer_new(&spec, &e) : NULL;
    ok = r != NULL;
    int step = 0;
    for (size_t a = 0; ok && a < sizeof algos / sizeof *algos; a++) {
        if (!strcmp(algos[a], "shm") && !comm_shares_memory(tap->comm))
            continue;
        for (size_t i = 0; ok && i < sizeof sizes / sizeof *sizes; i++) {
            ok = reducer_set(r, algos[a], sizes[i], &e) &&
                 reducer_buckets(r) == (comm_size(tap->comm) > 1 ? counts[i] : 1);
            for (int k = 0; ok && k < 3; k++)
                ok = one_step(r, &spec, part, step++, &e);
        }
    }
    tap_check(tap, parts ? "buckets of the sums over several batches" : "buckets of any size sum alike", ok,
              e.text);
    reducer_free(r);
    gradients_free(&gradients);
    backend_close(backend);
    free(part);
}

int main(int argc, char **argv)
{
    struct tap tap = tap_open(&argc, &argv);
    test_order(&tap);
    test_waiting(&tap);
    test_given_up(&tap);
    test_sums(&tap, false);
    test_sums(&tap, true);
    return tap_close(&tap);
}
