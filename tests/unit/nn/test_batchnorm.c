/* What batchnorm owes beside its formula: ranks that look at one batch together, accuracy, the same bits, a refusal. */
#include "engine/base/random.h"
#include "engine/nn/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, BATCH = 4, STEPS = 3, CLASSES = 10 };

static const char model_text[] =
    "{\"name\":\"synchronised\",\"input\":[3,7,6],\"layers\":[{\"kind\":\"batchnorm\",\"sync\":true},"
    "{\"kind\":\"conv2d\",\"channels\":8,\"kernel\":3},{\"kind\":\"batchnorm\",\"sync\":true},{\"kind\":"
    "\"relu\"},"
    "{\"kind\":\"conv2d\",\"channels\":5,\"kernel\":2},{\"kind\":\"batchnorm\",\"sync\":true},"
    "{\"kind\":\"flatten\"},{\"kind\":\"batchnorm\",\"sync\":true},{\"kind\":\"dense\",\"units\":10}]}";

static struct model_spec read_model(const char *text)
{
    struct model_spec m;
    struct error e = {0};
    json_t *object = json_loads(text, 0, NULL);
    if (!model_from_json(object, &m, &e))
        fail_msg("%s", e.text);
    json_decref(object);
    return m;
}

/* --- ranks as threads --- */

/* A sum over the ranks of one process: everyone adds, everyone waits, everyone reads. */
struct meeting {
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    float *sums;
    int calls;
};

static bool meet(void *self, float *values, size_t n, struct error *e)
{
    (void)e;
    struct meeting *m = self;
    if (pthread_barrier_wait(&m->barrier) != 0) /* in one of them */
        memset(m->sums, 0, n * sizeof(float));
    pthread_barrier_wait(&m->barrier);
    pthread_mutex_lock(&m->lock);
    m->calls++;
    for (size_t i = 0; i < n; i++)
        m->sums[i] += values[i];
    pthread_mutex_unlock(&m->lock);
    pthread_barrier_wait(&m->barrier);
    memcpy(values, m->sums, n * sizeof(float));
    return true;
}

struct rank {
    pthread_t thread;
    const struct model_spec *model;
    const struct rank_sum *ranks;
    int first, samples; /* of all RANKS × BATCH */
    float *gradients, *state;
    double loss;
    bool ok;
};

/* Some passes on changing inputs with fixed parameters: the running statistics move. */
static void *run_rank(void *argument)
{
    struct rank *r = argument;
    struct error e = {0};
    size_t sample = model_shape_elements(r->model->input);
    struct backend *backend = backend_cpu_open(1, &e);
    r->gradients = calloc(r->model->parameters, sizeof(float));
    r->state = calloc(r->model->states, sizeof(float));
    struct network *n = network_new(r->model, backend, r->samples, r->gradients, NETWORK_PLAIN, &e);
    int32_t labels[RANKS * BATCH];
    struct targets targets = {.classes = labels, .samples = r->samples};
    network_init(n, 4, NULL);
    n->context.all_ranks = r->ranks;
    r->ok = true;
    for (int step = 0; step < STEPS && r->ok; step++) {
        struct random values = random_stream(8, 1, (uint64_t)step);
        struct loss_sum sum;
        for (size_t i = 0; i < RANKS * BATCH * sample; i++) {
            float value = random_uniform(&values, 0, 2);
            size_t at = i - (size_t)r->first * sample;
            if (i >= (size_t)r->first * sample && at < (size_t)r->samples * sample)
                ((float *)network_input(n))[at] = value;
        }
        for (int i = 0; i < r->samples; i++)
            labels[i] = (r->first + i) * 7 % CLASSES;
        r->ok = network_gradients(n, &targets, 1.0 / (RANKS * BATCH), &sum, &e);
        r->loss = sum.loss;
    }
    memcpy(r->state, n->state, r->model->states * sizeof(float));
    network_free(n);
    backend_close(backend);
    return NULL;
}

static void close_to(float ours, float theirs, float scale, const char *what, size_t i)
{
    if (!(fabsf(ours - theirs) <= 1e-4f * fabsf(theirs) + 2e-6f * scale))
        fail_msg("%s %zu: %.8g on several ranks, %.8g on one", what, i, (double)ours, (double)theirs);
}

