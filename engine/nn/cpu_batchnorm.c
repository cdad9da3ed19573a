/*
 * Batch normalisation (S. Ioffe and C. Szegedy, Batch normalization, ICML 2015): y = γ (x - mean) / sqrt(var + ε) + β for
 * each channel, over all samples and places of the batch.
 *
 * Statistics: of each image by itself in two passes, while it is in cache, then combined in double (T. Chan, G. Golub and
 * R. LeVeque, Algorithms for computing the sample variance, 1983): no cancellation, and the same bits on any number
 * of threads. Synchronised, ranks add up Σ(x - k) and Σ(x - k)² with k the running mean, which all of them share. Backward
 * (m: values a channel has over the batch, of all ranks where synchronised), with x̂ the normalised x and dy what the relu
 * behind lets through, which is computed again from x instead of being read:
 *     dβ = Σ dy    dγ = Σ dy x̂    dx = γ / sqrt(var + ε) (dy - dβ / m - x̂ dγ / m)
 */
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_lanes.h"

#include <math.h>
#include <stdlib.h>

/* Sums grow to this many terms before they are added to others: many small terms added to a large sum would be lost. */
enum { SUM_TERMS = 64 };

/* The tensor as strips: a group of up to eight neighbouring channels of one image, at `count` places. */
struct cpu_batchnorm {
    int images, groups, count; /* strips: images × groups */
    int channels, block;       /* block: channels side by side, also how far apart places lie */
    /* By group and lane. y = (x - mean) scale + shift, dx = scale dy - level - bend (x - mean). */
    float *mean, *inverse, *scale, *shift, *level, *bend; /* inverse: 1 / sqrt(var + ε) */
    float *partial;                                       /* [strip][2][LANES]: what a strip's sums come to */
    float *sums;                                          /* [2][channels]: what ranks add up */
};

static struct cpu_batchnorm *batchnorm_of(const struct stage *s)
{
    return s->own;
}

static bool batchnorm_create(struct stage *s, struct error *e)
{
    struct cpu_batchnorm *b = s->own = calloc(1, sizeof *b);
    if (!b)
        return error_set(e, ERROR_FAILED, "there is not enough memory for a batchnorm layer");
    s->layout = s->inputs[0]->layout;
    b->channels = s->spec.in.channels;
    b->block = s->layout.block;
    b->images = s->spec.batch;
    b->count = s->spec.in.height * s->spec.in.width;
    /* Flat: channels side by side, so that all samples together are one image. */
    if (b->count == 1 && b->block == 1) {
        b->block = b->channels;
        b->images = 1;
        b->count = s->spec.batch;
    }
    int blocks = (b->channels + b->block - 1) / b->block, in_block = (b->block + LANES - 1) / LANES;
    b->groups = blocks * in_block;
    size_t padded = (size_t)b->groups * LANES, strips = (size_t)b->images * (size_t)b->groups;
    b->mean = cpu_floats(6 * padded * sizeof(float), e);
    b->partial = b->mean ? cpu_floats(strips * 2 * LANES * sizeof(float), e) : NULL;
    b->sums = b->partial ? cpu_floats(2 * (size_t)b->channels * sizeof(float), e) : NULL;
    if (!b->sums)
        return false;
    b->inverse = b->mean + padded;
    b->scale = b->inverse + padded;
    b->shift = b->scale + padded;
    b->level = b->shift + padded;
    b->bend = b->level + padded;
    return true;
}

static void batchnorm_destroy(struct stage *s)
{
    struct cpu_batchnorm *b = s->own;
    if (!b)
        return;
    free(b->mean);
    free(b->partial);
    free(b->sums);
    free(b);
}

/* --- strips --- */

/* Where the strip begins and how many channels it has. */
struct strip {
    size_t at, group;
    int lanes;
};

