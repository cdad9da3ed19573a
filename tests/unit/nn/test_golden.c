/* Ten training steps of all models that can be trained against PyTorch: tests/golden/make_golden.py. */
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 40, STEPS = 10 };

/* One entry of the file, on so many threads. */
struct golden {
    const json_t *run;
    int threads;
    char name[64];
};

static double number(const json_t *run, const char *key, size_t i)
{
    return json_number_value(json_array_get(json_object_get(run, key), i));
}

static long long integer(const json_t *run, const char *key)
{
    return json_integer_value(json_object_get(run, key));
}

static void close_to(double ours, double theirs, double tolerance, const char *what, size_t i)
{
    if (!(fabs(ours - theirs) <= tolerance))
        fail_msg("%s %zu: %.9g where PyTorch has %.9g", what, i, ours, theirs);
}

/* The description in the file, or that of a named model, where there is an image with it and without dropout. */
static json_t *description(const json_t *run, struct error *e)
{
    json_t *model = json_object_get(run, "model"), *image = json_object_get(run, "image");
    if (!json_is_string(model))
        return json_incref(model);
    json_t *named = model_description(json_string_value(model), e);
    json_t *layers = json_object_get(named, "layers");
    for (size_t i = json_array_size(layers); named && image && i-- > 0;)
        if (!strcmp(json_string_value(json_object_get(json_array_get(layers, i), "kind")), "dropout"))
            json_array_remove(layers, i);
    if (named && image)
        json_object_set(named, "input", image);
    return named;
}

/* --- a batch ----------------------------------------------------------------------------------------------- */

static void fill_inputs(struct network *n)
{
    struct random values = random_stream(3, 9, 0);
    size_t elements = (size_t)n->batch * model_shape_elements(n->model.input);
    float *floats = network_input(n);
    int32_t *tokens = network_input(n);
    for (size_t i = 0; i < elements; i++)
        if (n->model.input.kind == SHAPE_TOKENS)
            tokens[i] = (int32_t)random_below(&values, (uint64_t)n->model.layers[0].vocabulary);
        else
            floats[i] = random_uniform(&values, -1, 1);
}

/* Classes, one a row; *rows: how many there are. The caller frees them. */
static int32_t *draw_classes(const struct network *n, size_t *rows)
{
    struct random random = random_stream(3, 9, 1);
    struct model_shape out = model_output(&n->model);
    bool sequence = out.kind == SHAPE_SEQUENCE, bce = n->model.loss.kind == LOSS_BCE;
    uint64_t classes = bce ? 2 : (uint64_t)(sequence ? out.width : out.channels);
    *rows = (size_t)n->batch * (bce ? model_shape_elements(out) : sequence ? (size_t)out.channels : 1);
    int32_t *drawn = malloc(*rows * sizeof *drawn);
    assert_non_null(drawn);
    for (size_t i = 0; i < *rows; i++)
        drawn[i] = (int32_t)random_below(&random, classes);
    return drawn;
}

/* --- comparisons ------------------------------------------------------------------------------------------- */

/* Norms to the run's tolerance, single elements to ten times that of themselves and of all elements' root mean square. */
static void compare_gradients(const json_t *run, const struct model_spec *model, float *gradients)
{
    size_t stride = (size_t)integer(run, "stride"), tensor = 0;
    double all = 0, tolerance = json_number_value(json_object_get(run, "gradient_tolerance"));
    for (size_t i = 0; i < json_array_size(json_object_get(run, "gradient_norms")); i++)
        all += pow(number(run, "gradient_norms", i), 2);
    double usual = sqrt(all / (double)model->parameters);
    for (int i = 0; i < model->layer_count; i++) {
        const struct layer_spec *layer = &model->layers[i];
        for (int v = 0; v < layer->tensor_count; v++, tensor++) {
            struct tensor view = network_tensor(layer, v, gradients);
            double squares = 0, theirs = number(run, "gradient_norms", tensor);
            for (size_t k = 0; k < tensor_elements(&view); k++)
                squares += (double)view.data[k] * view.data[k];
            close_to(sqrt(squares), theirs, tolerance * (theirs + usual), "norm of gradient", tensor);
        }
    }
    assert_int_equal(tensor, json_array_size(json_object_get(run, "gradient_norms")));
    for (size_t i = 0; i * stride < model->parameters; i++) {
        double theirs = number(run, "gradients", i);
        close_to(gradients[i * stride], theirs, 10 * tolerance * (fabs(theirs) + usual), "gradient", i);
    }
}

