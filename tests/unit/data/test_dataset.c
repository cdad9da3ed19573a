/* The embedded MNIST, and the order in which ranks read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/dataset.h"
#include "engine/data/mnist.h"
#include "engine/data/order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Counts of each digit, as published with the dataset and widely quoted: 5 923 zeros, 6 742 ones ... */
static const long train_digits[10] = {5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949};
static const long test_digits[10] = {980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009};

static void count_digits(const struct dataset *d, const long expected[10])
{
    long count[10] = {0};
    float image[784];
    for (uint32_t i = 0; i < d->rows; i++) {
        int32_t class;
        assert_true(dataset_batch(d, &i, 1, image, &class, NULL));
        count[class]++;
    }
    for (int k = 0; k < 10; k++)
        assert_int_equal(count[k], expected[k]);
}

static void test_mnist(void **state)
{
    (void)state;
    struct dataset d;
    struct error e = {0};
    if (!dataset_read("mnist", DATASET_TRAIN, &d, &e))
        fail_msg("%s", e.text);
    assert_int_equal(d.rows, 60000);
    assert_int_equal(d.shape.height, 28);
    assert_int_equal(d.shape.width, 28);
    count_digits(&d, train_digits);

    /* The constants of mnist.h, computed over all training pixels. */
    double sum = 0, squares = 0, n = 60000.0 * 784;
    uint8_t pixels[784];
    for (uint32_t i = 0; i < 60000; i++) {
        assert_true(dataset_pixels(&d, i, pixels, &e));
        for (int k = 0; k < 784; k++) {
            double p = pixels[k] / 255.0;
            sum += p;
            squares += p * p;
        }
    }
    double mean = sum / n, deviation = sqrt(squares / n - mean * mean);
    assert_true(fabs(mean - MNIST_MEAN) < 5e-5);
    assert_true(fabs(deviation - MNIST_DEVIATION) < 5e-5);

    const uint32_t which[2] = {59999, 0};
    float batch[2 * 784];
    int32_t labels[2];
    assert_true(dataset_batch(&d, which, 2, batch, labels, &e));
    assert_int_equal(labels[0], 8); /* the last and the first image of the training set */
    assert_int_equal(labels[1], 5);
    assert_true(dataset_pixels(&d, 0, pixels, &e));
    for (int k = 0; k < 784; k++) {
        double expected = (pixels[k] / 255.0 - 0.1307) / 0.3081;
        assert_true(fabs((double)batch[784 + k] - expected) < 1e-6);
    }
    dataset_free(&d);

    if (!dataset_read("mnist", DATASET_TEST, &d, &e))
        fail_msg("%s", e.text);
    assert_int_equal(d.rows, 10000);
    count_digits(&d, test_digits);
    dataset_free(&d);
}

static void expect_refused(const char *name, const char *const words[])
{
    struct dataset d;
    struct error e = {0};
    assert_false(dataset_read(name, DATASET_TRAIN, &d, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    for (; *words; words++)
        if (!strstr(e.text, *words))
            fail_msg("expected \"%s\" in \"%s\"", *words, e.text);
}

/* Nothing there; a folder without any of the files; one that lacks three of the four. */
static void test_missing(void **state)
{
    (void)state;
    char folder[] = "/tmp/ringside-dataset-XXXXXX", file[64];
    assert_non_null(mkdtemp(folder));
    expect_refused("/nowhere/at/all",
                   (const char *[]){"got '/nowhere/at/all', which is not there", "cifar10", NULL});
    expect_refused(folder, (const char *[]){folder, "train-images-idx3-ubyte", "LeCun", "Krizhevsky", NULL});
    snprintf(file, sizeof file, "%s/train-images-idx3-ubyte", folder);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fclose(f);
    expect_refused(folder, (const char *[]){folder, "no train-labels-idx1-ubyte.gz", "LeCun", NULL});
    unlink(file);
    rmdir(folder);
}

/* Two ranks of 64 see together, step by step, what one rank of 128 sees. */
static void test_order_does_not_depend_on_ranks(void **state)
{
    (void)state;
    struct order one, two;
    struct error e = {0};
    assert_true(order_init(&one, 1000, 1, 128, 7, &e));
    assert_true(order_init(&two, 1000, 2, 64, 7, &e));
    assert_int_equal(one.steps_per_epoch, 7);
    assert_int_equal(two.steps_per_epoch, 7);
    for (long step = 0; step < 20; step++)
        for (int rank = 0; rank < 2; rank++) {
            const uint32_t *all = order_rows(&one, step, 0);
            assert_memory_equal(order_rows(&two, step, rank), all + 64 * rank, 64 * sizeof *all);
        }
    order_free(&one);
    order_free(&two);
}

static void test_each_sample_once_an_epoch(void **state)
{
    (void)state;
    struct order o;
    struct error e = {0};
    assert_true(order_init(&o, 96, 3, 8, 1, &e)); /* 4 steps of 24 */
    uint32_t before[8];
    memcpy(before, order_rows(&o, 0, 0), sizeof before);
    for (long epoch = 0; epoch < 3; epoch++) {
        int seen[96] = {0};
        for (long step = 0; step < 4; step++)
            for (int rank = 0; rank < 3; rank++) {
                const uint32_t *rows = order_rows(&o, 4 * epoch + step, rank);
                for (int i = 0; i < 8; i++)
                    seen[rows[i]]++;
            }
        for (int i = 0; i < 96; i++)
            assert_int_equal(seen[i], 1);
    }
    assert_memory_not_equal(before, order_rows(&o, 4, 0), sizeof before); /* shuffled anew */
    order_free(&o);
}

static void test_batch_larger_than_the_set(void **state)
{
    (void)state;
    struct order o;
    struct error e = {0};
    assert_false(order_init(&o, 100, 2, 51, 1, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "at most 50"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mnist),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_order_does_not_depend_on_ranks),
        cmocka_unit_test(test_each_sample_once_an_epoch),
        cmocka_unit_test(test_batch_larger_than_the_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