static struct strip strip_of(const struct cpu_batchnorm *b, int i)
{
    int image = i / b->groups, group = i % b->groups;
    int in_block = (b->block + LANES - 1) / LANES, first = group % in_block * LANES;
    size_t plane = (size_t)b->count * (size_t)b->block;
    size_t blocks = (size_t)(b->groups / in_block);
    int left = b->block - first;
    return (struct strip){.at = ((size_t)image * blocks + (size_t)(group / in_block)) * plane + (size_t)first,
                          .group = (size_t)group * LANES,
                          .lanes = left < LANES ? left : LANES};
}

/* The channel of lane l of a group; beyond the last one: channels that only fill up a block. */
static int channel_of(const struct cpu_batchnorm *b, int group, int lane)
{
    int in_block = (b->block + LANES - 1) / LANES;
    int within = group % in_block * LANES + lane;
    return within < b->block ? group / in_block * b->block + within : b->channels;
}

LANES_INLINE lanes sum_strip(const float *x, size_t stride, int count, lanes middle, bool squares, int n)
{
    lanes total = {0};
    for (int i = 0; i < count; i += SUM_TERMS) {
        int end = count - i < SUM_TERMS ? count : i + SUM_TERMS;
        lanes even = {0}, odd = {0};
        int k = i;
        for (; k + 1 < end; k += 2) {
            lanes a = lanes_load_some(x + (size_t)k * stride, n) - middle,
                  c = lanes_load_some(x + (size_t)(k + 1) * stride, n) - middle;
            even += squares ? a * a : a;
            odd += squares ? c * c : c;
        }
        if (k < end) {
            lanes a = lanes_load_some(x + (size_t)k * stride, n) - middle;
            even += squares ? a * a : a;
        }
        total += even + odd;
    }
    return total;
}

/* The mean of each channel of a strip, and the sum of the squares of what is left without it. */
LANES_INLINE void moments(const float *x, size_t stride, int count, float *partial, int n)
{
    lanes mean = sum_strip(x, stride, count, (lanes){0}, false, n) / (float)count;
    lanes_store(partial, mean);
    lanes_store(partial + LANES, sum_strip(x, stride, count, mean, true, n));
}

CPU_KERNEL static void strip_moments(const float *x, size_t stride, int count, float *partial, int n)
{
    if (n == LANES)
        moments(x, stride, count, partial, LANES);
    else
        moments(x, stride, count, partial, n);
}

LANES_INLINE void normalise(const struct cpu_batchnorm *b, struct strip s, const float *x, float *y,
                            bool relu, int n)
{
    lanes mean = lanes_load(b->mean + s.group), scale = lanes_load(b->scale + s.group),
          shift = lanes_load(b->shift + s.group);
    size_t stride = (size_t)b->block;
    for (int i = 0; i < b->count; i++) {
        lanes value = (lanes_load_some(x + (size_t)i * stride, n) - mean) * scale + shift;
        lanes_store_some(y + (size_t)i * stride, relu ? lanes_select(value < 0, (lanes){0}, value) : value,
                         n);
    }
}

CPU_KERNEL static void strip_normalise(const struct cpu_batchnorm *b, struct strip s, const float *x,
                                       float *y, bool relu)
{
    if (s.lanes == LANES && relu)
        normalise(b, s, x, y, true, LANES);
    else if (s.lanes == LANES)
        normalise(b, s, x, y, false, LANES);
    else
        normalise(b, s, x, y, relu, s.lanes);
}

/* What the relu lets through of dy. */
LANES_INLINE lanes through(lanes dy, lanes apart, lanes scale, lanes shift, bool relu)
{
    return relu ? lanes_select(apart * scale + shift > 0, dy, (lanes){0}) : dy;
}

