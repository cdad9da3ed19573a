/*
 * Kernels with a fault planted in each, and the same without it, for test_emulation.c. `n` floats of device memory each.
 */
#include "tests/unit/kernels/planted.h"

#include "kernels/launch.h"

enum { BLOCK = 96 };

static int blocks(int n)
{
    return (n + BLOCK - 1) / BLOCK;
}

/* out[i] = the sum of in over i's block. The fault: what is in shared memory is read before all is there. */
template <bool fault> __global__ void block_sum(const float *in, float *out, int n)
{
    SHARED(float, part, [BLOCK]);
    int i = blockIdx.x * BLOCK + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0.0f;
    if (!fault)
        __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < BLOCK; k++)
        sum += part[k];
    if (i < n)
        out[i] = sum;
}

void planted_block_sum(bool fault, const float *in, float *out, int n)
{
    if (fault)
        LAUNCH(block_sum<true>, blocks(n), BLOCK, 0, 0, in, out, n);
    else
        LAUNCH(block_sum<false>, blocks(n), BLOCK, 0, 0, in, out, n);
}

/* The fault: threads beyond n leave before the barrier. */
template <bool fault> __global__ void leave_early(float *out, int n)
{
    SHARED(float, first, );
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (fault && i >= n)
        return;
    if (threadIdx.x == 0)
        first = 5.0f;
    __syncthreads();
    if (i < n)
        out[i] = first;
}

void planted_leave_early(bool fault, float *out, int n)
{
    if (fault)
        LAUNCH(leave_early<true>, blocks(n), BLOCK, 0, 0, out, n);
    else
        LAUNCH(leave_early<false>, blocks(n), BLOCK, 0, 0, out, n);
}

/* Each half of the block has a barrier of its own. */
__global__ void two_barriers(float *out, int n)
{
    if (threadIdx.x < BLOCK / 2)
        __syncthreads();
    else
        __syncthreads();
    if ((int)threadIdx.x < n)
        out[threadIdx.x] = 1.0f;
}

void planted_two_barriers(float *out, int n)
{
    LAUNCH(two_barriers, 1, BLOCK, 0, 0, out, n);
}

/* Only lanes below 16 come to a shuffle that names all 32. */
__global__ void half_shuffle(float *out)
{
    float value = (float)threadIdx.x;
    if (threadIdx.x % 32 < 16)
        value = __shfl_xor_sync(0xffffffffu, value, 1);
    __syncthreads();
    out[threadIdx.x] = value;
}

void planted_half_shuffle(float *out)
{
    LAUNCH(half_shuffle, 1, 32, 0, 0, out);
}

/* Nobody has written the shared memory that is put out. */
__global__ void unwritten(float *out)
{
    SHARED(float, part, [64]);
    SHARED_DYNAMIC(float, more);
    if (threadIdx.x < 32)
        part[threadIdx.x] = more[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = part[threadIdx.x] + more[threadIdx.x];
}

void planted_unwritten(float *out)
{
    LAUNCH(unwritten, 1, 64, 64 * sizeof(float), 0, out);
}

/* The fault: no one looks whether i < n. */
template <bool fault> __global__ void fill(float *out, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (fault || i < n)
        out[i] = 2.0f;
}

void planted_fill(bool fault, float *out, int n)
{
    if (fault)
        LAUNCH(fill<true>, blocks(n), BLOCK, 0, 0, out, n);
    else
        LAUNCH(fill<false>, blocks(n), BLOCK, 0, 0, out, n);
}

__global__ void over_shared(float *out, int n)
{
    SHARED(float, part, [BLOCK]);
    part[threadIdx.x + (threadIdx.x == BLOCK - 1)] = 1.0f;
    __syncthreads();
    if ((int)threadIdx.x < n)
        out[threadIdx.x] = 1.0f;
}

void planted_over_shared(float *out, int n)
{
    LAUNCH(over_shared, 1, BLOCK, 0, 0, out, n);
}

/* *out = n, by one addition a thread. The fault: additions that are not atomic. */
template <bool fault> __global__ void count(float *out, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n)
        return;
    if (fault)
        *out += 1.0f;
    else
        atomicAdd(out, 1.0f);
}

