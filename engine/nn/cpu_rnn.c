/*
 * simple_rnn: h = tanh(W_ih x + W_hh h + b) (J. Elman, Finding structure in time, 1990). Its one "gate" is h
 * itself.
 */
#include "engine/nn/cpu_math.h"
#include "engine/nn/cpu_recurrent.h"

/* n units from unit u on, of sample j. */
LANES_INLINE void forward_lanes(const struct cell_step *p, size_t j, size_t u, int n)
{
    size_t at = j * (size_t)p->units + u;
    float *gate = p->gates + j * p->gates_stride + u;
    lanes h = lanes_tanh(lanes_load_some(gate, n) + lanes_load_some(p->bias + u, n));
    lanes_store_some(gate, h, n);
    if (p->hidden_next)
        lanes_store_some(p->hidden_next + at, h, n);
    if (p->out)
        lanes_store_some(p->out + j * p->out_stride + u, h, n);
}

LANES_INLINE void backward_lanes(const struct cell_step *p, size_t j, size_t u, int n)
{
    size_t at = j * (size_t)p->units + u;
    float *gate = p->gates + j * p->gates_stride + u;
    lanes h = lanes_load_some(gate, n), dh = lanes_load_some(p->grad_hidden + at, n);
    if (p->grad_out)
        dh += lanes_load_some(p->grad_out + j * p->out_stride + u, n);
    lanes grad = dh * (1 - h * h);
    lanes_store_some(gate, grad, n);
    lanes_store_some(p->grad_bias + u, grad + lanes_load_some(p->grad_bias + u, n), n);
}

CPU_KERNEL static void rnn_cell_forward(const struct cell_step *p)
{
    size_t units = (size_t)p->units;
    for (size_t j = 0; j < (size_t)p->samples; j++) {
        size_t u = 0;
        for (; u + LANES <= units; u += LANES)
            forward_lanes(p, j, u, LANES);
        if (u < units)
            forward_lanes(p, j, u, (int)(units - u));
    }
}

CPU_KERNEL static void rnn_cell_backward(const struct cell_step *p)
{
    size_t units = (size_t)p->units;
    for (size_t j = 0; j < (size_t)p->samples; j++) {
        size_t u = 0;
        for (; u + LANES <= units; u += LANES)
            backward_lanes(p, j, u, LANES);
        if (u < units)
            backward_lanes(p, j, u, (int)(units - u));
    }
}

static const char *const gate_names[] = {"h"};
static const struct recurrent_cell rnn_cell = {
    .gates = 1, .forward = rnn_cell_forward, .backward = rnn_cell_backward, .names = gate_names};

static bool rnn_create(struct stage *s, struct error *e)
{
    return cpu_recurrent_create(s, &rnn_cell, e);
}

const struct cpu_op cpu_op_simple_rnn = {.create = rnn_create,
                                         .destroy = cpu_recurrent_destroy,
                                         .forward = cpu_recurrent_forward,
                                         .backward = cpu_recurrent_backward,
                                         .read_internal = cpu_recurrent_read,
                                         .overwrites_input = true,
                                         .keeps_gradient = true};
