/* Dense layers (on a sequence: each step by itself): y = x Wᵀ + b, and backward dW = dyᵀ x, db = column sums of dy, dx = dy W. */
#include "engine/nn/cpu.h"

CPU_KERNEL static void add_bias(float *restrict y, const float *restrict bias, int rows, int units, bool relu)
{
    for (int r = 0; r < rows; r++, y += units)
        for (int u = 0; u < units; u++) {
            float value = y[u] + bias[u];
            y[u] = relu && value < 0 ? 0 : value;
        }
}

CPU_KERNEL static void sum_rows(const float *restrict dy, float *restrict sums, int rows, int units)
{
    for (int u = 0; u < units; u++)
        sums[u] = 0;
    for (int r = 0; r < rows; r++, dy += units)
        for (int u = 0; u < units; u++)
            sums[u] += dy[u];
}

/* A sequence's steps are rows like samples. */
static int rows_of(const struct stage *s)
{
    return s->spec.in.kind == SHAPE_SEQUENCE ? s->spec.batch * s->spec.in.channels : s->spec.batch;
}

static int inputs_of(const struct stage *s)
{
    return s->spec.in.kind == SHAPE_SEQUENCE ? s->spec.in.width : s->spec.in.channels;
}

static bool dense_create(struct stage *s, struct error *e)
{
    s->reads_output = s->spec.relu;
    s->keeps_gradient = !s->spec.relu;
    return cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e);
}

static bool dense_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    dnnl_dim_t rows = rows_of(s), units = s->layer->units, inputs = inputs_of(s);
    const struct layer_tensor *t = s->layer->tensors;
    struct cpu_product xw = {.a = s->inputs[0]->value,
                             .lda = inputs,
                             .b = c->parameters + t[0].offset,
                             .ldb = inputs,
                             .transpose_b = true,
                             .c = s->value,
                             .ldc = units,
                             .rows = rows,
                             .columns = units,
                             .depth = inputs};
    if (!cpu_multiply(s->cpu, &xw, e))
        return false;
    if (s->layer->bias)
        add_bias(s->value, c->parameters + t[1].offset, (int)rows, (int)units, s->spec.relu);
    else if (s->spec.relu)
        cpu_relu_forward(s->value, s->value, (size_t)(rows * units), s->backend->threads);
    return true;
}

static bool dense_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    dnnl_dim_t rows = rows_of(s), units = s->layer->units, inputs = inputs_of(s);
    const struct layer_tensor *t = s->layer->tensors;
    if (s->spec.relu)
        cpu_relu_backward(s->value, s->grad, s->grad, (size_t)(rows * units), s->backend->threads);
    if (s->layer->bias)
        sum_rows(s->grad, c->gradients + t[1].offset, (int)rows, (int)units);
    struct cpu_product dyx = {.a = s->grad,
                              .lda = units,
                              .transpose_a = true,
                              .b = s->inputs[0]->value,
                              .ldb = inputs,
                              .c = c->gradients + t[0].offset,
                              .ldc = inputs,
                              .rows = units,
                              .columns = inputs,
                              .depth = rows};
    if (!cpu_multiply(s->cpu, &dyx, e))
        return false;
    if (!s->spec.input_gradient[0])
        return true;
    struct cpu_product dyw = {.a = s->grad,
                              .lda = units,
                              .b = c->parameters + t[0].offset,
                              .ldb = inputs,
                              .c = cpu_grad_begin(s, 0),
                              .ldc = inputs,
                              .rows = rows,
                              .columns = inputs,
                              .depth = units};
    bool ok = cpu_multiply(s->cpu, &dyw, e);
    cpu_grad_end(s, 0);
    return ok;
}

const struct cpu_op cpu_op_dense = {.create = dense_create,
                                    .forward = dense_forward,
                                    .backward = dense_backward,
                                    .fuses_relu = true,
                                    .reads_input = true,
                                    .overwrites_input = true};
