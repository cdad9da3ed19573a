/*
 * Every rung of the GPU's ladders, under emulation, against float64: sizes that are no multiples of a tile, rows that do not
 * begin at multiples of 16 bytes, one element. Sums are of whole numbers, exact in any order: they must be right to the bit.
 */
#include "engine/base/random.h"
#include "kernels/emulation/emulation.h"
#include "kernels/ladder/ladder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct gpu_ladder_sizes products[] = {{1, 1, 1}, {33, 65, 17}, {70, 130, 41}, {129, 31, 8}};
static const struct gpu_ladder_sizes sums[] = {{1, 1, 1}, {1, 255, 1}, {7, 1001, 1}, {130, 514, 1}};
static const struct gpu_ladder_sizes rows[] = {{1, 1, 1}, {3, 1000, 1}, {5, 1537, 1}, {2, 4096, 1}};

static float *numbers(size_t n, bool whole)
{
    float *x = malloc((n + 1) * sizeof *x);
    struct random r = random_stream(3, 7, n);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = whole ? roundf(random_uniform(&r, -8, 8)) : random_uniform(&r, -4, 4);
    return x;
}

static bool run(int rung, struct gpu_ladder_sizes s, const float *a, const float *b, float *c)
{
    struct error e = {0};
    double time_s = -1;
    int times = 0;
    bool ok = gpu_rung_run(0, rung, s, a, b, c, 0, &time_s, &times, &e);
    if (gpu_rungs[rung].real_only) {
        assert_false(ok);
        assert_int_equal(e.kind, ERROR_MISSING);
        return false;
    }
    if (!ok)
        fail_msg("%s %s: %s", gpu_rungs[rung].ladder, gpu_rungs[rung].name, e.text);
    assert_true(time_s >= 0 && times >= 3);
    return true;
}

static void check_product(int rung, struct gpu_ladder_sizes s)
{
    float *a = numbers((size_t)s.rows * s.depth, false), *b = numbers((size_t)s.depth * s.columns, false),
          *c = numbers((size_t)s.rows * s.columns, false);
    if (run(rung, s, a, b, c))
        for (int i = 0; i < s.rows; i++)
            for (int j = 0; j < s.columns; j++) {
                double sum = 0, size = 0;
                for (int p = 0; p < s.depth; p++) {
                    double one = (double)a[i * s.depth + p] * b[p * s.columns + j];
                    sum += one;
                    size += fabs(one);
                }
                /* N. J. Higham, Accuracy and stability of numerical algorithms, section 3.1 */
                double off = fabs(c[i * s.columns + j] - sum);
                if (!(off <= (s.depth + 1) * 0.5 * FLT_EPSILON * size))
                    fail_msg("product %s, %d x %d, depth %d: element %d, %d is off by %g",
                             gpu_rungs[rung].name, s.rows, s.columns, s.depth, i, j, off);
            }
    free(a);
    free(b);
    free(c);
}

static void check_sum(int rung, struct gpu_ladder_sizes s)
{
    size_t n = (size_t)s.rows * s.columns;
    float *a = numbers(n, true), c = NAN;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i];
    run(rung, s, a, NULL, &c);
    if (c != (float)sum)
        fail_msg("sum %s of %zu: %g, not %g", gpu_rungs[rung].name, n, c, sum);
    free(a);
}

static void check_softmax(int rung, struct gpu_ladder_sizes s)
{
    size_t n = (size_t)s.rows * s.columns;
    float *a = numbers(n, false), *c = numbers(n, false);
    a[0] = 80; /* its exponential alone is near the end of what a float holds */
    run(rung, s, a, NULL, c);
    for (int i = 0; i < s.rows; i++) {
        const float *x = a + (size_t)i * s.columns;
        double max = -INFINITY, sum = 0;
        for (int j = 0; j < s.columns; j++)
            max = fmax(max, x[j]);
        for (int j = 0; j < s.columns; j++)
            sum += exp(x[j] - max);
        for (int j = 0; j < s.columns; j++) {
            double wanted = exp(x[j] - max) / sum, got = c[(size_t)i * s.columns + j];
            if (!(fabs(got - wanted) <= 2e-5 * wanted + 1e-37))
                fail_msg("softmax %s, row of %d: element %d is %g, not %g", gpu_rungs[rung].name, s.columns,
                         j, got, wanted);
        }
    }
    free(a);
    free(c);
}

static void rungs_are_right(void **state)
{
    (void)state;
    for (int rung = 0; rung < GPU_RUNGS; rung++)
        for (int i = 0; i < 4; i++) {
            emulation_seed((uint64_t)rung * 4 + (uint64_t)i);
            if (!strcmp(gpu_rungs[rung].ladder, "product"))
                check_product(rung, products[i]);
            else if (!strcmp(gpu_rungs[rung].ladder, "sum"))
                check_sum(rung, sums[i]);
            else
                check_softmax(rung, rows[i]);
        }
}

static void sizes_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    struct error e = {0};
    double time_s;
    int times;
    float x = 0;
    for (int rung = 0; rung < GPU_RUNGS; rung++) {
        if (gpu_rungs[rung].real_only)
            continue;
        struct gpu_ladder_sizes none = {0, 4, 4}, wide = {1, 4097, 1}, long_row = {1, 524281, 1};
        assert_false(gpu_rung_run(0, rung, none, &x, &x, &x, 0, &time_s, &times, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        if (strcmp(gpu_rungs[rung].ladder, "product") == 0) {
            assert_false(gpu_rung_run(0, rung, long_row, &x, &x, &x, 0, &time_s, &times, &e));
            assert_non_null(strstr(e.text, "524280"));
        }
        if (strcmp(gpu_rungs[rung].ladder, "softmax") != 0)
            continue;
        assert_false(gpu_rung_run(0, rung, wide, &x, &x, &x, 0, &time_s, &times, &e));
        assert_non_null(strstr(e.text, "4096"));
    }
}

/* Its figures mean nothing under emulation: only that there are some, and that no kernel does what it must not. */
static void roofs_are_measured(void **state)
{
    (void)state;
    struct error e = {0};
    struct gpu_roof roof;
    if (!gpu_roof_measure(0, 0, &roof, &e))
        fail_msg("%s", e.text);
    assert_true(roof.flops_per_s > 0 && roof.copy_bytes_per_s > 0);
    assert_true(roof.array_bytes > 0 && roof.array_bytes % 16 == 0);
    assert_true(roof.tensor_flops_per_s == 0); /* the emulation has no tensor cores */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rungs_are_right),
        cmocka_unit_test(sizes_that_do_not_fit_are_refused),
        cmocka_unit_test(roofs_are_measured),
    };
    return cmocka_run_group_tests_name("the GPU's ladders", tests, NULL, NULL);
}
