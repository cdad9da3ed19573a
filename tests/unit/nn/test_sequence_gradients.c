/*
 * The gradients of sequence layers, activations and losses against central differences of a plain float64
 * network: the small networks of tests/golden/make_sequence.py. All their layers look at samples one by one.
 */
#include "tests/unit/nn/sequence_case.h"

#include <math.h>

enum { PROBES = 12 };

/* --- a plain float64 network --- */

static void reference_conv2d(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    size_t height = (size_t)l->in.height, width = (size_t)l->in.width, k = (size_t)l->kernel[0];
    size_t depth = (size_t)l->in.channels, i = 0;
    for (size_t o = 0; o < (size_t)l->channels; o++)
        for (size_t y = 0; y + k <= height; y++)
            for (size_t x = 0; x + k <= width; x++, i++) {
                out[i] = p[l->tensors[1].offset + o];
                for (size_t c = 0; c < depth; c++)
                    for (size_t w = 0; w < k * k; w++)
                        out[i] += p[l->tensors[0].offset + (o * depth + c) * k * k + w] *
                                  in[(c * height + y + w / k) * width + x + w % k];
            }
}

static void reference_dense(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    size_t units = (size_t)l->units, inputs = l->tensors[0].extent[1];
    size_t rows = model_shape_elements(l->in) / inputs;
    for (size_t i = 0; i < rows * units; i++) {
        out[i] = l->bias ? p[l->tensors[1].offset + i % units] : 0;
        for (size_t k = 0; k < inputs; k++)
            out[i] += p[l->tensors[0].offset + i % units * inputs + k] * in[i / units * inputs + k];
    }
}

