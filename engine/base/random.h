/*
 * random.h - repeatable random numbers: the same on every rank, machine and number of threads.
 *
 * The generator is SplitMix64 (G. Steele, D. Lea, C. Flood, Fast splittable pseudorandom number generators,
 * OOPSLA 2014). Its state is one number, so a stream of its own per (seed, purpose, index) costs nothing.
 * Not for secrets.
 */
#ifndef RINGSIDE_BASE_RANDOM_H
#define RINGSIDE_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* A stream for one purpose: two that differ in any argument are unrelated. */
struct random random_stream(uint64_t seed, uint64_t purpose, uint64_t index);

uint64_t random_next(struct random *r);
float random_uniform(struct random *r, float low, float high); /* in [low, high) */
float random_normal(struct random *r);                         /* mean 0, variance 1 */
uint64_t random_below(struct random *r, uint64_t n); /* in [0, n), every value equally likely; n > 0 */

/* Fills order with 0 ... n-1 in random order (Fisher and Yates, as in Knuth, TAOCP 2, algorithm P). */
void random_permutation(struct random *r, uint32_t *order, uint32_t n);

#endif
