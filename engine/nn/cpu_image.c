/*
 * The first convolution of a network for grey images: one input channel, 3×3, then relu, then maxpool 2. oneDNN fills
 * one channel up to a whole block and so does its weight gradient eight times; and the convolution's output is the
 * largest tensor of such a network, written and read several times only to be reduced to a quarter. Here each 4×4 patch
 * of the image gives its four results in registers, of which the largest leaves them, with a byte that says which
 * it was (NONE: relu closed it). Backward spreads each gradient to the patch it came from by that byte.
 */
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_lanes.h"

#include <stdlib.h>

enum { KERNEL = 3, TAPS = KERNEL * KERNEL, POOL = 2, WINDOW = POOL * POOL, NONE = WINDOW };

struct cpu_image {
    int width, out_height, out_width, channels, block;
    float *weights; /* [channels / LANES][TAPS + 1][LANES]: the taps, then the bias */
    float *sums;    /* the same of gradients, one set a thread */
    int8_t *which;  /* of each output: which of the window's four it is, or NONE */
};

bool cpu_image_possible(const struct stage_spec *conv, const struct layer_spec *pool)
{
    const struct layer_spec *l = conv->layer;
    for (int i = 0; i < 2; i++)
        if (l->kernel[i] != KERNEL || l->stride[i] != 1 || l->padding[i] != 0 || l->dilation[i] != 1 ||
            pool->kernel[i] != POOL || pool->stride[i] != POOL || pool->padding[i] != 0)
            return false;
    return !conv->input_gradient[0] && conv->in.channels == 1 && l->bias && conv->out.channels % LANES == 0;
}

static size_t set_size(const struct cpu_image *c)
{
    return (size_t)c->channels * (TAPS + 1);
}

/* What oneDNN's convolutions want next: blocks as wide as the machine's registers. */
static int preferred_block(int channels)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && channels % 16 == 0)
        return 16;
#endif
    return channels % LANES == 0 ? LANES : 1;
}

static bool image_create(struct stage *s, struct error *e)
{
    const struct model_shape *out = &s->spec.out;
    dnnl_dims_t dims = {s->spec.batch, out->channels, out->height, out->width};
    dnnl_memory_desc_t md;
    struct cpu_image *c = s->own = calloc(1, sizeof *c);
    if (!c)
        return error_set(e, ERROR_FAILED, "there is not enough memory for a convolution");
    c->width = s->spec.in.width;
    c->out_height = out->height;
    c->out_width = out->width;
    c->channels = out->channels;
    c->block = preferred_block(out->channels);
    if (!cpu_check(
            dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, c->block == 16 ? dnnl_nChw16c : dnnl_nChw8c),
            "describe an image", e))
        return false;
    cpu_layout_from(&md, &s->layout);
    c->weights = cpu_floats(set_size(c) * sizeof(float), e);
    c->sums = c->weights ? cpu_floats(set_size(c) * sizeof(float) * (size_t)s->backend->threads, e) : NULL;
    c->which = calloc(s->layout.bytes / sizeof(float), 1);
    if (c->sums && !c->which)
        error_set(e, ERROR_FAILED, "there is not enough memory for a convolution; use a smaller batch");
    return c->sums && c->which;
}

static void image_destroy(struct stage *s)
{
    struct cpu_image *c = s->own;
    if (!c)
        return;
    free(c->weights);
    free(c->sums);
    free(c->which);
    free(c);
}

/* The eight channels from `group` on, where their outputs of an image begin. */
static size_t group_offset(const struct cpu_image *c, int group)
{
    size_t plane = (size_t)c->out_height * (size_t)c->out_width * (size_t)c->block;
    int channel = group * LANES;
    return (size_t)(channel / c->block) * plane + (size_t)(channel % c->block);
}

LANES_INLINE lanes convolve(const lanes *taps, lanes bias, const float *patch, int width)
{
    lanes sum = bias;
#pragma GCC unroll 9
    for (int k = 0; k < TAPS; k++)
        sum += taps[k] * patch[k / KERNEL * width + k % KERNEL];
    return sum;
}

CPU_KERNEL static void group_forward(const struct cpu_image *c, const float *image, const float *weights,
                                     float *out, int8_t *which)
{
    lanes taps[TAPS], bias = lanes_load(weights + TAPS * LANES);
    int width = c->width, out_width = c->out_width, block = c->block;
#pragma GCC unroll 9
    for (int k = 0; k < TAPS; k++)
        taps[k] = lanes_load(weights + k * LANES);
    for (int y = 0; y < c->out_height; y++)
        for (int x = 0; x < out_width; x++) {
            const float *patch = image + (ptrdiff_t)POOL * y * width + POOL * x;
            ptrdiff_t at = ((ptrdiff_t)y * out_width + x) * block;
            lanes best = {0};
            lane_mask found = (lane_mask){0} + NONE;
            for (int i = 0; i < WINDOW;
                 i++) { /* the first of equals counts: only what is larger replaces it */
                lanes value = convolve(taps, bias, patch + i / POOL * width + i % POOL, width);
                lane_mask larger = value > best;
                best = lanes_select(larger, value, best);
                found = (larger & i) | (~larger & found);
            }
            lanes_store(out + at, best);
            lanes_store_bytes(which + at, found);
        }
}

