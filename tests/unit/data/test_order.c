/*
 * The order of samples with unequal shares: how many steps each rank has, every sample of the full batches once, and
 * equal shares no different from none.
 */
#include "engine/data/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 1000 };

static void test_equal_shares_are_none(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 4; ranks++)
        for (int batch = 1; batch <= 40; batch += 13) {
            struct order even, shared;
            const int shares[4] = {7, 7, 7, 7};
            assert_true(order_init(&even, ROWS, ranks, batch, 3, NULL));
            assert_true(order_init_shares(&shared, ROWS, ranks, batch, shares, 3, NULL));
            assert_int_equal(even.steps_per_epoch, ROWS / (ranks * batch));
            assert_int_equal(shared.steps_per_epoch, even.steps_per_epoch);
            for (long step = 0; step < 2 * even.steps_per_epoch; step++)
                for (int r = 0; r < ranks; r++) {
                    const uint32_t *a = order_rows(&even, step, r), *b = order_rows(&shared, step, r);
                    assert_memory_equal(a, b, (size_t)batch * sizeof *a);
                    assert_true(order_reads(&shared, step, r));
                    assert_int_equal(order_readers(&shared, step, r), r);
                }
            order_free(&even);
            order_free(&shared);
        }
}

/* Over one epoch: the batches of each rank, and every sample read once at most; those of the full batches are. */
static void deal(const int *shares, int ranks, int batch, const long *batches, long steps)
{
    struct order o;
    struct error e = {0};
    if (!order_init_shares(&o, ROWS, ranks, batch, shares, 11, &e))
        fail_msg("%s", e.text);
    assert_int_equal(o.steps_per_epoch, steps);
    for (long epoch = 0; epoch < 2; epoch++) {
        int seen[ROWS] = {0};
        long had[8] = {0}, all = 0, dealt = 0;
        uint32_t *permutation = NULL;
        for (long step = 0; step < steps; step++) {
            int readers = 0;
            for (int r = 0; r < ranks; r++) {
                const uint32_t *rows = order_rows(&o, epoch * steps + step, r);
                permutation = o.permutation;
                assert_int_equal(rows != NULL, step < batches[r]);
                assert_int_equal(order_reads(&o, epoch * steps + step, r), rows != NULL);
                if (!rows)
                    continue;
                assert_int_equal(order_readers(&o, epoch * steps + step, r), readers);
                readers++;
                had[r]++;
                assert_int_equal(rows - permutation,
                                 dealt); /* without a gap: the permutation's first samples */
                dealt += batch;
                for (int i = 0; i < batch; i++)
                    seen[rows[i]]++;
            }
            assert_int_equal(order_readers(&o, epoch * steps + step, ranks), readers);
            assert_true(readers > 0);
        }
        for (int r = 0; r < ranks; r++) {
            assert_int_equal(had[r], batches[r]);
            all += batches[r];
        }
        long once = 0;
        for (int i = 0; i < ROWS; i++) {
            assert_true(seen[i] <= 1);
            once += seen[i];
        }
        assert_int_equal(once, all * batch);
    }
    order_free(&o);
}

static void test_deals_by_shares(void **state)
{
    (void)state;
    /* 750 and 250 samples in batches of 16: 46 and 15. */
    deal((const int[]){3, 1}, 2, 16, (const long[]){46, 15}, 46);
    deal((const int[]){1, 3}, 2, 16, (const long[]){15, 46}, 46);
    /* 500, 333 and 166 in batches of 10. */
    deal((const int[]){3, 2, 1}, 3, 10, (const long[]){50, 33, 16}, 50);
    deal((const int[]){1, 97, 1, 1}, 4, 10, (const long[]){1, 97, 1, 1}, 97);
    deal((const int[]){5}, 1, 32, (const long[]){31}, 31);
}

static void test_refuses(void **state)
{
    (void)state;
    struct order o;
    struct error e = {0};
    assert_false(order_init_shares(&o, ROWS, 2, 16, (const int[]){99, 1}, 1, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(
        strstr(e.text, "rank 1 has 10 of the 1000 training samples, which is no full batch of 16"));
    order_free(&o);
    order_free(&o); /* fine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_shares_are_none),
        cmocka_unit_test(test_deals_by_shares),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
