/*
 * The CUDA backend, under emulation, beside the CPU backend: small models train alike, whatever the optimiser; recorded steps,
 * short batches, statistics over ranks; and what it refuses. Single layers are compared in test_ops.c.
 */
#include "engine/base/random.h"
#include "engine/nn/network.h"
#include "engine/nn/optimizer.h"
#include "engine/nn/plugin.h"
#include "kernels/cuda_backend.h"
#include "tests/unit/kernels/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CPU, GPU, BOTH };

struct pair {
    struct model_spec model;
    int batch;
    struct backend *backend[BOTH];
    float *gradients[BOTH]; /* of the backend's memory */
    struct network *network[BOTH];
    struct optimizer *optimizer[BOTH];
    int32_t *classes;
};

static void check(bool ok, const struct error *e)
{
    if (!ok)
        fail_msg("%s", e->text);
}

/* spec NULL: no optimiser. */
static struct pair pair_new(const char *json, int batch, unsigned options, const struct optimizer_spec *spec)
{
    struct pair p = {.batch = batch};
    struct error e = {0};
    json_t *described = json_loads(json, 0, NULL);
    assert_non_null(described);
    check(model_from_json(described, &p.model, &e), &e);
    json_decref(described);
    p.backend[CPU] = backend_cpu_open(1, &e);
    p.backend[GPU] = cuda_backend_open(0, options, &e);
    check(p.backend[GPU], &e);
    for (int i = 0; i < BOTH; i++) {
        p.gradients[i] = p.backend[i]->ops->memory_new(p.backend[i], p.model.parameters, &e);
        p.network[i] = network_new(&p.model, p.backend[i], batch, p.gradients[i], NETWORK_PLAIN, &e);
        check(p.network[i], &e);
        check(network_init(p.network[i], 3, &e), &e);
        p.optimizer[i] = spec ? optimizer_new(spec, &p.model, p.backend[i], &e) : NULL;
        check(p.optimizer[i] || !spec, &e);
    }
    p.classes = calloc((size_t)batch, sizeof *p.classes);
    return p;
}

static void pair_free(struct pair *p)
{
    for (int i = 0; i < BOTH; i++) {
        optimizer_free(p->optimizer[i]);
        network_free(p->network[i]);
        p->backend[i]->ops->memory_free(p->backend[i], p->gradients[i]);
        backend_close(p->backend[i]);
    }
    model_free(&p->model);
    free(p->classes);
}

/* The same batch for both; bce and mse are held against the values. */
static void fill_batch(struct pair *p, uint64_t number)
{
    size_t n = (size_t)p->batch * model_shape_elements(p->model.input);
    for (int i = 0; i < BOTH; i++) {
        struct random r = random_stream(11, 1, number);
        float *input = network_input(p->network[i]);
        for (size_t k = 0; k < n && p->model.input.kind == SHAPE_TOKENS; k++)
            ((int32_t *)(void *)input)[k] = (int32_t)random_below(&r, 20);
        for (size_t k = 0; k < n && p->model.input.kind != SHAPE_TOKENS; k++)
            input[k] = random_uniform(&r, -1, 1);
        for (int k = 0; k < p->batch; k++)
            p->classes[k] = (int32_t)random_below(&r, (uint64_t)model_output(&p->model).channels);
    }
}

static float *floats_of(struct pair *p, int i, const float *memory, size_t n)
{
    struct error e = {0};
    float *host = calloc(n + 1, sizeof *host);
    check(p->backend[i]->ops->copy_out(p->backend[i], host, memory, n, &e), &e);
    return host;
}

/* The largest distance between two arrays, as a share of the largest number of the first. */
static double apart(const float *a, const float *b, size_t n)
{
    double most = 0, size = 1e-30;
    for (size_t i = 0; i < n; i++) {
        double distance = fabs((double)a[i] - (double)b[i]);
        most = distance > most || isnan(distance) ? distance : most;
        size = fabs((double)a[i]) > size ? fabs((double)a[i]) : size;
    }
    return isnan(most) ? INFINITY : most / size;
}

static void assert_alike(struct pair *p, const float *cpu, const float *gpu, size_t n, double bound,
                         const char *what)
{
    float *a = floats_of(p, CPU, cpu, n), *b = floats_of(p, GPU, gpu, n);
    double distance = apart(a, b, n);
    free(a);
    free(b);
    if (!(distance <= bound))
        fail_msg("%s: %g apart, and %g is allowed", what, distance, bound);
}

