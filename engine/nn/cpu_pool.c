/*
 * maxpool on channel-blocked images. With relu the smallest result is zero, and a window whose maximum is not above zero
 * passes no gradient. Backward finds the maximum again (the first of equals in reading order, as in PyTorch) instead of
 * storing where it was: where windows are tiles, side by side, it reads the lines that it is about to write anyway, and
 * may write each window's gradients over its values; where they overlap or leave gaps it adds to zeros.
 */
#include "engine/nn/cpu_windows.h"

#include <math.h>
#include <string.h>

/* --- windows that are tiles --- */

LANES_INLINE void tile_forward(const float *in, float *out, size_t row, size_t step, int size, bool relu)
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
LANES_INLINE void tile_backward(const float *in, const float *out, const float *grad_out, float *grad_in,
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

static bool tiles(const struct plane *p)
{
    int size = p->kernel[0];
    return p->block % LANES == 0 && p->kernel[1] == size && p->stride[0] == size && p->stride[1] == size &&
           p->padding[0] == 0 && p->padding[1] == 0;
}

/* size as a constant where it is 2, so that the compiler unrolls the window. */
CPU_KERNEL static void tiles_forward(const struct plane *p, const float *in, float *out)
{
    size_t step = (size_t)p->block, row = (size_t)p->width * step;
    int size = p->kernel[0];
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++) {
            const float *from = in + (size_t)(y * size) * row + (size_t)(x * size) * step;
            float *to = out + (size_t)(y * p->out_width + x) * step;
            for (size_t c = 0; c < step; c += LANES)
                if (size == 2)
                    tile_forward(from + c, to + c, row, step, 2, p->relu);
                else
                    tile_forward(from + c, to + c, row, step, size, p->relu);
        }
}

/* Rows and columns that fill no window take part in nothing: their gradient is zero. */
static void clear_leftover(const struct plane *p, float *grad_in)
{
    size_t row = (size_t)p->width * (size_t)p->block,
           used = (size_t)p->out_width * (size_t)p->kernel[1] * (size_t)p->block;
    int rows = p->out_height * p->kernel[0];
    for (int y = 0; y < rows && used < row; y++)
        memset(grad_in + (size_t)y * row + used, 0, (row - used) * sizeof(float));
    if (rows < p->height)
        memset(grad_in + (size_t)rows * row, 0, (size_t)(p->height - rows) * row * sizeof(float));
}

CPU_KERNEL static void tiles_backward(const struct plane *p, const float *in, const float *out,
                                      const float *grad_out, float *grad_in)
{
    size_t step = (size_t)p->block, row = (size_t)p->width * step;
    int size = p->kernel[0];
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++) {
            size_t tile = (size_t)(y * size) * row + (size_t)(x * size) * step;
            size_t result = (size_t)(y * p->out_width + x) * step;
            for (size_t c = 0; c < step; c += LANES) {
                size_t a = tile + c, b = result + c;
                if (size == 2)
                    tile_backward(in + a, out + b, grad_out + b, grad_in + a, row, step, 2, p->relu);
                else
                    tile_backward(in + a, out + b, grad_out + b, grad_in + a, row, step, size, p->relu);
            }
        }
}

/* --- windows of any kind --- */

LANES_INLINE void window_forward(const struct plane *p, struct window w, const float *in, float *out, int n)
{
    lanes best = (lanes){0} + (p->relu ? 0 : -INFINITY);
    for (int y = w.top; y < w.bottom; y++)
        for (int x = w.left; x < w.right; x++) {
            lanes value = lanes_load_some(in + place_at(p, y, x), n);
            best = lanes_select(value > best, value, best);
        }
    lanes_store_some(out, best, n);
}

LANES_INLINE void window_backward(const struct plane *p, struct window w, const float *in, const float *out,
                                  const float *grad_out, float *grad_in, int n)
{
    lanes best = lanes_load_some(out, n), left = lanes_load_some(grad_out, n);
    if (p->relu)
        left = lanes_select(best > 0, left, (lanes){0});
    for (int y = w.top; y < w.bottom; y++)
        for (int x = w.left; x < w.right; x++) {
            size_t at = place_at(p, y, x);
            lane_mask here = lanes_load_some(in + at, n) == best;
            lanes before = lanes_load_some(grad_in + at, n);
            lanes_store_some(grad_in + at, before + lanes_select(here, left, (lanes){0}), n);
            left = lanes_select(here, (lanes){0}, left);
        }
}

CPU_KERNEL static void windows_forward(const struct plane *p, const float *in, float *out)
{
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++, out += p->block)
            for (int c = 0; c < p->block; c += LANES)
                if (p->block - c >= LANES)
                    window_forward(p, window_at(p, y, x), in + c, out + c, LANES);
                else
                    window_forward(p, window_at(p, y, x), in + c, out + c, p->block - c);
}

CPU_KERNEL static void windows_backward(const struct plane *p, const float *in, const float *out,
                                        const float *grad_out, float *grad_in)
{
    memset(grad_in, 0, (size_t)p->height * (size_t)p->width * (size_t)p->block * sizeof(float));
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++, out += p->block, grad_out += p->block)
            for (int c = 0; c < p->block; c += LANES)
                if (p->block - c >= LANES)
                    window_backward(p, window_at(p, y, x), in + c, out + c, grad_out + c, grad_in + c, LANES);
                else
                    window_backward(p, window_at(p, y, x), in + c, out + c, grad_out + c, grad_in + c,
                                    p->block - c);
}

/* --- the stage --- */

static bool pool_create(struct stage *s, struct error *e)
{
    if (!cpu_layout_like(&s->inputs[0]->layout, s->spec.batch, s->spec.out, &s->layout, e))
        return false;
    struct plane p = plane_of(s);
    s->overwrites_input = tiles(&p);
    return true;
}

static bool pool_forward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)context, (void)e;
    struct plane p = plane_of(s);
    size_t in_size = plane_size(p.height, p.width, p.block),
           out_size = plane_size(p.out_height, p.out_width, p.block);
    int planes = s->spec.batch * s->layout.blocks;
    const float *in = s->inputs[0]->value;
    float *out = s->value;
    bool tiled = tiles(&p);
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < planes; i++) {
        size_t a = (size_t)i * in_size, b = (size_t)i * out_size;
        if (tiled)
            tiles_forward(&p, in + a, out + b);
        else
            windows_forward(&p, in + a, out + b);
    }
    return true;
}

static bool pool_backward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)context, (void)e;
    struct plane p = plane_of(s);
    size_t in_size = plane_size(p.height, p.width, p.block),
           out_size = plane_size(p.out_height, p.out_width, p.block);
    int planes = s->spec.batch * s->layout.blocks;
    const float *in = s->inputs[0]->value, *out = s->value, *grad_out = s->grad;
    bool tiled = tiles(&p);
    if (!s->spec.input_gradient[0])
        return true;
    float *grad_in = cpu_grad_begin(s, 0);
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < planes; i++) {
        size_t a = (size_t)i * in_size, b = (size_t)i * out_size;
        if (tiled) {
            tiles_backward(&p, in + a, out + b, grad_out + b, grad_in + a);
            clear_leftover(&p, grad_in + a);
        } else {
            windows_backward(&p, in + a, out + b, grad_out + b, grad_in + a);
        }
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
                                      .overwrites_input = true,
                                      .keeps_gradient = true};
