/*
 * The sharded gradient: the same bits for 1, 2, 4 and 8 ranks and any number of threads, and but for rounding
 * that of one network over the whole batch. The ranks' allreduce is carried out here on arrays, as
 * engine/spec/tree.c says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/base/random.h"
#include "engine/spec/schedule.h"
#include "engine/train/reproducible.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 24, PIXELS = 64, CLASSES = 5, EXTRAS = 2, MOST = 4096 };

static const char plain[] =
    "{\"name\": \"small\", \"input\": [1, 8, 8], \"layers\": [{\"kind\": \"conv2d\", \"channels\": 6, "
    "\"kernel\": 3}, {\"kind\": \"relu\"}, {\"kind\": \"maxpool\", \"size\": 2}, {\"kind\": \"flatten\"}, "
    "{\"kind\": \"dense\", \"units\": 5}]}";

/* What depends on which samples are computed together (batchnorm) and on where a sample stands in the
 * batch (dropout). */
static const char normed[] =
    "{\"name\": \"normed\", \"input\": [1, 8, 8], \"layers\": [{\"kind\": \"conv2d\", \"channels\": 6, "
    "\"kernel\": 3}, {\"kind\": \"batchnorm\"}, {\"kind\": \"relu\"}, {\"kind\": \"dropout\", \"rate\": "
    "0.25}, "
    "{\"kind\": \"flatten\"}, {\"kind\": \"dense\", \"units\": 5}]}";

struct given {
    struct model_spec model;
    struct backend *backend;
    struct network *network; /* over the whole batch */
    float gradients[MOST], images[BATCH * PIXELS];
    int32_t classes[BATCH];
};

static int begin_with(const char *description, void **state)
{
    struct given *g = calloc(1, sizeof *g);
    json_t *object = json_loads(description, 0, NULL);
    if (!g || !model_from_json(object, &g->model, NULL) || !(g->backend = backend_cpu_open(1, NULL)))
        return -1;
    json_decref(object);
    g->network = network_new(&g->model, g->backend, BATCH, g->gradients, NETWORK_PLAIN, NULL);
    if (!g->network || g->model.parameters + EXTRAS + g->model.states > MOST)
        return -1;
    network_init(g->network, 3, NULL);
    struct random r = random_stream(5, 6, 7);
    for (int i = 0; i < BATCH * PIXELS; i++)
        g->images[i] = random_uniform(&r, -1, 1);
    for (int i = 0; i < BATCH; i++)
        g->classes[i] = (int32_t)random_below(&r, CLASSES);
    *state = g;
    return 0;
}

static int begin_plain(void **state)
{
    return begin_with(plain, state);
}

static int begin_normed(void **state)
{
    return begin_with(normed, state);
}

static int end(void **state)
{
    struct given *g = *state;
    network_free(g->network);
    backend_close(g->backend);
    model_free(&g->model);
    free(g);
    return 0;
}

/* What all ranks have after the allreduce, for that many ranks and threads, into sum; returns its length. */
static size_t sharded(struct given *g, int ranks, int threads, float *sum)
{
    struct error e = {0};
    struct reproducible *r[REPRODUCIBLE_SHARDS];
    size_t length = 0;
    float *x = aligned_alloc(64, REPRODUCIBLE_SHARDS * MOST * sizeof *x);
    assert_non_null(x);
    for (int k = 0; k < ranks; k++) {
        struct reproducible_spec spec = {.model = &g->model,
                                         .rank = k,
                                         .ranks = ranks,
                                         .batch = BATCH / ranks,
                                         .targets = 1,
                                         .threads = threads,
                                         .gradients = x + (size_t)k * MOST,
                                         .extras = EXTRAS};
        r[k] = reproducible_new(&spec, &e);
        if (!r[k])
            fail_msg("%s", e.text);
        int shards = reproducible_shards(r[k]), batch = reproducible_shard_batch(r[k]);
        assert_int_equal(shards * ranks, REPRODUCIBLE_SHARDS);
        assert_int_equal(batch, BATCH / REPRODUCIBLE_SHARDS);
        for (int i = 0; i < shards; i++) {
            size_t row = (size_t)(k * shards + i) * (size_t)batch;
            memcpy(reproducible_input(r[k], i), g->images + row * PIXELS, (size_t)batch * PIXELS * sizeof *x);
            memcpy(reproducible_classes(r[k], i), g->classes + row, (size_t)batch * sizeof *g->classes);
        }
        if (!reproducible_gradients(r[k], g->network, 1.0 / BATCH, &e))
            fail_msg("%s", e.text);
        length = reproducible_length(r[k]);
    }
    struct schedule s;
    assert_true(schedule_tree(&s, ranks, length, &e));
    for (int i = 0; i < s.count; i++) {
        const struct transfer *t = &s.transfers[i];
        for (size_t n = 0; n < length; n++) {
            float *to = &x[(size_t)t->to * MOST + n], from = x[(size_t)t->from * MOST + n];
            *to = t->reduce ? *to + from : from;
        }
    }
    schedule_free(&s);
    for (int k = 0; k < ranks; k++) {
        assert_memory_equal(x, x + (size_t)k * MOST, length * sizeof *x);
        reproducible_free(r[k]);
    }
    memcpy(sum, x, length * sizeof *x);
    free(x);
    return length;
}