/* One step of both; returns how far the losses are apart. */
static void train_step(struct pair *p, uint64_t number, double bound, const char *what)
{
    struct targets targets = {.classes = p->classes, .samples = p->batch};
    struct loss_sum sum[BOTH];
    double squares[BOTH] = {0};
    struct error e = {0};
    fill_batch(p, number);
    for (int i = 0; i < BOTH; i++)
        check(network_gradients(p->network[i], &targets, 1.0 / p->batch, &sum[i], &e), &e);
    if (fabs(sum[CPU].loss - sum[GPU].loss) > bound * sum[CPU].loss || isnan(sum[GPU].loss))
        fail_msg("%s, step %d: loss %.9g and %.9g", what, (int)number, sum[CPU].loss, sum[GPU].loss);
    assert_int_equal(sum[CPU].rows, sum[GPU].rows);
    if (number == 0) {
        assert_int_equal(sum[CPU].correct, sum[GPU].correct);
        assert_alike(p, p->gradients[CPU], p->gradients[GPU], p->model.parameters, bound, what);
    }
    for (int i = 0; i < BOTH; i++)
        check(optimizer_take_step(p->optimizer[i], 0.01, p->network[i]->parameters, p->gradients[i],
                                  &squares[i], &e),
              &e);
    if (fabs(squares[CPU] - squares[GPU]) > 20 * bound * squares[CPU])
        fail_msg("%s, step %d: squares of the gradient %g and %g", what, (int)number, squares[CPU],
                 squares[GPU]);
}

#define MLP                                                                                                  \
    "{\"name\": \"mlp\", \"input\": [1, 5, 7], \"layers\": [{\"kind\": \"flatten\"}, {\"kind\": \"dense\", " \
    "\"units\": 33}, {\"kind\": \"relu\"}, {\"kind\": \"dense\", \"units\": 10}]}"

/* Relu and pool behind a convolution, one that goes to the pool, plain ones; odd sizes. */
#define CNN                                                                                                  \
    "{\"name\": \"cnn\", \"input\": [2, 13, 11], \"layers\": [{\"kind\": \"conv2d\", \"channels\": 5, "      \
    "\"kernel\": 3}, {\"kind\": \"relu\"}, {\"kind\": \"maxpool\", \"size\": 2}, {\"kind\": \"conv2d\", "    \
    "\"channels\": 8, \"kernel\": 3, \"padding\": 1, \"stride\": 2}, {\"kind\": \"batchnorm\"}, {\"kind\": " \
    "\"relu\"}, {\"kind\": \"conv2d\", \"channels\": 6, \"kernel\": 1}, {\"kind\": \"relu\"}, {\"kind\": "   \
    "\"flatten\"}, {\"kind\": \"dense\", \"units\": 10}]}"

static void test_optimizers(void **state)
{
    (void)state;
    static const char *const names[] = {"sgd", "adam", "adamw", "lars", "lamb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int clipped = 0; clipped < 2; clipped++) {
            struct optimizer_spec spec;
            assert_true(optimizer_named(names[i], &spec, NULL));
            spec.nesterov = spec.kind == OPTIMIZER_SGD && clipped;
            spec.clip = clipped ? 0.05 : 0;
            spec.weight_decay = 0.01;
            struct pair p = pair_new(MLP, 6, 0, &spec);
            for (uint64_t step = 0; step < 4; step++)
                train_step(&p, step, 1e-4, names[i]);
            assert_alike(&p, p.network[CPU]->parameters, p.network[GPU]->parameters, p.model.parameters, 1e-4,
                         names[i]);
            pair_free(&p);
        }
}

