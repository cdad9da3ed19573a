/* Ten training steps of five models with two optimisers against PyTorch: tests/golden/make_golden.py. */
#include "engine/base/random.h"
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BATCH = 64 };

static json_t *golden;

static double number(const json_t *run, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(run, key), i));
}

static void close_to(double ours, double theirs, double tolerance, const char *model, const char *what,
                     size_t i)
{
    if (!(fabs(ours - theirs) <= tolerance))
        fail_msg("%s, %s %zu: %.9g where PyTorch has %.9g", model, what, i, ours, theirs);
}

static void fill(float *input, size_t n, int32_t *labels, int batch)
{
    struct random values = random_stream(3, 9, 0), classes = random_stream(3, 9, 1);
    for (size_t i = 0; i < n; i++)
        input[i] = random_uniform(&values, -1, 1);
    for (int i = 0; i < batch; i++)
        labels[i] = (int32_t)random_below(&classes, 10);
}

static void compare_gradients(const json_t *run, const struct model_spec *model, float *gradients)
{
    size_t stride = (size_t)json_integer_value(json_object_get(run, "stride")), tensor = 0;
    for (int i = 0; i < model->layer_count; i++) {
        const struct layer_spec *layer = &model->layers[i];
        for (int v = 0; v < layer->tensor_count; v++, tensor++) {
            struct tensor view = network_tensor(layer, v, gradients);
            double squares = 0, theirs = number(run, "gradient_norms", tensor);
            for (size_t k = 0; k < tensor_elements(&view); k++)
                squares += (double)view.data[k] * view.data[k];
            close_to(sqrt(squares), theirs, 1e-5 * theirs + 1e-7, model->name, "norm of gradient", tensor);
        }
    }
    assert_int_equal(tensor, json_array_size(json_object_get(run, "gradient_norms")));
    for (size_t i = 0; i * stride < model->parameters; i++) {
        double theirs = number(run, "gradients", i);
        close_to(gradients[i * stride], theirs, 1e-4 * fabs(theirs) + 1e-6, model->name, "gradient", i);
    }
}

static void compare_run(const json_t *run, int threads)
{
    struct model_spec model;
    struct error e = {0};
    if (!model_from_json(json_object_get(run, "model"), &model, &e))
        fail_msg("%s", e.text);
    int batch = (int)json_integer_value(json_object_get(run, "batch"));
    struct optimizer_spec spec;
    assert_true(optimizer_named(json_string_value(json_object_get(run, "optimizer")), &spec, &e));
    double rate = spec.kind == OPTIMIZER_ADAM ? 1e-3 : 0.05;
    struct backend *backend = backend_cpu_open(threads, &e);
    float *gradients = calloc(model.parameters, sizeof(float));
    struct network *network = network_new(&model, backend, batch, gradients, NETWORK_PLAIN, &e);
    struct optimizer *optimizer = optimizer_new(&spec, &model, backend, &e);
    if (!network || !optimizer)
        fail_msg("%s", e.text);
    int32_t labels[MAX_BATCH];
    struct targets targets = {.classes = labels, .samples = batch};
    assert_true(batch <= MAX_BATCH);
    network_init(network, (uint64_t)json_integer_value(json_object_get(run, "seed")));
    fill(network_input(network), (size_t)batch * model_shape_elements(model.input), labels, batch);
    size_t steps = json_array_size(json_object_get(run, "losses"));
    assert_int_equal(steps, 10);
    for (size_t i = 0; i < steps; i++) {
        struct loss_sum sum;
        double squares = 0;
        assert_true(network_gradients(network, &targets, 1.0 / batch, &sum, &e));
        close_to(sum.loss / batch, number(run, "losses", i), 2e-4, model.name, "loss of step", i);
        if (i == 0) {
            close_to(sum.loss / batch, number(run, "losses", i), 1e-6, model.name, "loss of step", i);
            compare_gradients(run, &model, gradients);
        }
        assert_true(optimizer_take_step(optimizer, rate, network->parameters, gradients, &squares, &e));
        double sum_of_squares = 0;
        for (size_t k = 0; k < model.parameters; k++)
            sum_of_squares += (double)gradients[k] * gradients[k];
        assert_float_equal(squares / sum_of_squares, 1, 1e-9);
    }
    size_t stride = (size_t)json_integer_value(json_object_get(run, "stride"));
    for (size_t i = 0; i * stride < model.parameters; i++)
        close_to(network->parameters[i * stride], number(run, "parameters", i), 2e-4, model.name, "parameter",
                 i);
    optimizer_free(optimizer);
    network_free(network);
    backend_close(backend);
    model_free(&model);
    free(gradients);
}

static void ten_steps(void **state)
{
    size_t index;
    json_t *run;
    int threads = *(int *)*state;
    assert_int_equal(json_array_size(golden), 10);
    json_array_foreach(golden, index, run)
    {
        compare_run(run, threads);
    }
}

int main(void)
{
    int one = 1, two = 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(ten_steps, &one),
                                       {"ten_steps_on_two_threads", ten_steps, NULL, NULL, &two}};
    golden = json_load_file("tests/golden/training.json", 0, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(golden);
    return failed;
}
