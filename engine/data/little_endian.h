/* little_endian.h - numbers in a file, lowest byte first, whatever the machine's order. */
#ifndef RINGSIDE_DATA_LITTLE_ENDIAN_H
#define RINGSIDE_DATA_LITTLE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void put_u32(uint8_t *at, uint32_t v)
{
    v = htole32(v);
    memcpy(at, &v, sizeof v);
}

static inline void put_u64(uint8_t *at, uint64_t v)
{
    v = htole64(v);
    memcpy(at, &v, sizeof v);
}

static inline void put_double(uint8_t *at, double d)
{
    uint64_t v;
    memcpy(&v, &d, sizeof v);
    put_u64(at, v);
}

static inline uint32_t get_u32(const uint8_t *at)
{
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return le32toh(v);
}

static inline uint64_t get_u64(const uint8_t *at)
{
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return le64toh(v);
}

static inline double get_double(const uint8_t *at)
{
    uint64_t v = get_u64(at);
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

#endif
