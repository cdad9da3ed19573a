/* Ten training steps of the larger image models against PyTorch: tests/golden/make_vision_models.py. */
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

enum { MAX_BATCH = 16 };

static json_t *golden;

static double number(const json_t *run, const char *key)
{
    return json_number_value(json_object_get(run, key));
}

/* The model on smaller images, without dropout. */
static struct model_spec read_model(const json_t *run)
{
    struct model_spec m;
    struct error e = {0};
    if (!model_named(json_string_value(json_object_get(run, "name")), &m, &e))
        fail_msg("%s", e.text);
    m.input.height = m.input.width = (int)number(run, "size");
    for (int i = 0; i < m.layer_count; i++)
        m.layers[i].rate = 0;
    if (!model_resolve(&m, &e))
        fail_msg("%s", e.text);
    return m;
}

static void ten_steps(const json_t *run, int threads)
{
    struct model_spec m = read_model(run);
    struct error e = {0};
    struct backend *backend = backend_cpu_open(threads, &e);
    int batch = (int)number(run, "batch");
    float *gradients = calloc(m.parameters, sizeof(float));
    struct network *n = network_new(&m, backend, batch, gradients, NETWORK_PLAIN, &e);
    struct optimizer_spec sgd;
    assert_true(optimizer_named("sgd", &sgd, &e));
    sgd.momentum = 0;
    struct optimizer *optimizer = optimizer_new(&sgd, &m, backend, &e);
    if (!n || !optimizer) {
        fail_msg("%s", e.text);
        return;
    }
    network_init(n, (uint64_t)number(run, "seed"));
    int32_t labels[MAX_BATCH];
    struct targets targets = {.classes = labels, .samples = batch};
    struct random values = random_stream(3, 9, 0), classes = random_stream(3, 9, 1);
    assert_true(batch <= MAX_BATCH);
    for (size_t i = 0; i < (size_t)batch * model_shape_elements(m.input); i++)
        ((float *)network_input(n))[i] = random_uniform(&values, -1, 1);
    for (int i = 0; i < batch; i++)
        labels[i] = (int32_t)random_below(&classes, 10);
    const json_t *losses = json_object_get(run, "losses");
    assert_int_equal(json_array_size(losses), 10);
    for (size_t i = 0; i < 10; i++) {
        struct loss_sum sum;
        double squares, theirs = json_number_value(json_array_get(losses, i));
        assert_true(network_gradients(n, &targets, 1.0 / batch, &sum, &e));
        assert_true(
            optimizer_take_step(optimizer, number(run, "lr"), n->parameters, gradients, &squares, &e));
        if (!(fabs(sum.loss / batch - theirs) <= 1e-4 * theirs))
            fail_msg("%s: loss of step %zu is %.9g where PyTorch has %.9g", m.name, i, sum.loss / batch,
                     theirs);
    }
    optimizer_free(optimizer);
    network_free(n);
    backend_close(backend);
    model_free(&m);
    free(gradients);
}

static void run_at(void **state)
{
    int i = *(int *)*state;
    ten_steps(json_array_get(golden, (size_t)i), 1 + i % 2);
}

int main(void)
{
    static int first = 0, second = 1, third = 2;
    const struct CMUnitTest tests[] = {{"resnet20", run_at, NULL, NULL, &first},
                                       {"resnet50", run_at, NULL, NULL, &second},
                                       {"vgg16", run_at, NULL, NULL, &third}};
    golden = json_load_file("tests/golden/vision_models.json", 0, NULL);
    assert_int_equal(json_array_size(golden), 3);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(golden);
    return failed;
}
