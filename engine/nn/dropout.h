/*
 * dropout.h - what dropout's mask is made of, the same for every backend.
 *
 * The mask is not stored: a generator without a state makes each element's bits from a key of its sample and
 * its own number (as J. Salmon et al. propose, Parallel random numbers: as easy as 1, 2, 3, SC 2011), with
 * the rounds of A. Appleby's MurmurHash3 finaliser. The key is the first number of the stream of (first number of the
 * stream of seed, DROPOUT_STREAM and step; the layer's purpose; the sample's place in the global batch), as of
 * engine/base/random.h, and the number is the element's place in plain order: neither ranks, threads, layouts nor devices
 * change it.
 */
#ifndef RINGSIDE_NN_DROPOUT_H
#define RINGSIDE_NN_DROPOUT_H

#include <stdint.h>

enum { DROPOUT_STREAM = 3, DROPOUT_BITS = 24 };

/* An element is dropped where the upper DROPOUT_BITS of its 32 bits are below this. */
static inline int32_t dropout_threshold(double rate)
{
    return (int32_t)(rate * (1 << DROPOUT_BITS) + 0.5);
}

/* What those that stay are multiplied with. */
static inline float dropout_scale(double rate)
{
    return (float)(1 / (1 - rate));
}

/* Of a layer, by its name: FNV-1a (G. Fowler, L. Noll, P. Vo). */
static inline uint64_t dropout_purpose(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash;
}

#endif
