/*
 * leaky_relu, gelu, tanh, sigmoid: functions of each element, whatever the layout.
 *
 * gelu is x Φ(x) (D. Hendrycks and K. Gimpel, Gaussian error linear units, 2016), exact and not by its tanh.
 * The gradients of the others can be told from what they put out, so that the input may be forgotten.
 */
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_math.h"

/* Below this many elements a second thread costs more than it saves. */
enum { PARALLEL_ELEMENTS = 1 << 14, CHUNK = 4096 };

LANES_INLINE lanes value_of(enum layer_kind kind, lanes x, float slope)
{
    lanes density;
    switch (kind) {
    case LAYER_LEAKY_RELU: return lanes_select(x < 0, slope * x, x);
    case LAYER_GELU: return x * lanes_normal(x, &density);
    case LAYER_TANH: return lanes_tanh(x);
    default: return lanes_sigmoid(x);
    }
}

/* The derivative where the output is y; of gelu, where the input is y. */
LANES_INLINE lanes derivative_at(enum layer_kind kind, lanes y, float slope)
{
    lanes density, below;
    switch (kind) {
    case LAYER_LEAKY_RELU: return lanes_select(y > 0, lanes_all(1), lanes_all(slope));
    case LAYER_GELU: below = lanes_normal(y, &density); return below + y * density;
    case LAYER_TANH: return 1 - y * y;
    default: return y * (1 - y);
    }
}

LANES_INLINE void value_lanes(enum layer_kind kind, const float *in, float *out, int n, float slope)
{
    lanes_store_some(out, value_of(kind, lanes_load_some(in, n), slope), n);
}

LANES_INLINE void gradient_lanes(enum layer_kind kind, const float *at, const float *grad_out, float *grad_in,
                                 int n, float slope)
{
    lanes derivative = derivative_at(kind, lanes_load_some(at, n), slope);
    lanes_store_some(grad_in, lanes_load_some(grad_out, n) * derivative, n);
}

/* out may be in, and grad_in either of the others: each element is read before it is written. */
LANES_INLINE void all_values(enum layer_kind kind, const float *in, float *out, size_t n, float slope)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        value_lanes(kind, in + i, out + i, LANES, slope);
    if (i < n)
        value_lanes(kind, in + i, out + i, (int)(n - i), slope);
}

LANES_INLINE void all_gradients(enum layer_kind kind, const float *at, const float *grad_out, float *grad_in,
                                size_t n, float slope)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        gradient_lanes(kind, at + i, grad_out + i, grad_in + i, LANES, slope);
    if (i < n)
        gradient_lanes(kind, at + i, grad_out + i, grad_in + i, (int)(n - i), slope);
}

/* One compiled loop for each kind and direction. */
#define LOOPS(name, kind)                                                                                    \
    CPU_KERNEL static void name##_values(const float *in, float *out, size_t n, float slope)                 \
    {                                                                                                        \
        all_values(kind, in, out, n, slope);                                                                 \
    }                                                                                                        \
    CPU_KERNEL static void name##_gradients(const float *at, const float *grad_out, float *grad_in,          \
                                            size_t n, float slope)                                           \
    {                                                                                                        \
        all_gradients(kind, at, grad_out, grad_in, n, slope);                                                \
    }

LOOPS(leaky_relu, LAYER_LEAKY_RELU)
LOOPS(gelu, LAYER_GELU)
LOOPS(tanh, LAYER_TANH)
LOOPS(sigmoid, LAYER_SIGMOID)

static void values(enum layer_kind kind, const float *in, float *out, size_t n, float slope)
{
    switch (kind) {
    case LAYER_LEAKY_RELU: leaky_relu_values(in, out, n, slope); return;
    case LAYER_GELU: gelu_values(in, out, n, slope); return;
    case LAYER_TANH: tanh_values(in, out, n, slope); return;
    default: sigmoid_values(in, out, n, slope);
    }
}

static void gradients(enum layer_kind kind, const float *at, const float *grad_out, float *grad_in, size_t n,
                      float slope)
{
    switch (kind) {
    case LAYER_LEAKY_RELU: leaky_relu_gradients(at, grad_out, grad_in, n, slope); return;
    case LAYER_GELU: gelu_gradients(at, grad_out, grad_in, n, slope); return;
    case LAYER_TANH: tanh_gradients(at, grad_out, grad_in, n, slope); return;
    default: sigmoid_gradients(at, grad_out, grad_in, n, slope);
    }
}

static size_t chunk_size(size_t n, size_t begin)
{
    return n - begin < CHUNK ? n - begin : CHUNK;
}

static bool activation_create(struct stage *s, struct error *e)
{
    (void)e;
    s->layout = s->inputs[0]->layout;
    return true;
}

/* The channels that fill the last block up stay 0, though sigmoid(0) is none. */
static void clear_filling(const struct stage *s)
{
    const struct cpu_layout *l = &s->layout;
    int channels = s->spec.out.channels, points = s->spec.out.height * s->spec.out.width;
    if (l->blocks * l->block == channels)
        return;
    for (int n = 0; n < s->spec.batch; n++)
        for (int p = 0; p < points; p++) {
            float *block = s->value + (((size_t)n + 1) * (size_t)l->blocks - 1) * (size_t)(points * l->block);
            for (int c = channels % l->block; c < l->block; c++)
                block[p * l->block + c] = 0;
        }
}

static bool activation_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    size_t n = s->layout.bytes / sizeof(float);
    int threads = s->backend->threads;
    const float *in = s->inputs[0]->value;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        values(s->layer->kind, in + i, s->value + i, chunk_size(n, i), (float)s->layer->slope);
    if (s->layer->kind == LAYER_SIGMOID)
        clear_filling(s);
    return true;
}

static bool activation_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    if (!s->spec.input_gradient[0])
        return true;
    size_t n = s->layout.bytes / sizeof(float);
    int threads = s->backend->threads;
    const float *at = s->layer->kind == LAYER_GELU ? s->inputs[0]->value : s->value;
    float *grad_in = cpu_grad_begin(s, 0);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        gradients(s->layer->kind, at + i, s->grad + i, grad_in + i, chunk_size(n, i), (float)s->layer->slope);
    cpu_grad_end(s, 0);
    return true;
}

const struct cpu_op cpu_op_activation = {.create = activation_create,
                                         .forward = activation_forward,
                                         .backward = activation_backward,
                                         .reads_output = true,
                                         .overwrites_input = true,
                                         .keeps_gradient = true,
                                         .in_place = true},
                    cpu_op_gelu = {.create = activation_create,
                                   .forward = activation_forward,
                                   .backward = activation_backward,
                                   .reads_input = true,
                                   .overwrites_input = true,
                                   .keeps_gradient = true};
