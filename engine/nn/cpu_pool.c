/*
 * Maximum over size × size windows that do not overlap, on channel-blocked images. With relu the smallest result
 * is zero, and a window whose maximum is not above zero passes no gradient. Backward finds the maximum
 * again (the first of equals in reading order, as in PyTorch) instead of storing where it was: it reads the lines
 * that it is about to write anyway, and may write each window's gradients over its values.
 */
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_lanes.h"

#include <string.h>

/* One image of one block of channels. */
struct plane {
    int width; /* of the input */
    int out_height, out_width;
    int size, block;
    bool relu;
};

LANES_INLINE void window_forward(const float *in, float *out, size_t row, size_t step, int size, bool relu)
{
    lanes best = relu ? (lanes){0} : lanes_load(in);
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            lanes value = lanes_load(in + (size_t)y * row + (size_t)x * step);
            best = lanes_select(value > best, value, best);
        }
    lanes_store(out, best);
}

/* in and grad_in may be the same memory: each place is read before it is written, and only once. */
LANES_INLINE void window_backward(const float *in, const float *out, const float *grad_out, float *grad_in,
                                  size_t row, size_t step, int size, bool relu)
{
    lanes best = lanes_load(out),
          left = lanes_load(grad_out); /* left: the gradient until its place is found */
    if (relu)
        left = lanes_select(best > 0, left, (lanes){0});
    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            size_t at = (size_t)y * row + (size_t)x * step;
            lane_mask here = lanes_load(in + at) == best;
            lanes_store(grad_in + at, lanes_select(here, left, (lanes){0}));
            left = lanes_select(here, (lanes){0}, left);
        }
}

/* size as a constant where it is 2, so that the compiler unrolls the window. */
CPU_KERNEL static void plane_forward(const struct plane *p, const float *in, float *out)
{
    size_t step = (size_t)p->block, row = (size_t)p->width * step;
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++) {
            const float *from = in + (size_t)(y * p->size) * row + (size_t)(x * p->size) * step;
            float *to = out + (size_t)(y * p->out_width + x) * step;
            for (size_t c = 0; c < step; c += LANES)
                if (p->size == 2)
                    window_forward(from + c, to + c, row, step, 2, p->relu);
                else
                    window_forward(from + c, to + c, row, step, p->size, p->relu);
        }
}

CPU_KERNEL static void plane_backward(const struct plane *p, const float *in, const float *out,
                                      const float *grad_out, float *grad_in)
{
    size_t step = (size_t)p->block, row = (size_t)p->width * step;
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++) {
            size_t window = (size_t)(y * p->size) * row + (size_t)(x * p->size) * step;
            size_t result = (size_t)(y * p->out_width + x) * step;
            for (size_t c = 0; c < step; c += LANES) {
                size_t a = window + c, b = result + c;
                if (p->size == 2)
                    window_backward(in + a, out + b, grad_out + b, grad_in + a, row, step, 2, p->relu);
                else
                    window_backward(in + a, out + b, grad_out + b, grad_in + a, row, step, p->size, p->relu);
            }
        }
}

/* Any block: for channels that do not come in eights. */
static void plane_forward_plain(const struct plane *p, const float *in, float *out)
{
    size_t step = (size_t)p->block, row = (size_t)p->width * step;
    for (size_t i = 0; i < (size_t)p->out_height * (size_t)p->out_width * step; i++) {
        size_t c = i % step, x = i / step % (size_t)p->out_width, y = i / step / (size_t)p->out_width;
        const float *from = in + y * (size_t)p->size * row + x * (size_t)p->size * step + c;
        float best = p->relu ? 0 : *from;
        for (size_t k = 0; k < (size_t)p->size * (size_t)p->size; k++) {
            float value = from[k / (size_t)p->size * row + k % (size_t)p->size * step];
            best = value > best ? value : best;
        }
        out[i] = best;
    }
}

