/*
 * cpu_recurrent.h - what simple_rnn and lstm share: everything but the cell. Private to engine/nn/cpu*.c.
 *
 * Every gate's row of a step is W_ih x + W_hh h + b, then the cell makes the new state of it. W_ih x is one
 * matrix product over all steps; only W_hh h has to wait for the step before. In backward the cell turns the
 * gates into their gradients, in place, step by step back; gradients of weights and inputs are again products
 * over all steps.
 *
 * The samples are split among the threads, and each thread takes its own through all steps without waiting
 * for the others. Its rows lie step by step (step 0 of its samples, step 1 of its samples ...), so that a
 * step is one block. Rows of gates are PAD floats longer than needed: at a distance of a power of two all
 * rows would compete for the same lines of the cache (gradients of the weights took 2.3 times as long).
 * oneDNN's own primitive for lstm layers took 1.1 times as long for forward and backward, without bringing
 * the weights into its layout.
 */
#ifndef RINGSIDE_NN_CPU_RECURRENT_H
#define RINGSIDE_NN_CPU_RECURRENT_H

#include "engine/nn/cpu.h"

/*
 * One step of some samples, a row each. Rows of gates and of outputs have their strides, the others `units`.
 */
struct cell_step {
    int samples, units;
    /* Forward: W_ih x + W_hh h, then the gates. Backward: the gates, then the gradients of those sums. */
    float *gates;
    size_t gates_stride;
    const float *bias;
    const float *memory_before; /* lstm: the cell state (zeros before the first step) */
    float *memory;
    float *hidden_next; /* forward: the state for the next step; NULL: there is none */
    float *out;         /* forward: the state for the layers behind; NULL: they do not see it */
    const float *grad_out;
    size_t out_stride;
    float *grad_hidden; /* backward: what comes from the step after */
    float *grad_memory; /* from the step after, then for the step before */
    float *grad_bias;   /* added to */
};

struct recurrent_cell {
    int gates;
    bool memory; /* has a cell state */
    void (*forward)(const struct cell_step *step);
    void (*backward)(const struct cell_step *step);
    const char *const *names; /* of the gates, one letter each */
};

bool cpu_recurrent_create(struct stage *s, const struct recurrent_cell *cell, struct error *e);
void cpu_recurrent_destroy(struct stage *s);
bool cpu_recurrent_forward(struct stage *s, const struct pass_context *c, struct error *e);
bool cpu_recurrent_backward(struct stage *s, const struct pass_context *c, struct error *e);
/* After forward, before backward: a gate, "c" (cell state) or "h" (hidden state), samples × steps × units. */
bool cpu_recurrent_read(const struct stage *s, const char *name, float *out, struct error *e);

#endif