/*
 * Adds to sums, laid out as weights. An image is summed by itself first: added one by one to the sum of a whole batch,
 * small terms would be lost in it.
 */
CPU_KERNEL static void group_backward(const struct cpu_image *c, const float *image, const float *grad,
                                      const int8_t *which, float *sums)
{
    lanes taps[TAPS], bias = {0};
    int width = c->width, out_width = c->out_width, block = c->block;
#pragma GCC unroll 9
    for (int k = 0; k < TAPS; k++)
        taps[k] = (lanes){0};
    for (int y = 0; y < c->out_height; y++)
        for (int x = 0; x < out_width; x++) {
            const float *patch = image + (ptrdiff_t)POOL * y * width + POOL * x;
            ptrdiff_t at = ((ptrdiff_t)y * out_width + x) * block;
            lane_mask found = lanes_load_bytes(which + at);
            lanes all = lanes_load(grad + at);
#pragma GCC unroll 4
            for (int i = 0; i < WINDOW; i++) {
                lanes mine = (lanes)((lane_mask)all & (found == i));
                const float *corner = patch + i / POOL * width + i % POOL;
                bias += mine;
#pragma GCC unroll 9
                for (int k = 0; k < TAPS; k++)
                    taps[k] += mine * corner[k / KERNEL * width + k % KERNEL];
            }
        }
#pragma GCC unroll 9
    for (int k = 0; k < TAPS; k++)
        lanes_store(sums + k * LANES, lanes_load(sums + k * LANES) + taps[k]);
    lanes_store(sums + TAPS * LANES, lanes_load(sums + TAPS * LANES) + bias);
}

static bool image_forward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)e;
    const struct cpu_image *c = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    const float *weights = context->parameters + t[0].offset, *bias = context->parameters + t[1].offset;
    for (int o = 0; o < c->channels; o++) {
        float *set = c->weights + (size_t)(o / LANES) * (TAPS + 1) * LANES + o % LANES;
        for (int k = 0; k < TAPS; k++)
            set[k * LANES] = weights[o * TAPS + k];
        set[TAPS * LANES] = bias[o];
    }
    size_t in_size = model_shape_elements(s->spec.in), out_size = model_shape_elements(s->spec.out);
    const float *in = s->inputs[0]->value;
#pragma omp parallel for schedule(static) num_threads(s->backend->threads) if (s->backend->threads > 1)
    for (int i = 0; i < s->spec.batch; i++)
        for (int g = 0; g < c->channels / LANES; g++) {
            size_t at = (size_t)i * out_size + group_offset(c, g);
            group_forward(c, in + (size_t)i * in_size, c->weights + (size_t)g * (TAPS + 1) * LANES,
                          s->value + at, c->which + at);
        }
    return true;
}

static bool image_backward(struct stage *s, const struct pass_context *context, struct error *e)
{
    (void)e;
    struct cpu_image *c = s->own;
    size_t in_size = model_shape_elements(s->spec.in), out_size = model_shape_elements(s->spec.out);
    size_t set = set_size(c);
    int threads = s->backend->threads, batch = s->spec.batch;
    const float *in = s->inputs[0]->value, *grad = s->grad;
    memset(c->sums, 0, set * (size_t)threads * sizeof(float));
    /* A part of the batch for each set of sums, whichever thread takes it: the same sums in every run. */
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; t++)
        for (int i = (int)((long)batch * t / threads); i < (int)((long)batch * (t + 1) / threads); i++)
            for (int g = 0; g < c->channels / LANES; g++) {
                size_t at = (size_t)i * out_size + group_offset(c, g);
                group_backward(c, in + (size_t)i * in_size, grad + at, c->which + at,
                               c->sums + (size_t)t * set + (size_t)g * (TAPS + 1) * LANES);
            }
    const struct layer_tensor *tensors = s->layer->tensors;
    float *weights = context->gradients + tensors[0].offset, *bias = context->gradients + tensors[1].offset;
    for (int t = 1; t < threads; t++)
        for (size_t k = 0; k < set; k++)
            c->sums[k] += c->sums[(size_t)t * set + k];
    for (int o = 0; o < c->channels; o++) {
        const float *sums = c->sums + (size_t)(o / LANES) * (TAPS + 1) * LANES + o % LANES;
        for (int k = 0; k < TAPS; k++)
            weights[o * TAPS + k] = sums[k * LANES];
        bias[o] = sums[TAPS * LANES];
    }
    return true;
}

static const char *image_implementation(const struct stage *s, enum pass pass)
{
    return pass == PASS_BACKWARD_DATA || (pass != PASS_FORWARD && !s->spec.backward) ? ""
                                                                                     : "image:3x3,relu,pool2";
}

const struct cpu_op cpu_op_image = {.create = image_create,
                                    .destroy = image_destroy,
                                    .forward = image_forward,
                                    .backward = image_backward,
                                    .implementation = image_implementation,
                                    .reads_input = true};
