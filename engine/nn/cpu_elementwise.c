/* relu, and sums of buffers: loops over all elements, whatever their layout. */
#include "engine/nn/cpu.h"

/* Below this many elements a second thread costs more than it saves. */
enum { PARALLEL_ELEMENTS = 1 << 15, CHUNK = 4096 };

CPU_KERNEL static void relu_forward(const float *restrict in, float *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] < 0 ? 0 : in[i]; /* what is no number stays none */
}

CPU_KERNEL static void relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n)
{
#pragma omp simd /* grad_in may be grad_out: element by element that is harmless */
    for (size_t i = 0; i < n; i++)
        grad_in[i] = value[i] > 0 ? grad_out[i] : 0;
}

static size_t chunk_size(size_t n, size_t begin)
{
    return n - begin < CHUNK ? n - begin : CHUNK;
}

void cpu_relu_forward(const float *in, float *out, size_t n, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        relu_forward(in + i, out + i, chunk_size(n, i));
}

void cpu_relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        relu_backward(value + i, grad_out + i, grad_in + i, chunk_size(n, i));
}

CPU_KERNEL static void add(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

void cpu_add(float *to, const float *from, size_t n, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && n >= PARALLEL_ELEMENTS)
    for (size_t i = 0; i < n; i += CHUNK)
        add(to + i, from + i, chunk_size(n, i));
}

/* A relu that stands by itself: in front, or behind what several layers take. */
static bool relu_create(struct stage *s, struct error *e)
{
    (void)e;
    s->layout = s->inputs[0]->layout;
    return true;
}

static bool relu_stage_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    cpu_relu_forward(s->inputs[0]->value, s->value, s->layout.bytes / sizeof(float), s->backend->threads);
    return true;
}

static bool relu_stage_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    if (!s->spec.input_gradient[0])
        return true;
    cpu_relu_backward(s->value, s->grad, cpu_grad_begin(s, 0), s->layout.bytes / sizeof(float),
                      s->backend->threads);
    cpu_grad_end(s, 0);
    return true;
}

const struct cpu_op cpu_op_relu = {.create = relu_create,
                                   .forward = relu_stage_forward,
                                   .backward = relu_stage_backward,
                                   .reads_output = true,
                                   .keeps_gradient = true,
                                   .in_place = true};
