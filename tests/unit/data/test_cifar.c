/* CIFAR's binary version: tiny sets that a script made (tests/golden/make_data.py), absent ones and torn ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/dataset.h"
#include "tests/unit/data/scratch.h"

#include <math.h>
#include <sys/stat.h>

enum { PIXELS = 3 * 32 * 32, RECORD = 1 + PIXELS };

static void open_set(const char *name, enum dataset_part part, struct dataset *d)
{
    struct error e = {0};
    if (!dataset_read(name, part, d, &e))
        fail_msg("%s", e.text);
}

/* Record n of the script: see its text. */
static void hold(const struct dataset *d, uint32_t row, int n, int class, const double mean[3],
                 const double deviation[3])
{
    uint8_t pixels[PIXELS];
    float x[PIXELS];
    int32_t y;
    struct error e = {0};
    assert_true(dataset_pixels(d, row, pixels, &e));
    assert_true(dataset_batch(d, &row, 1, x, &y, &e));
    assert_int_equal(y, class);
    for (int k = 0; k < PIXELS; k++) {
        int c = k / 1024, expected = (7 * n + 50 * c + 3 * (k / 32 % 32) + k % 32) % 256;
        assert_int_equal(pixels[k], expected);
        assert_true(fabs((double)x[k] - (expected / 255.0 - mean[c]) / deviation[c]) < 1e-6);
    }
}

static void test_cifar10(void **state)
{
    (void)state;
    const double mean[] = {0.4914, 0.4822, 0.4465}, deviation[] = {0.2470, 0.2435, 0.2616};
    double exact_mean[] = {0.49139968, 0.48215841, 0.44653091};
    double exact_deviation[] = {0.24703223, 0.24348513, 0.26158784};
    for (int c = 0; c < 3; c++) {
        assert_true(fabs(mean[c] - exact_mean[c]) < 5.1e-5);
        assert_true(fabs(deviation[c] - exact_deviation[c]) < 5.1e-5);
    }
    struct dataset d;
    char text[16];
    open_set("tests/golden/cifar10", DATASET_TRAIN, &d);
    assert_int_equal(d.rows, 5);
    assert_int_equal(d.classes, 10);
    assert_int_equal(d.shape.channels, 3);
    assert_int_equal(d.shape.height, 32);
    assert_int_equal(d.shape.width, 32);
    assert_string_equal(dataset_class(&d, 0, text), "airplane");
    assert_string_equal(dataset_class(&d, 9, text), "truck");
    for (int n = 0; n < 5; n++)
        hold(&d, (uint32_t)n, n, 3 * n % 10, exact_mean, exact_deviation);
    dataset_free(&d);
    open_set("tests/golden/cifar10", DATASET_TEST, &d);
    assert_int_equal(d.rows, 2);
    for (int n = 5; n < 7; n++)
        hold(&d, (uint32_t)n - 5, n, 3 * n % 10, exact_mean, exact_deviation);
    dataset_free(&d);
}

static void test_cifar100(void **state)
{
    (void)state;
    double mean[] = {0.50707516, 0.48654887, 0.44091784};
    double deviation[] = {0.26733429, 0.25643846, 0.27615047};
    struct dataset d;
    char text[16];
    open_set("tests/golden/cifar100", DATASET_TRAIN, &d);
    assert_int_equal(d.rows, 2);
    assert_int_equal(d.classes, 100);
    assert_string_equal(dataset_class(&d, 42, text), "42");
    for (int n = 0; n < 2; n++)
        hold(&d, (uint32_t)n, n, 17 * n % 100, mean, deviation); /* the fine class */
    dataset_free(&d);
    open_set("tests/golden/cifar100", DATASET_TEST, &d);
    hold(&d, 0, 2, 34, mean, deviation);
    dataset_free(&d);
}

static void test_missing(void **state)
{
    (void)state;
    struct dataset d;
    struct error e = {0};
    setenv("RINGSIDE_HOME", scratch, 1);
    assert_false(dataset_read("cifar10", DATASET_TRAIN, &d, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    const char *words[] = {"data_batch_1.bin", "test_batch.bin",           "Krizhevsky", "2009",
                           "162 MB",           "data/cifar-10-batches-bin"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_non_null(strstr(e.text, words[i]));
    assert_false(dataset_read("cifar100", DATASET_TEST, &d, &e));
    assert_non_null(strstr(e.text, "train.bin and test.bin"));
    assert_non_null(strstr(e.text, "data/cifar-100-binary"));
}

/* Found by its name under $RINGSIDE_HOME/data. */
static void test_found_at_home(void **state)
{
    (void)state;
    char folder[128], name[160];
    unsigned char record[RECORD] = {7};
    struct dataset d;
    struct error e = {0};
    setenv("RINGSIDE_HOME", scratch, 1);
    snprintf(folder, sizeof folder, "%s/data", scratch);
    mkdir(folder, 0777);
    snprintf(folder, sizeof folder, "%s/data/cifar-10-batches-bin", scratch);
    mkdir(folder, 0777);
    scratch_write("data/cifar-10-batches-bin/test_batch.bin", record, sizeof record);
    open_set("cifar10", DATASET_TEST, &d);
    assert_int_equal(d.rows, 1);
    dataset_free(&d);
    assert_false(dataset_read("cifar10", DATASET_TRAIN, &d, &e));
    snprintf(name, sizeof name, "no data_batch_1.bin in %s", folder);
    assert_non_null(strstr(e.text, name));
}

static void test_bad_files(void **state)
{
    (void)state;
    unsigned char records[2 * RECORD + 1] = {0};
    struct dataset d;
    struct error e = {0};
    const size_t wrong[] = {0, 1, RECORD - 1, RECORD + 1, 2 * RECORD + 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *path = scratch_write("test_batch.bin", records, wrong[i]);
        assert_false(dataset_read(scratch, DATASET_TEST, &d, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_non_null(strstr(e.text, path));
        assert_non_null(strstr(e.text, "whole number of records"));
    }
    records[RECORD] = 10;
    const char *path = scratch_write("test_batch.bin", records, 2 * RECORD);
    assert_false(dataset_read(scratch, DATASET_TEST, &d, &e));
    assert_non_null(strstr(e.text, path));
    assert_non_null(strstr(e.text, "record 2 has the class 10, expected 0 to 9"));
}

static void test_damaged_files(void **state)
{
    (void)state;
    unsigned char records[3 * RECORD];
    struct random r = random_stream(2, 1, 1);
    for (size_t i = 0; i < sizeof records; i++)
        records[i] = (unsigned char)(i % RECORD ? random_next(&r) : random_below(&r, 10));
    for (int i = 0; i < 2000; i++) {
        size_t bytes;
        unsigned char *bad = damaged(records, sizeof records, &r, &bytes);
        scratch_write("test_batch.bin", bad, bytes);
        struct dataset d;
        struct error e = {0};
        if (dataset_read(scratch, DATASET_TEST, &d, &e)) {
            float x[PIXELS];
            int32_t y;
            for (uint32_t row = 0; row < d.rows; row++) {
                assert_true(dataset_batch(&d, &row, 1, x, &y, &e));
                assert_in_range(y, 0, 9);
            }
            dataset_free(&d);
        } else {
            assert_int_equal(e.kind, ERROR_INPUT);
            assert_non_null(strstr(e.text, "test_batch.bin"));
        }
        free(bad);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cifar10),   cmocka_unit_test(test_cifar100),
        cmocka_unit_test(test_missing),   cmocka_unit_test(test_found_at_home),
        cmocka_unit_test(test_bad_files), cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
