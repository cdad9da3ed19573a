/*
 * Dense layers (on a sequence: each step by itself): y = relu(x Wᵀ + b), and backward, with g what the relu lets through
 * of dy: dW = gᵀ x, db = column sums of g, dx = g W.
 */
#include "kernels/cuda.h"

/* A sequence's steps are rows like samples. */
static int rows_of(const struct stage *s)
{
    return s->spec.in.kind == SHAPE_SEQUENCE ? s->spec.batch * s->spec.in.channels : s->spec.batch;
}

static int inputs_of(const struct stage *s)
{
    return s->spec.in.kind == SHAPE_SEQUENCE ? s->spec.in.width : s->spec.in.channels;
}

static bool dense_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    int rows = rows_of(s), units = s->layer->units, inputs = inputs_of(s);
    const struct layer_tensor *t = s->layer->tensors;
    struct cuda_product xw = {.a = s->inputs[0]->value,
                              .lda = inputs,
                              .b = c->parameters + t[0].offset,
                              .ldb = inputs,
                              .transpose_b = true,
                              .c = s->value,
                              .ldc = units,
                              .rows = rows,
                              .columns = units,
                              .depth = inputs};
    if (!cuda_multiply_rounded(s->cuda, &xw, e))
        return false;
    if (s->layer->bias || s->spec.relu)
        kernel_bias_relu(s->value, s->layer->bias ? c->parameters + t[1].offset : NULL, rows, units,
                         s->spec.relu, s->cuda->stream);
    return true;
}

static bool dense_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct cuda *cuda = s->cuda;
    int rows = rows_of(s), units = s->layer->units, inputs = inputs_of(s);
    const struct layer_tensor *t = s->layer->tensors;
    if (!cuda_through_relu(s, s->spec.relu ? s->value : NULL,
                           s->layer->bias ? c->gradients + t[1].offset : NULL, rows, units, e))
        return false;
    struct cuda_product gx = {.a = s->grad,
                              .lda = units,
                              .transpose_a = true,
                              .b = s->inputs[0]->value,
                              .ldb = inputs,
                              .c = c->gradients + t[0].offset,
                              .ldc = inputs,
                              .rows = units,
                              .columns = inputs,
                              .depth = rows};
    if (!cuda_multiply_rounded(cuda, &gx, e))
        return false;
    if (!s->spec.input_gradient[0])
        return true;
    struct cuda_product gw = {.a = s->grad,
                              .lda = units,
                              .b = c->parameters + t[0].offset,
                              .ldb = inputs,
                              .c = s->inputs[0]->grad,
                              .ldc = inputs,
                              .rows = rows,
                              .columns = inputs,
                              .depth = units,
                              .add = s->spec.accumulate[0]};
    return cuda_multiply_rounded(cuda, &gw, e);
}

const struct cuda_op cuda_op_dense = {
    .forward = dense_forward, .backward = dense_backward, .fuses_relu = true};
