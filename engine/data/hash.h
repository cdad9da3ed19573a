/* hash.h - the hash that splits are made by: FNV-1a in 64 bits (G. Fowler, L. C. Noll, K.-P. Vo, 1991). */
#ifndef RINGSIDE_DATA_HASH_H
#define RINGSIDE_DATA_HASH_H

#include <stdint.h>

static inline uint64_t hash_text(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

#endif
