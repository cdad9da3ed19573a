/* The functions of cpu_math.h against those of the C library in double, over all sizes that a float can have. */
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_math.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

enum { STRIDE = 1021 }; /* of all 2³² floats, one of so many */

/* Compiled for each instruction set, as the engine's loops are: with fused multiply-adds and without. */
CPU_KERNEL static void exp_all(const float *x, float *y)
{
    lanes_store(y, lanes_exp(lanes_load(x)));
}

CPU_KERNEL static void tanh_all(const float *x, float *y)
{
    lanes_store(y, lanes_tanh(lanes_load(x)));
}

CPU_KERNEL static void sigmoid_all(const float *x, float *y)
{
    lanes_store(y, lanes_sigmoid(lanes_load(x)));
}

CPU_KERNEL static void normal_all(const float *x, float *y)
{
    lanes density;
    lanes_store(y, lanes_normal(lanes_load(x), &density));
}

CPU_KERNEL static void density_all(const float *x, float *y)
{
    lanes density;
    lanes_normal(lanes_load(x), &density);
    lanes_store(y, density);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double normal(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double density(double x)
{
    return exp(-0.5 * x * x) / sqrt(2 * acos(-1));
}

/* Within low ... high the error is at most `relative` of the value and `absolute`. */
static void check(const char *name, void (*ours)(const float *, float *), double (*exact)(double), double low,
                  double high, double relative, double absolute)
{
    float x[LANES], y[LANES];
    long seen = 0;
    double worst = 0;
    for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += (uint64_t)STRIDE * LANES) {
        for (uint64_t k = 0; k < LANES; k++) {
            uint32_t one = (uint32_t)(bits + k * STRIDE);
            memcpy(&x[k], &one, sizeof one);
        }
        ours(x, y);
        for (int k = 0; k < LANES; k++) {
            if (isnan(x[k]) != isnan(y[k]))
                fail_msg("%s(%g) is %g", name, (double)x[k], (double)y[k]);
            if (!((double)x[k] >= low && (double)x[k] <= high))
                continue;
            double expected = exact((double)x[k]),
                   error = fabs((double)y[k] - expected) / (relative * fabs(expected) + absolute);
            seen++;
            worst = error > worst ? error : worst;
            if (!(error <= 1))
                fail_msg("%s(%.9g) is %.9g, exactly %.12g", name, (double)x[k], (double)y[k], expected);
        }
    }
    print_message("%s: %.2f of the error that is allowed, at %ld points\n", name, worst, seen);
    assert_true(seen > 100000);
}

static void functions(void **state)
{
    (void)state;
    check("exp", exp_all, exp, -87, 88, 1e-7, 1e-44);
    check("sigmoid", sigmoid_all, sigmoid, -87, INFINITY, 2e-7, 1e-44);
    check("tanh", tanh_all, tanh, -INFINITY, INFINITY, 2e-7, 1e-44);
    check("normal", normal_all, normal, -INFINITY, INFINITY, 0, 3e-7);
    check("density", density_all, density, -INFINITY, INFINITY, 0, 1e-7);
}

/* Beyond what a float can hold: still finite, still in order. */
static void extremes(void **state)
{
    (void)state;
    const float x[LANES] = {-INFINITY, -1e30f, -100, -0.0f, 0, 100, 1e30f, INFINITY};
    float y[LANES];
    exp_all(x, y);
    for (int k = 0; k < LANES; k++)
        assert_true(isfinite(y[k]) && y[k] > 0);
    assert_true(y[0] < 1e-37f && y[7] > 1e38f && y[3] == 1 && y[4] == 1);
    tanh_all(x, y);
    assert_true(y[0] == -1 && y[2] == -1 && y[3] == 0 && y[5] == 1 && y[7] == 1);
    sigmoid_all(x, y);
    assert_true(y[0] < 1e-37f && y[4] == 0.5f && y[7] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions), cmocka_unit_test(extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
