/* Dense layers: y = x Wᵀ + b, and backward dW = dyᵀ x, db = column sums of dy, dx = dy W. */
#include "engine/nn/cpu.h"

CPU_KERNEL static void add_bias(float *restrict y, const float *restrict bias, int rows, int units, bool relu)
{
    for (int r = 0; r < rows; r++, y += units)
        for (int u = 0; u < units; u++) {
            float value = y[u] + bias[u];
            y[u] = relu && !(value > 0) ? 0 : value;
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

bool cpu_dense_forward(struct stage *s, const float *parameters, struct error *e)
{
    dnnl_dim_t rows = s->spec.batch, units = s->spec.out.channels, inputs = s->spec.in.channels;
    if (!cpu_check(dnnl_sgemm('N', 'T', rows, units, inputs, 1, s->previous->value, inputs,
                              parameters + s->spec.weight_offset, inputs, 0, s->value, units),
                   "multiply matrices", e))
        return false;
    add_bias(s->value, parameters + s->spec.bias_offset, (int)rows, (int)units, s->spec.relu);
    return true;
}

bool cpu_dense_backward(struct stage *s, const float *parameters, float *gradients, struct error *e)
{
    dnnl_dim_t rows = s->spec.batch, units = s->spec.out.channels, inputs = s->spec.in.channels;
    if (s->spec.relu)
        cpu_relu_backward(s->value, s->grad, s->grad, (size_t)(rows * units), 1);
    sum_rows(s->grad, gradients + s->spec.bias_offset, (int)rows, (int)units);
    if (!cpu_check(dnnl_sgemm('T', 'N', units, inputs, rows, 1, s->grad, units, s->previous->value, inputs, 0,
                              gradients + s->spec.weight_offset, inputs),
                   "multiply matrices", e))
        return false;
    return !s->spec.input_gradient ||
           cpu_check(dnnl_sgemm('N', 'N', rows, inputs, units, 1, s->grad, units,
                                parameters + s->spec.weight_offset, inputs, 0, s->previous->grad, inputs),
                     "multiply matrices", e);
}
