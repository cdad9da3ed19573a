/* The ladder's products against float64, at sizes that fill no block; what its check finds; the roof's formula. */
#include "engine/base/random.h"
#include "engine/nn/ladder/ladder.h"
#include "engine/nn/roofline/roofline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static float *drawn(size_t n, uint64_t index)
{
    struct random r = random_stream(5, 1, index);
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = random_uniform(&r, -1, 1);
    return x;
}

static void compare(const struct ladder_rung *rung, struct ladder_sizes s, const float *a, const float *b)
{
    struct error e = {0};
    size_t elements = (size_t)s.m * s.n;
    float *c = malloc((elements + 1) * sizeof *c);
    for (size_t i = 0; i < elements; i++)
        c[i] = NAN; /* what was there does not matter */
    c[elements] = 42;
    if (!rung->product(s, a, b, c, &e))
        fail_msg("%s: %s", rung->name, e.text);
    for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++) {
            double sum = 0, size = 0;
            for (int p = 0; p < s.k; p++) {
                double product = (double)a[(size_t)i * s.k + p] * b[(size_t)p * s.n + j];
                sum += product;
                size += fabs(product);
            }
            float ours = c[(size_t)i * s.n + j];
            if (!(fabs(ours - sum) <= s.k * 0.5 * (double)FLT_EPSILON * size + DBL_MIN))
                fail_msg("%s, %d × %d × %d: c[%d][%d] is %g, not %g", rung->name, s.m, s.n, s.k, i, j,
                         (double)ours, sum);
        }
    assert_true(c[elements] == 42); /* nothing was written behind it */
    free(c);
}

static void rungs_multiply(void **state)
{
    (void)state;
    static const struct ladder_sizes sizes[] = {
        {1, 1, 1}, {3, 5, 2}, {6, 16, 256}, {13, 17, 1}, {4, 64, 257}, {97, 33, 300}, {101, 2050, 7},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        float *a = drawn((size_t)sizes[i].m * sizes[i].k, 2 * i),
              *b = drawn((size_t)sizes[i].k * sizes[i].n, 2 * i + 1);
        for (int r = 0; r < LADDER_RUNGS; r++)
            compare(&ladder_rungs[r], sizes[i], a, b);
        free(a);
        free(b);
    }
}

static void measured_rungs_are_within_rounding(void **state)
{
    (void)state;
    for (int r = 0; r < LADDER_RUNGS; r++) {
        struct ladder_result result;
        assert_true(ladder_measure(&ladder_rungs[r], 70, 0, &result, NULL));
        assert_true(result.time_s > 0 && isfinite(result.time_s));
        assert_true(result.times >= 3);
        assert_true(result.error <= result.bound);
        assert_true(result.bound == 70 * 0.5 * (double)FLT_EPSILON);
    }
}

static bool nearly(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    bool ok = ladder_order(s, a, b, c, e);
    c[0] += 1e-2F;
    return ok;
}

static bool lazy(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    float last = c[(size_t)s.m * s.n - 1];
    bool ok = ladder_order(s, a, b, c, e);
    c[(size_t)s.m * s.n - 1] = last;
    return ok;
}

static bool broken(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    (void)s, (void)a, (void)b, (void)c;
    return error_set(e, ERROR_FAILED, "no product today");
}

static void a_wrong_product_is_found(void **state)
{
    (void)state;
    struct ladder_result result;
    struct error e = {0};
    assert_true(ladder_measure(&(struct ladder_rung){"nearly", "", nearly}, 32, 0, &result, NULL));
    assert_true(result.error > result.bound);
    assert_true(ladder_measure(&(struct ladder_rung){"lazy", "", lazy}, 32, 0, &result, NULL));
    assert_true(isinf(result.error));
    assert_false(ladder_measure(&(struct ladder_rung){"broken", "", broken}, 32, 0, &result, &e));
    assert_string_equal(e.text, "no product today");
}

static void costs(void **state)
{
    (void)state;
    struct ladder_sizes s = {.m = 2, .n = 3, .k = 4};
    assert_true(ladder_flops(s) == 48);  /* 6 elements of 4 multiplications and 4 additions */
    assert_true(ladder_bytes(s) == 104); /* 8 + 12 + 6 floats */
}

static void the_roof(void **state)
{
    (void)state;
    assert_true(roofline_at(100, 10, 5) == 50);
    assert_true(roofline_at(100, 10, 10) == 100);
    assert_true(roofline_at(100, 10, 1000) == 100);
    for (int threads = 1; threads <= 2; threads++) {
        struct roofline_bandwidth b;
        double peak = roofline_peak(threads, 0.01);
        assert_true(peak > 0 && isfinite(peak));
        assert_true(roofline_bandwidth(threads, 0, &b, NULL));
        assert_true(b.triad > 0 && isfinite(b.triad) && b.copy > 0 && isfinite(b.copy));
        assert_true(!b.beyond_cache || b.array_bytes >= 4 * roofline_cache_bytes());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rungs_multiply),
        cmocka_unit_test(measured_rungs_are_within_rounding),
        cmocka_unit_test(a_wrong_product_is_found),
        cmocka_unit_test(costs),
        cmocka_unit_test(the_roof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
