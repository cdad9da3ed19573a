/*
 * reduce.h - what the .cu files share: several floats at a time, sums over a warp and over a block, sizes of grids.
 *
 * A thread that moves four neighbouring floats in one instruction asks a quarter as often for the same bytes, which is what
 * lets kernels that only move memory come near its bandwidth. Sums go in one fixed order: by halves within a
 * warp (every lane ends up with the same bits), then over the warps from the first to the last.
 */
#ifndef RINGSIDE_KERNELS_REDUCE_H
#define RINGSIDE_KERNELS_REDUCE_H

#include "kernels/kernels.h"
#include "kernels/launch.h"

enum { WARP = 32, BLOCK = 256, MOST_BLOCKS = 4096 };
#define ALL_LANES 0xffffffffu

/* N floats that are loaded and stored at once; their address must be a multiple of their size. */
template <int N> struct alignas(4 * N) pack {
    float at[N];
};

template <int N> __device__ __forceinline__ pack<N> load(const float *from)
{
    return *reinterpret_cast<const pack<N> *>(from);
}

template <int N> __device__ __forceinline__ void store(float *to, const pack<N> &value)
{
    *reinterpret_cast<pack<N> *>(to) = value;
}

/* Blocks for n items, one a thread; with more of them than fit each thread takes several (a loop in steps of the grid). */
static inline int blocks_for(size_t n)
{
    size_t blocks = (n + BLOCK - 1) / BLOCK;
    return blocks < 1 ? 1 : blocks > MOST_BLOCKS ? (int)MOST_BLOCKS : (int)blocks;
}

/* The same for a loop that goes on in whole rows: the grid holds a row at least. */
static inline int blocks_for_rows(size_t n, unsigned in_row)
{
    int blocks = blocks_for(n), least = (int)((in_row + BLOCK - 1) / BLOCK);
    return blocks < least ? least : blocks;
}

__host__ __device__ __forceinline__ static int ceil_div(int a, int b)
{
    return (a + b - 1) / b;
}

/* Whether four at a time can be loaded from there. */
static inline bool in_fours(const void *address)
{
    return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

__device__ __forceinline__ size_t thread_in_grid()
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ size_t threads_in_grid()
{
    return (size_t)gridDim.x * blockDim.x;
}

/* bf16 is the upper half of a float: rounded to the nearest, of two to the even one; what is no number stays none. */
__device__ __forceinline__ uint16_t to_bf16(float x)
{
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Every lane gets the sum. */
template <typename T> __device__ __forceinline__ T warp_sum(T x)
{
    for (int apart = WARP / 2; apart > 0; apart /= 2)
        x += __shfl_xor_sync(ALL_LANES, x, apart);
    return x;
}

/*
 * Every thread gets the sum. room: one place a warp, in shared memory; it may be used again only after another
 * barrier. The block is whole warps.
 */
template <typename T> __device__ __forceinline__ T block_sum(T x, T *room)
{
    int warp = (int)threadIdx.x / WARP, warps = (int)blockDim.x / WARP;
    x = warp_sum(x);
    if (threadIdx.x % WARP == 0)
        room[warp] = x;
    __syncthreads();
    T sum = room[0];
    for (int w = 1; w < warps; w++)
        sum += room[w];
    return sum;
}

#endif
