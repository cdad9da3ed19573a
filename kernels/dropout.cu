/*
 * Dropout. Which elements are dropped is not stored: each thread works it out from seed, step, the layer and the sample's place
 * in the global batch, so forward and backward, GPUs and processors find the same (engine/nn/dropout.h). That costs
 * some integer operations where a mask in memory would cost bytes, and this kernel waits for bytes.
 *
 * A block has some elements of one sample, so that a thread makes the sample's key once for all of its elements.
 */
#include "kernels/reduce.h"

enum { EACH = 4 }; /* elements a thread */

/* SplitMix64, as engine/base/random.c has it. */
__device__ static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The first number of the stream of these three. */
__device__ static uint64_t first_of(uint64_t seed, uint64_t purpose, uint64_t index)
{
    return mix(mix(mix(mix(seed) + purpose) + index) + 0x9e3779b97f4a7c15u);
}

/* The rounds of MurmurHash3's finaliser (A. Appleby) between the halves of the key. */
__device__ static bool kept(uint64_t key, uint32_t place, int32_t threshold, int bits)
{
    uint32_t h = place ^ (uint32_t)key;
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    h = (h ^ (h >> 16)) + (uint32_t)(key >> 32);
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return (int32_t)(h >> (32 - bits)) >= threshold;
}

__global__ static void dropout(struct kernel_dropout d, const struct kernel_step *step, const float *in,
                               float *out, bool add)
{
    uint32_t elements = (uint32_t)d.channels * (uint32_t)d.points;
    uint64_t seed = first_of(step->seed, d.stream, (uint64_t)step->step);
    for (int n = (int)blockIdx.y; n < d.batch; n += (int)gridDim.y) {
        uint64_t key = first_of(seed, d.purpose, (uint64_t)(step->first_row + n));
        for (uint32_t i = (uint32_t)thread_in_grid(); i < elements; i += (uint32_t)threads_in_grid()) {
            /* Its place in plain order: channels last here, first there. */
            uint32_t place = i % (uint32_t)d.channels * (uint32_t)d.points + i / (uint32_t)d.channels;
            size_t at = (size_t)n * elements + i;
            float y = kept(key, place, d.threshold, d.bits) ? d.scale * in[at] : 0;
            out[at] = add ? out[at] + y : y;
        }
    }
}

extern "C" void kernel_dropout(const struct kernel_dropout *d, const struct kernel_step *step,
                               const float *in, float *out, bool add, cudaStream_t stream)
{
    int blocks = blocks_for(((size_t)d->channels * (size_t)d->points + EACH - 1) / EACH);
    LAUNCH(dropout, dim3(blocks, d->batch < MOST_BLOCKS ? d->batch : MOST_BLOCKS), BLOCK, 0, stream, *d, step,
           in, out, add);
}
