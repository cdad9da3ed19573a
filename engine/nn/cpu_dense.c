/*
 * Dense layers (on a sequence: each step by itself): y = x Wᵀ + b, and backward dW = dyᵀ x, db = column sums
 * of dy, dx = dy W.
 */
#include "engine/nn/cpu.h"

#include <string.h>

enum {
    PARALLEL_ELEMENTS = 1 << 15, /* below so many a second thread costs more than it saves */
    COLUMNS = 64,                /* that a thread takes at a time */
    /*
     * Gradients whose rows lie a multiple of ALIAS floats apart compete for a few lines of the cache when
     * their columns are gathered: they are moved to rows PAD longer first (dW of 1024 × 256 took twice as
     * long).
     */
    ALIAS = 256,
    PAD = 16
};

CPU_KERNEL static void add_bias(float *restrict y, const float *restrict bias, size_t units, bool relu)
{
    for (size_t u = 0; u < units; u++) {
        float value = y[u] + bias[u];
        y[u] = relu && value < 0 ? 0 : value;
    }
}

/* What comes back through the layer's relu, where it has one, and the sum of its rows. */
struct dense_gradient {
    const float *given, *value; /* of the output; value: NULL without relu */
    float *rows, *sums;         /* rows may be given; sums: NULL without bias */
    size_t count, units, stride;
};

CPU_KERNEL static void through_relu(const struct dense_gradient *g, size_t first, size_t end)
{
    for (size_t r = 0; r < g->count; r++) {
        const float *given = g->given + r * g->units, *value = g->value ? g->value + r * g->units : NULL;
        float *to = g->rows + r * g->stride;
        if (value)
#pragma omp simd
            for (size_t u = first; u < end; u++)
                to[u] = value[u] > 0 ? given[u] : 0;
        else if (to != given)
            memcpy(to + first, given + first, (end - first) * sizeof *to);
    }
}

CPU_KERNEL static void sum_columns(const struct dense_gradient *g, size_t first, size_t end)
{
    memset(g->sums + first, 0, (end - first) * sizeof *g->sums);
    for (size_t r = 0; r < g->count; r++)
#pragma omp simd
        for (size_t u = first; u < end; u++)
            g->sums[u] += g->rows[r * g->stride + u];
}

/* Each thread has its columns: the sums come out alike for any number of threads. */
static void gather_gradient(const struct dense_gradient *g, int threads)
{
#pragma omp parallel for schedule(static)                                                                    \
    num_threads(threads) if (threads > 1 && g->count * g->units >= PARALLEL_ELEMENTS)
    for (size_t u = 0; u < g->units; u += COLUMNS) {
        size_t end = u + COLUMNS < g->units ? u + COLUMNS : g->units;
        through_relu(g, u, end);
        if (g->sums)
            sum_columns(g, u, end);
    }
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

/* Of the gradient's rows while backward works on them. */
static int stride_of(const struct stage *s)
{
    return s->layer->units + (s->layer->units % ALIAS == 0 ? PAD : 0);
}

static bool dense_create(struct stage *s, struct error *e)
{
    s->reads_output = s->spec.relu;
    s->keeps_gradient = !s->spec.relu || stride_of(s) > s->layer->units;
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
    int threads = s->backend->threads;
    if (!s->layer->bias && s->spec.relu)
        cpu_relu_forward(s->value, s->value, (size_t)(rows * units), threads);
#pragma omp parallel for schedule(static)                                                                    \
    num_threads(threads) if (threads > 1 && rows * units >= PARALLEL_ELEMENTS)
    for (dnnl_dim_t r = 0; r < (s->layer->bias ? rows : 0); r++)
        add_bias(s->value + r * units, c->parameters + t[1].offset, (size_t)units, s->spec.relu);
    return true;
}

/* dW = gᵀ x and dx = g W, g being the gradient that has come through the relu. */
static bool multiply_back(struct stage *s, const struct pass_context *c, const float *g, dnnl_dim_t stride,
                          struct error *e)
{
    dnnl_dim_t rows = rows_of(s), units = s->layer->units, inputs = inputs_of(s);
    const struct layer_tensor *weight = &s->layer->tensors[0];
    struct cpu_product gx = {.a = g,
                             .lda = stride,
                             .transpose_a = true,
                             .b = s->inputs[0]->value,
                             .ldb = inputs,
                             .c = c->gradients + weight->offset,
                             .ldc = inputs,
                             .rows = units,
                             .columns = inputs,
                             .depth = rows};
    if (!cpu_multiply(s->cpu, &gx, e))
        return false;
    if (!s->spec.input_gradient[0])
        return true;
    struct cpu_product gw = {.a = g,
                             .lda = stride,
                             .b = c->parameters + weight->offset,
                             .ldb = inputs,
                             .c = cpu_grad_begin(s, 0),
                             .ldc = inputs,
                             .rows = rows,
                             .columns = inputs,
                             .depth = units};
    bool ok = cpu_multiply(s->cpu, &gw, e);
    cpu_grad_end(s, 0);
    return ok;
}

static bool dense_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    struct dense_gradient g = {.given = s->grad,
                               .value = s->spec.relu ? s->value : NULL,
                               .rows = s->grad,
                               .sums = s->layer->bias ? c->gradients + s->layer->tensors[1].offset : NULL,
                               .count = (size_t)rows_of(s),
                               .units = (size_t)s->layer->units,
                               .stride = (size_t)stride_of(s)};
    struct cpu_buffer *room = NULL;
    if (g.stride > g.units) {
        if (!(room = cpu_buffer_take(s->cpu, g.count * g.stride * sizeof(float), e)))
            return false;
        g.rows = room->data;
    }
    gather_gradient(&g, s->backend->threads);
    bool ok = multiply_back(s, c, g.rows, (dnnl_dim_t)g.stride, e);
    cpu_buffer_drop(room);
    return ok;
}

const struct cpu_op cpu_op_dense = {.create = dense_create,
                                    .forward = dense_forward,
                                    .backward = dense_backward,
                                    .fuses_relu = true,
                                    .reads_input = true,
                                    .overwrites_input = true};
