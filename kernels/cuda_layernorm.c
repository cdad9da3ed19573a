/*
 * layernorm: each sample, or each step of a sequence, brought to mean 0 and variance 1 over its features, then scaled and moved
 * (layernorm.cu has the formulas).
 */
#include "kernels/cuda.h"

#include <stdlib.h>

struct layernorm {
    struct kernel_layernorm shape;
    float *means, *factors; /* of each row */
};

static bool layernorm_create(struct stage *s, struct error *e)
{
    struct layernorm *l = s->own = calloc(1, sizeof *l);
    if (!l)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    size_t features = s->layer->tensors[0].elements, rows = s->elements / features;
    int points = s->channels_last ? s->spec.out.height * s->spec.out.width : 1;
    l->shape = (struct kernel_layernorm){.rows = (int)rows,
                                         .channels = (int)features / points,
                                         .points = points,
                                         .epsilon = (float)s->layer->epsilon};
    return (l->means = cuda_memory_new(s->cuda, rows * sizeof(float), "the means of its rows", e)) &&
           (l->factors = cuda_memory_new(s->cuda, rows * sizeof(float), "the deviations of its rows", e));
}

static void layernorm_destroy(struct stage *s)
{
    struct layernorm *l = s->own;
    if (!l)
        return;
    cuda_memory_free(l->means);
    cuda_memory_free(l->factors);
    free(l);
}

static bool layernorm_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)e;
    const struct layernorm *l = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    kernel_layernorm(&l->shape, s->inputs[0]->value, c->parameters + t[0].offset, c->parameters + t[1].offset,
                     s->value, l->means, l->factors, s->cuda->stream);
    return true;
}

/* Column sums in the order of the rows, then in plain order to where a weight's gradient belongs. */
static bool sum_rows(struct stage *s, float *rows, float *gradient, struct error *e)
{
    const struct kernel_layernorm *l = &((const struct layernorm *)s->own)->shape;
    struct cuda *cuda = s->cuda;
    int features = l->channels * l->points;
    struct cuda_buffer *scratch = cuda_buffer_take(
                           cuda, kernel_column_scratch(l->rows, features) * sizeof(float), e),
                       *sums =
                           l->points > 1 ? cuda_buffer_take(cuda, (size_t)features * sizeof(float), e) : NULL;
    bool ok = scratch && (sums || l->points == 1);
    if (ok)
        kernel_column_sums(rows, NULL, sums ? sums->data : gradient, scratch->data, l->rows, features,
                           cuda->stream);
    if (ok && sums)
        kernel_to_plain(sums->data, gradient, 1, l->channels, l->points, false, cuda->stream);
    cuda_buffer_drop(scratch);
    cuda_buffer_drop(sums);
    return ok;
}

static bool layernorm_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct layernorm *l = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    struct cuda_buffer *products = cuda_buffer_take(s->cuda, s->elements * sizeof(float), e);
    if (!products)
        return false;
    kernel_layernorm_backward(&l->shape, s->inputs[0]->value, c->parameters + t[0].offset, s->grad, l->means,
                              l->factors, products->data,
                              s->spec.input_gradient[0] ? s->inputs[0]->grad : NULL, s->spec.accumulate[0],
                              s->cuda->stream);
    bool ok = sum_rows(s, products->data, c->gradients + t[0].offset, e) &&
              sum_rows(s, s->grad, c->gradients + t[1].offset, e);
    cuda_buffer_drop(products);
    return ok;
}

const struct cuda_op cuda_op_layernorm = {.create = layernorm_create,
                                          .destroy = layernorm_destroy,
                                          .forward = layernorm_forward,
                                          .backward = layernorm_backward};
