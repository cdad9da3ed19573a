#include "engine/comm/element.h"

#include <float.h>
#include <string.h>

static void add_f32(void *to, const void *from, size_t n)
{
    float *restrict x = to;
    const float *restrict y = from;
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void sum_f32(void *to, const void *a, const void *b, size_t n)
{
    float *x = to;
    const float *y = a, *z = b;
    for (size_t i = 0; i < n; i++)
        x[i] = y[i] + z[i];
}

static double get_f32(const void *x, size_t i)
{
    return (double)((const float *)x)[i];
}

static void set_f32(void *x, size_t i, double value)
{
    ((float *)x)[i] = (float)value;
}

static void add_f64(void *to, const void *from, size_t n)
{
    double *restrict x = to;
    const double *restrict y = from;
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

static void sum_f64(void *to, const void *a, const void *b, size_t n)
{
    double *x = to;
    const double *y = a, *z = b;
    for (size_t i = 0; i < n; i++)
        x[i] = y[i] + z[i];
}

static double get_f64(const void *x, size_t i)
{
    return ((const double *)x)[i];
}

static void set_f64(void *x, size_t i, double value)
{
    ((double *)x)[i] = value;
}

static void add_bf16(void *to, const void *from, size_t n)
{
    uint16_t *restrict x = to;
    const uint16_t *restrict y = from;
    for (size_t i = 0; i < n; i++)
        x[i] = bf16_from_float(bf16_to_float(x[i]) + bf16_to_float(y[i]));
}

static void sum_bf16(void *to, const void *a, const void *b, size_t n)
{
    uint16_t *x = to;
    const uint16_t *y = a, *z = b;
    for (size_t i = 0; i < n; i++)
        x[i] = bf16_from_float(bf16_to_float(y[i]) + bf16_to_float(z[i]));
}

static double get_bf16(const void *x, size_t i)
{
    return (double)bf16_to_float(((const uint16_t *)x)[i]);
}

static void set_bf16(void *x, size_t i, double value)
{
    ((uint16_t *)x)[i] = bf16_from_float((float)value);
}

static void pack_f32(void *to, const float *from, size_t n)
{
    memcpy(to, from, n * sizeof *from);
}

static void unpack_f32(float *to, const void *from, size_t n)
{
    memcpy(to, from, n * sizeof *to);
}

static void pack_f64(void *to, const float *from, size_t n)
{
    double *x = to;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)from[i];
}

static void unpack_f64(float *to, const void *from, size_t n)
{
    const double *x = from;
    for (size_t i = 0; i < n; i++)
        to[i] = (float)x[i];
}

static void pack_bf16(void *to, const float *from, size_t n)
{
    uint16_t *x = to;
    for (size_t i = 0; i < n; i++)
        x[i] = bf16_from_float(from[i]);
}

static void unpack_bf16(float *to, const void *from, size_t n)
{
    const uint16_t *x = from;
    for (size_t i = 0; i < n; i++)
        to[i] = bf16_to_float(x[i]);
}

const struct element element_f32 = {"f32",   4,        (double)FLT_EPSILON, add_f32, sum_f32, get_f32,
                                    set_f32, pack_f32, unpack_f32};
const struct element element_f64 = {"f64",   8,       DBL_EPSILON, add_f64,   sum_f64,
                                    get_f64, set_f64, pack_f64,    unpack_f64};
const struct element element_bf16 = {"bf16",   2,        0x1p-7,    add_bf16,   sum_bf16,
                                     get_bf16, set_bf16, pack_bf16, unpack_bf16};

const struct element *element_at(int i)
{
    static const struct element *const all[] = {&element_f32, &element_f64, &element_bf16, &element_f16};
    return i >= 0 && (size_t)i < sizeof all / sizeof *all ? all[i] : NULL;
}

const struct element *element_named(const char *name)
{
    const struct element *type;
    for (int i = 0; (type = element_at(i)); i++)
        if (strcmp(type->name, name) == 0)
            return type;
    return NULL;
}
