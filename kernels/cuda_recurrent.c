/*
 * simple_rnn (J. Elman, Finding structure in time, 1990) and lstm (S. Hochreiter and J. Schmidhuber, 1997; with the forget gate of
 * F. Gers et al., 2000). Every gate's row of a step is W_ih x + W_hh h + b, then the cell (recurrent.cu) makes the new state of
 * it. W_ih x is one product over all steps; only W_hh h waits for the step before. In backward the cell turns the gates
 * into the gradients of those sums, in place, step by step back; the gradients of weights, biases and inputs are
 * again products and sums over all steps.
 *
 * All arrays are samples × steps × units, as the layers around it have theirs, so nothing is reordered: a step is rows that lie
 * far apart, which a matrix product takes as it is. Products are in fp32 (or TF32), as the CPU backend's are.
 */
#include "kernels/cuda.h"

#include <stdlib.h>
#include <string.h>

struct recurrent {
    int gates, samples, steps, inputs, units;
    float *gate;                      /* rows × gates × units */
    float *before;                    /* rows × units: the state before each step, 0 before the first */
    float *memory;                    /* lstm: rows × units: the cell state after each step */
    float *grad_hidden, *grad_memory; /* samples × units */
};

static bool recurrent_create(struct stage *s, int gates, struct error *e)
{
    struct recurrent *r = s->own = calloc(1, sizeof *r);
    if (!r)
        return error_set(e, ERROR_FAILED, "there is not enough memory for another layer");
    r->gates = gates;
    r->samples = s->spec.batch;
    r->steps = s->spec.in.channels;
    r->inputs = s->spec.in.width;
    r->units = s->layer->units;
    size_t state = (size_t)r->samples * (size_t)r->units * sizeof(float), all = state * (size_t)r->steps;
    struct cuda *cuda = s->cuda;
    return (r->gate = cuda_memory_new(cuda, all * (size_t)gates, "its gates", e)) &&
           (r->before = cuda_memory_new(cuda, all, "its state", e)) &&
           (gates == 1 || (r->memory = cuda_memory_new(cuda, all, "its cell state", e))) &&
           (!s->spec.backward ||
            ((r->grad_hidden = cuda_memory_new(cuda, state, "the gradient of its state", e)) &&
             (gates == 1 ||
              (r->grad_memory = cuda_memory_new(cuda, state, "the gradient of its cell state", e)))));
}

static bool rnn_create(struct stage *s, struct error *e)
{
    return recurrent_create(s, 1, e);
}

static bool lstm_create(struct stage *s, struct error *e)
{
    return recurrent_create(s, 4, e);
}

static void recurrent_destroy(struct stage *s)
{
    struct recurrent *r = s->own;
    if (!r)
        return;
    cuda_memory_free(r->gate);
    cuda_memory_free(r->before);
    cuda_memory_free(r->memory);
    cuda_memory_free(r->grad_hidden);
    cuda_memory_free(r->grad_memory);
    free(r);
}

static struct kernel_cell cell_at(const struct stage *s, int step)
{
    const struct recurrent *r = s->own;
    return (struct kernel_cell){.gates = r->gates,
                                .samples = r->samples,
                                .steps = r->steps,
                                .units = r->units,
                                .step = step,
                                .last_only = s->layer->last,
                                .gate = r->gate,
                                .before = r->before,
                                .memory = r->memory,
                                .out = s->value,
                                .grad_out = s->grad,
                                .grad_hidden = r->grad_hidden,
                                .grad_memory = r->grad_memory};
}

static bool recurrent_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct recurrent *r = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    const int width = r->gates * r->units;
    struct cuda_product all = {.a = s->inputs[0]->value,
                               .lda = r->inputs,
                               .b = c->parameters + t[0].offset,
                               .ldb = r->inputs,
                               .transpose_b = true,
                               .c = r->gate,
                               .ldc = width,
                               .rows = r->samples * r->steps,
                               .columns = width,
                               .depth = r->inputs};
    if (!cuda_multiply(s->cuda, &all, e))
        return false;
    for (int step = 0; step < r->steps; step++) {
        struct cuda_product state = {.a = r->before + (size_t)step * (size_t)r->units,
                                     .lda = r->steps * r->units,
                                     .b = c->parameters + t[1].offset,
                                     .ldb = r->units,
                                     .transpose_b = true,
                                     .c = r->gate + (size_t)step * (size_t)width,
                                     .ldc = r->steps * width,
                                     .rows = r->samples,
                                     .columns = width,
                                     .depth = r->units,
                                     .add = true};
        if (step > 0 && !cuda_multiply(s->cuda, &state, e))
            return false;
        struct kernel_cell cell = cell_at(s, step);
        cell.bias = c->parameters + t[2].offset;
        kernel_cell_forward(&cell, s->cuda->stream);
    }
    return true;
}

