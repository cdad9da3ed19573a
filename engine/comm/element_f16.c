/*
 * element_f16.c - sums of float16, and its conversions, eight at a time where the processor has them (F16C).
 *
 * The portable loops are written so that any compiler makes vectors of them. Both ways round alike, to the
 * nearest, ties to even, so ranks on different processors have the same bits.
 */
#include "engine/comm/element.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define F16C __attribute__((target("avx,f16c")))

/* Compilers do not all ask for F16C by name; every processor with AVX2 has it. */
static bool has_f16c(void)
{
    return __builtin_cpu_supports("avx2");
}

F16C static __m256 load(const uint16_t *x)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
}

F16C static void store(uint16_t *x, __m256 value)
{
    _mm_storeu_si128((__m128i *)x, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

/* Each does the elements that make whole vectors and returns how many those are. */
F16C static size_t sum_vectors(uint16_t *x, const uint16_t *y, const uint16_t *z, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        store(x + i, _mm256_add_ps(load(y + i), load(z + i)));
    return i;
}

F16C static size_t pack_vectors(uint16_t *to, const float *from, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        store(to + i, _mm256_loadu_ps(from + i));
    return i;
}

F16C static size_t unpack_vectors(float *to, const uint16_t *from, size_t n)
{
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, load(from + i));
    return i;
}
#else
static bool has_f16c(void)
{
    return false;
}
static size_t sum_vectors(uint16_t *x, const uint16_t *y, const uint16_t *z, size_t n)
{
    (void)x, (void)y, (void)z, (void)n;
    return 0;
}
static size_t pack_vectors(uint16_t *to, const float *from, size_t n)
{
    (void)to, (void)from, (void)n;
    return 0;
}
static size_t unpack_vectors(float *to, const uint16_t *from, size_t n)
{
    (void)to, (void)from, (void)n;
    return 0;
}
#endif

static void sum_f16(void *to, const void *a, const void *b, size_t n)
{
    uint16_t *x = to;
    const uint16_t *y = a, *z = b;
    for (size_t i = has_f16c() ? sum_vectors(x, y, z, n) : 0; i < n; i++)
        x[i] = f16_from_float(f16_to_float(y[i]) + f16_to_float(z[i]));
}

static void add_f16(void *to, const void *from, size_t n)
{
    sum_f16(to, to, from, n);
}

static double get_f16(const void *x, size_t i)
{
    return (double)f16_to_float(((const uint16_t *)x)[i]);
}

static void set_f16(void *x, size_t i, double value)
{
    ((uint16_t *)x)[i] = f16_from_float((float)value);
}

static void pack_f16(void *to, const float *from, size_t n)
{
    uint16_t *x = to;
    for (size_t i = has_f16c() ? pack_vectors(x, from, n) : 0; i < n; i++)
        x[i] = f16_from_float(from[i]);
}

static void unpack_f16(float *to, const void *from, size_t n)
{
    const uint16_t *x = from;
    for (size_t i = has_f16c() ? unpack_vectors(to, x, n) : 0; i < n; i++)
        to[i] = f16_to_float(x[i]);
}

const struct element element_f16 = {"f16",   2,       0x1p-10,  add_f16,   sum_f16,
                                    get_f16, set_f16, pack_f16, unpack_f16};
