/*
 * add: the sum of several inputs, as at the end of a residual block (K. He et al., Deep residual learning, CVPR 2016), with
 * the relu behind it. The gradient passes to each input as it is, so that inputs can have it in the very memory of the
 * sum's own; and the sum can lie over an input.
 */
#include "engine/nn/cpu.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096 };

/* For each input that is laid out otherwise than the sum: the way there and back. NULL: laid out alike. */
struct cpu_add {
    dnnl_primitive_t to_sum[LAYER_MAX_INPUTS], from_sum[LAYER_MAX_INPUTS];
    float *copy; /* room for such an input, laid out as the sum */
    bool shares[LAYER_MAX_INPUTS];
};

/*
 * Which inputs may have their gradient in the memory of the sum's. Whoever writes there later - an input's own backward,
 * or another stage that takes the same input and adds its part - must do so when all the others have read it: backward
 * goes from the last stage to the first. So one input may be written to, if it and all stages that take it come before the
 * other sharing inputs.
 */
static void plan_sharing(struct stage *s)
{
    struct cpu_add *a = s->own;
    int written = -1;
    for (int i = 0; i < s->input_count; i++) {
        struct stage *input = s->inputs[i];
        bool again = false;
        for (int k = 0; k < s->input_count; k++)
            again = again || (k != i && s->inputs[k] == input);
        a->shares[i] = input->layer && !again && !a->to_sum[i] && !s->spec.accumulate[i];
        bool is_written = !s->spec.sole[i] || !input->keeps_gradient;
        if (a->shares[i] && is_written) {
            a->shares[i] = written < 0;
            written = written < 0 ? i : written;
        }
    }
    if (written < 0)
        return;
    struct stage *w = s->inputs[written];
    for (int i = 0; i < s->input_count; i++)
        if (i != written && a->shares[i] &&
            (s->inputs[i]->number < w->number || s->inputs[i]->number < w->last_taker))
            a->shares[i] = false;
}

static bool add_create(struct stage *s, struct error *e)
{
    struct cpu_add *a = s->own = calloc(1, sizeof *a);
    if (!a)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    s->layout = s->inputs[0]->layout;
    for (int i = 1; i < s->input_count && s->layout.block == 1; i++)
        s->layout = s->inputs[i]->layout; /* rather blocks than plain */
    bool differ = false;
    for (int i = 0; i < s->input_count; i++) {
        const dnnl_memory_desc_t *in = &s->inputs[i]->layout.md;
        if (cpu_layout_same(in, &s->layout.md))
            continue;
        differ = true;
        if (!cpu_reorder_new(s->cpu, in, &s->layout.md, &a->to_sum[i], e) ||
            !cpu_reorder_new(s->cpu, &s->layout.md, in, &a->from_sum[i], e))
            return false;
    }
    s->reads_output = s->spec.relu;
    plan_sharing(s);
    return !differ || (a->copy = cpu_floats(s->layout.bytes, e));
}

static void add_destroy(struct stage *s)
{
    struct cpu_add *a = s->own;
    if (!a)
        return;
    for (int i = 0; i < s->input_count; i++) {
        dnnl_primitive_destroy(a->to_sum[i]);
        dnnl_primitive_destroy(a->from_sum[i]);
    }
    free(a->copy);
    free(a);
}

/* sum may be a or b. */
CPU_KERNEL static void add_two(const float *a, const float *b, float *sum, size_t n, bool relu)
{
    if (relu) {
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            float value = a[i] + b[i];
            sum[i] = value < 0 ? 0 : value;
        }
    } else {
#pragma omp simd
        for (size_t i = 0; i < n; i++)
            sum[i] = a[i] + b[i];
    }
}

static bool add_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c;
    struct cpu_add *a = s->own;
    size_t n = s->layout.bytes / sizeof(float);
    int threads = s->backend->threads;
    /* The input that the sum lies over has to come first: the others are added to it. */
    int first = 0;
    for (int i = 0; s->value_shared && i < s->input_count; i++)
        if (s->inputs[i]->value == s->value)
            first = i;
    const float *sum = s->inputs[first]->value;
    if (a->to_sum[first] && !cpu_reorder_run(s->cpu, a->to_sum[first], &s->inputs[first]->layout.md, sum,
                                             &s->layout.md, s->value, e))
        return false;
    if (a->to_sum[first])
        sum = s->value;
    for (int i = 0, done = 1; i < s->input_count; i++) {
        const float *more = s->inputs[i]->value;
        if (i == first)
            continue;
        if (a->to_sum[i]) {
            if (!cpu_reorder_run(s->cpu, a->to_sum[i], &s->inputs[i]->layout.md, more, &s->layout.md, a->copy,
                                 e))
                return false;
            more = a->copy;
        }
        bool relu = s->spec.relu && ++done == s->input_count;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
        for (size_t k = 0; k < n; k += CHUNK)
            add_two(sum + k, more + k, s->value + k, n - k < CHUNK ? n - k : CHUNK, relu);
        sum = s->value;
    }
    return true;
}

static bool add_shares_gradient(const struct stage *s, int i)
{
    const struct cpu_add *a = s->own;
    return a->shares[i];
}

static bool add_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)c;
    struct cpu_add *a = s->own;
    int threads = s->backend->threads;
    if (s->spec.relu && s->grad)
        cpu_relu_backward(s->value, s->grad, s->grad, s->layout.bytes / sizeof(float), threads);
    for (int i = 0; i < s->input_count; i++) {
        struct stage *input = s->inputs[i];
        if (!s->spec.input_gradient[i] || input->grad == s->grad)
            continue;
        if (s->spec.accumulate[i] && !a->from_sum[i]) {
            cpu_add(input->grad, s->grad, s->layout.bytes / sizeof(float), threads);
            continue;
        }
        float *grad_in = cpu_grad_begin(s, i);
        if (!a->from_sum[i])
            memcpy(grad_in, s->grad, s->layout.bytes);
        else if (!cpu_reorder_run(s->cpu, a->from_sum[i], &s->layout.md, s->grad, &input->layout.md, grad_in,
                                  e))
            return false;
        cpu_grad_end(s, i);
    }
    return true;
}

const struct cpu_op cpu_op_add = {.create = add_create,
                                  .destroy = add_destroy,
                                  .forward = add_forward,
                                  .backward = add_backward,
                                  .shares_gradient = add_shares_gradient,
                                  .fuses_relu = true,
                                  .in_place = true};
