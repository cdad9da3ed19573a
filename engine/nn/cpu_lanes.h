/*
 * cpu_lanes.h - eight floats at a time, in the compiler's own vectors. Private to engine/nn/cpu*.c.
 *
 * Eight is what a block of channels is made of. The compiler splits or fuses these vectors as the instruction
 * set of each clone of a CPU_KERNEL asks for.
 * A float against a vector is written x * v or v + x: GCC 12 makes one broadcast of it there, but eight insertions
 * where an inline function made the vector of x beforehand.
 */
#ifndef RINGSIDE_NN_CPU_LANES_H
#define RINGSIDE_NN_CPU_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8 };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t lane_mask __attribute__((vector_size(LANES * sizeof(float)))); /* 0 or -1 in each lane */
typedef uint32_t lane_bits __attribute__((vector_size(LANES * sizeof(float))));

#define LANES_INLINE static inline __attribute__((always_inline, unused))

LANES_INLINE lanes lanes_load(const float *from)
{
    lanes value;
    memcpy(&value, from, sizeof value);
    return value;
}

LANES_INLINE void lanes_store(float *to, lanes value)
{
    memcpy(to, &value, sizeof value);
}

/* The first n lanes, the others 0: for channels that do not come in eights. n as a constant costs nothing. */
LANES_INLINE lanes lanes_load_some(const float *from, int n)
{
    lanes value = {0};
    if (n == LANES)
        return lanes_load(from);
    for (int i = 0; i < n; i++)
        value[i] = from[i];
    return value;
}

LANES_INLINE void lanes_store_some(float *to, lanes value, int n)
{
    if (n == LANES)
        lanes_store(to, value);
    else
        for (int i = 0; i < n; i++)
            to[i] = value[i];
}

LANES_INLINE lanes lanes_all(float x)
{
    return x - (lanes){0}; /* minus, since -0 + 0 would be 0: the compiler can leave it out */
}

LANES_INLINE lanes lanes_select(lane_mask which, lanes yes, lanes no)
{
    return (lanes)(((lane_mask)yes & which) | ((lane_mask)no & ~which));
}

/* What is no number stays none. */
LANES_INLINE lanes lanes_clamp(lanes x, float low, float high)
{
    x = lanes_select(x < low, lanes_all(low), x);
    return lanes_select(x > high, lanes_all(high), x);
}

LANES_INLINE float lanes_sum(lanes x)
{
    float sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += x[i];
    return sum;
}

LANES_INLINE float lanes_max(lanes x)
{
    float max = x[0];
    for (int i = 1; i < LANES; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* The lowest byte of each lane. GCC converts to bytes lane by lane but shuffles in one go; clang has no such shuffle. */
LANES_INLINE void lanes_store_bytes(int8_t to[LANES], lane_mask value)
{
#ifdef __clang__
    typedef int8_t lane_bytes __attribute__((vector_size(LANES)));
    lane_bytes picked = __builtin_convertvector(value, lane_bytes);
#else
    typedef int8_t all_bytes __attribute__((vector_size(LANES * sizeof(float))));
    all_bytes picked = __builtin_shuffle((all_bytes)value, (all_bytes){0, 4, 8, 12, 16, 20, 24, 28});
#endif
    memcpy(to, &picked, LANES);
}

LANES_INLINE lane_mask lanes_load_bytes(const int8_t from[LANES])
{
    typedef int8_t lane_bytes __attribute__((vector_size(LANES)));
    lane_bytes bytes;
    memcpy(&bytes, from, LANES);
    return __builtin_convertvector(bytes, lane_mask);
}

#endif