static void reference_layernorm(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    size_t n = l->tensors[0].elements, rows = model_shape_elements(l->in) / n;
    for (size_t r = 0; r < rows; r++, in += n, out += n) {
        double mean = 0, variance = 0;
        for (size_t i = 0; i < n; i++)
            mean += in[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            variance += (in[i] - mean) * (in[i] - mean) / (double)n;
        for (size_t i = 0; i < n; i++)
            out[i] = (in[i] - mean) / sqrt(variance + l->epsilon) * p[l->tensors[0].offset + i] +
                     p[l->tensors[1].offset + i];
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The sum of gate row g of one step: bias + W_ih x + W_hh h. */
static double gate_sum(const struct layer_spec *l, const double *p, size_t row, const double *x,
                       const double *h)
{
    size_t inputs = l->tensors[0].extent[1], units = (size_t)l->units;
    double sum = p[l->tensors[2].offset + row];
    for (size_t k = 0; k < inputs; k++)
        sum += p[l->tensors[0].offset + row * inputs + k] * x[k];
    for (size_t k = 0; k < units; k++)
        sum += p[l->tensors[1].offset + row * units + k] * h[k];
    return sum;
}

static void reference_recurrent(const struct layer_spec *l, const double *p, const double *in, double *out)
{
    size_t units = (size_t)l->units, steps = (size_t)l->in.channels;
    double *h = calloc(units, sizeof *h), *c = calloc(units, sizeof *c), *next = calloc(units, sizeof *next);
    for (size_t t = 0; t < steps; t++, in += l->in.width) {
        for (size_t u = 0; u < units; u++) {
            double gate[4] = {0};
            for (size_t k = 0; k < (l->kind == LAYER_LSTM ? 4 : 1); k++)
                gate[k] = gate_sum(l, p, k * units + u, in, h);
            if (l->kind == LAYER_LSTM)
                c[u] = sigmoid(gate[1]) * c[u] + sigmoid(gate[0]) * tanh(gate[2]);
            next[u] = l->kind == LAYER_LSTM ? sigmoid(gate[3]) * tanh(c[u]) : tanh(gate[0]);
        }
        memcpy(h, next, units * sizeof *h);
        memcpy(out + (l->last ? 0 : t * units), h, units * sizeof *h);
    }
    free(h);
    free(c);
    free(next);
}

static double activation(const struct layer_spec *l, double x)
{
    switch (l->kind) {
    case LAYER_RELU: return x > 0 ? x : 0;
    case LAYER_LEAKY_RELU: return x > 0 ? x : l->slope * x;
    case LAYER_GELU: return x * 0.5 * erfc(-x / sqrt(2));
    case LAYER_TANH: return tanh(x);
    case LAYER_SIGMOID: return sigmoid(x);
    default: return x; /* flatten, reshape */
    }
}

/* One sample through one layer. */
static void reference_layer(const struct layer_spec *l, const double *p, const double *const *inputs,
                            double *out)
{
    const double *in = inputs[0];
    size_t n = model_shape_elements(l->out), units = (size_t)l->units;
    switch (l->kind) {
    case LAYER_CONV2D: reference_conv2d(l, p, in, out); break;
    case LAYER_DENSE: reference_dense(l, p, in, out); break;
    case LAYER_LAYERNORM: reference_layernorm(l, p, in, out); break;
    case LAYER_SIMPLE_RNN:
    case LAYER_LSTM: reference_recurrent(l, p, in, out); break;
    case LAYER_EMBEDDING:
        for (size_t i = 0; i < n; i++)
            out[i] = p[l->tensors[0].offset + (size_t)in[i / units] * units + i % units];
        break;
    case LAYER_ADD:
        for (size_t i = 0; i < n; i++)
            out[i] = inputs[0][i] + inputs[1][i];
        break;
    default:
        for (size_t i = 0; i < n; i++)
            out[i] = activation(l, in[i]);
    }
}

/* What a test moves a little, and what the loss is computed from. */
struct probe {
    struct sequence_case c;
    double *p, *input;
};

/* Of a row of n logits that begins with element `at` of the batch. */
static double reference_row(const struct probe *probe, const double *out, size_t n, size_t at)
{
    const struct targets *t = &probe->c.targets;
    double loss = 0, total = 0, smoothing = probe->c.model.loss.label_smoothing;
    for (size_t i = 0; i < n; i++)
        total += exp(out[i]);
    for (size_t i = 0; i < n; i++) {
        double target = t->values                              ? (double)t->values[at + i]
                        : probe->c.model.loss.kind == LOSS_BCE ? (double)t->classes[at + i]
                        : (size_t)t->classes[at / n] == i      ? 1 - smoothing + smoothing / (double)n
                                                               : smoothing / (double)n;
        switch (probe->c.model.loss.kind) {
        case LOSS_CROSS_ENTROPY: loss += target * (log(total) - out[i]); break;
        case LOSS_BCE:
            loss -= (target * log(sigmoid(out[i])) + (1 - target) * log(sigmoid(-out[i]))) / (double)n;
            break;
        case LOSS_MSE: loss += (out[i] - target) * (out[i] - target) / (double)n; break;
        }
    }
    return loss;
}

/* Mean over the rows of the batch. */
static double reference_loss(const struct probe *probe)
{
    const struct model_spec *m = &probe->c.model;
    double **values = calloc((size_t)m->layer_count, sizeof *values), loss = 0;
    size_t each = probe->c.inputs / SEQUENCE_BATCH, rows = probe->c.rows / SEQUENCE_BATCH,
           n = probe->c.outputs / probe->c.rows;
    for (int i = 0; i < m->layer_count; i++)
        values[i] = calloc(model_shape_elements(m->layers[i].out), sizeof(double));
    for (size_t s = 0; s < SEQUENCE_BATCH; s++) {
        for (int i = 0; i < m->layer_count; i++) {
            const struct layer_spec *l = &m->layers[i];
            const double *from[LAYER_MAX_INPUTS];
            for (int k = 0; k < l->input_count; k++)
                from[k] = l->inputs[k] == MODEL_INPUT ? probe->input + s * each : values[l->inputs[k]];
            reference_layer(l, probe->p, from, values[i]);
        }
        for (size_t r = 0; r < rows; r++)
            loss += reference_row(probe, values[m->layer_count - 1] + r * n, n, (s * rows + r) * n);
    }
    for (int i = 0; i < m->layer_count; i++)
        free(values[i]);
    free(values);
    return loss / (double)probe->c.rows;
}

/* --- the comparison --- */

static void check_gradient(const struct probe *probe, double *value, const char *what, size_t i, double ours)
{
    double step = 1e-6, kept = *value;
    *value = kept + step;
    double above = reference_loss(probe);
    *value = kept - step;
    double below = reference_loss(probe);
    *value = kept;
    double expected = (above - below) / (2 * step);
    if (!(fabs(expected - ours) <= 1e-6 + 1e-4 * fabs(expected)))
        fail_msg("%s: the gradient of %s %zu is %.9g, central differences give %.9g", probe->c.model.name,
                 what, i, ours, expected);
}

/* Some of each tensor's gradients, so that no tensor is left out. */
static void check_parameters(struct probe *probe, const float *gradients, struct random *r)
{
    for (int i = 0; i < probe->c.model.layer_count; i++)
        for (int t = 0; t < probe->c.model.layers[i].tensor_count; t++) {
            const struct layer_tensor *tensor = &probe->c.model.layers[i].tensors[t];
            for (int n = 0; n < PROBES; n++) {
                size_t k = tensor->offset + random_below(r, tensor->elements);
                check_gradient(probe, &probe->p[k], "parameter", k, (double)gradients[k]);
            }
        }
}

static void check_case(const json_t *one, int threads)
{
    struct error e = {0};
    struct probe probe = {.c = sequence_case(one)};
    const struct model_spec *m = &probe.c.model;
    bool tokens = m->input.kind == SHAPE_TOKENS;
    struct backend *backend = backend_cpu_open(threads, &e);
    float *gradients = calloc(m->parameters, sizeof(float)), *input = calloc(probe.c.inputs, sizeof(float));
    struct network *n = network_new(m, backend, SEQUENCE_BATCH, gradients,
                                    tokens ? NETWORK_PLAIN : NETWORK_INPUT_GRADIENT, &e);
    if (!n)
        fail_msg("%s: %s", m->name, e.text);
    sequence_case_fill(&probe.c, n);
    probe.p = calloc(m->parameters, sizeof *probe.p);
    probe.input = calloc(probe.c.inputs, sizeof *probe.input);
    for (size_t i = 0; i < m->parameters; i++)
        probe.p[i] = (double)n->parameters[i];
    for (size_t i = 0; i < probe.c.inputs; i++)
        probe.input[i] =
            tokens ? ((const int32_t *)network_input(n))[i] : (double)((const float *)network_input(n))[i];
    struct loss_sum sum;
    struct random r = random_stream(8, 9, 0);
    assert_true(network_gradients(n, &probe.c.targets, 1.0 / (double)probe.c.rows, &sum, &e));
    double loss = sum.loss / (double)sum.rows, expected = reference_loss(&probe);
    if (!(fabs(loss - expected) <= 1e-6 * (1 + expected)))
        fail_msg("%s: the loss is %.9g, in double %.9g", m->name, loss, expected);
    check_parameters(&probe, gradients, &r);
    assert_true(tokens || backend->ops->read_gradient(n->stages[0], input, &e));
    for (int k = 0; !tokens && k < PROBES; k++) {
        size_t i = random_below(&r, probe.c.inputs);
        check_gradient(&probe, &probe.input[i], "input", i, (double)input[i]);
    }
    network_free(n);
    backend_close(backend);
    sequence_case_free(&probe.c);
    free(probe.p);
    free(probe.input);
    free(gradients);
    free(input);
}

static void small_networks(void **state)
{
    size_t i;
    json_t *golden = json_load_file("tests/golden/sequence.json", 0, NULL), *one;
    json_array_foreach(json_object_get(golden, "cases"), i, one)
    {
        check_case(one, *(int *)*state);
    }
    assert_true(i > 30);
    json_decref(golden);
}

int main(void)
{
    int one = 1, two = 2;
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(small_networks, &one),
                                       {"small_networks_on_two_threads", small_networks, NULL, NULL, &two}};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
