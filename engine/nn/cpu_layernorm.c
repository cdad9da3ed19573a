/*
 * layernorm: each sample, or each step of a sequence, brought to mean 0 and variance 1 over its features,
 * then scaled and moved (J. Ba, J. Kiros, G. Hinton, Layer normalization, 2016).
 *
 * With x̂ = (x - mean) / deviation and g = dy · weight, backward is
 * dx = (g - mean(g) - x̂ · mean(g · x̂)) / deviation, dweight = Σ dy · x̂, dbias = Σ dy over the rows.
 */
#include "engine/nn/cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this many elements a second thread costs more than it saves. */
enum { PARALLEL_ELEMENTS = 1 << 14, COLUMNS = 64 };

struct layernorm {
    struct cpu_layout plain;
    float *input, *gradient;               /* in plain order, where the input's stage keeps it in blocks */
    dnnl_primitive_t to_plain, from_plain; /* NULL: it is plain already */
    float *mean, *factor;                  /* of each row; factor: 1 / deviation */
    size_t features, rows;
};

static bool layernorm_create(struct stage *s, struct error *e)
{
    struct layernorm *l = s->own = calloc(1, sizeof *l);
    if (!l)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    const struct cpu_layout *before = &s->inputs[0]->layout;
    l->features = s->layer->tensors[0].elements;
    l->rows = (size_t)s->spec.batch * model_shape_elements(s->spec.in) / l->features;
    if (!cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e) ||
        !(l->mean = cpu_floats(l->rows * sizeof(float), e)) ||
        !(l->factor = cpu_floats(l->rows * sizeof(float), e)))
        return false;
    l->plain = s->layout;
    if (before->block == 1)
        return true;
    return (l->input = cpu_floats(l->plain.bytes, e)) && (l->gradient = cpu_floats(l->plain.bytes, e)) &&
           cpu_reorder_new(s->cpu, &before->md, &l->plain.md, &l->to_plain, e) &&
           cpu_reorder_new(s->cpu, &l->plain.md, &before->md, &l->from_plain, e);
}

static void layernorm_destroy(struct stage *s)
{
    struct layernorm *l = s->own;
    if (!l)
        return;
    dnnl_primitive_destroy(l->to_plain);
    dnnl_primitive_destroy(l->from_plain);
    free(l->input);
    free(l->gradient);
    free(l->mean);
    free(l->factor);
    free(l);
}

CPU_KERNEL static void normalise_row(const float *restrict x, const float *restrict weight,
                                     const float *restrict bias, float *restrict y, size_t n, double epsilon,
                                     float *mean, float *factor)
{
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    float m = sum / (float)n;
#pragma omp simd reduction(+ : squares)
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - m) * (x[i] - m);
    float f = (float)(1 / sqrt((double)squares / (double)n + epsilon));
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = (x[i] - m) * f * weight[i] + bias[i];
    *mean = m;
    *factor = f;
}

/* dx may be x: each element is read before it is written. */
CPU_KERNEL static void row_gradient(const float *x, const float *weight, const float *dy, float *dx, size_t n,
                                    float mean, float factor)
{
    float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (size_t i = 0; i < n; i++) {
        float g = dy[i] * weight[i];
        sum += g;
        product += g * (x[i] - mean) * factor;
    }
    sum /= (float)n;
    product /= (float)n;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dx[i] = (dy[i] * weight[i] - sum - (x[i] - mean) * factor * product) * factor;
}

/* Of some columns over all rows: the same sums for any number of threads. */
CPU_KERNEL static void sum_columns(const struct layernorm *l, const float *x, const float *dy, float *dweight,
                                   float *dbias, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        dweight[i] = dbias[i] = 0;
    for (size_t r = 0; r < l->rows; r++) {
        const float *xr = x + r * l->features, *dyr = dy + r * l->features;
        float mean = l->mean[r], factor = l->factor[r];
#pragma omp simd
        for (size_t i = first; i < end; i++) {
            dweight[i] += dyr[i] * (xr[i] - mean) * factor;
            dbias[i] += dyr[i];
        }
    }
}

static bool layernorm_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct layernorm *l = s->own;
    const struct stage *input = s->inputs[0];
    const float *x = l->to_plain ? l->input : input->value;
    const float *weight = c->parameters + s->layer->tensors[0].offset,
                *bias = c->parameters + s->layer->tensors[1].offset;
    if (l->to_plain &&
        !cpu_reorder_run(s->cpu, l->to_plain, &input->layout.md, input->value, &l->plain.md, l->input, e))
        return false;
    int threads = s->backend->threads;
#pragma omp parallel for schedule(static)                                                                    \
    num_threads(threads) if (threads > 1 && l->rows * l->features >= PARALLEL_ELEMENTS)
    for (size_t r = 0; r < l->rows; r++)
        normalise_row(x + r * l->features, weight, bias, s->value + r * l->features, l->features,
                      s->layer->epsilon, &l->mean[r], &l->factor[r]);
    return true;
}

static bool layernorm_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct layernorm *l = s->own;
    const struct stage *input = s->inputs[0];
    const float *x = l->to_plain ? l->input : input->value;
    const float *weight = c->parameters + s->layer->tensors[0].offset;
    float *dweight = c->gradients + s->layer->tensors[0].offset,
          *dbias = c->gradients + s->layer->tensors[1].offset;
    int threads = s->backend->threads;
    bool large = threads > 1 && l->rows * l->features >= PARALLEL_ELEMENTS;
#pragma omp parallel for schedule(static) num_threads(threads) if (large)
    for (size_t i = 0; i < l->features; i += COLUMNS)
        sum_columns(l, x, s->grad, dweight, dbias, i, i + COLUMNS < l->features ? i + COLUMNS : l->features);
    if (!s->spec.input_gradient[0])
        return true;
    float *grad_in = cpu_grad_begin(s, 0), *dx = l->from_plain ? l->gradient : grad_in;
#pragma omp parallel for schedule(static) num_threads(threads) if (large)
    for (size_t r = 0; r < l->rows; r++)
        row_gradient(x + r * l->features, weight, s->grad + r * l->features, dx + r * l->features,
                     l->features, l->mean[r], l->factor[r]);
    bool ok = !l->from_plain ||
              cpu_reorder_run(s->cpu, l->from_plain, &l->plain.md, dx, &input->layout.md, grad_in, e);
    cpu_grad_end(s, 0);
    return ok;
}

const struct cpu_op cpu_op_layernorm = {.create = layernorm_create,
                                        .destroy = layernorm_destroy,
                                        .forward = layernorm_forward,
                                        .backward = layernorm_backward,
                                        .reads_input = true,
                                        .overwrites_input = true,
                                        .keeps_gradient = true};
