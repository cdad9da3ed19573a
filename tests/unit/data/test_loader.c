/* The prefetching loader: what it gives is what the order says, whoever makes it, from any step, in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/data/loader.h"
#include "engine/data/source.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 100, BROKEN_ROW = 77 };

/* Samples of one pixel that is the row's number; the source can be told to fail at one row, and to dawdle. */
struct counting {
    bool broken;
    long delay_ns;
};

static bool count_batch(const struct dataset *d, const uint32_t *which, int n, void *inputs, int32_t *classes,
                        struct error *e)
{
    const struct counting *c = d->self;
    nanosleep(&(struct timespec){.tv_nsec = c->delay_ns}, NULL);
    for (int i = 0; i < n; i++) {
        if (c->broken && which[i] == BROKEN_ROW)
            return error_set(e, ERROR_INPUT, "row %u is torn", which[i]);
        ((float *)inputs)[i] = (float)which[i];
        classes[i] = (int32_t)which[i] % 10;
    }
    return true;
}

static void count_close(struct dataset *d)
{
    (void)d;
}

static const struct dataset_source counting_source = {.batch = count_batch, .close = count_close};

static struct dataset counting_dataset(struct counting *c)
{
    return (struct dataset){.rows = ROWS,
                            .shape = {.channels = 1, .height = 1, .width = 1},
                            .classes = 10,
                            .targets = 1,
                            .source = &counting_source,
                            .self = c};
}

/* 30 steps of the loader beside the order itself. shares: of two ranks. */
static void follow_shares(bool ahead, int part, long first_step, int rank, const int *shares)
{
    struct counting c = {.delay_ns = 10000};
    struct dataset d = counting_dataset(&c);
    struct order own, expected;
    struct error e = {0};
    assert_true(order_init_shares(&own, ROWS, 2, 12, shares, 5, &e));
    assert_true(order_init_shares(&expected, ROWS, 2, 12, shares, 5, &e));
    struct loader *l = loader_new(
        &(struct loader_spec){
            .data = &d, .order = &own, .rank = rank, .part = part, .first_step = first_step, .ahead = ahead},
        &e);
    assert_non_null(l);
    double data_s = 0, before = 0;
    for (long step = first_step; step < first_step + 30; step++) {
        const uint32_t *rows = order_rows(&expected, step, rank);
        if (!rows)
            continue;
        for (int p = 0; p < 12; p += part) {
            float x[12];
            int32_t classes[12];
            if (!loader_next(l, x, classes, &data_s, &e))
                fail_msg("%s", e.text);
            assert_true(data_s > before);
            before = data_s;
            for (int i = 0; i < part; i++) {
                assert_int_equal((uint32_t)x[i], rows[p + i]);
                assert_int_equal(classes[i], rows[p + i] % 10);
            }
        }
    }
    loader_free(l);
    order_free(&own);
    order_free(&expected);
}

static void follow(bool ahead, int part, long first_step, int rank)
{
    follow_shares(ahead, part, first_step, rank, NULL);
}

static void test_follows_the_order(void **state)
{
    (void)state;
    for (int ahead = 0; ahead < 2; ahead++) {
        follow(ahead, 12, 0, 0);
        follow(ahead, 12, 0, 1);
        follow(ahead, 4, 0, 1);    /* three parts a step */
        follow(ahead, 6, 1001, 0); /* resumed in a later epoch */
        follow_shares(ahead, 4, 0, 1, (const int[]){3, 1});
        follow_shares(ahead, 12, 5, 1, (const int[]){5, 1}); /* where it has none left */
    }
}

static void test_part_must_divide(void **state)
{
    (void)state;
    struct counting c = {0};
    struct dataset d = counting_dataset(&c);
    struct order o;
    struct error e = {0};
    assert_true(order_init(&o, ROWS, 1, 12, 5, &e));
    assert_null(loader_new(&(struct loader_spec){.data = &d, .order = &o, .part = 5}, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    order_free(&o);
}

/* Good parts made before the torn one are given first; then each call says the same. */
static void test_error_comes_with_its_part(void **state)
{
    (void)state;
    for (int ahead = 0; ahead < 2; ahead++) {
        struct counting c = {.broken = true};
        struct dataset d = counting_dataset(&c);
        struct order own, expected;
        struct error e = {0};
        assert_true(order_init(&own, ROWS, 1, 10, 3, &e));
        assert_true(order_init(&expected, ROWS, 1, 10, 3, &e));
        long torn = 0;
        for (bool found = false; !found; torn += !found) {
            const uint32_t *rows = order_rows(&expected, torn, 0);
            for (int i = 0; i < 10; i++)
                found = found || rows[i] == BROKEN_ROW;
        }
        struct loader *l =
            loader_new(&(struct loader_spec){.data = &d, .order = &own, .part = 10, .ahead = ahead}, &e);
        float x[10];
        int32_t classes[10];
        double data_s = 0;
        for (long step = 0; step < torn; step++)
            assert_true(loader_next(l, x, classes, &data_s, &e));
        assert_false(loader_next(l, x, classes, &data_s, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_string_equal(e.text, "row 77 is torn");
        loader_free(l);
        order_free(&own);
        order_free(&expected);
    }
}

/* Freed at any moment: before anything was taken, while the thread makes a part, and after a few. */
static void test_ends_at_any_moment(void **state)
{
    (void)state;
    for (int taken = 0; taken < 4; taken++)
        for (int delay = 0; delay < 3; delay++) {
            struct counting c = {.delay_ns = delay * 1000000L};
            struct dataset d = counting_dataset(&c);
            struct order o;
            struct error e = {0};
            assert_true(order_init(&o, ROWS, 1, 10, 3, &e));
            struct loader *l =
                loader_new(&(struct loader_spec){.data = &d, .order = &o, .part = 10, .ahead = true}, &e);
            float x[10];
            int32_t classes[10];
            double data_s = 0;
            for (int i = 0; i < taken; i++)
                assert_true(loader_next(l, x, classes, &data_s, &e));
            loader_free(l);
            order_free(&o);
        }
    loader_free(NULL);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* With two batches ready and nobody asking, the thread sleeps: a fifth of a second costs next to no processor time. */
static void test_does_not_spin(void **state)
{
    (void)state;
    struct counting c = {0};
    struct dataset d = counting_dataset(&c);
    struct order o;
    struct error e = {0};
    assert_true(order_init(&o, ROWS, 1, 10, 3, &e));
    struct loader *l =
        loader_new(&(struct loader_spec){.data = &d, .order = &o, .part = 10, .ahead = true}, &e);
    float x[10];
    int32_t classes[10];
    double data_s = 0;
    assert_true(loader_next(l, x, classes, &data_s, &e));
    double before = cpu_seconds();
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    assert_true(cpu_seconds() - before < 0.1);
    loader_free(l);
    order_free(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follows_the_order),
        cmocka_unit_test(test_part_must_divide),
        cmocka_unit_test(test_error_comes_with_its_part),
        cmocka_unit_test(test_ends_at_any_moment),
        cmocka_unit_test(test_does_not_spin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
