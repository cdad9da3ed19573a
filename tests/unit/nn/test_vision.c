/* Layers of images, forward and backward, in training and evaluation, against PyTorch: tests/golden/make_vision.py. */
#include "engine/base/random.h"
#include "engine/nn/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 10 };

static json_t *golden;
static int batch, stride;
static uint64_t seed;

/* Every `step`-th of ours against the list of theirs; what is small beside the largest may be off by as much. */
static void compare(const json_t *one, const char *key, const float *ours, size_t n, size_t step)
{
    const json_t *list = json_object_get(one, key);
    double largest = 0;
    assert_int_equal(json_array_size(list), (n + step - 1) / step);
    for (size_t i = 0; i < json_array_size(list); i++)
        largest = fmax(largest, fabs(json_number_value(json_array_get(list, i))));
    for (size_t i = 0; i < json_array_size(list); i++) {
        double theirs = json_number_value(json_array_get(list, i)), mine = (double)ours[i * step];
        if (!(fabs(mine - theirs) <= 1e-4 * fabs(theirs) + 3e-6 * largest + 1e-7))
            fail_msg("%s: %s %zu is %.8g where PyTorch has %.8g",
                     json_string_value(json_object_get(json_object_get(one, "model"), "name")), key, i * step,
                     mine, theirs);
    }
}

static void compare_norms(const json_t *one, const struct model_spec *m, float *gradients)
{
    float norms[64] = {0};
    size_t count = 0;
    for (int i = 0; i < m->layer_count; i++)
        for (int t = 0; t < m->layers[i].tensor_count; t++) {
            struct tensor tensor = network_tensor(&m->layers[i], t, gradients);
            double squares = 0;
            for (size_t k = 0; k < tensor_elements(&tensor); k++)
                squares += (double)tensor.data[k] * (double)tensor.data[k];
            norms[count++] = (float)sqrt(squares);
        }
    compare(one, "gradient_norms", norms, count, 1);
}

/* As network_init draws them, but norms around their ones and zeros. */
static void draw(struct network *n)
{
    network_init(n, seed, NULL);
    for (int i = 0; i < n->model.layer_count; i++) {
        struct random r = random_stream(seed, 7, (uint64_t)i);
        for (int t = 0; t < n->model.layers[i].tensor_count && n->model.layers[i].kind == LAYER_BATCHNORM;
             t++) {
            struct tensor tensor = network_tensor(&n->model.layers[i], t, n->parameters);
            for (size_t k = 0; k < tensor_elements(&tensor); k++)
                tensor.data[k] += random_uniform(&r, -0.5f, 0.5f);
        }
    }
}

/* No implementation that is hundreds of times slower than it should be. */
static void check_implementations(const struct network *n)
{
    for (int i = 1; i < n->stage_count; i++)
        for (int pass = 0; pass < PASSES; pass++) {
            const char *name = n->backend->ops->implementation(n->stages[i], (enum pass)pass);
            if (strncmp(name, "ref", 3) == 0)
                fail_msg("%s: stage %d, pass %d runs %s", n->model.name, i, pass, name);
        }
}

static void check_case(const json_t *one, int threads)
{
    struct model_spec m;
    struct error e = {0};
    if (!model_from_json(json_object_get(one, "model"), &m, &e))
        fail_msg("%s", e.text);
    size_t inputs = (size_t)batch * model_shape_elements(m.input), outputs = (size_t)batch * CLASSES;
    struct backend *backend = backend_cpu_open(threads, &e);
    float *gradients = calloc(m.parameters, sizeof(float));
    int32_t labels[16];
    struct targets targets = {.classes = labels, .samples = batch};
    struct network *n = network_new(&m, backend, batch, gradients, NETWORK_INPUT_GRADIENT, &e);
    if (!n) {
        fail_msg("%s: %s", m.name, e.text);
        return;
    }
    float *read = calloc(inputs + outputs, sizeof(float));
    check_implementations(n);
    draw(n);
    float *input = network_input(n);
    struct random values = random_stream(3, 9, 0), classes = random_stream(3, 9, 1);
    for (size_t i = 0; i < inputs; i++)
        input[i] = random_uniform(&values, -1, 1);
    for (int i = 0; i < batch; i++)
        labels[i] = (int32_t)random_below(&classes, CLASSES);
    struct loss_sum sum;
    assert_true(network_gradients(n, &targets, 1.0 / batch, &sum, &e));
    assert_true(backend->ops->read(network_output(n), read, &e));
    compare(one, "logits", read, outputs, 1);
    compare_norms(one, &m, gradients);
    compare(one, "gradients", gradients, m.parameters, (size_t)stride);
    assert_true(backend->ops->read_gradient(n->stages[0], read, &e));
    compare(one, "input_gradient", read, inputs, (size_t)stride);
    compare(one, "running", n->state, m.states, 1);
    assert_true(network_forward(n, false, &e));
    assert_true(backend->ops->read(network_output(n), read, &e));
    compare(one, "evaluated", read, outputs, 1);
    network_free(n);
    backend_close(backend);
    model_free(&m);
    free(gradients);
    free(read);
}

static void small_networks(void **state)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        check_case(one, *(int *)*state);
    }
    assert_true(i > 30);
}

int main(void)
{
    int one = 1, two = 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(small_networks, &one),
                                       {"small_networks_on_two_threads", small_networks, NULL, NULL, &two}};
    golden = json_load_file("tests/golden/vision.json", 0, NULL);
    const json_t *about = json_object_get(golden, "about");
    batch = (int)json_integer_value(json_object_get(about, "batch"));
    stride = (int)json_integer_value(json_object_get(about, "stride"));
    seed = (uint64_t)json_integer_value(json_object_get(about, "seed"));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(golden);
    return failed;
}