/* More pieces than one block adds up; and the second optimiser of a backend does not take the first one's pieces for its own. */
static void test_many_pieces(void **state)
{
    (void)state;
    enum { LAYERS = 1100, EACH = 3, OPTIMIZERS = 2 };
    struct layer_spec *layers = calloc(LAYERS, sizeof *layers);
    struct optimizer_spec adam;
    struct error e = {0};
    float values[EACH * LAYERS], after[BOTH][OPTIMIZERS][EACH * LAYERS];
    double squares[BOTH][OPTIMIZERS] = {{0}}, expected = 0;
    assert_true(optimizer_named("adam", &adam, NULL));
    adam.clip = 1;
    for (int i = 0; i < EACH * LAYERS; i++)
        values[i] = (float)(i % 17 - 8) / 16;
    for (int i = 0; i < LAYERS; i++)
        layers[i] = (struct layer_spec){
            .kind = LAYER_DENSE,
            .tensor_count = 1,
            .tensors = {
                {.name = "bias", .rank = 1, .extent = {EACH}, .offset = EACH * (size_t)i, .elements = EACH}}};
    for (int side = 0; side < BOTH; side++) {
        struct backend *b = side == CPU ? backend_cpu_open(1, &e) : cuda_backend_open(0, 0, &e);
        check(b, &e);
        for (int i = 0; i < OPTIMIZERS; i++) { /* the second leaves the last layer out */
            struct model_spec model = {
                .layers = layers, .layer_count = LAYERS - i, .parameters = EACH * (size_t)(LAYERS - i)};
            struct optimizer *o = optimizer_new(&adam, &model, b, &e);
            float *w = b->ops->memory_new(b, EACH * LAYERS, &e),
                  *g = b->ops->memory_new(b, EACH * LAYERS, &e);
            check(o && w && g && b->ops->copy_in(b, w, values, EACH * LAYERS, &e) &&
                      b->ops->copy_in(b, g, values, EACH * LAYERS, &e),
                  &e);
            for (int step = 0; step < 2; step++)
                check(optimizer_take_step(o, 0.01, w, g, &squares[side][i], &e), &e);
            check(b->ops->copy_out(b, after[side][i], w, EACH * LAYERS, &e), &e);
            b->ops->memory_free(b, w);
            b->ops->memory_free(b, g);
            optimizer_free(o);
        }
        backend_close(b);
    }
    for (int i = 0; i < EACH * LAYERS; i++)
        expected += (double)values[i] * (double)values[i];
    assert_true(fabs(squares[GPU][0] - expected) < 1e-9 * expected);
    for (int i = 0; i < OPTIMIZERS; i++) {
        assert_true(fabs(squares[GPU][i] - squares[CPU][i]) < 1e-6 * squares[CPU][i]);
        for (int k = 0; k < EACH * LAYERS; k++)
            assert_true(fabsf(after[GPU][i][k] - after[CPU][i][k]) < 1e-5F);
    }
    free(layers);
}

static void test_cnn(void **state)
{
    (void)state;
    struct optimizer_spec spec;
    assert_true(optimizer_named("sgd", &spec, NULL));
    struct pair p = pair_new(CNN, 7, 0, &spec);
    for (uint64_t step = 0; step < 5; step++)
        train_step(&p, step, 1e-4, "cnn");
    assert_alike(&p, p.network[CPU]->parameters, p.network[GPU]->parameters, p.model.parameters, 1e-3,
                 "parameters");
    assert_alike(&p, p.network[CPU]->state, p.network[GPU]->state, p.model.states, 1e-3,
                 "running statistics");
    pair_free(&p);
}

/* --- single passes --- */

#define IMAGE(shape, loss, layers)                                                                           \
    "{\"name\": \"one\", \"input\": [" shape "], \"loss\": " loss ", \"layers\": [" layers "]}"
#define CROSS "\"cross_entropy\""
#define CONV(rest) "{\"kind\": \"conv2d\", " rest "}, "
#define RELU "{\"kind\": \"relu\"}, "
#define MAXPOOL(rest) "{\"kind\": \"maxpool\", \"size\": " rest "}, "
#define HEAD "{\"kind\": \"flatten\"}, {\"kind\": \"dense\", \"units\": 7}"
#define FIRST CONV("\"channels\": 6, \"kernel\": 3")