/* Σ dy and Σ dy (x - mean). */
LANES_INLINE void slopes(const struct cpu_batchnorm *b, struct strip s, const float *x, const float *dy,
                         float *partial, bool relu, int n)
{
    lanes mean = lanes_load(b->mean + s.group), scale = lanes_load(b->scale + s.group),
          shift = lanes_load(b->shift + s.group), ones = {0}, products = {0};
    size_t stride = (size_t)b->block;
    for (int i = 0; i < b->count; i += SUM_TERMS) {
        int end = b->count - i < SUM_TERMS ? b->count : i + SUM_TERMS;
        lanes sum[2] = {{0}}, product[2] = {{0}};
        for (int k = i; k < end; k += 2)
            for (int j = 0; j < 2 && k + j < end; j++) {
                lanes apart = lanes_load_some(x + (size_t)(k + j) * stride, n) - mean;
                lanes open =
                    through(lanes_load_some(dy + (size_t)(k + j) * stride, n), apart, scale, shift, relu);
                sum[j] += open;
                product[j] += open * apart;
            }
        ones += sum[0] + sum[1];
        products += product[0] + product[1];
    }
    lanes_store(partial, ones);
    lanes_store(partial + LANES, products);
}

CPU_KERNEL static void strip_slopes(const struct cpu_batchnorm *b, struct strip s, const float *x,
                                    const float *dy, float *partial, bool relu)
{
    if (s.lanes == LANES && relu)
        slopes(b, s, x, dy, partial, true, LANES);
    else if (s.lanes == LANES)
        slopes(b, s, x, dy, partial, false, LANES);
    else
        slopes(b, s, x, dy, partial, relu, s.lanes);
}

/* dx may be x. */
LANES_INLINE void spread(const struct cpu_batchnorm *b, struct strip s, const float *x, const float *dy,
                         float *dx, bool relu, int n)
{
    lanes mean = lanes_load(b->mean + s.group), scale = lanes_load(b->scale + s.group),
          shift = lanes_load(b->shift + s.group), level = lanes_load(b->level + s.group),
          bend = lanes_load(b->bend + s.group);
    size_t stride = (size_t)b->block;
    for (int i = 0; i < b->count; i++) {
        lanes apart = lanes_load_some(x + (size_t)i * stride, n) - mean;
        lanes open = through(lanes_load_some(dy + (size_t)i * stride, n), apart, scale, shift, relu);
        lanes_store_some(dx + (size_t)i * stride, scale * open - level - bend * apart, n);
    }
}

CPU_KERNEL static void strip_spread(const struct cpu_batchnorm *b, struct strip s, const float *x,
                                    const float *dy, float *dx, bool relu)
{
    if (s.lanes == LANES && relu)
        spread(b, s, x, dy, dx, true, LANES);
    else if (s.lanes == LANES)
        spread(b, s, x, dy, dx, false, LANES);
    else
        spread(b, s, x, dy, dx, relu, s.lanes);
}

/* --- passes over all strips --- */

enum strip_pass { MOMENTS, NORMALISE, SLOPES, SPREAD };

static void all_strips(const struct stage *s, enum strip_pass pass, const float *dy, float *out)
{
    const struct cpu_batchnorm *b = s->own;
    const float *x = s->inputs[0]->value;
    bool relu = s->spec.relu;
    int strips = b->images * b->groups, threads = s->backend->threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int i = 0; i < strips; i++) {
        struct strip strip = strip_of(b, i);
        float *partial = b->partial + (size_t)i * 2 * LANES;
        switch (pass) {
        case MOMENTS: strip_moments(x + strip.at, (size_t)b->block, b->count, partial, strip.lanes); break;
        case NORMALISE: strip_normalise(b, strip, x + strip.at, out + strip.at, relu); break;
        case SLOPES: strip_slopes(b, strip, x + strip.at, dy + strip.at, partial, relu); break;
        case SPREAD: strip_spread(b, strip, x + strip.at, dy + strip.at, out + strip.at, relu); break;
        }
    }
}

