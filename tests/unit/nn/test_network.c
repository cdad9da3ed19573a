/* Which implementations oneDNN picked, initial parameters, and what a network refuses and repeats. */
#include "engine/base/random.h"
#include "engine/nn/network.h"
#include "engine/spec/model_lua.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    struct model_spec model;
    struct backend *backend;
    float *gradients;
    struct network *network;
};

static struct fixture make(const char *name, int batch, int threads)
{
    struct fixture f;
    struct error e = {0};
    assert_true(model_named(name, &f.model, &e));
    f.backend = backend_cpu_open(threads, &e);
    assert_non_null(f.backend);
    f.gradients = calloc(f.model.parameters, sizeof(float));
    f.network = network_new(&f.model, f.backend, batch, f.gradients, NETWORK_PLAIN, &e);
    if (!f.network)
        fail_msg("%s", e.text);
    return f;
}

static void drop(struct fixture *f)
{
    network_free(f->network);
    backend_close(f->backend);
    model_free(&f->model);
    free(f->gradients);
}

/* How many passes are done by some library's implementation, none of them a reference or by way of a matrix product. */
static int implementations(const char *model, int batch, int threads)
{
    struct fixture f = make(model, batch, threads);
    int found = 0;
    for (int i = 1; i < f.network->stage_count; i++)
        for (int pass = 0; pass < PASSES; pass++) {
            const char *name = f.backend->ops->implementation(f.network->stages[i], (enum pass)pass);
            if (strncmp(name, "ref", 3) == 0 || strstr(name, "gemm"))
                fail_msg("%s, stage %d, pass %d: %s", model, i, pass, name);
            found += *name != 0;
        }
    drop(&f);
    return found;
}

/*
 * A reference implementation is hundreds of times slower and nothing else would tell. Each convolution has three
 * passes, but the first one, which needs no gradient of the image.
 */
static void no_reference_convolution(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        for (int batch = 1; batch <= 128; batch = batch == 1 ? 32 : 2 * batch)
            assert_int_equal(implementations("cnn", batch, threads), 3 * 3 - 1);
        assert_int_equal(implementations("resnet20", 4, threads), 3 * 21 - 1);
        assert_int_equal(implementations("resnet50", 1, threads), 3 * 53 - 1);
    }
    assert_int_equal(implementations("vgg16", 1, 1), 3 * 13 - 1);
}

static void initial_parameters(void **state)
{
    (void)state;
    struct fixture f = make("cnn", 1, 1), g = make("cnn", 8, 2);
    network_init(f.network, 1, NULL);
    network_init(g.network, 1, NULL);
    assert_memory_equal(f.network->parameters, g.network->parameters, f.model.parameters * sizeof(float));
    assert_true(network_hash(f.network) == network_hash(g.network));
    network_init(g.network, 2, NULL);
    assert_true(network_hash(f.network) != network_hash(g.network));
    for (int i = 0; i < f.model.layer_count; i++) {
        if (f.model.layers[i].tensor_count == 0)
            continue;
        struct tensor weights = network_tensor(&f.model.layers[i], 0, f.network->parameters);
        size_t n = tensor_elements(&weights), inputs = n / weights.extent[0];
        double bound = 1 / sqrt((double)inputs), mean = 0, squares = 0;
        for (size_t k = 0; k < n; k++) {
            assert_true(fabs((double)weights.data[k]) <= bound * 1.000001);
            mean += weights.data[k] / (double)n;
            squares += (double)weights.data[k] * weights.data[k] / (double)n;
        }
        /* of a uniform distribution: variance bound²/3; five standard errors of mean and variance */
        assert_true(fabs(mean) < 5 * bound / sqrt(3.0 * (double)n));
        assert_true(fabs(squares - bound * bound / 3) < 5 * bound * bound * sqrt(4.0 / 45 / (double)n));
    }
    drop(&f);
    drop(&g);
}

/* Uniform logits cost log 10 nats whatever the label. */
static void loss_of_nothing(void **state)
{
    (void)state;
    struct fixture f = make("mlp", 3, 1);
    struct error e = {0};
    struct loss_sum sum;
    int32_t labels[3] = {0, 4, 9}, predicted[3] = {7, 7, 7};
    struct targets targets = {.classes = labels, .samples = 3};
    assert_true(network_evaluate(f.network, &targets, &sum, predicted, &e)); /* all parameters are zero */
    assert_float_equal(sum.loss, 3 * log(10), 1e-12);
    assert_int_equal(sum.correct, 1);
    assert_int_equal(predicted[2], 0);
    /* A last bias of 1000 must not overflow: the loss of the label 4 is 1000. */
    f.network->parameters[f.model.parameters - 10] = 1000;
    assert_true(network_gradients(f.network, &targets, 1, &sum, &e));
    assert_float_equal(sum.loss, 2000, 1e-6);
    assert_float_equal(f.gradients[f.model.parameters - 10], 2, 1e-6);
    drop(&f);
}

