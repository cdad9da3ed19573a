/* The engine's loss and gradients against a plain float64 network and its central differences. */
#include "engine/base/random.h"
#include "engine/nn/network.h"
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

enum { BATCH = 5, CLASSES = 10 };

/* --- a plain float64 network --- */

static size_t at(struct model_shape s, int c, int y, int x)
{
    return ((size_t)c * (size_t)s.height + (size_t)y) * (size_t)s.width + (size_t)x;
}

static void reference_conv2d(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    int depth = l->in.channels / l->groups, share = l->channels / l->groups;
    for (int o = 0; o < l->out.channels; o++)
        for (int y = 0; y < l->out.height; y++)
            for (int x = 0; x < l->out.width; x++) {
                const double *weight =
                    p + l->tensors[0].offset +
                    (size_t)o * (size_t)depth * (size_t)l->kernel[0] * (size_t)l->kernel[1];
                double sum = l->bias ? p[l->tensors[1].offset + (size_t)o] : 0;
                for (int c = 0; c < depth; c++)
                    for (int ky = 0; ky < l->kernel[0]; ky++)
                        for (int kx = 0; kx < l->kernel[1]; kx++, weight++) {
                            int iy = y * l->stride[0] + ky * l->dilation[0] - l->padding[0],
                                ix = x * l->stride[1] + kx * l->dilation[1] - l->padding[1];
                            if (iy >= 0 && ix >= 0 && iy < l->in.height && ix < l->in.width)
                                sum += *weight * in[at(l->in, o / share * depth + c, iy, ix)];
                        }
                out[at(l->out, o, y, x)] = sum;
            }
}

/* Maximum or mean over windows; padding is in no maximum and a zero in each mean. */
static void reference_pool(const struct layer_spec *l, const double *in, double *out)
{
    for (int c = 0; c < l->out.channels; c++)
        for (int y = 0; y < l->out.height; y++)
            for (int x = 0; x < l->out.width; x++) {
                double best = -INFINITY, sum = 0;
                for (int k = 0; k < l->kernel[0] * l->kernel[1]; k++) {
                    int iy = y * l->stride[0] + k / l->kernel[1] - l->padding[0],
                        ix = x * l->stride[1] + k % l->kernel[1] - l->padding[1];
                    if (iy < 0 || ix < 0 || iy >= l->in.height || ix >= l->in.width)
                        continue;
                    best = fmax(best, in[at(l->in, c, iy, ix)]);
                    sum += in[at(l->in, c, iy, ix)];
                }
                out[at(l->out, c, y, x)] =
                    l->kind == LAYER_MAXPOOL ? best : sum / (l->kernel[0] * l->kernel[1]);
            }
}

/* Over the whole batch: samples lie one behind the other. */
static void reference_batchnorm(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    size_t area = (size_t)l->in.height * (size_t)l->in.width, sample = area * (size_t)l->in.channels;
    for (int c = 0; c < l->in.channels; c++) {
        double mean = 0, variance = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t n = 0; n < BATCH; n++)
                for (size_t k = 0; k < area; k++) {
                    double value = in[n * sample + (size_t)c * area + k];
                    if (pass == 0)
                        mean += value / (double)(BATCH * area);
                    else
                        variance += (value - mean) * (value - mean) / (double)(BATCH * area);
                }
        for (size_t n = 0; n < BATCH; n++)
            for (size_t k = n * sample + (size_t)c * area; k < n * sample + (size_t)(c + 1) * area; k++)
                out[k] = (in[k] - mean) / sqrt(variance + l->epsilon) * p[l->tensors[0].offset + (size_t)c] +
                         p[l->tensors[1].offset + (size_t)c];
    }
}

static void reference_dense(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    size_t inputs = l->tensors[0].extent[1];
    for (size_t u = 0; u < (size_t)l->units; u++) {
        double sum = l->bias ? p[l->tensors[1].offset + u] : 0;
        for (size_t i = 0; i < inputs; i++)
            sum += p[l->tensors[0].offset + u * inputs + i] * in[i];
        out[u] = sum;
    }
}