static const struct {
    const char *name, *json;
    int batch;
} models[] = {
    {"strides, padding, dilation",
     IMAGE("3, 14, 12", CROSS,
           FIRST CONV("\"channels\": 9, \"kernel\": [3, 2], \"stride\": [2, 1], \"padding\": [2, 1], "
                      "\"dilation\": [2, 1], \"bias\": false") HEAD),
     5},
    {"groups",
     IMAGE("4, 9, 9", CROSS,
           CONV("\"channels\": 8, \"kernel\": 3, \"groups\": 2")
               RELU CONV("\"channels\": 8, \"kernel\": 3, \"groups\": 8, \"padding\": 1") RELU HEAD),
     3},
    {"a batch in pieces",
     IMAGE("1, 30, 30", CROSS,
           CONV("\"channels\": 4, \"kernel\": 3") RELU CONV("\"channels\": 4, \"kernel\": 3, \"stride\": 2")
               HEAD),
     5},
    {"1x1 convolutions",
     IMAGE("8, 6, 5", CROSS,
           CONV("\"channels\": 12, \"kernel\": 1")
               RELU CONV("\"channels\": 4, \"kernel\": 1, \"stride\": 2, \"bias\": false") HEAD),
     4},
    {"pools that overlap",
     IMAGE("2, 13, 11", CROSS,
           FIRST RELU "{\"kind\": \"maxpool\", \"size\": 3, \"stride\": 2, \"padding\": 1}, "
                      "{\"kind\": \"avgpool\", \"size\": 3, \"stride\": 2, \"padding\": 1}, " HEAD),
     3},
    {"pools that leave gaps",
     IMAGE("2, 13, 11", CROSS,
           FIRST "{\"kind\": \"maxpool\", \"size\": 2, \"stride\": 3}, {\"kind\": "
                 "\"global_avgpool\"}, " HEAD),
     3},
    {"a pool of 3 in one go", IMAGE("2, 13, 11", CROSS, FIRST RELU MAXPOOL("3") HEAD), 3},
    {"a residual block, added to twice",
     IMAGE("2, 8, 7", CROSS,
           FIRST
           "{\"kind\": \"residual\", \"layers\": [{\"kind\": \"conv2d\", \"channels\": 6, \"kernel\": 3, "
           "\"padding\": 1}, {\"kind\": \"batchnorm\"}]}, " RELU
           "{\"kind\": \"residual\", \"layers\": [{\"kind\": \"tanh\"}], \"shortcut\": [{\"kind\": "
           "\"sigmoid\"}]}, " HEAD),
     4},
    {"branches",
     IMAGE("2, 8, 7", CROSS,
           FIRST "{\"kind\": \"branches\", \"branches\": [[{\"kind\": \"conv2d\", \"channels\": 3, "
                 "\"kernel\": 1}], [{\"kind\": \"leaky_relu\", \"slope\": 0.1}], [{\"kind\": "
                 "\"maxpool\", \"size\": 3, \"stride\": 1, \"padding\": 1}]]}, " RELU HEAD),
     4},
    {"batchnorm of a flat tensor, many rows",
     IMAGE("1, 3, 3", CROSS,
           "{\"kind\": \"flatten\"}, {\"kind\": \"dense\", \"units\": 37, \"bias\": false}, {\"kind\": "
           "\"batchnorm\"}, " RELU "{\"kind\": \"dense\", \"units\": 7}"),
     131},
    {"reshape",
     IMAGE("2, 6, 4", CROSS,
           FIRST "{\"kind\": \"reshape\", \"shape\": [4, 3, 4]}, "
                 "{\"kind\": \"avgpool\", \"size\": 2}, " HEAD),
     4},
    {"many classes", IMAGE("5, 1, 1", CROSS, "{\"kind\": \"dense\", \"units\": 301}"), 9},
    {"smoothed labels",
     "{\"name\": \"one\", \"input\": [5, 1, 1], \"label_smoothing\": 0.1, \"layers\": [{\"kind\": \"dense\", "
     "\"units\": "
     "70}]}",
     9},
    {"mse of numbers", IMAGE("5, 1, 1", "\"mse\"", "{\"kind\": \"dense\", \"units\": 33}"), 9},
    {"bce of numbers", IMAGE("5, 1, 1", "\"bce\"", "{\"kind\": \"dense\", \"units\": 3}"), 9},
};

static void pass_of(struct pair *p, int i, const struct targets *targets, struct loss_sum *sum)
{
    struct error e = {0};
    check(network_gradients(p->network[i], targets, 1.0 / p->batch, sum, &e), &e);
}

