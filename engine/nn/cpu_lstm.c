/*
 * lstm: long short-term memory (S. Hochreiter and J. Schmidhuber, Neural Computation 1997; with the forget
 * gate of F. Gers, J. Schmidhuber and F. Cummins, 2000). The rows of its weights are those of the gates i, f,
 * g, o, as in PyTorch:
 *     i, f, o = sigmoid(W x + U h + b)    g = tanh(W x + U h + b)    c = f · c + i · g    h = o · tanh(c)
 */
#include "engine/nn/cpu_math.h"
#include "engine/nn/cpu_recurrent.h"

enum gate { GATE_I, GATE_F, GATE_G, GATE_O, GATES };

/* n units from unit u on, of sample j. */
LANES_INLINE void forward_lanes(const struct cell_step *p, size_t j, size_t u, int n)
{
    size_t units = (size_t)p->units, at = j * units + u;
    float *gate[GATES];
    lanes sum[GATES];
    for (size_t k = 0; k < GATES; k++) {
        gate[k] = p->gates + j * p->gates_stride + k * units + u;
        sum[k] = lanes_load_some(gate[k], n) + lanes_load_some(p->bias + k * units + u, n);
    }
    lanes i = lanes_sigmoid(sum[GATE_I]), f = lanes_sigmoid(sum[GATE_F]), g = lanes_tanh(sum[GATE_G]),
          o = lanes_sigmoid(sum[GATE_O]);
    lanes c = f * lanes_load_some(p->memory_before + at, n) + i * g, h = o * lanes_tanh(c);
    lanes_store_some(gate[GATE_I], i, n);
    lanes_store_some(gate[GATE_F], f, n);
    lanes_store_some(gate[GATE_G], g, n);
    lanes_store_some(gate[GATE_O], o, n);
    lanes_store_some(p->memory + at, c, n);
    if (p->hidden_next)
        lanes_store_some(p->hidden_next + at, h, n);
    if (p->out)
        lanes_store_some(p->out + j * p->out_stride + u, h, n);
}

LANES_INLINE void backward_lanes(const struct cell_step *p, size_t j, size_t u, int n)
{
    size_t units = (size_t)p->units, at = j * units + u;
    float *gate[GATES];
    lanes value[GATES], grad[GATES];
    for (size_t k = 0; k < GATES; k++) {
        gate[k] = p->gates + j * p->gates_stride + k * units + u;
        value[k] = lanes_load_some(gate[k], n);
    }
    lanes i = value[GATE_I], f = value[GATE_F], g = value[GATE_G], o = value[GATE_O];
    lanes dh = lanes_load_some(p->grad_hidden + at, n), dc = lanes_load_some(p->grad_memory + at, n);
    if (p->grad_out)
        dh += lanes_load_some(p->grad_out + j * p->out_stride + u, n);
    lanes squashed = lanes_tanh(lanes_load_some(p->memory + at, n)); /* cheaper than to keep it */
    dc += dh * o * (1 - squashed * squashed);
    grad[GATE_I] = dc * g * i * (1 - i);
    grad[GATE_F] = dc * lanes_load_some(p->memory_before + at, n) * f * (1 - f);
    grad[GATE_G] = dc * i * (1 - g * g);
    grad[GATE_O] = dh * squashed * o * (1 - o);
    lanes_store_some(p->grad_memory + at, dc * f, n);
    for (size_t k = 0; k < GATES; k++) {
        float *bias = p->grad_bias + k * units + u;
        lanes_store_some(gate[k], grad[k], n);
        lanes_store_some(bias, grad[k] + lanes_load_some(bias, n), n);
    }
}

CPU_KERNEL static void lstm_cell_forward(const struct cell_step *p)
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

CPU_KERNEL static void lstm_cell_backward(const struct cell_step *p)
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

static const char *const gate_names[GATES] = {"i", "f", "g", "o"};
static const struct recurrent_cell lstm_cell = {.gates = GATES,
                                                .memory = true,
                                                .forward = lstm_cell_forward,
                                                .backward = lstm_cell_backward,
                                                .names = gate_names};

static bool lstm_create(struct stage *s, struct error *e)
{
    return cpu_recurrent_create(s, &lstm_cell, e);
}

const struct cpu_op cpu_op_lstm = {.create = lstm_create,
                                   .destroy = cpu_recurrent_destroy,
                                   .forward = cpu_recurrent_forward,
                                   .backward = cpu_recurrent_backward,
                                   .read_internal = cpu_recurrent_read,
                                   .overwrites_input = true,
                                   .keeps_gradient = true};
