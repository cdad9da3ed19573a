/*
 * The roofs: as many operations, and as many bytes, as this GPU does at most, each by a kernel that does nothing else.
 *
 * Arithmetic: a thread multiplies and adds in eight chains in registers that do not wait for each other, and there are enough
 * threads to keep every unit busy. Tensor cores: fragments multiplied again and again. Memory: a copy, 16 bytes a load.
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

enum { CHAINS = 8, BLOCKS_A_PROCESSOR = 8, FOUR = 4 };

__global__ static void arithmetic(int iterations, float factor, float *sink)
{
    float x[CHAINS];
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        x[k] = (float)threadIdx.x + (float)k;
    for (int i = 0; i < iterations; i++)
#pragma unroll
        for (int k = 0; k < CHAINS; k++)
            x[k] = fmaf(x[k], factor, 1.0F);
    float all = 0;
#pragma unroll
    for (int k = 0; k < CHAINS; k++)
        all += x[k];
    if (all == -1.0F) /* never: but the compiler cannot know, and leaves the chains in */
        *sink = all;
}

double roof_arithmetic(int processors, int iterations, float *sink, cudaStream_t stream)
{
    int blocks = processors * BLOCKS_A_PROCESSOR;
    LAUNCH(arithmetic, blocks, BLOCK, 0, stream, iterations, 0.5F, sink);
    return 2.0 * (double)((size_t)CHAINS * iterations * BLOCK * blocks);
}

__global__ static void copy_fours(const float *__restrict__ from, float *__restrict__ to, size_t fours)
{
    for (size_t i = thread_in_grid(); i < fours; i += threads_in_grid())
        store<FOUR>(to + FOUR * i, load<FOUR>(from + FOUR * i));
}

double roof_copy(const float *from, float *to, size_t n, cudaStream_t stream)
{
    LAUNCH(copy_fours, blocks_for(n / FOUR), BLOCK, 0, stream, from, to, n / FOUR);
    return 2.0 * sizeof(float) * (double)(n / FOUR * FOUR);
}

#ifdef KERNELS_EMULATED

double roof_tensor(int, int, float *, cudaStream_t)
{
    return 0;
}

#else

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum { PIECE = 16, SUMS = 4 };

__global__ static void tensor(int iterations, float *sink)
{
    wmma::fragment<wmma::matrix_a, PIECE, PIECE, PIECE, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, PIECE, PIECE, PIECE, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, PIECE, PIECE, PIECE, float> sum[SUMS];
    wmma::fill_fragment(a, __float2half(0.5F));
    wmma::fill_fragment(b, __float2half(0.5F));
#pragma unroll
    for (int k = 0; k < SUMS; k++)
        wmma::fill_fragment(sum[k], (float)k);
    for (int i = 0; i < iterations; i++)
#pragma unroll
        for (int k = 0; k < SUMS; k++)
            wmma::mma_sync(sum[k], a, b, sum[k]);
    float all = 0;
#pragma unroll
    for (int k = 0; k < SUMS; k++)
#pragma unroll
        for (int i = 0; i < sum[k].num_elements; i++) /* all: what nobody reads, nobody would multiply */
            all += sum[k].x[i];
    if (all == -1.0F)
        *sink = all;
}

double roof_tensor(int processors, int iterations, float *sink, cudaStream_t stream)
{
    int blocks = processors * BLOCKS_A_PROCESSOR;
    LAUNCH(tensor, blocks, BLOCK, 0, stream, iterations, sink);
    return 2.0 * (double)((size_t)PIECE * PIECE * PIECE * SUMS * iterations * (BLOCK / WARP) * blocks);
}

#endif