/* One sample of a layer that looks at samples one by one; inputs: where the sample lies in each. */
static void reference_sample(const struct layer_spec *l, const double *p, const double *const *inputs,
                             const size_t *sizes, double *out)
{
    const double *in = inputs[0];
    size_t n = model_shape_elements(l->in);
    switch (l->kind) {
    case LAYER_CONV2D: reference_conv2d(l, p, in, out); break;
    case LAYER_MAXPOOL:
    case LAYER_AVGPOOL: reference_pool(l, in, out); break;
    case LAYER_DENSE: reference_dense(l, p, in, out); break;
    case LAYER_RELU:
        for (size_t k = 0; k < n; k++)
            out[k] = in[k] > 0 ? in[k] : 0;
        break;
    case LAYER_GLOBAL_AVGPOOL:
        for (size_t k = 0; k < n; k++)
            out[k / (n / (size_t)l->out.channels)] += in[k] * (double)l->out.channels / (double)n;
        break;
    case LAYER_ADD:
        for (size_t k = 0; k < n; k++)
            for (int i = 0; i < l->input_count; i++)
                out[k] += inputs[i][k];
        break;
    case LAYER_CONCAT:
        for (int i = 0; i < l->input_count; out += sizes[i], i++)
            memcpy(out, inputs[i], sizes[i] * sizeof *out);
        break;
    default: memcpy(out, in, n * sizeof *in); break;
    }
}

/* Mean cross-entropy of the batch. */
static double reference_loss(const struct model_spec *m, const double *p, const double *input,
                             const int32_t *labels)
{
    double **values = calloc((size_t)m->layer_count, sizeof *values), loss = 0;
    for (int i = 0; i < m->layer_count; i++) {
        const struct layer_spec *l = &m->layers[i];
        size_t n = model_shape_elements(l->out), sizes[LAYER_MAX_INPUTS] = {0};
        const double *from[LAYER_MAX_INPUTS], *sample[LAYER_MAX_INPUTS];
        values[i] = calloc(BATCH * n, sizeof(double));
        for (int k = 0; k < LAYER_MAX_INPUTS; k++)
            from[k] = sample[k] = input;
        for (int k = 0; k < l->input_count; k++) {
            bool given = l->inputs[k] == MODEL_INPUT;
            from[k] = given ? input : values[l->inputs[k]];
            sizes[k] = model_shape_elements(given ? m->input : m->layers[l->inputs[k]].out);
        }
        if (l->kind == LAYER_BATCHNORM)
            reference_batchnorm(l, p, from[0], values[i]);
        for (size_t r = 0; r < BATCH && l->kind != LAYER_BATCHNORM; r++) {
            for (int k = 0; k < l->input_count; k++)
                sample[k] = from[k] + r * sizes[k];
            reference_sample(l, p, sample, sizes, values[i] + r * n);
        }
    }
    for (int r = 0; r < BATCH; r++) {
        const double *logits = values[m->layer_count - 1] + (size_t)r * CLASSES;
        double total = 0;
        for (int c = 0; c < CLASSES; c++)
            total += exp(logits[c]);
        loss += (log(total) - logits[labels[r]]) / BATCH;
    }
    for (int i = 0; i < m->layer_count; i++)
        free(values[i]);
    free(values);
    return loss;
}

/* --- the comparison --- */

struct probe {
    const struct model_spec *model;
    double *p, *input;
    int32_t labels[BATCH];
};

/* One gradient against what moving the value a little to both sides does to the loss. */
static void check_gradient(const struct probe *at, double *value, const char *what, size_t i, double ours)
{
    double step = 1e-6, kept = *value;
    *value = kept + step;
    double above = reference_loss(at->model, at->p, at->input, at->labels);
    *value = kept - step;
    double below = reference_loss(at->model, at->p, at->input, at->labels);
    *value = kept;
    double expected = (above - below) / (2 * step);
    if (!(fabs(expected - ours) <= 1e-6 + 1e-4 * fabs(expected)))
        fail_msg("%s: gradient of %s %zu is %.9g, central differences give %.9g", at->model->name, what, i,
                 ours, expected);
}

/* Parameters as network_init draws them, but norms around the ones and zeros that would hide much. */
static void draw(struct network *n)
{
    network_init(n, 11, NULL);
    for (int i = 0; i < n->model.layer_count; i++) {
        struct random r = random_stream(11, 7, (uint64_t)i);
        for (int t = 0; t < n->model.layers[i].tensor_count && n->model.layers[i].kind == LAYER_BATCHNORM;
             t++) {
            struct tensor tensor = network_tensor(&n->model.layers[i], t, n->parameters);
            for (size_t k = 0; k < tensor_elements(&tensor); k++)
                tensor.data[k] += random_uniform(&r, -0.5f, 0.5f);
        }
    }
}

