/*
 * dropout: sets a random share of the elements to 0 in training and scales the others up, so that the
 * expected value stays (N. Srivastava et al., Dropout, JMLR 2014; scaled in training rather than in
 * evaluation).
 * dropout.h says what the mask is made of.
 */
#include "engine/base/random.h"
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_lanes.h"
#include "engine/nn/dropout.h"

/*
 * Elements number first, first + stride, ... of one sample: a run of plain ones, or the channels of a block.
 */
struct dropout_run {
    uint32_t key[2];
    uint32_t first, stride;
    int32_t threshold; /* of dropout_threshold */
    float scale;       /* of those that stay */
};

LANES_INLINE lane_mask kept(const struct dropout_run *run, uint32_t offset)
{
    lane_bits h = (lane_bits){0, 1, 2, 3, 4, 5, 6, 7} * run->stride + (run->first + offset * run->stride);
    h ^= run->key[0];
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    h = (h ^ (h >> 16)) + run->key[1];
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return (lane_mask)(h >> (32 - DROPOUT_BITS)) >= run->threshold;
}

LANES_INLINE void drop_lanes(const struct dropout_run *run, size_t i, const float *in, float *out, int n)
{
    lanes scaled = run->scale * lanes_load_some(in + i, n);
    lanes_store_some(out + i, lanes_select(kept(run, (uint32_t)i), scaled, lanes_all(0)), n);
}

/* out may be in. */
CPU_KERNEL static void drop(const struct dropout_run *run, const float *in, float *out, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        drop_lanes(run, i, in, out, LANES);
    if (i < n)
        drop_lanes(run, i, in, out, (int)(n - i));
}

static void drop_sample(const struct stage *s, struct dropout_run run, const float *in, float *out)
{
    const struct cpu_layout *l = &s->layout;
    struct model_shape shape = s->spec.out;
    if (l->block == 1) {
        run.stride = 1;
        drop(&run, in, out, model_shape_elements(shape));
        return;
    }
    uint32_t points = (uint32_t)(shape.height * shape.width);
    run.stride = points;
    for (int b = 0; b < l->blocks; b++)
        for (uint32_t p = 0; p < points; p++, in += l->block, out += l->block) {
            run.first = (uint32_t)(b * l->block) * points + p;
            drop(&run, in, out, (size_t)l->block);
        }
}

/* Forward and backward alike: what the value is multiplied with, the gradient is. */
static void drop_all(const struct stage *s, const struct pass_context *c, const float *in, float *out)
{
    size_t sample = s->layout.bytes / sizeof(float) / (size_t)s->spec.batch;
    double rate = s->layer->rate;
    struct random steps = random_stream(c->seed, DROPOUT_STREAM, (uint64_t)c->step);
    uint64_t seed = random_next(&steps), name = dropout_purpose(s->layer->name);
    int threads = s->backend->threads;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int n = 0; n < s->spec.batch; n++) {
        struct random keys = random_stream(seed, name, (uint64_t)(c->first_row + n));
        uint64_t key = random_next(&keys);
        struct dropout_run run = {.key = {(uint32_t)key, (uint32_t)(key >> 32)},
                                  .threshold = dropout_threshold(rate),
                                  .scale = dropout_scale(rate)};
        drop_sample(s, run, in + (size_t)n * sample, out + (size_t)n * sample);
    }
}

static bool dropout_create(struct stage *s, struct error *e)
{
    (void)e;
    s->layout = s->inputs[0]->layout;
    return true;
}

static bool dropout_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)e;
    if (c->training)
        drop_all(s, c, s->inputs[0]->value, s->value);
    else if (!s->value_shared)
        memcpy(s->value, s->inputs[0]->value, s->layout.bytes);
    return true;
}

static bool dropout_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)e;
    if (!s->spec.input_gradient[0])
        return true;
    drop_all(s, c, s->grad, cpu_grad_begin(s, 0));
    cpu_grad_end(s, 0);
    return true;
}

const struct cpu_op cpu_op_dropout = {.create = dropout_create,
                                      .forward = dropout_forward,
                                      .backward = dropout_backward,
                                      .overwrites_input = true,
                                      .keeps_gradient = true,
                                      .in_place = true};
