/*
 * Student's t against the table in every textbook, an interval worked by hand, and a quotient's.
 */
#include "engine/base/interval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

/* The column for 0.975 (two-sided 95 %) of the table as NIST/SEMATECH's e-Handbook of Statistical Methods, 1.3.6.7.2, prints it. */
static void students_table(void **state)
{
    (void)state;
    static const struct {
        int freedom;
        double t;
    } TABLE[] = {{1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},  {6, 2.447},
                 {7, 2.365},  {8, 2.306},  {9, 2.262},  {10, 2.228}, {15, 2.131}, {20, 2.086},
                 {25, 2.060}, {30, 2.042}, {40, 2.021}, {60, 2.000}, {100, 1.984}};
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++)
        assert_float_equal(student_95(TABLE[i].freedom), TABLE[i].t, 0.0006);
    assert_float_equal(student_95(100000), 1.959964, 1e-4); /* the normal distribution's */
    assert_true(isnan(student_95(0)));
}

/* 10, 12, 14: mean 12, s = 2, t(2) = 4.303, half = 4.303 * 2 / sqrt(3). */
static void interval_by_hand(void **state)
{
    (void)state;
    const double values[] = {10, NAN, 12, 14};
    struct interval r = interval_of(values, 4);
    assert_int_equal(r.n, 3);
    assert_float_equal(r.mean, 12, 1e-12);
    assert_float_equal(r.half, 4.303 * 2 / sqrt(3), 0.001);
    r = interval_of(values, 1);
    assert_int_equal(r.n, 1);
    assert_float_equal(r.mean, 10, 0);
    assert_true(isnan(r.half));
    r = interval_of(&values[1], 1);
    assert_true(r.n == 0 && isnan(r.mean) && isnan(r.half));
}

/* (20 +- 2) / (10 +- 1): 2 +- 2 sqrt(0.01 + 0.01). */
static void quotient(void **state)
{
    (void)state;
    struct interval r = interval_ratio((struct interval){20, 2, 5}, (struct interval){10, 1, 3});
    assert_float_equal(r.mean, 2, 1e-12);
    assert_float_equal(r.half, 2 * sqrt(0.02), 1e-12);
    assert_int_equal(r.n, 3);
    assert_true(isnan(interval_ratio((struct interval){20, NAN, 1}, (struct interval){10, 1, 3}).half));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(students_table),
        cmocka_unit_test(interval_by_hand),
        cmocka_unit_test(quotient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
