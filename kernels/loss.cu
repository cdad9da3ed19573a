/*
 * Losses of the last layer's output, and their gradients: what backward begins with. A block takes a row.
 *
 * Cross-entropy and softmax in one kernel that reads the row twice: the first time it finds the maximum and the sum of exponentials
 * together, taking what was summed so far along whenever a larger maximum turns up (M. Milakov and N. Gimelshein, Online
 * normalizer calculation for softmax, 2018); the second time it writes the gradient. Formulas are those of the CPU
 * backend (engine/nn/cpu_loss.c). Rows are added up by one block, in one order.
 */
#include "kernels/reduce.h"

enum { MOST_WARPS = BLOCK / WARP };

/* --- the maximum of a row with where it is, and Σ exp(x - maximum) --- */

struct peak {
    float max, powers;
    int at; /* of equals the first */
};

__device__ static peak higher(peak a, peak b)
{
    if (b.max > a.max || (b.max == a.max && b.at < a.at)) {
        peak other = a;
        a = b;
        b = other;
    }
    if (b.powers != 0)
        a.powers += b.powers * expf(b.max - a.max);
    return a;
}

__device__ static peak row_peak(const float *x, int n, peak *room)
{
    peak p = {-INFINITY, 0, n};
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        float value = x[i];
        if (value > p.max) {
            p.powers = p.powers != 0 ? p.powers * expf(p.max - value) + 1 : 1;
            p.max = value;
            p.at = i;
        } else if (value != -INFINITY)
            p.powers += expf(value - p.max); /* what is no number makes the sum none */
    }
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        peak other = {__shfl_down_sync(ALL_LANES, p.max, apart), __shfl_down_sync(ALL_LANES, p.powers, apart),
                      __shfl_down_sync(ALL_LANES, p.at, apart)};
        p = higher(p, other);
    }
    if (threadIdx.x % WARP == 0)
        room[threadIdx.x / WARP] = p;
    __syncthreads();
    p = room[0];
    for (int w = 1; w < (int)blockDim.x / WARP; w++)
        p = higher(p, room[w]);
    return p;
}

/* --- rows --- */

__device__ static kernel_row cross_entropy(const kernel_loss_spec &s, const float *x, float *grad, int row)
{
    SHARED(peak, peaks, [MOST_WARPS]);
    SHARED(double, sums, [MOST_WARPS]);
    int n = s.columns, label = s.classes[row];
    peak p = row_peak(x, n, peaks);
    double log_total = log((double)p.powers) + (double)p.max, other = s.smoothing / n;
    double loss = (1 - s.smoothing) * (log_total - (double)x[label]);
    if (s.smoothing > 0) {
        double plain = 0;
        for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
            plain += (double)x[i];
        loss += other * (n * log_total - block_sum(plain, sums));
    }
    if (grad) {
        float factor = (float)(s.scale / (double)p.powers), offset = (float)(s.scale * other),
              own = (float)(s.scale * (1 - s.smoothing));
        for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
            float g = factor * expf(x[i] - p.max) - offset;
            grad[i] = i == label ? g - own : g;
        }
    }
    int best = p.at < n ? p.at : 0;
    return {loss, best, best == label};
}

/* Against numbers; or, without them, against 1 for the label and 0 for all other classes. */
__device__ static kernel_row squared_error(const kernel_loss_spec &s, const float *x, float *grad, int row)
{
    SHARED(peak, peaks, [MOST_WARPS]);
    SHARED(double, sums, [MOST_WARPS]);
    int n = s.columns, label = s.values ? n : s.classes[row];
    float factor = (float)(2 * s.scale / n);
    double squares = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        float wanted = s.values     ? s.values[(size_t)row * n + i]
                       : i == label ? 1.0F
                                    : 0.0F,
              apart = x[i] - wanted;
        squares += (double)apart * (double)apart;
        if (grad)
            grad[i] = factor * apart;
    }
    double loss = block_sum(squares, sums) / n;
    if (s.values)
        return {loss, 0, 0};
    peak p = row_peak(x, n, peaks);
    int best = p.at < n ? p.at : 0;
    return {loss, best, best == label};
}

/* Of logits, in the form that never overflows: max(x, 0) - x z + log(1 + exp(-|x|)). */
__device__ static kernel_row binary_cross_entropy(const kernel_loss_spec &s, const float *x, float *grad,
                                                  int row)
{
    SHARED(double, sums, [MOST_WARPS]);
    SHARED(int, wrongs, [MOST_WARPS]);
    int n = s.columns, wrong = 0;
    double loss = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        size_t at = (size_t)row * n + i;
        float value = x[i], target = s.values ? s.values[at] : (float)s.classes[at],
              power = expf(-fabsf(value));
        float probability = (value < 0 ? power : 1) / (1 + power);
        loss += (double)(value > 0 ? value : 0) - (double)value * (double)target + log1p((double)power);
        wrong += (value > 0) != (target > 0.5f);
        if (grad)
            grad[i] = (float)(s.scale / n) * (probability - target);
    }
    loss = block_sum(loss, sums) / n;
    wrong = block_sum(wrong, wrongs);
    return {loss, x[0] > 0, wrong == 0};
}

__global__ static void row_losses(kernel_loss_spec s, const kernel_step *step, kernel_row *rows)
{
    int row = (int)blockIdx.x;
    const float *x = s.out + (size_t)row * s.columns;
    float *grad = s.grad ? s.grad + (size_t)row * s.columns : NULL;
    if (row >= step->samples * s.rows_each) { /* it only fills the batch up */
        for (int i = (int)threadIdx.x; grad && i < s.columns; i += (int)blockDim.x)
            grad[i] = 0;
        if (threadIdx.x == 0)
            rows[row] = {0, 0, 0};
        return;
    }
    kernel_row result = s.kind == KERNEL_CROSS_ENTROPY ? cross_entropy(s, x, grad, row)
                        : s.kind == KERNEL_MSE         ? squared_error(s, x, grad, row)
                                                       : binary_cross_entropy(s, x, grad, row);
    if (threadIdx.x == 0)
        rows[row] = result;
}

__global__ static void sum_rows(const kernel_row *__restrict__ rows, int n, kernel_loss_sum *sum)
{
    SHARED(double, losses, [MOST_WARPS]);
    SHARED(int, corrects, [MOST_WARPS]);
    double loss = 0;
    int correct = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) {
        loss += rows[i].loss;
        correct += rows[i].correct;
    }
    loss = block_sum(loss, losses);
    correct = block_sum(correct, corrects);
    if (threadIdx.x == 0)
        *sum = {loss, correct};
}

extern "C" void kernel_losses(const struct kernel_loss_spec *spec, const struct kernel_step *step,
                              struct kernel_row *rows, struct kernel_loss_sum *sum, cudaStream_t stream)
{
    int threads = spec->columns <= 2 * WARP ? WARP : spec->columns <= 8 * WARP ? 2 * WARP : BLOCK;
    LAUNCH(row_losses, spec->rows, threads, 0, stream, *spec, step, rows);
    LAUNCH(sum_rows, 1, BLOCK, 0, stream, rows, spec->rows, sum);
}