void planted_count(bool fault, float *out, int n)
{
    if (fault)
        LAUNCH(count<true>, blocks(n), BLOCK, 0, 0, out, n);
    else
        LAUNCH(count<false>, blocks(n), BLOCK, 0, 0, out, n);
}

/* out[i] = in[i + 1]: a warp passes its values on through memory. The fault: without __syncwarp. */
template <bool fault> __global__ void pass_on(const float *in, float *out)
{
    SHARED(float, part, [32]);
    part[threadIdx.x] = in[threadIdx.x];
    if (!fault)
        __syncwarp();
    out[threadIdx.x] = part[(threadIdx.x + 1) % 32];
}

void planted_pass_on(bool fault, const float *in, float *out)
{
    if (fault)
        LAUNCH(pass_on<true>, 1, 32, 0, 0, in, out);
    else
        LAUNCH(pass_on<false>, 1, 32, 0, 0, in, out);
}

/* Who is last: depends on the order of threads. No memory is touched twice but by atomics, so no single run is wrong. */
__global__ void last_come(int *ticket, float *out, int n)
{
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n && atomicAdd(ticket, 1) == n - 1)
        out[0] = (float)i;
}

void planted_last_come(int *ticket, float *out, int n)
{
    LAUNCH(last_come, blocks(n), BLOCK, 0, 0, ticket, out, n);
}

/* Every function of a warp on values that can be worked out by hand; out: 16 a lane. */
__global__ void warp_functions(float *out)
{
    const unsigned all = 0xffffffffu;
    int lane = threadIdx.x % 32;
    float v = (float)threadIdx.x;
    float *o = out + 16 * threadIdx.x;
    o[0] = __shfl_sync(all, v, 5);
    o[1] = __shfl_up_sync(all, v, 3);
    o[2] = __shfl_down_sync(all, v, 3);
    o[3] = __shfl_xor_sync(all, v, 9);
    o[4] = __shfl_sync(all, v, 2, 8);
    o[5] = __shfl_down_sync(all, v, 1, 8);
    o[6] = __shfl_up_sync(all, v, 1, 8);
    o[7] = (float)__popc(__ballot_sync(all, lane % 3 == 0));
    o[8] = (float)__any_sync(all, lane == 31);
    o[9] = (float)__all_sync(all, lane < 31);
    o[10] = (float)__syncthreads_count(lane == 0);
    o[11] = (float)__syncthreads_or(threadIdx.x == 40);
    o[12] = (float)__syncthreads_and(threadIdx.x < 40);
    o[13] = (float)__shfl_sync(all, (double)v, 1);
    o[14] = 0.0f;
    if (lane < 16)
        o[14] = __shfl_xor_sync(0xffffu, v, 1);
    o[15] = (float)__activemask();
}

void planted_warp_functions(float *out)
{
    LAUNCH(warp_functions, 1, 64, 0, 0, out);
}

/* Sum of n floats, in a tree, over blocks and then over what they left, by the block that comes last. */
__global__ void tree_sum(const float *in, float *parts, unsigned *done, float *out, int n)
{
    SHARED(float, part, [BLOCK / 32]);
    SHARED(bool, last, );
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
        sum += in[i];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = part[0] + part[1] + part[2];
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float all = 0.0f;
        for (unsigned b = 0; b < gridDim.x; b++)
            all += parts[b];
        *out = all;
    }
}

void planted_tree_sum(const float *in, float *parts, unsigned *done, float *out, int n)
{
    LAUNCH(tree_sum, 7, BLOCK, 0, 0, in, parts, done, out, n);
}