static void plane_backward_plain(const struct plane *p, const float *in, const float *out,
                                 const float *grad_out, float *grad_in)
{
    size_t step = (size_t)p->block, row = (size_t)p->width * step;
    for (size_t i = 0; i < (size_t)p->out_height * (size_t)p->out_width * step; i++) {
        size_t c = i % step, x = i / step % (size_t)p->out_width, y = i / step / (size_t)p->out_width;
        size_t window = y * (size_t)p->size * row + x * (size_t)p->size * step + c;
        float left = p->relu && !(out[i] > 0) ? 0 : grad_out[i];
        for (size_t k = 0; k < (size_t)p->size * (size_t)p->size; k++) {
            size_t at = window + k / (size_t)p->size * row + k % (size_t)p->size * step;
            bool here = in[at] == out[i];
            grad_in[at] = here ? left : 0;
            left = here ? 0 : left;
        }
    }
}

/* Rows and columns that fill no window take part in nothing: their gradient is zero. */
static void clear_leftover(const struct plane *p, int height, float *grad_in)
{
    size_t row = (size_t)p->width * (size_t)p->block,
           used = (size_t)p->out_width * (size_t)p->size * (size_t)p->block;
    int rows = p->out_height * p->size;
    for (int y = 0; y < rows && used < row; y++)
        memset(grad_in + (size_t)y * row + used, 0, (row - used) * sizeof(float));
    if (rows < height)
        memset(grad_in + (size_t)rows * row, 0, (size_t)(height - rows) * row * sizeof(float));
}

static struct plane plane_of(const struct stage *s)
{
    return (struct plane){.width = s->spec.in.width,
                          .out_height = s->spec.out.height,
                          .out_width = s->spec.out.width,
                          .size = s->layer->kernel[0],
                          .block = s->layout.block,
                          .relu = s->spec.relu};
}

static bool pool_create(struct stage *s, struct error *e)
{
    return cpu_layout_like(&s->inputs[0]->layout, s->spec.batch, s->spec.out, &s->layout, e);
}

static bool pool_forward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)context, (void)e;
    struct plane p = plane_of(s);
    size_t in_size = (size_t)s->spec.in.height * (size_t)p.width * (size_t)p.block;
    size_t out_size = (size_t)p.out_height * (size_t)p.out_width * (size_t)p.block;
    int planes = s->spec.batch * s->layout.blocks;
    const float *in = s->inputs[0]->value;
    float *out = s->value;
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < planes; i++) {
        size_t a = (size_t)i * in_size, b = (size_t)i * out_size;
        if (p.block % LANES == 0)
            plane_forward(&p, in + a, out + b);
        else
            plane_forward_plain(&p, in + a, out + b);
    }
    return true;
}

static bool pool_backward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)context, (void)e;
    struct plane p = plane_of(s);
    int height = s->spec.in.height;
    size_t in_size = (size_t)height * (size_t)p.width * (size_t)p.block;
    size_t out_size = (size_t)p.out_height * (size_t)p.out_width * (size_t)p.block;
    int planes = s->spec.batch * s->layout.blocks;
    const float *in = s->inputs[0]->value, *out = s->value, *grad_out = s->grad;
    if (!s->spec.input_gradient[0])
        return true;
    float *grad_in = cpu_grad_begin(s, 0);
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < planes; i++) {
        size_t a = (size_t)i * in_size, b = (size_t)i * out_size;
        if (p.block % LANES == 0)
            plane_backward(&p, in + a, out + b, grad_out + b, grad_in + a);
        else
            plane_backward_plain(&p, in + a, out + b, grad_out + b, grad_in + a);
        clear_leftover(&p, height, grad_in + a);
    }
    cpu_grad_end(s, 0);
    return true;
}

const struct cpu_op cpu_op_maxpool = {.create = pool_create,
                                      .forward = pool_forward,
                                      .backward = pool_backward,
                                      .fuses_relu = true,
                                      .reads_output = true,
                                      .reads_input = true,
                                      .overwrites_input = true};