/* The squared error of classes is that of ones and zeros. */
static void mse_of_classes(void **state)
{
    (void)state;
    struct fixture f = make("mlp", 3, 1);
    struct error e = {0};
    struct loss_sum of_classes, of_values;
    int32_t labels[3] = {7, 0, 9}, predicted[3];
    float values[30] = {0}, *input = network_input(f.network),
          *kept = malloc(f.model.parameters * sizeof(float));
    for (int i = 0; i < 3; i++)
        values[i * 10 + labels[i]] = 1;
    f.network->model.loss.kind = LOSS_MSE;
    network_init(f.network, 3, NULL);
    for (int i = 0; i < 3 * 784; i++)
        input[i] = (float)(i * 37 % 101) / 50 - 1;
    struct targets targets = {.classes = labels, .samples = 3};
    assert_true(network_gradients(f.network, &targets, 1, &of_classes, &e));
    memcpy(kept, f.gradients, f.model.parameters * sizeof(float));
    assert_true(network_evaluate(f.network, &targets, &of_classes, predicted, &e));
    targets = (struct targets){.values = values, .samples = 3};
    assert_true(network_gradients(f.network, &targets, 1, &of_values, &e));
    assert_memory_equal(kept, f.gradients, f.model.parameters * sizeof(float));
    assert_float_equal(of_classes.loss, of_values.loss, 0);
    long right = 0;
    for (int i = 0; i < 3; i++)
        right += predicted[i] == labels[i];
    assert_int_equal(of_classes.correct, right);
    labels[1] = 10;
    targets = (struct targets){.classes = labels, .samples = 3};
    assert_false(network_gradients(f.network, &targets, 1, &of_classes, &e));
    free(kept);
    drop(&f);
}

/* A network without gradients does less, and the same: as the trainer's tests of another batch rely on. */
static void forward_only(void **state)
{
    (void)state;
    struct fixture f = make("cnn", 4, 1);
    struct error e = {0};
    struct network *other = network_new(&f.model, f.backend, 7, NULL, NETWORK_PLAIN, &e);
    assert_non_null(other);
    network_init(f.network, 5, NULL);
    network_init(other, 5, NULL);
    int32_t labels[7] = {1, 2, 3, 4}, predicted[4], again[7];
    struct targets targets = {.classes = labels, .samples = 4};
    float *input = network_input(f.network), *its_input = network_input(other);
    for (int i = 0; i < 4 * 784; i++)
        input[i] = its_input[i] = (float)(i * 37 % 101) / 50 - 1;
    struct loss_sum sum, same;
    assert_true(network_evaluate(f.network, &targets, &sum, predicted, &e));
    assert_true(network_evaluate(other, &targets, &same, again, &e));
    assert_float_equal(sum.loss, same.loss, 1e-5);
    assert_memory_equal(predicted, again, 4 * sizeof *predicted);
    for (int i = 1; i < other->stage_count; i++)
        assert_string_equal(f.backend->ops->implementation(other->stages[i], PASS_BACKWARD_DATA), "");
    network_free(other);
    drop(&f);
}

/* The first layer after which numbers are none, and in the gradients the last. */
static void where_numbers_end(void **state)
{
    (void)state;
    struct fixture f = make("cnn", 2, 1);
    struct error e = {0};
    const struct layer_spec *layers = f.model.layers;
    int dense = f.model.layer_count - 1;
    network_init(f.network, 3, NULL);
    float *input = network_input(f.network);
    for (int i = 0; i < 2 * 784; i++)
        input[i] = (float)(i % 7);
    assert_true(network_forward(f.network, true, &e));
    assert_int_equal(network_first_not_finite(f.network, &e), -1);
    /* Finite weights, but what they make overflows. */
    float *weight = f.network->parameters + layers[3].tensors[0].offset;
    for (size_t i = 0; i < layers[3].tensors[0].elements; i++)
        weight[i] = 3e38f;
    assert_true(network_forward(f.network, true, &e));
    assert_int_equal(network_first_not_finite(f.network, &e), 3);
    /* A relu would make 0 of this one. */
    f.network->parameters[0] = NAN;
    assert_true(network_forward(f.network, true, &e));
    assert_int_equal(network_first_not_finite(f.network, &e), 0);
    assert_int_equal(network_gradient_not_finite(f.network, f.gradients), -1);
    f.gradients[layers[3].tensors[1].offset] = INFINITY;
    assert_int_equal(network_gradient_not_finite(f.network, f.gradients), 3);
    f.gradients[layers[dense].tensors[0].offset] = NAN;
    assert_int_equal(network_gradient_not_finite(f.network, f.gradients), dense);
    drop(&f);
}

static void random_numbers(void **state)
{
    (void)state;
    /* SplitMix64 from state 0: the first outputs of the published reference code */
    struct random r = {0};
    assert_true(random_next(&r) == 0xe220a8397b1dcdafu);
    assert_true(random_next(&r) == 0x6e789e6aa1b965f4u);
    uint32_t order[1000], seen[1000] = {0};
    struct random a = random_stream(1, 2, 3);
    random_permutation(&a, order, 1000);
    int fixed = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(order[i] < 1000);
        seen[order[i]]++;
        fixed += order[i] == i;
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(seen[i], 1);
    assert_true(fixed < 10); /* one is expected */
    for (int i = 0; i < 1000; i++) {
        float value = random_uniform(&a, -2, 3);
        assert_true(value >= -2 && value < 3);
        assert_true(random_below(&a, 3) < 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_reference_convolution),
                                       cmocka_unit_test(initial_parameters),
                                       cmocka_unit_test(loss_of_nothing),
                                       cmocka_unit_test(mse_of_classes),
                                       cmocka_unit_test(forward_only),
                                       cmocka_unit_test(where_numbers_end),
                                       cmocka_unit_test(random_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
