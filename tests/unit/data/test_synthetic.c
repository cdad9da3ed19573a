/* Made-up data: its statistics are what synthetic.h says, and its names are checked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void open_set(const char *name, enum dataset_part part, struct dataset *d)
{
    struct error e = {0};
    if (!dataset_read(name, part, d, &e))
        fail_msg("%s", e.text);
}

/* Pixels of a cell of one class: one mean in [-1, 1], the same in both parts, deviation 1, other noise in each row. */
static void test_images(void **state)
{
    (void)state;
    struct dataset train, test;
    open_set("synthetic:2x10x6:5:2000", DATASET_TRAIN, &train);
    open_set("synthetic:2x10x6:5:2000", DATASET_TEST, &test);
    assert_int_equal(train.rows, 2000);
    assert_int_equal(test.rows, 400);
    assert_int_equal(train.shape.kind, SHAPE_IMAGE);
    assert_int_equal(dataset_sample_elements(&train), 120);
    double mean[2][120] = {0}, squares[2][120] = {0};
    float x[120];
    int32_t y;
    for (int part = 0; part < 2; part++) {
        const struct dataset *d = part ? &test : &train;
        double n = d->rows / 5.0;
        for (uint32_t row = 3; row < d->rows; row += 5) {
            assert_true(dataset_batch(d, &row, 1, x, &y, NULL));
            assert_int_equal(y, 3);
            for (int k = 0; k < 120; k++) {
                mean[part][k] += (double)x[k] / n;
                squares[part][k] += (double)(x[k] * x[k]) / n;
            }
        }
        for (int k = 0; k < 120; k++) {
            assert_true(fabs(mean[part][k]) < 1 + 6 / sqrt(n));
            assert_true(fabs(squares[part][k] - mean[part][k] * mean[part][k] - 1) < 6 / sqrt(n));
        }
    }
    for (int k = 0; k < 120; k++) {
        assert_true(fabs(mean[0][k] - mean[1][k]) < 6 * sqrt(1.0 / 400 + 1.0 / 80));
        if (k % 60 < 12 && k % 6 < 2) /* rows 0 and 1 of 10, columns 0 and 1 of 6: one cell */
            assert_true(fabs(mean[0][k] - mean[0][k / 60 * 60]) < 6 * sqrt(2.0 / 400));
    }
    float again[120];
    uint32_t row = 3;
    assert_true(dataset_batch(&train, &row, 1, x, &y, NULL));
    assert_true(dataset_batch(&train, &row, 1, again, &y, NULL));
    assert_memory_equal(x, again, sizeof x); /* the same row, the same bits */
    assert_true(dataset_batch(&test, &row, 1, again, &y, NULL));
    assert_memory_not_equal(x, again, sizeof x);
    row = 8;
    assert_true(dataset_batch(&train, &row, 1, again, &y, NULL));
    assert_memory_not_equal(x, again, sizeof x);
    uint8_t pixels[120];
    assert_true(dataset_pixels(&train, row, pixels, NULL));
    for (int k = 0; k < 120; k++)
        assert_true(fabs(((double)again[k] + 4) * 32 - pixels[k]) <= 1);
    dataset_free(&train);
    dataset_free(&test);
}

/* A quarter of the tokens are the class's own, and of the others every third is so by chance: 1/4 + 3/4 · 1/3 = 1/2. */
static void test_tokens(void **state)
{
    (void)state;
    struct dataset d;
    open_set("synthetic:50@999:3:2000", DATASET_TRAIN, &d);
    assert_int_equal(d.shape.kind, SHAPE_TOKENS);
    assert_int_equal(d.vocabulary, 999);
    assert_int_equal(d.targets, 1);
    long own = 0;
    for (uint32_t row = 0; row < d.rows; row++) {
        int32_t x[50], y;
        assert_true(dataset_batch(&d, &row, 1, x, &y, NULL));
        for (int k = 0; k < 50; k++) {
            assert_in_range(x[k], 0, 998);
            own += x[k] % 3 == y;
        }
    }
    assert_true(fabs(own / 1e5 - 0.5) < 6 * 0.5 / sqrt(1e5));
    assert_null(dataset_token(&d, 0));
    assert_false(dataset_pixels(&d, 0, NULL, NULL));
    dataset_free(&d);
}

/* Three quarters follow the rule, and of the others one in 65 by chance. */
static void test_next(void **state)
{
    (void)state;
    struct dataset d;
    open_set("synthetic:64@65:next:2000", DATASET_TRAIN, &d);
    assert_int_equal(d.classes, 65);
    assert_int_equal(d.targets, 64);
    long ruled = 0;
    for (uint32_t row = 0; row < d.rows; row++) {
        int32_t x[64], y[64];
        assert_true(dataset_batch(&d, &row, 1, x, y, NULL));
        assert_memory_equal(x + 1, y, 63 * sizeof *x);
        for (int k = 0; k < 64; k++) {
            assert_in_range(y[k], 0, 64);
            ruled += y[k] == (5 * x[k] + 1) % 65;
        }
    }
    double p = 0.75 + 0.25 / 65;
    assert_true(fabs(ruled / 128000.0 - p) < 6 * sqrt(p * (1 - p) / 128000));
    dataset_free(&d);
}

static void test_names(void **state)
{
    (void)state;
    struct dataset d;
    struct error e = {0};
    static const char *const bad[] = {
        "synthetic:",           "synthetic:784",
        "synthetic:784:10",     "synthetic:784:10:",
        "synthetic:784:10:5x",  "synthetic:784:0:5",
        "synthetic:784:10:0",   "synthetic:-1:10:5",
        "synthetic:28x28:10:5", "synthetic:1x2x3x4:10:5",
        "synthetic:1xx3:10:5",  "synthetic:5000x5000x5000:10:5",
        "synthetic:784:next:5", "synthetic:3x4@5:2:5",
        "synthetic:10@0:2:5",   "synthetic:99999999999999999999:2:5",
        "synthetic:10@5:6:100", /* more classes than tokens */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (dataset_read(bad[i], DATASET_TRAIN, &d, &e))
            fail_msg("%s was accepted", bad[i]);
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_non_null(strstr(e.text, bad[i]));
    }
    open_set("synthetic:784:10:3", DATASET_TEST, &d);
    assert_int_equal(d.rows, 1); /* at least one */
    dataset_free(&d);
    assert_false(dataset_read("minst", DATASET_TRAIN, &d, &e));
    assert_non_null(strstr(e.text, "text-words"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