static void test_models(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct pair p = pair_new(models[m].json, models[m].batch, 0, NULL);
        struct loss_sum sum[BOTH];
        size_t outputs = (size_t)p.batch * model_shape_elements(model_output(&p.model));
        float *values = calloc(outputs, sizeof *values);
        struct random r = random_stream(3, 2, 1);
        for (size_t i = 0; i < outputs; i++)
            values[i] = random_uniform(&r, 0, 1);
        fill_batch(&p, 0);
        for (int i = 0; i < BOTH; i++) {
            struct targets t = {.classes = p.classes, .samples = p.batch - 1}; /* one fills the batch up */
            t.values = p.model.loss.kind == LOSS_CROSS_ENTROPY ? NULL : values;
            pass_of(&p, i, &t, &sum[i]);
        }
        if (fabs(sum[CPU].loss - sum[GPU].loss) > 1e-5 * sum[CPU].loss || isnan(sum[GPU].loss))
            fail_msg("%s: loss %.9g and %.9g", models[m].name, sum[CPU].loss, sum[GPU].loss);
        assert_int_equal(sum[CPU].correct, sum[GPU].correct);
        assert_alike(&p, p.gradients[CPU], p.gradients[GPU], p.model.parameters, 2e-5, models[m].name);
        free(values);
        pair_free(&p);
    }
}

/* --- what goes beyond a pass --- */

/* What a step's passes leave: the loss, and the gradients (free them). */
static float *one_step(struct pair *p, uint64_t step, bool recorded, struct loss_sum *sum)
{
    struct network *n = p->network[GPU];
    struct targets targets = {.classes = p->classes, .samples = step == 3 ? p->batch - 1 : p->batch};
    struct error e = {0};
    fill_batch(p, step);
    n->context.step = (long)step; /* another mask */
    if (!recorded) {
        pass_of(p, GPU, &targets, sum);
        return floats_of(p, GPU, p->gradients[GPU], p->model.parameters);
    }
    /* As network_gradients_recorded does, which does not tell whether it was replayed. */
    const struct backend_ops *ops = n->backend->ops;
    struct pass_context c = n->context;
    struct loss_sum later;
    c.parameters = n->parameters;
    c.gradients = n->gradients;
    c.state = n->state;
    c.training = true;
    bool replayed;
    check(ops->record_begin(n->backend, network_output(n), &c, &targets, &replayed, &e), &e);
    assert_int_equal(replayed, step >= 2); /* the first step runs as ever, the second is recorded */
    if (!replayed)
        pass_of(p, GPU, &targets, &later);
    check(ops->record_end(n->backend, sum, &e), &e);
    return floats_of(p, GPU, p->gradients[GPU], p->model.parameters);
}

/* Recorded or not, a step gives the same bits: another batch, mask, number of samples that count; a pass in between. */
static void test_recorded_steps(void **state)
{
    (void)state;
    static const char *const recorded[] = {
        CNN,
        "{\"name\": \"dropout\", \"input\": [9, 1, 1], \"layers\": [{\"kind\": \"dropout\", \"rate\": 0.5}, "
        "{\"kind\": \"dense\", \"units\": 10}]}",
        "{\"name\": \"text\", \"input\": {\"tokens\": 5}, \"layers\": [{\"kind\": \"embedding\", "
        "\"vocabulary\": 20, "
        "\"units\": 7}, {\"kind\": \"simple_rnn\", \"units\": 6}, {\"kind\": \"lstm\", \"units\": 5, "
        "\"last\": true}, "
        "{\"kind\": \"dense\", \"units\": 10}]}",
    };
    for (size_t m = 0; m < sizeof recorded / sizeof *recorded; m++) {
        struct pair p = pair_new(recorded[m], 4, 0, NULL);
        for (uint64_t step = 0; step < 5; step++) {
            struct loss_sum plain, graph;
            float *behind = one_step(&p, step, true, &graph), *before = one_step(&p, step, false, &plain);
            assert_true(plain.loss == graph.loss && plain.correct == graph.correct &&
                        plain.rows == graph.rows);
            assert_memory_equal(before, behind, p.model.parameters * sizeof(float));
            free(before);
            free(behind);
        }
        pair_free(&p);
    }
}

/* Two ranks with the same batch: the sum over both is twice that of one. */
static bool twice(void *self, float *values, size_t n, struct error *e)
{
    (void)e;
    ++*(int *)self;
    for (size_t i = 0; i < n; i++)
        values[i] *= 2;
    return true;
}

