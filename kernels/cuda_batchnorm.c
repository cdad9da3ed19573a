/*
 * Batch normalisation (S. Ioffe and C. Szegedy, ICML 2015): formulas in engine/nn/cpu_batchnorm.c, kernels in batchnorm.cu.
 * Synchronised, the sums of all ranks' batches go by way of the host; such a step is not recorded as a graph.
 */
#include "kernels/cuda.h"

#include <stdlib.h>

struct cuda_batchnorm {
    struct kernel_batchnorm kernel;
    float *room; /* on the device: norms and sums */
    float *host; /* what ranks add up */
};

/* Each array of norms begins where four numbers can be loaded at once. */
enum { NORMS = 4, SUMS = 2, MULTIPLE = 4 };

static bool batchnorm_create(struct stage *s, struct error *e)
{
    struct cuda_batchnorm *b = s->own = calloc(1, sizeof *b);
    if (!b)
        return error_set(e, ERROR_FAILED, "there is not enough memory for a batchnorm layer");
    struct kernel_batchnorm *k = &b->kernel;
    size_t channels = (size_t)s->spec.in.channels, padded = (channels + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    k->channels = s->spec.in.channels;
    k->rows = s->spec.batch * s->spec.in.height * s->spec.in.width;
    k->epsilon = s->layer->epsilon;
    k->momentum = s->layer->momentum;
    b->room = cuda_memory_new(s->cuda, (NORMS * padded + SUMS * channels) * sizeof(float), "batchnorm", e);
    if (!b->room || !(b->host = calloc(SUMS * channels, sizeof(float))))
        return b->room && error_set(e, ERROR_FAILED, "there is not enough memory for a batchnorm layer");
    k->norms = (struct kernel_norms){b->room, b->room + padded, b->room + 2 * padded, b->room + 3 * padded};
    k->sums = b->room + NORMS * padded;
    s->cuda->synchronised = s->cuda->synchronised || s->layer->sync;
    return true;
}

static void batchnorm_destroy(struct stage *s)
{
    struct cuda_batchnorm *b = s->own;
    if (!b)
        return;
    cuda_memory_free(b->room);
    free(b->host);
    free(b);
}

/* The ranks that look at the batch together: NULL is this one alone. */
static const struct rank_sum *ranks_of(const struct stage *s, const struct pass_context *c)
{
    return s->layer->sync && c->all_ranks && c->all_ranks->ranks > 1 ? c->all_ranks : NULL;
}

static struct kernel_batchnorm *kernel_of(struct stage *s, const struct pass_context *c)
{
    struct cuda_batchnorm *b = s->own;
    const struct layer_tensor *t = s->layer->tensors, *state = s->layer->state;
    b->kernel.weight = c->parameters + t[0].offset;
    b->kernel.bias = c->parameters + t[1].offset;
    b->kernel.running_mean = c->state + state[0].offset;
    b->kernel.running_var = c->state + state[1].offset;
    return &b->kernel;
}

/* Values a channel has over the batches of all that look together. */
static double terms_of(const struct cuda_batchnorm *b, const struct rank_sum *ranks)
{
    return (double)b->kernel.rows * (ranks ? ranks->ranks : 1);
}

static bool sum_ranks(struct stage *s, const struct rank_sum *ranks, struct error *e)
{
    const struct cuda_batchnorm *b = s->own;
    cudaStream_t stream = s->cuda->stream;
    size_t n = SUMS * (size_t)b->kernel.channels, bytes = n * sizeof(float);
    return cuda_ok(cudaMemcpyAsync(b->host, b->kernel.sums, bytes, cudaMemcpyDeviceToHost, stream),
                   "copying statistics", e) &&
           cuda_wait(s->cuda, "a training step", e) && ranks->sum(ranks->self, b->host, n, e) &&
           cuda_ok(cudaMemcpyAsync(b->kernel.sums, b->host, bytes, cudaMemcpyHostToDevice, stream),
                   "copying statistics", e);
}

static bool training_statistics(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct cuda_batchnorm *b = s->own;
    const struct kernel_batchnorm *k = &b->kernel;
    const struct rank_sum *ranks = ranks_of(s, c);
    if (terms_of(b, ranks) < 2)
        return error_set(e, ERROR_INPUT,
                         "batchnorm cannot learn from one value a channel; use a batch of 2 or more");
    kernel_batchnorm_moments(k, s->inputs[0]->value, ranks, s->cuda->stream);
    if (!ranks)
        return true;
    if (!sum_ranks(s, ranks, e))
        return false;
    kernel_batchnorm_from_sums(k, terms_of(b, ranks), s->cuda->stream);
    return true;
}

/* Parts of sums over the rows lie in a buffer of the backend's while they are needed. */
static struct cuda_buffer *take_partial(struct stage *s, struct kernel_batchnorm *k, struct error *e)
{
    struct cuda_buffer *room =
        cuda_buffer_take(s->cuda, kernel_batchnorm_scratch(k->rows, k->channels) * sizeof(float), e);
    k->partial = room ? room->data : NULL;
    return room;
}

static bool batchnorm_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct kernel_batchnorm *k = kernel_of(s, c);
    if (c->training) {
        struct cuda_buffer *room = take_partial(s, k, e);
        bool ok = room && training_statistics(s, c, e);
        cuda_buffer_drop(room);
        if (!ok)
            return false;
    } else
        kernel_batchnorm_from_running(k, s->cuda->stream);
    kernel_batchnorm_normalise(k, s->inputs[0]->value, s->value, s->spec.relu, s->cuda->stream);
    return true;
}

static bool batchnorm_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct kernel_batchnorm *k = kernel_of(s, c);
    const struct rank_sum *ranks = ranks_of(s, c);
    const struct layer_tensor *t = s->layer->tensors;
    const float *x = s->inputs[0]->value;
    cudaStream_t stream = s->cuda->stream;
    size_t channels = (size_t)k->channels;
    struct cuda_buffer *room = take_partial(s, k, e);
    if (!room)
        return false;
    kernel_batchnorm_slopes(k, x, s->grad, s->spec.relu, stream);
    cuda_buffer_drop(room);
    /* The gradients of γ and β are of this rank alone, what dx needs of them is of all. */
    kernel_copy(k->sums, c->gradients + t[1].offset, channels, false, stream);
    kernel_copy(k->sums + channels, c->gradients + t[0].offset, channels, false, stream);
    if (ranks && !sum_ranks(s, ranks, e))
        return false;
    if (s->spec.input_gradient[0])
        kernel_batchnorm_spread(k, x, s->grad, s->inputs[0]->grad, s->spec.relu, terms_of(s->own, ranks),
                                s->spec.accumulate[0], stream);
    return true;
}

const struct cuda_op cuda_op_batchnorm = {.create = batchnorm_create,
                                          .destroy = batchnorm_destroy,
                                          .forward = batchnorm_forward,
                                          .backward = batchnorm_backward,
                                          .fuses_relu = true};
