/*
 * element.h - the types of number that collectives sum: how long one is, and two loops that add.
 *
 * bf16 is the upper half of a float32 (8 bits of mantissa, one of them implied). Its sums are made in
 * float32 and rounded to the nearest, ties to even, after every addition: what travels and what is kept is
 * bf16.
 */
#ifndef RINGSIDE_COMM_ELEMENT_H
#define RINGSIDE_COMM_ELEMENT_H

#include <stddef.h>
#include <stdint.h>

struct element {
    const char *name; /* "f32", "f64", "bf16" */
    size_t bytes;
    double epsilon;                                                /* from 1 to the next larger number */
    void (*add)(void *to, const void *from, size_t n);             /* to += from */
    void (*sum)(void *to, const void *a, const void *b, size_t n); /* to = a + b; to may be a or b */
    double (*get)(const void *x, size_t i);                        /* x[i] */
    void (*set)(void *x, size_t i, double value);                  /* rounded to the type */
};

extern const struct element element_f32, element_f64, element_bf16;

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

#endif
