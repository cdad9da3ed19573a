#include "engine/base/random.h"

#include <math.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct random random_stream(uint64_t seed, uint64_t purpose, uint64_t index)
{
    return (struct random){mix(mix(mix(seed) + purpose) + index)};
}

uint64_t random_next(struct random *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return mix(r->state);
}

float random_uniform(struct random *r, float low, float high)
{
    /* 24 bits: as many as a float holds, so that 1 is never reached by rounding */
    float unit = (float)(random_next(r) >> 40) * 0x1p-24f;
    float value = low + (high - low) * unit;
    return value < high ? value : low;
}

/* Of the polar method (G. Marsaglia and T. Bray, A convenient method for generating normal variables, 1964). */
float random_normal(struct random *r)
{
    for (;;) {
        float x = random_uniform(r, -1, 1), y = random_uniform(r, -1, 1), s = x * x + y * y;
        if (s > 0 && s < 1)
            return (float)(x * sqrt(-2 * log((double)s) / (double)s));
    }
}

uint64_t random_below(struct random *r, uint64_t n)
{
    uint64_t uneven = -n % n; /* 2^64 mod n: values below it would make small results likelier */
    uint64_t value;
    do
        value = random_next(r);
    while (value < uneven);
    return value % n;
}

void random_permutation(struct random *r, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = (uint32_t)random_below(r, i), held = order[i - 1];
        order[i - 1] = order[j];
        order[j] = held;
    }
}
