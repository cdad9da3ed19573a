/*
 * avgpool on channel-blocked images: the sum over each window divided by the window's size, padding counted in as zeros (as
 * PyTorch does it by default). And global_avgpool, the mean over each whole channel, which leaves a flat tensor.
 */
#include "engine/nn/cpu_windows.h"

#include <string.h>

/* --- windows --- */

LANES_INLINE float share(const struct plane *p)
{
    return 1 / (float)(p->kernel[0] * p->kernel[1]);
}

LANES_INLINE void window_forward(const struct plane *p, struct window w, const float *in, float *out, int n)
{
    lanes sum = {0};
    for (int y = w.top; y < w.bottom; y++)
        for (int x = w.left; x < w.right; x++)
            sum += lanes_load_some(in + place_at(p, y, x), n);
    lanes_store_some(out, sum * share(p), n);
}

LANES_INLINE void window_backward(const struct plane *p, struct window w, const float *grad_out,
                                  float *grad_in, int n)
{
    lanes each = lanes_load_some(grad_out, n) * share(p);
    for (int y = w.top; y < w.bottom; y++)
        for (int x = w.left; x < w.right; x++) {
            float *to = grad_in + place_at(p, y, x);
            lanes_store_some(to, lanes_load_some(to, n) + each, n);
        }
}

CPU_KERNEL static void plane_forward(const struct plane *p, const float *in, float *out)
{
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++, out += p->block)
            for (int c = 0; c < p->block; c += LANES)
                if (p->block - c >= LANES)
                    window_forward(p, window_at(p, y, x), in + c, out + c, LANES);
                else
                    window_forward(p, window_at(p, y, x), in + c, out + c, p->block - c);
}

CPU_KERNEL static void plane_backward(const struct plane *p, const float *grad_out, float *grad_in)
{
    memset(grad_in, 0, (size_t)p->height * (size_t)p->width * (size_t)p->block * sizeof(float));
    for (int y = 0; y < p->out_height; y++)
        for (int x = 0; x < p->out_width; x++, grad_out += p->block)
            for (int c = 0; c < p->block; c += LANES)
                if (p->block - c >= LANES)
                    window_backward(p, window_at(p, y, x), grad_out + c, grad_in + c, LANES);
                else
                    window_backward(p, window_at(p, y, x), grad_out + c, grad_in + c, p->block - c);
}

static bool avgpool_create(struct stage *s, struct error *e)
{
    return cpu_layout_like(&s->inputs[0]->layout, s->spec.batch, s->spec.out, &s->layout, e);
}

static bool avgpool_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    struct plane p = plane_of(s);
    size_t in_size = plane_size(p.height, p.width, p.block),
           out_size = plane_size(p.out_height, p.out_width, p.block);
    int planes = s->spec.batch * s->layout.blocks;
    const float *in = s->inputs[0]->value;
    float *out = s->value;
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < planes; i++)
        plane_forward(&p, in + (size_t)i * in_size, out + (size_t)i * out_size);
    return true;
}

static bool avgpool_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    struct plane p = plane_of(s);
    size_t in_size = plane_size(p.height, p.width, p.block),
           out_size = plane_size(p.out_height, p.out_width, p.block);
    int planes = s->spec.batch * s->layout.blocks;
    const float *grad_out = s->grad;
    if (!s->spec.input_gradient[0])
        return true;
    float *grad_in = cpu_grad_begin(s, 0);
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < planes; i++)
        plane_backward(&p, grad_out + (size_t)i * out_size, grad_in + (size_t)i * in_size);
    cpu_grad_end(s, 0);
    return true;
}

const struct cpu_op cpu_op_avgpool = {.create = avgpool_create,
                                      .forward = avgpool_forward,
                                      .backward = avgpool_backward,
                                      .overwrites_input = true,
                                      .keeps_gradient = true};

/* --- whole channels --- */

/* Rows are summed by themselves first, so that few terms meet a large sum. */
LANES_INLINE lanes mean_of(const float *in, int height, int width, size_t block, int n)
{
    lanes sum = {0};
    for (int y = 0; y < height; y++) {
        lanes row = {0};
        for (int x = 0; x < width; x++, in += block)
            row += lanes_load_some(in, n);
        sum += row;
    }
    return sum / (float)(height * width);
}

/* Of the block's `used` channels: the rest only fills it up, and out has no room for it. */
CPU_KERNEL static void block_mean(const float *in, int height, int width, int block, int used, float *out)
{
    for (int c = 0; c < used; c += LANES)
        if (used - c >= LANES)
            lanes_store(out + c, mean_of(in + c, height, width, (size_t)block, LANES));
        else
            lanes_store_some(out + c, mean_of(in + c, height, width, (size_t)block, used - c), used - c);
}

/* What fills a block up has no gradient. */
CPU_KERNEL static void block_spread(const float *grad_out, int places, int block, int used, float *grad_in)
{
    float each = 1 / (float)places;
    for (int c = 0; c < block; c += LANES) {
        int n = block - c < LANES ? block - c : LANES, given = used - c < n ? (used > c ? used - c : 0) : n;
        lanes value = lanes_load_some(grad_out + c, given) * each;
        for (int i = 0; i < places; i++)
            lanes_store_some(grad_in + c + (size_t)i * (size_t)block, value, n);
    }
}

/* Of block i of all images: where its channels lie in the flat tensor, and how many there are. */
static size_t flat_place(const struct stage *s, int i, int *used)
{
    const struct cpu_layout *in = &s->inputs[0]->layout;
    int first = i % in->blocks * in->block, left = s->spec.in.channels - first;
    *used = left < in->block ? left : in->block;
    return (size_t)(i / in->blocks) * (size_t)s->spec.in.channels + (size_t)first;
}

static bool global_create(struct stage *s, struct error *e)
{
    return cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e);
}

static bool global_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    const struct cpu_layout *l = &s->inputs[0]->layout;
    int height = s->spec.in.height, width = s->spec.in.width, blocks = s->spec.batch * l->blocks;
    const float *in = s->inputs[0]->value;
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < blocks; i++) {
        int used;
        size_t at = flat_place(s, i, &used);
        block_mean(in + (size_t)i * plane_size(height, width, l->block), height, width, l->block, used,
                   s->value + at);
    }
    return true;
}

static bool global_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c, (void)e;
    const struct cpu_layout *l = &s->inputs[0]->layout;
    int places = s->spec.in.height * s->spec.in.width, blocks = s->spec.batch * l->blocks;
    if (!s->spec.input_gradient[0])
        return true;
    float *grad_in = cpu_grad_begin(s, 0);
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < blocks; i++) {
        int used;
        size_t at = flat_place(s, i, &used);
        block_spread(s->grad + at, places, l->block, used,
                     grad_in + (size_t)i * plane_size(places, 1, l->block));
    }
    cpu_grad_end(s, 0);
    return true;
}

const struct cpu_op cpu_op_global_avgpool = {.create = global_create,
                                             .forward = global_forward,
                                             .backward = global_backward,
                                             .overwrites_input = true,
                                             .keeps_gradient = true};
