/*
 * numbers.h - the 16-bit numbers of the stand-ins for cuBLAS and NCCL: bf16 (the upper half of a float) and IEEE half.
 */
#ifndef RINGSIDE_KERNELS_EMULATION_NUMBERS_H
#define RINGSIDE_KERNELS_EMULATION_NUMBERS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float number_from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To the nearest, of two the even one. */
static inline uint16_t number_to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float number_from_half(uint16_t x)
{
    int exponent = x >> 10 & 31, fraction = x & 1023;
    float value = exponent == 31 ? (fraction ? NAN : INFINITY) : ldexpf((float)fraction, -24);
    if (exponent > 0 && exponent < 31)
        value = ldexpf((float)(1024 + fraction), exponent - 25);
    return x & 0x8000 ? -value : value;
}

/* To the nearest, of two the even one, as the default of the host's rounding is. */
static inline uint16_t number_to_half(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    float size = fabsf(value);
    if (isnan(value))
        return 0x7fff;
    if (size >= 65520.0f)
        return sign | 0x7c00;
    if (size < 0x1p-14f) /* below the smallest with a full fraction */
        return sign | (uint16_t)rintf(ldexpf(size, 24));
    int exponent;
    float fraction = frexpf(size, &exponent); /* 0.5 to 1 */
    return sign | (uint16_t)((exponent + 13) * 1024 + (int)rintf(ldexpf(fraction, 11)));
}

#endif