static void train(const json_t *run, struct network *n, struct optimizer *optimizer, float *gradients)
{
    size_t rows, stride = (size_t)integer(run, "stride");
    double rate = json_number_value(json_object_get(run, "lr"));
    double tolerance = json_number_value(json_object_get(run, "loss_tolerance"));
    int32_t *classes = draw_classes(n, &rows);
    struct targets targets = {.classes = classes, .samples = n->batch};
    fill_inputs(n);
    assert_int_equal(json_array_size(json_object_get(run, "losses")), STEPS);
    for (size_t i = 0; i < STEPS; i++) {
        struct loss_sum sum;
        double squares = 0, sum_of_squares = 0, theirs = number(run, "losses", i);
        assert_true(network_gradients(n, &targets, 1.0 / (double)rows, &sum, NULL));
        close_to(sum.loss / (double)rows, theirs, (i == 0 ? 1e-5 : tolerance) * theirs, "loss of step", i);
        if (i == 0)
            compare_gradients(run, &n->model, gradients);
        assert_true(optimizer_take_step(optimizer, rate, n->parameters, gradients, &squares, NULL));
        for (size_t k = 0; k < n->model.parameters; k++)
            sum_of_squares += (double)gradients[k] * gradients[k];
        assert_float_equal(squares / sum_of_squares, 1, 1e-9);
    }
    for (size_t i = 0; i * stride < n->model.parameters; i++)
        close_to(n->parameters[i * stride], number(run, "parameters", i), 2e-4, "parameter", i);
    free(classes);
}

static void ten_steps(void **state)
{
    const struct golden *g = *state;
    struct model_spec model;
    struct error e = {0};
    json_t *described = description(g->run, &e);
    if (!described || !model_from_json(described, &model, &e))
        fail_msg("%s", e.text);
    assert_int_equal(model.parameters, integer(g->run, "parameter_count"));
    struct optimizer_spec spec;
    assert_true(optimizer_named(json_string_value(json_object_get(g->run, "optimizer")), &spec, &e));
    struct backend *backend = backend_cpu_open(g->threads, &e);
    float *gradients = calloc(model.parameters, sizeof(float));
    struct network *n =
        network_new(&model, backend, (int)integer(g->run, "batch"), gradients, NETWORK_PLAIN, &e);
    struct optimizer *optimizer = optimizer_new(&spec, &model, backend, &e);
    if (!n || !optimizer)
        fail_msg("%s", e.text);
    network_init(n, (uint64_t)integer(g->run, "seed"), NULL);
    train(g->run, n, optimizer, gradients);
    optimizer_free(optimizer);
    network_free(n);
    backend_close(backend);
    model_free(&model);
    json_decref(described);
    free(gradients);
}

/* --- a test for each run, small models on one thread and on two -------------------------------------------- */

static int add(const json_t *run, int threads, struct golden *g, struct CMUnitTest *test)
{
    const json_t *model = json_object_get(run, "model");
    const char *name = json_string_value(json_is_string(model) ? model : json_object_get(model, "name"));
    *g = (struct golden){.run = run, .threads = threads};
    snprintf(g->name, sizeof g->name, "%s, %s, threads: %d", name,
             json_string_value(json_object_get(run, "optimizer")), threads);
    *test = (struct CMUnitTest){g->name, ten_steps, NULL, NULL, g};
    return 1;
}

int main(int argc, char **argv)
{
    enum { SMALL = 3000000 };
    static struct golden golden[MOST_RUNS];
    struct CMUnitTest tests[MOST_RUNS];
    int count = 0;
    size_t index;
    const json_t *run;
    json_t *file = json_load_file("tests/golden/training.json", 0, NULL);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    json_array_foreach(file, index, run)
    {
        bool small = integer(run, "parameter_count") < SMALL;
        for (int threads = small ? 1 : 2; threads <= 2 && count < MOST_RUNS; threads++)
            count += add(run, threads, &golden[count], &tests[count]);
    }
    int failed = count ? _cmocka_run_group_tests("golden", tests, (size_t)count, NULL, NULL) : 1;
    json_decref(file);
    return failed;
}
