/*
 * embedding: a row of the table for each token. The gradient is as large as the table, zeros where no token points, since the
 * allreduce and the optimisers are each one pass over all gradients.
 */
#include "kernels/cuda.h"

static bool embedding_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)e;
    kernel_embedding((const int32_t *)(const void *)s->inputs[0]->value,
                     c->parameters + s->layer->tensors[0].offset, s->value,
                     s->spec.batch * s->spec.in.channels, s->layer->units, s->layer->vocabulary,
                     s->cuda->stream);
    return true;
}

static bool embedding_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct layer_tensor *table = &s->layer->tensors[0];
    float *sums = c->gradients + table->offset;
    if (!cuda_ok(cudaMemsetAsync(sums, 0, table->elements * sizeof(float), s->cuda->stream),
                 "clearing a gradient", e))
        return false;
    kernel_embedding_backward((const int32_t *)(const void *)s->inputs[0]->value, s->grad, sums,
                              s->spec.batch * s->spec.in.channels, s->layer->units, s->layer->vocabulary,
                              s->cuda->stream);
    return true;
}

const struct cuda_op cuda_op_embedding = {.forward = embedding_forward, .backward = embedding_backward};