/* Adds up what the strips of a group left in place `which` of their partial sums. */
static void add_partial(const struct cpu_batchnorm *b, int group, int which, double sums[LANES])
{
    for (int l = 0; l < LANES; l++)
        sums[l] = 0;
    for (int i = 0; i < b->images; i++) {
        const float *partial =
            b->partial + ((size_t)i * (size_t)b->groups + (size_t)group) * 2 * LANES + which * LANES;
        for (int l = 0; l < LANES; l++)
            sums[l] += (double)partial[l];
    }
}

/* Of a group: means, and sums of squares of the distances from them. */
static void combine_moments(const struct cpu_batchnorm *b, int group, double mean[LANES],
                            double squares[LANES])
{
    add_partial(b, group, 0, mean);
    add_partial(b, group, 1, squares);
    for (int l = 0; l < LANES; l++)
        mean[l] /= b->images;
    for (int i = 0; i < b->images; i++) {
        const float *partial = b->partial + ((size_t)i * (size_t)b->groups + (size_t)group) * 2 * LANES;
        for (int l = 0; l < LANES; l++)
            squares[l] += b->count * ((double)partial[l] - mean[l]) * ((double)partial[l] - mean[l]);
    }
}

/* Values a channel has over the batch. */
static double terms(const struct cpu_batchnorm *b)
{
    return (double)b->images * b->count;
}

/* The ranks that look at the batch together: NULL is this one alone. */
static const struct rank_sum *ranks_of(const struct stage *s, const struct pass_context *c)
{
    return s->layer->sync && c->all_ranks && c->all_ranks->ranks > 1 ? c->all_ranks : NULL;
}

/* What normalising needs of a channel. */
static void set_channel(const struct stage *s, const struct pass_context *c, int channel, size_t at,
                        double mean, double variance)
{
    struct cpu_batchnorm *b = batchnorm_of(s);
    const struct layer_tensor *t = s->layer->tensors;
    b->mean[at] = (float)mean;
    b->inverse[at] = (float)(1 / sqrt(variance + s->layer->epsilon));
    b->scale[at] = c->parameters[t[0].offset + (size_t)channel] * b->inverse[at];
    b->shift[at] = c->parameters[t[1].offset + (size_t)channel];
}

static void move_running(const struct stage *s, float *state, int channel, double mean, double variance,
                         double m)
{
    double rate = s->layer->momentum;
    float *running_mean = state + s->layer->state[0].offset + channel,
          *running_var = state + s->layer->state[1].offset + channel;
    *running_mean = (float)((1 - rate) * (double)*running_mean + rate * mean);
    *running_var = (float)((1 - rate) * (double)*running_var + rate * variance * m / (m - 1));
}

/* Σ(x - k) and Σ(x - k)² of this rank's batch, k the running mean: for the ranks to add up. */
static bool sum_ranks(const struct stage *s, const struct pass_context *c, const struct rank_sum *ranks,
                      struct error *e)
{
    struct cpu_batchnorm *b = batchnorm_of(s);
    const float *middle = c->state + s->layer->state[0].offset;
    for (int g = 0; g < b->groups; g++) {
        double mean[LANES], squares[LANES], m = terms(b);
        combine_moments(b, g, mean, squares);
        for (int l = 0; l < LANES; l++) {
            int channel = channel_of(b, g, l);
            if (channel >= b->channels)
                continue;
            double apart = mean[l] - (double)middle[channel];
            b->sums[channel] = (float)(m * apart);
            b->sums[b->channels + channel] = (float)(squares[l] + m * apart * apart);
        }
    }
    return ranks->sum(ranks->self, b->sums, 2 * (size_t)b->channels, e);
}

