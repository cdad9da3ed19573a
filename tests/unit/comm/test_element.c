/*
 * The numbers of 16 bits: rounding against numpy's, all of float16 against its definition, and that the loops over
 * vectors give the same bits as one number at a time.
 */
#include "engine/comm/element.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static float of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t whole(const json_t *row, size_t i)
{
    return (uint16_t)json_integer_value(json_array_get(row, i));
}

static bool is_nan(uint16_t half)
{
    return (half & 0x7fff) > 0x7c00;
}

static void test_numpy(void **state)
{
    (void)state;
    json_error_t why;
    json_t *golden = json_load_file("tests/golden/half.json", 0, &why), *row;
    assert_non_null(golden);
    const json_t *rounds = json_object_get(golden, "round"), *sums = json_object_get(golden, "sum");
    assert_true(json_array_size(rounds) > 1000 && json_array_size(sums) > 300);
    size_t i;
    json_array_foreach(rounds, i, row)
    {
        uint32_t bits = (uint32_t)json_integer_value(json_array_get(row, 0));
        uint16_t expected = whole(row, 1), got = f16_from_float(of_bits(bits));
        if (is_nan(expected) ? !is_nan(got) : got != expected)
            fail_msg("%.9g becomes %04x, not numpy's %04x", (double)of_bits(bits), got, expected);
    }
    json_array_foreach(sums, i, row)
    {
        uint16_t a = whole(row, 0), b = whole(row, 1), sum;
        element_f16.sum(&sum, &a, &b, 1);
        if (sum != whole(row, 2))
            fail_msg("%04x + %04x is %04x, not numpy's %04x", a, b, sum, whole(row, 2));
    }
    json_decref(golden);
}

/* sign · 2^(e - 15) · 1.m, or below the least exponent sign · m · 2^-24. */
static double definition(uint16_t half)
{
    int e = half >> 10 & 31, m = half & 1023;
    double size = e == 0    ? ldexp(m, -24)
                  : e == 31 ? (m ? (double)NAN : (double)INFINITY)
                            : ldexp(1024 + m, e - 25);
    return half & 0x8000 ? -size : size;
}

static void test_definition(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        double expected = definition((uint16_t)h), got = (double)f16_to_float((uint16_t)h);
        if (isnan(expected) ? !isnan(got) : got != expected || signbit(got) != signbit(expected))
            fail_msg("%04x is %g, not %g", (unsigned)h, got, expected);
        if (isnan(expected)) {
            assert_true(is_nan(f16_from_float((float)got)));
            continue;
        }
        assert_int_equal(f16_from_float((float)got), h); /* and back */
        if ((h & 0x7fff) >= 0x7bff)
            continue;
        /* Between two neighbours: to the even one; what is nearer to one of them, to that. */
        float middle = (float)((expected + definition((uint16_t)(h + 1))) / 2);
        assert_int_equal(f16_from_float(middle), h & 1 ? h + 1 : h);
        assert_int_equal(f16_from_float(nextafterf(middle, 0)), h);
        assert_int_equal(f16_from_float(nextafterf(middle, h & 0x8000 ? -INFINITY : INFINITY)), h + 1);
    }
}

/* Lengths with and without a rest beyond whole vectors; every half pattern, so denormals, infinities and NaN too. */
static void test_loops(const struct element *type, uint16_t (*from_float)(float), float (*to_float)(uint16_t))
{
    enum { N = 65536 + 5 };
    uint16_t *a = malloc(N * sizeof *a), *b = malloc(N * sizeof *b), *sum = malloc(N * sizeof *sum);
    float *wide = malloc(N * sizeof *wide);
    assert_true(a && b && sum && wide);
    for (size_t i = 0; i < N; i++) {
        a[i] = (uint16_t)i;
        b[i] = (uint16_t)(i * 40503u >> 3);
    }
    type->sum(sum, a, b, N);
    type->unpack(wide, a, N);
    for (size_t i = 0; i < N; i++) {
        float expected = to_float(a[i]) + to_float(b[i]);
        assert_true(isnan(expected) ? isnan(to_float(sum[i])) : sum[i] == from_float(expected));
        assert_true(isnan(wide[i]) ? isnan(to_float(a[i])) : wide[i] == to_float(a[i]));
    }
    memcpy(sum, a, N * sizeof *a);
    type->add(sum, b, N);
    for (size_t i = 0; i < N; i++)
        wide[i] = to_float(a[i]) * 1.0003f;
    type->pack(b, wide, N);
    for (size_t i = 0; i < N; i++)
        assert_true(isnan(wide[i]) ? isnan(to_float(b[i])) : b[i] == from_float(wide[i]));
    free(a);
    free(b);
    free(sum);
    free(wide);
}

static uint16_t to_f16(float x)
{
    return f16_from_float(x);
}
static float from_f16(uint16_t x)
{
    return f16_to_float(x);
}
static uint16_t to_bf16(float x)
{
    return bf16_from_float(x);
}
static float from_bf16(uint16_t x)
{
    return bf16_to_float(x);
}

static void test_vectors(void **state)
{
    (void)state;
    test_loops(&element_f16, to_f16, from_f16);
    test_loops(&element_bf16, to_bf16, from_bf16);
    assert_ptr_equal(element_named("f16"), &element_f16);
    assert_null(element_named("f8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
