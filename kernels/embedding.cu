/*
 * Embedding: a row of the table for each token, and the gradient: for each row of the table the sum over its tokens.
 *
 * Adding up with atomics would be shortest, but then the order, and with it the last bits, would be the hardware's. Here a
 * block stands for each token of the batch. It looks whether the same token came earlier; then an earlier block sums for it. The
 * block of the first one takes all the others: each warp has a stretch of the batch, finds the token 32 places at a time by
 * vote, and adds their gradients in order; then the warps' sums are added in order.
 */
#include "kernels/reduce.h"

enum { WARPS = BLOCK / WARP, UNITS_EACH = 4, UNITS = WARP * UNITS_EACH };

/* A token that the table has no row for gives NaN, which shows in the loss, rather than what lies beyond the table. */
__global__ static void look_up(const int32_t *tokens, const float *table, float *out, size_t n, int units,
                               int vocabulary)
{
    for (size_t i = thread_in_grid(); i < n; i += threads_in_grid()) {
        size_t row = i / units, unit = i % units;
        int32_t token = tokens[row];
        out[i] = token >= 0 && token < vocabulary ? table[(size_t)token * units + unit] : NAN;
    }
}

extern "C" void kernel_embedding(const int32_t *tokens, const float *table, float *out, int rows, int units,
                                 int vocabulary, cudaStream_t stream)
{
    size_t n = (size_t)rows * units;
    LAUNCH(look_up, blocks_for(n), BLOCK, 0, stream, tokens, table, out, n, units, vocabulary);
}

__global__ static void sum_tokens(const int32_t *tokens, const float *grad, float *sums, int rows, int units,
                                  int vocabulary)
{
    SHARED(float, part, [WARPS][UNITS]);
    int row = (int)blockIdx.x, warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int32_t token = tokens[row];
    if (token < 0 || token >= vocabulary)
        return;
    for (int i = (int)threadIdx.x; i - (int)threadIdx.x < row; i += BLOCK)
        if (__syncthreads_or(i < row && tokens[i] == token))
            return;

    int stretch = ceil_div(ceil_div(rows - row, WARPS), WARP) * WARP;
    int first = row + warp * stretch, end = first + stretch < rows ? first + stretch : rows;
    for (int unit = 0; unit < units; unit += UNITS) {
        float sum[UNITS_EACH] = {};
        for (int i = first; i < end; i += WARP) {
            unsigned here = __ballot_sync(ALL_LANES, i + lane < end && tokens[i + lane] == token);
            for (; here != 0; here &= here - 1) {
                const float *from = grad + (size_t)(i + __ffs((int)here) - 1) * units + unit;
#pragma unroll
                for (int k = 0; k < UNITS_EACH; k++)
                    if (unit + lane + k * WARP < units)
                        sum[k] += from[lane + k * WARP];
            }
        }
        for (int k = 0; k < UNITS_EACH; k++)
            part[warp][lane + k * WARP] = sum[k];
        __syncthreads();
        for (int u = (int)threadIdx.x; u < UNITS && unit + u < units; u += BLOCK) {
            float all = 0;
            for (int w = 0; w < WARPS; w++)
                all += part[w][u];
            sums[(size_t)token * units + unit + u] = all;
        }
        __syncthreads();
    }
}

/* sums: cleared before. */
extern "C" void kernel_embedding_backward(const int32_t *tokens, const float *grad, float *sums, int rows,
                                          int units, int vocabulary, cudaStream_t stream)
{
    LAUNCH(sum_tokens, rows, BLOCK, 0, stream, tokens, grad, sums, rows, units, vocabulary);
}
