/*
 * A sum of many numbers, four times. There is one addition for each four bytes read, so the roof is memory's, whatever the
 * processors can do; a rung is good as far as it reads as fast as a copy does.
 *
 *   atomic    every thread adds its number to the one result: they queue up for it
 *   tree      the threads of a block add by halves in shared memory, a barrier after each; blocks leave one number each
 *   shuffle   the threads of a warp pass numbers from register to register: no memory, and one barrier a block
 *   vector    a fixed number of threads goes through all the data, 16 bytes a load, four loads under way at once
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

enum { FOUR = 4, VECTOR_BLOCKS = 1024 };

__global__ static void sum_atomic(const float *x, float *sum, size_t n)
{
    size_t i = thread_in_grid();
    if (i < n)
        atomicAdd(sum, x[i]);
}

void rung_sum_atomic(const struct rung_work *w)
{
    size_t n = (size_t)w->rows * w->columns;
    cudaMemsetAsync(w->c, 0, sizeof *w->c, w->stream);
    LAUNCH(sum_atomic, (int)((n + BLOCK - 1) / BLOCK), BLOCK, 0, w->stream, w->a, w->c, n);
}

__global__ static void sum_tree(const float *x, float *sums, size_t n)
{
    SHARED(float, part, [BLOCK]);
    int t = (int)threadIdx.x;
    size_t i = thread_in_grid();
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int apart = BLOCK / 2; apart > 0; apart /= 2) {
        if (t < apart)
            part[t] += part[t + apart];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}

__global__ static void sum_shuffle(const float *x, float *sums, size_t n)
{
    SHARED(float, part, [BLOCK / WARP]);
    size_t i = thread_in_grid();
    float sum = block_sum(i < n ? x[i] : 0.0F, part);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

/* Again and again, each time with one number a block, until there is one. What the blocks leave goes to two places in turns. */
template <class Launch> static void until_one(const struct rung_work *w, Launch launch)
{
    size_t n = (size_t)w->rows * w->columns;
    const float *from = w->a;
    float *to = w->room, *other = w->room + RUNG_ROOM(n) / 2;
    for (;;) {
        size_t blocks = (n + BLOCK - 1) / BLOCK;
        launch(from, blocks == 1 ? w->c : to, n, (int)blocks);
        if (blocks == 1)
            return;
        from = to;
        to = other;
        other = const_cast<float *>(from);
        n = blocks;
    }
}

void rung_sum_tree(const struct rung_work *w)
{
    until_one(w, [&](const float *from, float *to, size_t n, int blocks) {
        LAUNCH(sum_tree, blocks, BLOCK, 0, w->stream, from, to, n);
    });
}

void rung_sum_shuffle(const struct rung_work *w)
{
    until_one(w, [&](const float *from, float *to, size_t n, int blocks) {
        LAUNCH(sum_shuffle, blocks, BLOCK, 0, w->stream, from, to, n);
    });
}

__global__ static void sum_vector(const float *x, float *sums, size_t n)
{
    SHARED(float, part, [BLOCK / WARP]);
    size_t fours = n / FOUR, step = threads_in_grid(), i = thread_in_grid();
    float sum[FOUR] = {};
    for (; i + (FOUR - 1) * step < fours; i += FOUR * step) {
        pack<FOUR> p[FOUR];
#pragma unroll
        for (int k = 0; k < FOUR; k++)
            p[k] = load<FOUR>(x + FOUR * (i + k * step));
#pragma unroll
        for (int k = 0; k < FOUR; k++)
            sum[k] += (p[k].at[0] + p[k].at[1]) + (p[k].at[2] + p[k].at[3]);
    }
    for (; i < fours; i += step) {
        pack<FOUR> p = load<FOUR>(x + FOUR * i);
        sum[0] += (p.at[0] + p.at[1]) + (p.at[2] + p.at[3]);
    }
    if (thread_in_grid() < n % FOUR)
        sum[1] += x[FOUR * fours + thread_in_grid()];
    float all = block_sum((sum[0] + sum[1]) + (sum[2] + sum[3]), part);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = all;
}

void rung_sum_vector(const struct rung_work *w)
{
    size_t n = (size_t)w->rows * w->columns;
    int blocks = blocks_for(n / FOUR);
    blocks = blocks < VECTOR_BLOCKS ? blocks : (int)VECTOR_BLOCKS;
    LAUNCH(sum_vector, blocks, BLOCK, 0, w->stream, w->a, w->room, n);
    LAUNCH(sum_vector, 1, BLOCK, 0, w->stream, (const float *)w->room, w->c, (size_t)blocks);
}
