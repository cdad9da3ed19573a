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
#include <stdlib.h>
#include <string.h>

enum { BATCH = 5, CLASSES = 10, PROBES = 60 };

static size_t at(struct model_shape s, int c, int y, int x)
{
    return ((size_t)c * (size_t)s.height + (size_t)y) * (size_t)s.width + (size_t)x;
}

static void reference_conv2d(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    const double *weights = p + l->tensors[0].offset;
    for (int o = 0; o < l->out.channels; o++)
        for (int y = 0; y < l->out.height; y++)
            for (int x = 0; x < l->out.width; x++) {
                double sum = p[l->tensors[1].offset + (size_t)o];
                for (int c = 0; c < l->in.channels; c++)
                    for (int ky = 0; ky < l->kernel[0]; ky++)
                        for (int kx = 0; kx < l->kernel[1]; kx++) {
                            int iy = y * l->stride[0] + ky - l->padding[0],
                                ix = x * l->stride[1] + kx - l->padding[1];
                            if (iy < 0 || ix < 0 || iy >= l->in.height || ix >= l->in.width)
                                continue;
                            size_t k =
                                (((size_t)o * (size_t)l->in.channels + (size_t)c) * (size_t)l->kernel[0] +
                                 (size_t)ky) *
                                    (size_t)l->kernel[1] +
                                (size_t)kx;
                            sum += weights[k] * in[at(l->in, c, iy, ix)];
                        }
                out[at(l->out, o, y, x)] = sum;
            }
}

static void reference_maxpool(const struct layer_spec *l, const double *in, double *out)
{
    for (int c = 0; c < l->out.channels; c++)
        for (int y = 0; y < l->out.height; y++)
            for (int x = 0; x < l->out.width; x++) {
                double best = -INFINITY;
                for (int ky = 0; ky < l->kernel[0]; ky++)
                    for (int kx = 0; kx < l->kernel[0]; kx++)
                        best = fmax(best, in[at(l->in, c, y * l->kernel[0] + ky, x * l->kernel[0] + kx)]);
                out[at(l->out, c, y, x)] = best;
            }
}

static void reference_dense(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    size_t inputs = l->tensors[0].extent[1];
    for (size_t u = 0; u < (size_t)l->units; u++) {
        double sum = p[l->tensors[1].offset + u];
        for (size_t i = 0; i < inputs; i++)
            sum += p[l->tensors[0].offset + u * inputs + i] * in[i];
        out[u] = sum;
    }
}

/* Cross-entropy of one sample. */
static double reference_loss(const struct model_spec *m, const double *p, const float *sample, int label)
{
    size_t largest = model_shape_elements(m->input);
    for (int i = 0; i < m->layer_count; i++)
        if (model_shape_elements(m->layers[i].out) > largest)
            largest = model_shape_elements(m->layers[i].out);
    double *in = calloc(largest, sizeof *in), *out = calloc(largest, sizeof *out);
    for (size_t i = 0; i < model_shape_elements(m->input); i++)
        in[i] = sample[i];
    for (int i = 0; i < m->layer_count; i++) {
        const struct layer_spec *l = &m->layers[i];
        size_t n = model_shape_elements(l->in);
        switch (l->kind) {
        case LAYER_CONV2D: reference_conv2d(l, p, in, out); break;
        case LAYER_MAXPOOL: reference_maxpool(l, in, out); break;
        case LAYER_DENSE: reference_dense(l, p, in, out); break;
        case LAYER_RELU:
            for (size_t k = 0; k < n; k++)
                out[k] = in[k] > 0 ? in[k] : 0;
            break;
        default: memcpy(out, in, n * sizeof *in); break;
        }
        double *swap = in;
        in = out;
        out = swap;
    }
    double total = 0;
    for (int c = 0; c < CLASSES; c++)
        total += exp(in[c]);
    double loss = log(total) - in[label];
    free(in);
    free(out);
    return loss;
}

static double reference_mean(const struct model_spec *m, const double *p, const float *input,
                             const int32_t *labels)
{
    double sum = 0;
    for (int r = 0; r < BATCH; r++)
        sum += reference_loss(m, p, input + (size_t)r * model_shape_elements(m->input), labels[r]);
    return sum / BATCH;
}