static bool training_statistics(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct cpu_batchnorm *b = s->own;
    const struct rank_sum *ranks = ranks_of(s, c);
    double m = terms(b) * (ranks ? ranks->ranks : 1);
    if (m < 2)
        return error_set(e, ERROR_INPUT,
                         "batchnorm cannot learn from one value a channel; use a batch of 2 or more");
    all_strips(s, MOMENTS, NULL, NULL);
    if (ranks && !sum_ranks(s, c, ranks, e))
        return false;
    for (int g = 0; g < b->groups; g++) {
        double mean[LANES], squares[LANES];
        if (!ranks)
            combine_moments(b, g, mean, squares);
        for (int l = 0; l < LANES; l++) {
            int channel = channel_of(b, g, l);
            if (channel >= b->channels)
                continue;
            if (ranks) {
                double apart = (double)b->sums[channel] / m;
                mean[l] = (double)c->state[s->layer->state[0].offset + (size_t)channel] + apart;
                squares[l] = fmax(0, (double)b->sums[b->channels + channel] - m * apart * apart);
            }
            set_channel(s, c, channel, (size_t)g * LANES + (size_t)l, mean[l], squares[l] / m);
            move_running(s, c->state, channel, mean[l], squares[l] / m, m);
        }
    }
    return true;
}

static void running_statistics(struct stage *s, const struct pass_context *c)
{
    const struct cpu_batchnorm *b = s->own;
    const float *mean = c->state + s->layer->state[0].offset,
                *variance = c->state + s->layer->state[1].offset;
    for (int i = 0; i < b->groups * LANES; i++) {
        int channel = channel_of(b, i / LANES, i % LANES);
        if (channel < b->channels)
            set_channel(s, c, channel, (size_t)i, (double)mean[channel], (double)variance[channel]);
    }
}

static bool batchnorm_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    if (!c->training)
        running_statistics(s, c);
    else if (!training_statistics(s, c, e))
        return false;
    all_strips(s, NORMALISE, NULL, s->value);
    return true;
}

/* The gradients of γ and β, which are of this rank alone, and what dx needs of them, which is of all ranks. */
static bool slopes_of_channels(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct cpu_batchnorm *b = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    const struct rank_sum *ranks = ranks_of(s, c);
    double m = terms(b) * (ranks ? ranks->ranks : 1);
    for (int i = 0; i < b->groups; i++) {
        double ones[LANES], products[LANES];
        add_partial(b, i, 0, ones);
        add_partial(b, i, 1, products);
        for (int l = 0; l < LANES; l++) {
            int channel = channel_of(b, i, l);
            if (channel >= b->channels)
                continue;
            b->sums[channel] = (float)ones[l];
            b->sums[b->channels + channel] = (float)(products[l] * (double)b->inverse[i * LANES + l]);
        }
    }
    memcpy(c->gradients + t[1].offset, b->sums, (size_t)b->channels * sizeof(float));
    memcpy(c->gradients + t[0].offset, b->sums + b->channels, (size_t)b->channels * sizeof(float));
    if (ranks && !ranks->sum(ranks->self, b->sums, 2 * (size_t)b->channels, e))
        return false;
    for (int i = 0; i < b->groups * LANES; i++) {
        int channel = channel_of(b, i / LANES, i % LANES);
        if (channel >= b->channels)
            continue;
        b->level[i] = (float)((double)b->scale[i] * (double)b->sums[channel] / m);
        b->bend[i] =
            (float)((double)b->scale[i] * (double)b->inverse[i] * (double)b->sums[b->channels + channel] / m);
    }
    return true;
}

static bool batchnorm_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    all_strips(s, SLOPES, s->grad, NULL);
    if (!slopes_of_channels(s, c, e))
        return false;
    if (!s->spec.input_gradient[0])
        return true;
    all_strips(s, SPREAD, s->grad, cpu_grad_begin(s, 0));
    cpu_grad_end(s, 0);
    return true;
}

const struct cpu_op cpu_op_batchnorm = {.create = batchnorm_create,
                                        .destroy = batchnorm_destroy,
                                        .forward = batchnorm_forward,
                                        .backward = batchnorm_backward,
                                        .fuses_relu = true,
                                        .reads_input = true,
                                        .overwrites_input = true,
                                        .keeps_gradient = true};
