/*
 * The cells of simple_rnn and lstm at one step: all that comes between the matrix products, in one kernel, a thread for each unit
 * of each sample. Forward it adds the bias, squashes the gates and makes the new state; unfused that would be a dozen
 * kernels, each of which reads and writes all of it. Backward it turns the gates into the gradients of their sums, in
 * place.
 *
 * Threads that are neighbours have neighbouring units, so every load and store of a warp is one stretch of memory.
 */
#include "kernels/reduce.h"

enum { GATE_I, GATE_F, GATE_G, GATE_O, GATES };

__device__ __forceinline__ static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* Where this thread's unit is: in arrays of samples × steps × units, and in the gates. */
struct place {
    int sample, unit;
    size_t at, gate, state;
};

__device__ static struct place place_of(const struct kernel_cell &c, size_t i)
{
    struct place p;
    p.sample = (int)(i / c.units);
    p.unit = (int)(i % c.units);
    size_t row = (size_t)p.sample * c.steps + c.step;
    p.at = row * c.units + p.unit;
    p.gate = row * c.units * c.gates + p.unit;
    p.state = i;
    return p;
}

/* The state goes to the step after and to the layers behind. */
__device__ static void put_out(const struct kernel_cell &c, const struct place &p, float h)
{
    bool last = c.step == c.steps - 1;
    if (!last)
        c.before[p.at + c.units] = h;
    if (!c.last_only)
        c.out[p.at] = h;
    else if (last)
        c.out[p.state] = h;
}

/* What comes from the step after and from the layers behind. */
__device__ static float gradient_of_state(const struct kernel_cell &c, const struct place &p)
{
    bool last = c.step == c.steps - 1;
    float dh = last ? 0 : c.grad_hidden[p.state];
    if (!c.last_only)
        return dh + c.grad_out[p.at];
    return last ? c.grad_out[p.state] : dh;
}

__global__ static void rnn_forward(struct kernel_cell c)
{
    for (size_t i = thread_in_grid(); i < (size_t)c.samples * c.units; i += threads_in_grid()) {
        struct place p = place_of(c, i);
        float h = tanhf(c.gate[p.gate] + c.bias[p.unit]);
        c.gate[p.gate] = h;
        put_out(c, p, h);
    }
}

__global__ static void rnn_backward(struct kernel_cell c)
{
    for (size_t i = thread_in_grid(); i < (size_t)c.samples * c.units; i += threads_in_grid()) {
        struct place p = place_of(c, i);
        float h = c.gate[p.gate];
        c.gate[p.gate] = gradient_of_state(c, p) * (1 - h * h);
    }
}

__global__ static void lstm_forward(struct kernel_cell c)
{
    for (size_t at = thread_in_grid(); at < (size_t)c.samples * c.units; at += threads_in_grid()) {
        struct place p = place_of(c, at);
        float *gate = c.gate + p.gate;
        const float *bias = c.bias + p.unit;
        float i = sigmoid(gate[GATE_I * c.units] + bias[GATE_I * c.units]),
              f = sigmoid(gate[GATE_F * c.units] + bias[GATE_F * c.units]),
              g = tanhf(gate[GATE_G * c.units] + bias[GATE_G * c.units]),
              o = sigmoid(gate[GATE_O * c.units] + bias[GATE_O * c.units]);
        float memory = i * g + (c.step > 0 ? f * c.memory[p.at - c.units] : 0);
        gate[GATE_I * c.units] = i;
        gate[GATE_F * c.units] = f;
        gate[GATE_G * c.units] = g;
        gate[GATE_O * c.units] = o;
        c.memory[p.at] = memory;
        put_out(c, p, o * tanhf(memory));
    }
}

__global__ static void lstm_backward(struct kernel_cell c)
{
    for (size_t at = thread_in_grid(); at < (size_t)c.samples * c.units; at += threads_in_grid()) {
        struct place p = place_of(c, at);
        float *gate = c.gate + p.gate;
        float i = gate[GATE_I * c.units], f = gate[GATE_F * c.units], g = gate[GATE_G * c.units],
              o = gate[GATE_O * c.units];
        float squashed = tanhf(c.memory[p.at]); /* cheaper than to keep it */
        float before = c.step > 0 ? c.memory[p.at - c.units] : 0;
        float dh = gradient_of_state(c, p), dc = c.step == c.steps - 1 ? 0 : c.grad_memory[p.state];
        dc += dh * o * (1 - squashed * squashed);
        gate[GATE_I * c.units] = dc * g * i * (1 - i);
        gate[GATE_F * c.units] = dc * before * f * (1 - f);
        gate[GATE_G * c.units] = dc * i * (1 - g * g);
        gate[GATE_O * c.units] = dh * squashed * o * (1 - o);
        c.grad_memory[p.state] = dc * f;
    }
}

extern "C" void kernel_cell_forward(const struct kernel_cell *c, cudaStream_t stream)
{
    int blocks = blocks_for((size_t)c->samples * c->units);
    if (c->gates == GATES)
        LAUNCH(lstm_forward, blocks, BLOCK, 0, stream, *c);
    else
        LAUNCH(rnn_forward, blocks, BLOCK, 0, stream, *c);
}

extern "C" void kernel_cell_backward(const struct kernel_cell *c, cudaStream_t stream)
{
    int blocks = blocks_for((size_t)c->samples * c->units);
    if (c->gates == GATES)
        LAUNCH(lstm_backward, blocks, BLOCK, 0, stream, *c);
    else
        LAUNCH(rnn_backward, blocks, BLOCK, 0, stream, *c);
}