/* Turns the gates into the gradients of their sums. */
static bool gate_gradients(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct recurrent *r = s->own;
    const int width = r->gates * r->units;
    for (int step = r->steps - 1; step >= 0; step--) {
        struct kernel_cell cell = cell_at(s, step);
        kernel_cell_backward(&cell, s->cuda->stream);
        struct cuda_product back = {.a = r->gate + (size_t)step * (size_t)width,
                                    .lda = r->steps * width,
                                    .b = c->parameters + s->layer->tensors[1].offset,
                                    .ldb = r->units,
                                    .c = r->grad_hidden,
                                    .ldc = r->units,
                                    .rows = r->samples,
                                    .columns = r->units,
                                    .depth = width};
        if (step > 0 && !cuda_multiply(s->cuda, &back, e))
            return false;
    }
    return true;
}

/* The gradient of one of the weights: of the gates' sums times what the weights were multiplied with. */
static bool weight_gradient(struct stage *s, const float *input, int inputs, float *gradient, struct error *e)
{
    const struct recurrent *r = s->own;
    const int width = r->gates * r->units;
    struct cuda_product p = {.a = r->gate,
                             .lda = width,
                             .transpose_a = true,
                             .b = input,
                             .ldb = inputs,
                             .c = gradient,
                             .ldc = inputs,
                             .rows = width,
                             .columns = inputs,
                             .depth = r->samples * r->steps};
    return cuda_multiply(s->cuda, &p, e);
}

static bool recurrent_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct recurrent *r = s->own;
    const struct layer_tensor *t = s->layer->tensors;
    struct cuda *cuda = s->cuda;
    const int width = r->gates * r->units, rows = r->samples * r->steps;
    struct cuda_buffer *scratch =
        cuda_buffer_take(cuda, kernel_column_scratch(rows, width) * sizeof(float), e);
    bool ok = scratch && gate_gradients(s, c, e);
    if (ok)
        kernel_column_sums(r->gate, NULL, c->gradients + t[2].offset, scratch->data, rows, width,
                           cuda->stream);
    cuda_buffer_drop(scratch);
    if (!ok || !weight_gradient(s, s->inputs[0]->value, r->inputs, c->gradients + t[0].offset, e) ||
        !weight_gradient(s, r->before, r->units, c->gradients + t[1].offset, e))
        return false;
    struct cuda_product back = {.a = r->gate,
                                .lda = width,
                                .b = c->parameters + t[0].offset,
                                .ldb = r->inputs,
                                .c = s->inputs[0]->grad,
                                .ldc = r->inputs,
                                .rows = rows,
                                .columns = r->inputs,
                                .depth = width,
                                .add = s->spec.accumulate[0]};
    return !s->spec.input_gradient[0] || cuda_multiply(cuda, &back, e);
}

/* A gate, or the cell state, of all steps. */
static bool recurrent_read(const struct stage *s, const char *name, float *out, struct error *e)
{
    const struct recurrent *r = s->own;
    const char *gates = r->gates == 1 ? "h" : "ifgo", *gate = strlen(name) == 1 ? strchr(gates, *name) : NULL;
    const size_t row = (size_t)r->units * sizeof(float);
    const float *from = NULL;
    size_t pitch = row;
    if (gate) {
        from = r->gate + (gate - gates) * r->units;
        pitch = row * (size_t)r->gates;
    } else if (r->memory && strcmp(name, "c") == 0) {
        from = r->memory;
    }
    if (!from)
        return error_set(e, ERROR_INPUT, "a %s has no values named \"%s\"",
                         r->gates == 1 ? "simple_rnn" : "lstm", name);
    return cuda_ok(cudaMemcpy2DAsync(out, row, from, pitch, row, (size_t)r->samples * (size_t)r->steps,
                                     cudaMemcpyDeviceToHost, s->cuda->stream),
                   "reading a layer's inside", e) &&
           cuda_wait(s->cuda, "computing what was asked for", e);
}

const struct cuda_op cuda_op_simple_rnn = {.create = rnn_create,
                                           .destroy = recurrent_destroy,
                                           .forward = recurrent_forward,
                                           .backward = recurrent_backward,
                                           .read_internal = recurrent_read},
                     cuda_op_lstm = {.create = lstm_create,
                                     .destroy = recurrent_destroy,
                                     .forward = recurrent_forward,
                                     .backward = recurrent_backward,
                                     .read_internal = recurrent_read};