static void test_synchronised_batchnorm(void **state)
{
    (void)state;
    int calls = 0;
    struct rank_sum ranks = {.sum = twice, .self = &calls, .ranks = 2};
    struct pair p = pair_new(
        "{\"name\": \"sync\", \"input\": [3, 5, 4], \"layers\": [{\"kind\": \"batchnorm\", \"sync\": "
        "true}, {\"kind\": \"relu\"}, {\"kind\": \"flatten\"}, {\"kind\": \"dense\", \"units\": 4}]}",
        6, 0, NULL);
    struct targets targets = {.classes = p.classes, .samples = p.batch};
    struct loss_sum sum[BOTH];
    fill_batch(&p, 0);
    for (int i = 0; i < BOTH; i++) {
        p.network[i]->context.all_ranks = &ranks;
        pass_of(&p, i, &targets, &sum[i]);
    }
    assert_int_equal(calls, 4); /* forward and backward, of both */
    assert_float_equal(sum[CPU].loss, sum[GPU].loss, 1e-5);
    assert_alike(&p, p.gradients[CPU], p.gradients[GPU], p.model.parameters, 1e-5, "gradients");
    assert_alike(&p, p.network[CPU]->state, p.network[GPU]->state, p.model.states, 1e-5,
                 "running statistics");
    pair_free(&p);
}

/* A generator learns through its discriminator: the gradient of the input itself, and one that is given from outside. */
static void test_input_gradient(void **state)
{
    (void)state;
    struct pair p = pair_new(CNN, 3, 0, NULL);
    struct targets targets = {.classes = p.classes, .samples = p.batch};
    struct loss_sum sum[BOTH];
    struct error e = {0};
    size_t n = (size_t)p.batch * model_shape_elements(p.model.input);
    float *inputs[BOTH], given[3 * 10], *out = calloc((size_t)p.batch * 10, sizeof *out);
    for (int i = 0; i < BOTH; i++) {
        network_free(p.network[i]);
        p.network[i] =
            network_new(&p.model, p.backend[i], p.batch, p.gradients[i], NETWORK_INPUT_GRADIENT, &e);
        check(p.network[i] && network_init(p.network[i], 3, &e), &e);
        inputs[i] = calloc(n, sizeof(float));
    }
    fill_batch(&p, 0);
    for (int i = 0; i < BOTH; i++) {
        pass_of(&p, i, &targets, &sum[i]);
        check(p.backend[i]->ops->read_gradient(p.network[i]->stages[0], inputs[i], &e), &e);
    }
    assert_true(apart(inputs[CPU], inputs[GPU], n) < 1e-4);
    struct random r = random_stream(4, 4, 4);
    for (size_t k = 0; k < sizeof given / sizeof *given; k++)
        given[k] = random_uniform(&r, -1, 1);
    for (int i = 0; i < BOTH; i++) {
        struct stage *last = network_output(p.network[i]);
        check(network_forward(p.network[i], true, &e), &e);
        check(p.backend[i]->ops->write_gradient(last, given, &e), &e);
        check(p.backend[i]->ops->read_gradient(last, out, &e), &e);
        assert_memory_equal(given, out, sizeof given);
        check(network_backward(p.network[i], &e), &e);
        check(p.backend[i]->ops->read_gradient(p.network[i]->stages[0], inputs[i], &e), &e);
    }
    assert_true(apart(inputs[CPU], inputs[GPU], n) < 1e-4);
    free(out);
    free(inputs[CPU]);
    free(inputs[GPU]);
    pair_free(&p);
}

/* Evaluation with a batch that is not full: running statistics, predictions, no gradient; and the layers' outputs. */
static void test_evaluation(void **state)
{
    (void)state;
    struct pair p = pair_new(CNN, 6, 0, NULL);
    struct targets targets = {.classes = p.classes, .samples = 5};
    struct loss_sum sum[BOTH];
    int32_t predicted[BOTH][6] = {{0}};
    struct error e = {0};
    for (int round = 0; round < 2; round++) {
        fill_batch(&p, (uint64_t)round);
        for (int i = 0; i < BOTH; i++)
            check(network_evaluate(p.network[i], &targets, &sum[i], predicted[i], &e), &e);
        assert_float_equal(sum[CPU].loss, sum[GPU].loss, 1e-4);
        assert_int_equal(sum[CPU].correct, sum[GPU].correct);
        assert_int_equal(sum[GPU].rows, 5);
        assert_memory_equal(predicted[CPU], predicted[GPU], 5 * sizeof(int32_t));
    }
    for (int layer = 0; layer < p.model.layer_count; layer++) {
        struct stage *s[BOTH] = {network_stage(p.network[CPU], layer), network_stage(p.network[GPU], layer)};
        size_t n = (size_t)p.batch * model_shape_elements(p.model.layers[layer].out);
        float *out[BOTH] = {calloc(n + 8192, sizeof(float)), calloc(n + 8192, sizeof(float))};
        for (int i = 0; i < BOTH; i++)
            check(p.backend[i]->ops->read(s[i], out[i], &e), &e);
        bool whole = layer + 1 == p.model.layer_count || network_stage(p.network[CPU], layer + 1) != s[CPU];
        bool same = layer + 1 == p.model.layer_count || network_stage(p.network[GPU], layer + 1) != s[GPU];
        if (whole && same && apart(out[CPU], out[GPU], n) > 1e-4)
            fail_msg("layer %d: outputs are %g apart", layer, apart(out[CPU], out[GPU], n));
        free(out[CPU]);
        free(out[GPU]);
    }
    pair_free(&p);
}