static void ranks_equal_one(void **state)
{
    (void)state;
    struct model_spec m = read_model(model_text);
    struct meeting meeting = {.sums = calloc(m.parameters, sizeof(float))};
    pthread_barrier_init(&meeting.barrier, NULL, RANKS);
    pthread_mutex_init(&meeting.lock, NULL);
    struct rank_sum sum = {.sum = meet, .self = &meeting, .ranks = RANKS};
    struct rank one = {.model = &m, .samples = RANKS * BATCH}, ranks[RANKS];
    run_rank(&one);
    assert_true(one.ok);
    for (int i = 0; i < RANKS; i++) {
        ranks[i] = (struct rank){.model = &m, .ranks = &sum, .first = i * BATCH, .samples = BATCH};
        assert_int_equal(pthread_create(&ranks[i].thread, NULL, run_rank, &ranks[i]), 0);
    }
    double loss = 0;
    for (int i = 0; i < RANKS; i++) {
        pthread_join(ranks[i].thread, NULL);
        assert_true(ranks[i].ok);
        loss += ranks[i].loss;
    }
    assert_int_equal(meeting.calls,
                     RANKS * STEPS * 4 * 2); /* one forward, one backward, of each of four layers */
    assert_float_equal(loss, one.loss, 1e-5 * one.loss);
    float largest = 0;
    for (size_t i = 0; i < m.parameters; i++)
        largest = fmaxf(largest, fabsf(one.gradients[i]));
    assert_true(largest > 0.01f);
    for (size_t i = 0; i < m.parameters; i++) {
        float total = 0;
        for (int r = 0; r < RANKS; r++)
            total += ranks[r].gradients[i];
        close_to(total, one.gradients[i], largest, "gradient", i);
    }
    for (int r = 0; r < RANKS; r++)
        for (size_t i = 0; i < m.states; i++) {
            close_to(ranks[r].state[i], one.state[i], 1, "state", i);
            assert_true(ranks[r].state[i] == ranks[0].state[i]);
        }
    for (int r = 0; r < RANKS; r++) {
        free(ranks[r].gradients);
        free(ranks[r].state);
    }
    free(one.gradients);
    free(one.state);
    free(meeting.sums);
    pthread_barrier_destroy(&meeting.barrier);
    pthread_mutex_destroy(&meeting.lock);
    model_free(&m);
}

/* --- one network --- */

static const char alone_text[] =
    "{\"name\":\"alone\",\"input\":[2,40,50],\"layers\":[{\"kind\":\"batchnorm\"},{\"kind\":\"flatten\"}]}";

/* Forward of `alone` on values around `middle`; the output and the running statistics. */
static void forward_alone(float middle, int threads, float *input, float *output, float statistics[4])
{
    struct model_spec m = read_model(alone_text);
    struct error e = {0};
    struct backend *backend = backend_cpu_open(threads, &e);
    struct network *n = network_new(&m, backend, BATCH, NULL, NETWORK_PLAIN, &e);
    size_t count = BATCH * model_shape_elements(m.input);
    struct random r = random_stream(1, 2, 3);
    network_init(n, 1, NULL);
    for (size_t i = 0; i < count; i++)
        input[i] = ((float *)network_input(n))[i] = middle + random_uniform(&r, -1, 1);
    assert_true(network_forward(n, true, &e));
    assert_true(backend->ops->read(network_output(n), output, &e));
    memcpy(statistics, n->state, 4 * sizeof(float));
    network_free(n);
    backend_close(backend);
    model_free(&m);
}

/* Of values far from zero, Σx² - (Σx)² would have no digit right. */
static void far_from_zero(void **state)
{
    (void)state;
    enum { AREA = 40 * 50, COUNT = BATCH * AREA };
    float *input = calloc(2 * COUNT, sizeof(float)), *output = calloc(2 * COUNT, sizeof(float)),
          statistics[4];
    forward_alone(10000, 1, input, output, statistics);
    for (size_t c = 0; c < 2; c++) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < COUNT; i++)
            mean += (double)input[(i / AREA * 2 + c) * AREA + i % AREA] / COUNT;
        for (size_t i = 0; i < COUNT; i++) {
            double apart = (double)input[(i / AREA * 2 + c) * AREA + i % AREA] - mean;
            variance += apart * apart / COUNT;
        }
        /* running = 0.9 × what it was + 0.1 × the batch's; the variance without bias */
        assert_float_equal(statistics[c], 0.1 * mean, 1e-3);
        assert_float_equal(statistics[2 + c], 0.9 + 0.1 * variance * COUNT / (COUNT - 1), 1e-4);
        for (size_t i = 0; i < COUNT; i++) {
            size_t at = (i / AREA * 2 + c) * AREA + i % AREA;
            assert_float_equal(output[at], ((double)input[at] - mean) / sqrt(variance + 1e-5), 3e-3);
        }
    }
    free(input);
    free(output);
}

static void same_bits_on_any_threads(void **state)
{
    (void)state;
    enum { COUNT = BATCH * 2 * 40 * 50 };
    float *input = calloc(COUNT, sizeof(float)), *one = calloc(COUNT, sizeof(float)),
          *more = calloc(COUNT, sizeof(float)), statistics[4], again[4];
    forward_alone(0.5f, 1, input, one, statistics);
    for (int threads = 2; threads <= 3; threads++) {
        forward_alone(0.5f, threads, input, more, again);
        assert_memory_equal(one, more, COUNT * sizeof(float));
        assert_memory_equal(statistics, again, sizeof again);
    }
    free(input);
    free(one);
    free(more);
}

static void one_value_a_channel(void **state)
{
    (void)state;
    struct model_spec m =
        read_model("{\"name\":\"one\",\"input\":[6],\"layers\":[{\"kind\":\"batchnorm\"}]}");
    struct error e = {0};
    struct backend *backend = backend_cpu_open(1, &e);
    struct network *n = network_new(&m, backend, 1, NULL, NETWORK_PLAIN, &e);
    assert_true(network_forward(n, false, &e));
    assert_false(network_forward(n, true, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "batch of 2"));
    network_free(n);
    backend_close(backend);
    model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_equal_one), cmocka_unit_test(far_from_zero),
                                       cmocka_unit_test(same_bits_on_any_threads),
                                       cmocka_unit_test(one_value_a_channel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