static void test_same_bits(void **state)
{
    struct given *g = *state;
    static float once[MOST], again[MOST];
    size_t length = sharded(g, 1, 1, once);
    static const int ranks[] = {1, 1, 1, 2, 2, 4, 8}, threads[] = {2, 3, 8, 1, 2, 2, 1};
    for (int i = 0; i < 7; i++) {
        assert_int_equal(sharded(g, ranks[i], threads[i], again), length);
        assert_memory_equal(once, again, length * sizeof *once);
    }
}

/*
 * Batchnorm's running statistics move by a tenth towards those of the step, the mean over the shards: of the
 * means that is the mean of the whole batch, which a convolution computed by hand must have too.
 */
static void test_running_statistics(void **state)
{
    struct given *g = *state;
    static float sum[MOST];
    size_t n = g->model.parameters;
    sharded(g, 4, 2, sum);
    const float *weight = g->network->parameters + g->model.layers[0].tensors[0].offset;
    const float *bias = g->network->parameters + g->model.layers[0].tensors[1].offset;
    const float *means = sum + n + EXTRAS + g->model.layers[1].state[0].offset;
    for (int filter = 0; filter < 6; filter++) {
        double mean = 0;
        for (int i = 0; i < BATCH; i++)
            for (int y = 0; y < 6; y++)
                for (int x = 0; x < 6; x++)
                    for (int k = 0; k < 9; k++)
                        mean += (double)weight[filter * 9 + k] *
                                (double)g->images[i * PIXELS + (y + k / 3) * 8 + x + k % 3];
        mean = mean / (BATCH * 36) + (double)bias[filter];
        assert_true(fabs((double)means[filter] - 0.1 * mean) < 1e-6);
    }
    /* And the network that trains takes them over. */
    struct reproducible_spec spec = {.model = &g->model,
                                     .ranks = 1,
                                     .batch = BATCH,
                                     .targets = 1,
                                     .threads = 1,
                                     .gradients = sum,
                                     .extras = EXTRAS};
    struct reproducible *r = reproducible_new(&spec, NULL);
    assert_non_null(r);
    reproducible_take_state(r, g->network);
    assert_memory_equal(g->network->state, sum + n + EXTRAS, g->model.states * sizeof *sum);
    reproducible_free(r);
}

static void test_sum_of_the_batch(void **state)
{
    struct given *g = *state;
    struct error e = {0};
    static float sum[MOST];
    size_t n = g->model.parameters;
    assert_int_equal(sharded(g, 2, 1, sum), n + EXTRAS + g->model.states);
    memcpy(network_input(g->network), g->images, sizeof g->images);
    struct loss_sum loss;
    struct targets targets = {.classes = g->classes, .samples = BATCH};
    assert_true(network_gradients(g->network, &targets, 1.0 / BATCH, &loss, &e));
    double difference = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        difference = fmax(difference, fabs((double)sum[i] - (double)g->gradients[i]));
        size = fmax(size, fabs((double)g->gradients[i]));
    }
    assert_true(size > 0 && difference < 1e-6 * size);
    assert_true(fabs((double)sum[n] - loss.loss / BATCH) < 1e-6 * loss.loss / BATCH);
    assert_true(sum[n + 1] == 0); /* the caller's own number is left alone */
}

static void test_refusals(void **state)
{
    struct given *g = *state;
    struct error e = {0};
    struct reproducible_spec spec = {.model = &g->model,
                                     .ranks = 3,
                                     .batch = 8,
                                     .targets = 1,
                                     .threads = 1,
                                     .gradients = g->gradients,
                                     .extras = EXTRAS};
    assert_null(reproducible_new(&spec, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "3 ranks"));
    spec.ranks = 2;
    spec.batch = 6;
    assert_null(reproducible_new(&spec, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "multiple of 8"));
    spec.ranks = 16;
    assert_null(reproducible_new(&spec, &e));
    reproducible_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same_bits, begin_plain, end),
        cmocka_unit_test_setup_teardown(test_same_bits, begin_normed, end),
        cmocka_unit_test_setup_teardown(test_running_statistics, begin_normed, end),
        cmocka_unit_test_setup_teardown(test_sum_of_the_batch, begin_plain, end),
        cmocka_unit_test_setup_teardown(test_refusals, begin_plain, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