/* Operands rounded to bf16, as the CPU does it where it can; elsewhere the loss alone can be compared, with that of fp32. */
static void test_bf16(void **state)
{
    (void)state;
    struct pair p = pair_new(CNN, 6, GPU_BF16, NULL);
    struct targets targets = {.classes = p.classes, .samples = p.batch};
    struct loss_sum sum[BOTH];
    struct error e = {0};
    bool same = backend_cpu_use_bf16(p.backend[CPU], &e);
    network_free(p.network[CPU]); /* its stages were made for fp32 */
    p.network[CPU] = network_new(&p.model, p.backend[CPU], p.batch, p.gradients[CPU], NETWORK_PLAIN, &e);
    check(p.network[CPU] && network_init(p.network[CPU], 3, &e), &e);
    fill_batch(&p, 0);
    for (int i = 0; i < BOTH; i++)
        pass_of(&p, i, &targets, &sum[i]);
    assert_float_equal(sum[CPU].loss, sum[GPU].loss, (same ? 1e-3 : 0.02) * sum[CPU].loss);
    if (same)
        assert_alike(&p, p.gradients[CPU], p.gradients[GPU], p.model.parameters, 0.02, "gradients in bf16");
    pair_free(&p);
}

static void test_refusals(void **state)
{
    (void)state;
    struct pair p = pair_new(MLP, 4, 0, NULL);
    struct targets targets = {.classes = p.classes, .samples = p.batch};
    struct loss_sum sum;
    struct error e = {0};
    fill_batch(&p, 0);
    p.classes[2] = 10;
    assert_false(network_gradients(p.network[GPU], &targets, 1, &sum, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "class 10 is not among the 10"));
    pair_free(&p);
}

/* More than there is: a sentence with what was asked for, and all that had been taken is given back. */
static void test_memory(void **state)
{
    (void)state;
    struct error e = {0};
    struct model_spec model;
    if (!device_emulated())
        skip(); /* other programs have a part of its memory */
    json_t *described = json_loads(CNN, 0, NULL);
    check(model_from_json(described, &model, &e), &e);
    json_decref(described);
    assert_int_equal(emulation_memory_in_use(), 0);
    emulation_memory_limit(16 << 20);
    struct backend *b = cuda_backend_open(0, 0, &e);
    check(b, &e);
    size_t before = emulation_memory_in_use();
    assert_null(network_new(&model, b, 10000, NULL, NETWORK_PLAIN, &e));
    assert_int_equal(e.kind, ERROR_FAILED);
    assert_non_null(strstr(e.text, "has no room for"));
    assert_non_null(strstr(e.text, "smaller --batch"));
    assert_int_equal(emulation_memory_in_use(), before);
    emulation_memory_limit(0);
    backend_close(b);
    assert_int_equal(emulation_memory_in_use(), 0);
    assert_null(cuda_backend_open(99, 0, &e));
    assert_int_equal(e.kind, ERROR_MISSING);
    model_free(&model);
}

/* An argument: only the tests of that name (* and ? as in a shell). */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_optimizers),
        cmocka_unit_test(test_many_pieces),
        cmocka_unit_test(test_cnn),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_recorded_steps),
        cmocka_unit_test(test_synchronised_batchnorm),
        cmocka_unit_test(test_input_gradient),
        cmocka_unit_test(test_evaluation),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