static void check_model(const char *text, int threads)
{
    struct model_spec m;
    struct error e = {0};
    json_t *object = json_loads(text, JSON_DECODE_ANY, NULL);
    bool ok = json_is_string(object) ? model_named(json_string_value(object), &m, &e)
                                     : model_from_json(object, &m, &e);
    json_decref(object);
    if (!ok)
        fail_msg("%s", e.text);
    struct backend *backend = backend_cpu_open(threads, &e);
    float *gradients = calloc(m.parameters, sizeof(float));
    struct network *network = network_new(&m, backend, BATCH, gradients, NETWORK_PLAIN, &e);
    double *p = calloc(m.parameters, sizeof *p);
    assert_non_null(network);
    network_init(network, 11);
    struct random r = random_stream(5, 9, 0);
    float *input = network_input(network);
    int32_t labels[BATCH];
    struct targets targets = {.classes = labels, .samples = BATCH};
    for (size_t i = 0; i < BATCH * model_shape_elements(m.input); i++)
        input[i] = random_uniform(&r, -1, 1);
    for (int i = 0; i < BATCH; i++)
        labels[i] = (int32_t)random_below(&r, CLASSES);
    for (size_t i = 0; i < m.parameters; i++)
        p[i] = network->parameters[i];
    struct loss_sum sum;
    assert_true(network_gradients(network, &targets, 1.0 / BATCH, &sum, &e));
    assert_float_equal(sum.loss / BATCH, reference_mean(&m, p, input, labels), 2e-6);
    double largest = 0;
    for (size_t i = 0; i < m.parameters; i++)
        largest = fmax(largest, fabs((double)gradients[i]));
    assert_true(largest > 1e-4); /* else there is nothing to compare */
    for (int probe = 0; probe < PROBES; probe++) {
        size_t i = random_below(&r, m.parameters);
        double step = 1e-6, kept = p[i];
        p[i] = kept + step;
        double above = reference_mean(&m, p, input, labels);
        p[i] = kept - step;
        double below = reference_mean(&m, p, input, labels);
        p[i] = kept;
        double expected = (above - below) / (2 * step);
        if (!(fabs(expected - gradients[i]) <= 1e-6 + 1e-4 * fabs(expected)))
            fail_msg("%s: gradient %zu is %.9g, central differences give %.9g", m.name, i,
                     (double)gradients[i], expected);
    }
    network_free(network);
    backend_close(backend);
    model_free(&m);
    free(gradients);
    free(p);
}

static void cnn(void **state)
{
    (void)state;
    check_model("\"cnn\"", 1);
}

static void mlp(void **state)
{
    (void)state;
    check_model("\"mlp\"", 2);
}

#define CONV(c, k, s, p)                                                                                     \
    "{\"kind\":\"conv2d\",\"channels\":" #c ",\"kernel\":" #k ",\"stride\":" #s ",\"padding\":" #p "}"
#define POOL(n) "{\"kind\":\"maxpool\",\"size\":" #n "}"
#define RELU "{\"kind\":\"relu\"}"
#define END "{\"kind\":\"flatten\"},{\"kind\":\"dense\",\"units\":10}]}"

static void odd_models(void **state)
{
    (void)state;
    check_model("{\"name\":\"leftover\",\"input\":[2,11,13],\"layers\":[" CONV(3, 3, 1, 1) "," RELU "," POOL(
                    2) "," CONV(9, 3, 2, 2) "," POOL(2) "," END,
                1);
    check_model("{\"name\":\"bare pools\",\"input\":[1,20,20],\"layers\":[" CONV(16, 3, 1, 0) "," POOL(
                    3) "," POOL(2) "," END,
                2);
    check_model("{\"name\":\"first pool\",\"input\":[3,16,16],\"layers\":[" POOL(2) "," CONV(
                    8, 1, 1, 0) "," RELU "," CONV(8, 5, 1, 2) "," RELU "," RELU "," POOL(4) "," END,
                2);
    check_model("{\"name\":\"wide\",\"input\":[1,9,9],\"layers\":[" CONV(40, 9, 1, 0) "," RELU "," END, 1);
    check_model("{\"name\":\"few\",\"input\":[1,12,10],\"layers\":[" CONV(24, 3, 1, 0) "," RELU
                                                                                       "," POOL(2) "," END,
                1);
    check_model("{\"name\":\"padded\",\"input\":[1,12,11],\"layers\":[" CONV(8, 3, 1, 1) "," RELU
                                                                                         "," POOL(2) "," END,
                2);
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
    network_init(network, 2);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(cnn), cmocka_unit_test(mlp),
                                       cmocka_unit_test(odd_models), cmocka_unit_test(short_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
