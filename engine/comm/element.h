/*
 * element.h - the types of number that collectives sum: how long one is, the loops that add, and those that
 * bring it from float32 and back.
 *
 * bf16 is the upper half of a float32: its range, and 8 bits of mantissa, one of them implied. f16 is IEEE 754's
 * binary16: 11 bits of mantissa, but nothing above 65504 and, below 6.1e-5, ever fewer bits down to 6e-8. Their
 * sums are made in float32 and rounded to the nearest, ties to even, after every addition: what travels and
 * what is kept has 16 bits.
 */
#ifndef RINGSIDE_COMM_ELEMENT_H
#define RINGSIDE_COMM_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct element {
    const char *name; /* "f32", "f64", "bf16", "f16" */
    size_t bytes;
    double epsilon;                                                /* from 1 to the next larger number */
    void (*add)(void *to, const void *from, size_t n);             /* to += from */
    void (*sum)(void *to, const void *a, const void *b, size_t n); /* to = a + b; to may be a or b */
    double (*get)(const void *x, size_t i);                        /* x[i] */
    void (*set)(void *x, size_t i, double value);                  /* rounded to the type */
    void (*pack)(void *to, const float *from, size_t n);           /* rounded to the type */
    void (*unpack)(float *to, const void *from, size_t n);
};

extern const struct element element_f32, element_f64, element_bf16, element_f16;

/* The i-th there is, NULL past the last. */
const struct element *element_at(int i);
/* NULL where there is none of that name. */
const struct element *element_named(const char *name);

static inline float bf16_to_float(uint16_t x)
{
    union {
        uint32_t bits;
        float value;
    } wide = {.bits = (uint32_t)x << 16};
    return wide.value;
}

/* Nearest, ties to even; not-a-number stays one. */
static inline uint16_t bf16_from_float(float value)
{
    union {
        float value;
        uint32_t bits;
    } wide = {.value = value};
    uint32_t rounded = (wide.bits + 0x7fff + ((wide.bits >> 16) & 1)) >> 16;
    return (uint16_t)((wide.bits & 0x7fffffff) > 0x7f800000 ? wide.bits >> 16 | 0x40 : rounded);
}

/* Exact. Without denormal arithmetic, which a thread may have switched off. */
static inline float f16_to_float(uint16_t x)
{
    union {
        uint32_t bits;
        float value;
    } wide, small;
    uint32_t exponent = x & 0x7c00u, rest = x & 0x7fffu, sign = (uint32_t)(x & 0x8000u) << 16;
    wide.bits =
        (rest << 13) + (exponent == 0x7c00u ? 0x70000000u : 0x38000000u); /* from a bias of 15 to 127 */
    small.value = (float)(int32_t)rest * 0x1p-24f;                        /* below 2^-14: a multiple */
    wide.bits = (exponent ? wide.bits : small.bits) | sign;
    return wide.value;
}

/* Nearest, ties to even; what is too large becomes infinite, not-a-number stays one. */
static inline uint16_t f16_from_float(float value)
{
    union {
        float value;
        uint32_t bits;
    } wide = {.value = value}, small;
    uint32_t sign = wide.bits >> 16 & 0x8000u, size = wide.bits & 0x7fffffffu;
    wide.bits = size;
    small.value = wide.value + 0.5f; /* whose last bit is 2^-24: the addition rounds to that */
    uint32_t half = (size + 0xfff + (size >> 13 & 1)) >> 13;
    half = size < 0x38800000u ? small.bits - 0x3f000000u : half - (112u << 10);
    half = size >= 0x47800000u ? 0x7c00u : half;
    half = size > 0x7f800000u ? 0x7e00u | (size >> 13 & 0x3ffu) : half;
    return (uint16_t)(half | sign);
}

#endif