static void check_model(const struct model_spec *m, int threads, int probes)
{
    struct error e = {0};
    struct backend *backend = backend_cpu_open(threads, &e);
    float *gradients = calloc(m->parameters, sizeof(float));
    struct network *network = network_new(m, backend, BATCH, gradients, NETWORK_INPUT_GRADIENT, &e);
    if (!network) {
        fail_msg("%s: %s", m->name, e.text);
        return;
    }
    draw(network);
    size_t inputs = BATCH * model_shape_elements(m->input);
    struct probe probe = {m, calloc(m->parameters, sizeof(double)), calloc(inputs, sizeof(double)), {0}};
    struct random r = random_stream(5, 9, 0);
    float *input = network_input(network), *input_gradient = calloc(inputs, sizeof(float));
    struct targets targets = {.classes = probe.labels, .samples = BATCH};
    for (size_t i = 0; i < inputs; i++)
        probe.input[i] = input[i] = random_uniform(&r, -1, 1);
    for (int i = 0; i < BATCH; i++)
        probe.labels[i] = (int32_t)random_below(&r, CLASSES);
    for (size_t i = 0; i < m->parameters; i++)
        probe.p[i] = network->parameters[i];
    double expected = reference_loss(m, probe.p, probe.input, probe.labels);
    for (int again = 0; again < 2; again++) { /* the second time in memory that has been used */
        struct loss_sum sum;
        assert_true(network_gradients(network, &targets, 1.0 / BATCH, &sum, &e));
        if (!(fabs(sum.loss / BATCH - expected) <= 2e-6))
            fail_msg("%s: loss %.9g, in double %.9g", m->name, sum.loss / BATCH, expected);
    }
    assert_true(backend->ops->read_gradient(network->stages[0], input_gradient, &e));
    double largest = 0;
    for (size_t i = 0; i < m->parameters; i++)
        largest = fmax(largest, fabs((double)gradients[i]));
    assert_true(largest > 1e-4); /* else there is nothing to compare */
    for (int n = 0; n < probes; n++) {
        size_t i = random_below(&r, m->parameters), k = random_below(&r, inputs);
        check_gradient(&probe, &probe.p[i], "parameter", i, (double)gradients[i]);
        check_gradient(&probe, &probe.input[k], "input", k, (double)input_gradient[k]);
    }
    network_free(network);
    backend_close(backend);
    free(gradients);
    free(input_gradient);
    free(probe.p);
    free(probe.input);
}

static void named_models(void **state)
{
    (void)state;
    const char *const names[] = {"cnn", "mlp"};
    for (int i = 0; i < 2; i++) {
        struct model_spec m;
        struct error e = {0};
        assert_true(model_named(names[i], &m, &e));
        check_model(&m, i + 1, 10);
        model_free(&m);
    }
}

/* The small networks of tests/golden/make_vision.py. */
static void small_models(void **state)
{
    (void)state;
    size_t i;
    json_t *golden = json_load_file("tests/golden/vision.json", 0, NULL), *one;
    assert_true(json_array_size(json_object_get(golden, "cases")) > 30);
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        struct model_spec m;
        struct error e = {0};
        if (!model_from_json(json_object_get(one, "model"), &m, &e))
            fail_msg("%s", e.text);
        for (int threads = 1; threads <= 2; threads++)
            check_model(&m, threads, 12);
        model_free(&m);
    }
    json_decref(golden);
}

/* No input of the rest of the batch may reach the loss or the gradients of a short one. */
static void short_batch(void **state)
{
    (void)state;
    struct model_spec m;
    struct error e = {0};
    assert_true(model_named("cnn", &m, &e));
    struct backend *backend = backend_cpu_open(1, &e);
    float *gradients = calloc(m.parameters, sizeof(float)), *kept = calloc(m.parameters, sizeof(float));
    struct network *network = network_new(&m, backend, 4, gradients, NETWORK_PLAIN, &e);
    network_init(network, 2, NULL);
    int32_t labels[4] = {3, 1, 9, 9};
    struct targets targets = {.classes = labels, .samples = 2};
    float *input = network_input(network);
    struct loss_sum sum, again;
    for (int i = 0; i < 4 * 784; i++)
        input[i] = (float)(i % 7) / 7;
    assert_true(network_gradients(network, &targets, 0.5, &sum, &e));
    memcpy(kept, gradients, m.parameters * sizeof(float));
    for (int i = 2 * 784; i < 4 * 784; i++)
        input[i] = -3;
    labels[2] = 0;
    assert_true(network_gradients(network, &targets, 0.5, &again, &e));
    assert_int_equal(again.rows, 2);
    assert_float_equal(sum.loss, again.loss, 0);
    assert_memory_equal(kept, gradients, m.parameters * sizeof(float));
    network_free(network);
    backend_close(backend);
    model_free(&m);
    free(gradients);
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(named_models), cmocka_unit_test(small_models),
                                       cmocka_unit_test(short_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
