/*
 * Softmax of each row, four times: exp(x - m) / Σ exp(x - m), m the row's maximum, so that nothing overflows. Few operations for
 * each byte: what counts is how often a row is read, and how.
 *
 *   naive       a thread a row, three reads; neighbouring threads read a whole row apart
 *   block       a block a row: reads are side by side; maximum and sum by halves in shared memory
 *   online      maximum and sum in one read: a new maximum rescales the sum so far (M. Milakov and N. Gimelshein, Online
 *               normalizer calculation for softmax, 2018); two reads
 *   registers   the row stays in registers between read and write: one read, 16 bytes at a time
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

enum { FOUR = 4, KEPT = RUNG_MOST_COLUMNS / (FOUR * BLOCK) };

__global__ static void softmax_naive(const float *x, float *y, int rows, int columns)
{
    int row = (int)thread_in_grid();
    if (row >= rows)
        return;
    const float *in = x + (size_t)row * columns;
    float *out = y + (size_t)row * columns, max = -INFINITY, sum = 0;
    for (int i = 0; i < columns; i++)
        max = fmaxf(max, in[i]);
    for (int i = 0; i < columns; i++)
        sum += expf(in[i] - max);
    for (int i = 0; i < columns; i++)
        out[i] = expf(in[i] - max) / sum;
}

void rung_softmax_naive(const struct rung_work *w)
{
    LAUNCH(softmax_naive, ceil_div(w->rows, BLOCK), BLOCK, 0, w->stream, w->a, w->c, w->rows, w->columns);
}

/* The largest, or the sum, of one number a thread, for all of them: by halves in shared memory. */
template <bool LARGEST> __device__ static float by_halves(float x, float *part)
{
    int t = (int)threadIdx.x;
    __syncthreads(); /* what was there has been read */
    part[t] = x;
    __syncthreads();
    for (int apart = BLOCK / 2; apart > 0; apart /= 2) {
        if (t < apart)
            part[t] = LARGEST ? fmaxf(part[t], part[t + apart]) : part[t] + part[t + apart];
        __syncthreads();
    }
    return part[0];
}

__global__ static void softmax_block(const float *x, float *y, int columns)
{
    SHARED(float, part, [BLOCK]);
    const float *in = x + (size_t)blockIdx.x * columns;
    float *out = y + (size_t)blockIdx.x * columns, max = -INFINITY, sum = 0;
    for (int i = (int)threadIdx.x; i < columns; i += BLOCK)
        max = fmaxf(max, in[i]);
    max = by_halves<true>(max, part);
    for (int i = (int)threadIdx.x; i < columns; i += BLOCK)
        sum += expf(in[i] - max);
    sum = by_halves<false>(sum, part);
    for (int i = (int)threadIdx.x; i < columns; i += BLOCK)
        out[i] = expf(in[i] - max) / sum;
}

void rung_softmax_block(const struct rung_work *w)
{
    LAUNCH(softmax_block, w->rows, BLOCK, 0, w->stream, w->a, w->c, w->columns);
}

/* A maximum, and the sum of exp(x - maximum) of what it is the maximum of. */
struct normaliser {
    float max, sum;
};

__device__ static normaliser joined(normaliser a, normaliser b)
{
    float max = fmaxf(a.max, b.max);
    if (max == -INFINITY)
        return {max, 0};
    return {max, a.sum * expf(a.max - max) + b.sum * expf(b.max - max)};
}

/* Every thread gets that of the whole block. */
__device__ static normaliser block_joined(normaliser n, normaliser *part)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2) {
        normaliser other = {__shfl_xor_sync(ALL_LANES, n.max, apart),
                            __shfl_xor_sync(ALL_LANES, n.sum, apart)};
        n = joined(n, other);
    }
    if (threadIdx.x % WARP == 0)
        part[threadIdx.x / WARP] = n;
    __syncthreads();
    n = part[0];
    for (int i = 1; i < BLOCK / WARP; i++)
        n = joined(n, part[i]);
    return n;
}

__global__ static void softmax_online(const float *x, float *y, int columns)
{
    SHARED(normaliser, part, [BLOCK / WARP]);
    const float *in = x + (size_t)blockIdx.x * columns;
    float *out = y + (size_t)blockIdx.x * columns;
    normaliser n = {-INFINITY, 0};
    for (int i = (int)threadIdx.x; i < columns; i += BLOCK)
        n = joined(n, {in[i], 1});
    n = block_joined(n, part);
    for (int i = (int)threadIdx.x; i < columns; i += BLOCK)
        out[i] = expf(in[i] - n.max) / n.sum;
}

void rung_softmax_online(const struct rung_work *w)
{
    LAUNCH(softmax_online, w->rows, BLOCK, 0, w->stream, w->a, w->c, w->columns);
}

/* N floats at a time: 4 where rows begin at multiples of 16 bytes, else 1. */
template <int N> __global__ static void softmax_registers(const float *x, float *y, int columns)
{
    constexpr int PACKS = KEPT * FOUR / N;
    SHARED(normaliser, part, [BLOCK / WARP]);
    const float *in = x + (size_t)blockIdx.x * columns;
    float *out = y + (size_t)blockIdx.x * columns;
    pack<N> kept[PACKS];
    normaliser n = {-INFINITY, 0};
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        int i = (k * BLOCK + (int)threadIdx.x) * N;
        if (i < columns)
            kept[k] = load<N>(in + i);
#pragma unroll
        for (int j = 0; j < N; j++) {
            kept[k].at[j] = i < columns ? kept[k].at[j] : -INFINITY;
            n.max = fmaxf(n.max, kept[k].at[j]);
        }
    }
#pragma unroll
    for (int k = 0; k < PACKS; k++)
#pragma unroll
        for (int j = 0; j < N; j++)
            n.sum += n.max == -INFINITY ? 0 : expf(kept[k].at[j] - n.max);
    n = block_joined(n, part);
#pragma unroll
    for (int k = 0; k < PACKS; k++) {
        int i = (k * BLOCK + (int)threadIdx.x) * N;
#pragma unroll
        for (int j = 0; j < N; j++)
            kept[k].at[j] = expf(kept[k].at[j] - n.max) / n.sum;
        if (i < columns)
            store<N>(out + i, kept[k]);
    }
}

void rung_softmax_registers(const struct rung_work *w)
{
    if (w->columns % FOUR == 0 && in_fours(w->a) && in_fours(w->c))
        LAUNCH(softmax_registers<FOUR>, w->rows, BLOCK, 0, w->stream, w->a, w->c, w->columns);
    else
        LAUNCH(softmax_registers<1>, w->rows, BLOCK, 0, w->stream, w->a, w->c, w->columns);
}
