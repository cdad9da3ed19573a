/* Where buckets begin, worked by hand, and that gradients are final when a network says so. */
#include "engine/nn/network.h"
#include "engine/spec/model_lua.h"
#include "engine/train/buckets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 10 };

/* Layers of one tensor each, of so many elements. */
static struct model_spec made_of(struct layer_spec *layers, const size_t *elements, int count)
{
    struct model_spec m = {.layers = layers, .layer_count = count};
    memset(layers, 0, (size_t)count * sizeof *layers);
    for (int i = 0; i < count; i++) {
        if (elements[i] == 0) /* a relu, say */
            continue;
        layers[i].tensor_count = 1;
        layers[i].tensors[0] = (struct layer_tensor){.offset = m.parameters, .elements = elements[i]};
        m.parameters += elements[i];
    }
    return m;
}

static void expect(const struct model_spec *m, size_t bytes, const size_t *begins, int count)
{
    struct buckets b;
    struct error e = {0};
    size_t end = m->parameters + 2;
    assert_true(buckets_plan(&b, m, end, bytes, &e));
    assert_int_equal(b.count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(b.list[i].begin, begins[i]);
        assert_int_equal(b.list[i].end, end);
        end = begins[i];
    }
    buckets_free(&b);
}

/* Ten layers of 1000 floats: odd ones begin in the middle of a line of 16 floats, so there a bucket would begin 8 later. */
static void test_boundaries(void **state)
{
    (void)state;
    struct layer_spec layers[LAYERS];
    size_t each[LAYERS];
    for (int i = 0; i < LAYERS; i++)
        each[i] = 1000;
    struct model_spec m = made_of(layers, each, LAYERS);
    const size_t whole[] = {0}, pairs[] = {8000, 6000, 4000, 2000, 0},
                 singles[] = {9008, 8000, 7008, 6000, 5008, 4000, 3008, 2000, 1008, 0};
    expect(&m, 0, whole, 1);
    expect(&m, 8000, pairs, 5);
    expect(&m, 3900, singles, 10); /* 992 floats are 3968 bytes */
    expect(&m, 4000, pairs, 5);    /* more than a layer that begins 8 floats later */
    expect(&m, 1, singles, 10);
    expect(&m, (size_t)1 << 40, whole, 1);
}

/* The first bucket closes at 1 MiB already; layers without parameters change nothing; none is split. */
static void test_first_and_whole(void **state)
{
    (void)state;
    struct layer_spec layers[6];
    const size_t each[] = {160, 16 << 20, 0, 200000, 0, 200000};
    struct model_spec m = made_of(layers, each, 6);
    const size_t first = 160 + (16 << 20);
    const size_t large[] = {first, 160,
                            0}; /* 400002 floats are 1 MiB and more; then comes a layer of 64 MiB */
    expect(&m, 25 << 20, large, 3);
    const size_t small[] = {first + 200000, first, 160, 0};
    expect(&m, 64 << 10, small, 4);
}

static void test_none(void **state)
{
    (void)state;
    struct layer_spec layers[2];
    const size_t each[] = {0, 0}, whole[] = {0};
    struct model_spec m = made_of(layers, each, 2);
    expect(&m, 1, whole, 1);
}

/* What the hook was told, held against the gradients at the end of the pass. */
struct heard {
    const struct network *network;
    float *seen; /* gradients as they were when they were called final */
    size_t from;
    int calls;
    bool descending;
};

static bool hear(void *self, size_t from, struct error *e)
{
    (void)e;
    struct heard *h = self;
    h->descending = h->descending && from < h->from;
    if (h->descending)
        memcpy(h->seen + from, h->network->gradients + from, (h->from - from) * sizeof(float));
    h->from = from;
    h->calls++;
    return true;
}

static void check_final(const char *name, int calls)
{
    struct model_spec model;
    struct error e = {0};
    assert_true(model_named(name, &model, &e));
    size_t n = model.parameters;
    struct backend *backend = backend_cpu_open(1, &e);
    float *gradients = malloc(n * sizeof *gradients), *seen = malloc(n * sizeof *seen);
    assert_true(backend && gradients && seen);
    for (size_t i = 0; i < n; i++)
        gradients[i] = seen[i] = NAN;
    struct network *network = network_new(&model, backend, 2, gradients, NETWORK_PLAIN, &e);
    if (!network)
        fail_msg("%s", e.text);
    network_init(network, 1, NULL);
    struct heard heard = {.network = network, .seen = seen, .from = n, .descending = true};
    network->hook = (struct gradient_hook){.ready = hear, .self = &heard};
    float *in = network_input(network);
    for (size_t i = 0; i < 2 * model_shape_elements(model.input); i++)
        in[i] = (float)(i % 7) / 7;
    const int32_t classes[2] = {1, 3};
    struct targets targets = {.classes = classes, .samples = 2};
    struct loss_sum sum;
    if (!network_gradients(network, &targets, 0.5, &sum, &e))
        fail_msg("%s", e.text);
    assert_true(heard.descending);
    assert_int_equal(heard.from, 0);
    assert_int_equal(heard.calls, calls);
    assert_memory_equal(seen, gradients, n * sizeof *seen);
    for (size_t i = 0; i < n; i++)
        assert_true(isfinite(gradients[i]));
    network_free(network);
    backend_close(backend);
    model_free(&model);
    free(gradients);
    free(seen);
}

static void test_final(void **state)
{
    (void)state;
    check_final("mlp", 2);
    check_final("cnn", 5); /* three convolutions, two dense layers */
    check_final("resnet20",
                43); /* He et al. 2015: 19 convolutions with a batchnorm each, a dense layer; 2 shortcuts */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_boundaries),
                                       cmocka_unit_test(test_first_and_whole), cmocka_unit_test(test_none),
                                       cmocka_unit_test(test_final)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
