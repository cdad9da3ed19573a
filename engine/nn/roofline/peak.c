/*
 * peak.c - the flat part of the roof: multiply-adds on registers alone.
 *
 * Each unit starts a multiply-add a cycle and has its result four or five cycles later, so a chain in which each needs
 * the one before would show a fifth of the truth: several chains run side by side. How many vectors of which width
 * fill a processor's units (two of 256 bits on AVX2, two of 512 on some with AVX-512) is found by trying two
 * shapes; the better counts.
 */
#include "engine/nn/roofline/roofline.h"

#include "engine/base/timing.h"
#include "engine/nn/cpu.h"

#include <math.h>

enum { ROUNDS = 4096, SHAPES = 2 };

/* Many slices, shorter than a scheduler's, of which the best counts: what disturbs a core can only make it slower. */
#define SLICE_S 2e-3

typedef float narrow __attribute__((vector_size(32)));
typedef float wide __attribute__((vector_size(64)));

/* ROUNDS times: each of `count` vectors becomes itself × a + b. Their sum comes back, so that none can be left out. */
#define CHAINS(name, type, count)                                                                            \
    CPU_KERNEL static float name(float a, float b)                                                           \
    {                                                                                                        \
        type x[count];                                                                                       \
        _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++) x[i] = (type){0} + (float)i;              \
        for (int round = 0; round < ROUNDS; round++)                                                         \
            _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++) x[i] = x[i] * a + b;                  \
        type sum = {0};                                                                                      \
        _Pragma("GCC unroll 16") for (int i = 0; i < (count); i++) sum += x[i];                              \
        float total = 0;                                                                                     \
        for (size_t i = 0; i < sizeof sum / sizeof(float); i++)                                              \
            total += sum[i];                                                                                 \
        return total;                                                                                        \
    }

CHAINS(narrow_chains, narrow, 12)
CHAINS(wide_chains, wide, 12)

static const struct shape {
    float (*run)(float a, float b);
    double flops; /* of one call */
} shapes[SHAPES] = {
    {narrow_chains, 2.0 * ROUNDS * 12 * 8},
    {wide_chains, 2.0 * ROUNDS * 12 * 16},
};

/* A slice of time on every thread at once: what they did, over how long the slowest took. */
static double slice(const struct shape *shape, int threads, double seconds, float *keep)
{
    double flops = 0, longest = 0;
    float sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : flops, sum) reduction(max : longest)
    {
        double begin = timing_now();
        do {
            sum += shape->run(0.5F, 1.0F); /* goes to 2 and stays there: no infinities, no denormals */
            flops += shape->flops;
            longest = timing_now() - begin;
        } while (longest < seconds);
    }
    *keep += sum;
    return flops / longest;
}

double roofline_peak(int threads, double seconds)
{
    double best = 0, begin = timing_now();
    float keep = 0;
    int i = 0;
    do
        best = fmax(best, slice(&shapes[i++ % SHAPES], threads, SLICE_S, &keep));
    while (timing_now() - begin < seconds);
    return isfinite(keep) ? best : 0;
}

double roofline_at(double peak, double bandwidth, double flops_per_byte)
{
    return fmin(peak, bandwidth * flops_per_byte);
}
