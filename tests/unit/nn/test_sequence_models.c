/*
 * Ten training steps of the models of text against PyTorch, from the same weights:
 * tests/golden/make_sequence_models.py.
 */
#include "engine/base/random.h"
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"
#include "engine/spec/model_lua.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

static void fill(struct network *n, int32_t *classes, size_t rows, uint64_t range)
{
    struct random inputs = random_stream(3, 9, 0), targets = random_stream(3, 9, 1);
    size_t count = (size_t)n->batch * model_shape_elements(n->model.input);
    for (size_t i = 0; i < count; i++)
        ((int32_t *)network_input(n))[i] =
            (int32_t)random_below(&inputs, (uint64_t)n->model.layers[0].vocabulary);
    for (size_t i = 0; i < rows; i++)
        classes[i] = (int32_t)random_below(&targets, range);
}

static void check_run(const json_t *run, int threads)
{
    struct model_spec m;
    struct optimizer_spec adam;
    struct error e = {0};
    const json_t *losses = json_object_get(run, "losses");
    int batch = (int)json_integer_value(json_object_get(run, "batch"));
    if (!model_named(json_string_value(json_object_get(run, "model")), &m, &e) ||
        !optimizer_named("adam", &adam, &e))
        fail_msg("%s", e.text);
    struct model_shape out = model_output(&m);
    bool steps = out.kind == SHAPE_SEQUENCE;
    size_t rows = (size_t)batch * (steps ? (size_t)out.channels : 1);
    struct backend *backend = backend_cpu_open(threads, &e);
    float *gradients = calloc(m.parameters, sizeof(float));
    int32_t *classes = calloc(rows, sizeof *classes);
    struct network *n = network_new(&m, backend, batch, gradients, NETWORK_PLAIN, &e);
    struct optimizer *optimizer = optimizer_new(&adam, &m, backend, &e);
    if (!n || !optimizer)
        fail_msg("%s: %s", m.name, e.text);
    struct targets targets = {.classes = classes, .samples = batch};
    network_init(n, (uint64_t)json_integer_value(json_object_get(run, "seed")));
    fill(n, classes, rows, m.loss.kind == LOSS_BCE ? 2 : (uint64_t)(steps ? out.width : out.channels));
    assert_int_equal(json_array_size(losses), 10);
    for (size_t i = 0; i < json_array_size(losses); i++) {
        struct loss_sum sum;
        double squares, theirs = json_number_value(json_array_get(losses, i));
        assert_true(network_gradients(n, &targets, 1.0 / (double)rows, &sum, &e));
        assert_true(optimizer_take_step(optimizer, 1e-3, n->parameters, gradients, &squares, &e));
        if (!(fabs(sum.loss / (double)sum.rows - theirs) <= 1e-4 * theirs))
            fail_msg("%s, step %zu: the loss is %.8g where PyTorch has %.8g", m.name, i + 1,
                     sum.loss / (double)sum.rows, theirs);
    }
    optimizer_free(optimizer);
    network_free(n);
    backend_close(backend);
    model_free(&m);
    free(gradients);
    free(classes);
}

static void ten_steps(void **state)
{
    size_t i;
    json_t *golden = json_load_file("tests/golden/sequence_models.json", 0, NULL), *run;
    assert_int_equal(json_array_size(golden), 3);
    json_array_foreach(golden, i, run)
    {
        check_run(run, *(int *)*state);
    }
    json_decref(golden);
}

int main(void)
{
    int one = 1, two = 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(ten_steps, &one),
                                       {"ten_steps_on_two_threads", ten_steps, NULL, NULL, &two}};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
