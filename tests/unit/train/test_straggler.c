/* Who is slow, said once, and when it is over: reports worked out by hand. */
#include "engine/train/straggler.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct stragglers s;

static int reset(void **state)
{
    (void)state;
    s = (struct stragglers){0};
    return 0;
}

/* n reports; which news rank r brought in which of them, -1: none. */
static int first_news(const double *compute_s, int ranks, int n, int r, enum straggler_news news)
{
    int first = -1;
    for (int i = 0; i < n; i++) {
        stragglers_take(&s, compute_s, ranks);
        if (first < 0 && s.news[r] == news)
            first = i;
        else
            assert_int_equal(s.news[r], STRAGGLER_SAME);
    }
    return first;
}

static void test_once(void **state)
{
    (void)state;
    const double slow[] = {0.010, 0.021, 0.009, 0.011}, even[] = {0.010, 0.011, 0.009, 0.011};
    assert_int_equal(first_news(slow, 4, 10, 1, STRAGGLER_SLOW), STRAGGLER_REPORTS - 1);
    assert_true(fabs(s.ratio[1] - 2.1) < 1e-9); /* the others' median is 0.010 */
    assert_true(s.slow[1] && !s.slow[0] && !s.slow[2] && !s.slow[3]);
    assert_int_equal(first_news(even, 4, 10, 1, STRAGGLER_RECOVERED), STRAGGLER_REPORTS - 1);
    assert_int_equal(first_news(slow, 4, 3, 1, STRAGGLER_SLOW), STRAGGLER_REPORTS - 1);
}

static void test_hesitates(void **state)
{
    (void)state;
    const double slow[] = {1, 2.5}, even[] = {1, 1}, between[] = {1, 1.7};
    for (int i = 0; i < 20; i++) { /* never so many in a row */
        assert_int_equal(first_news(slow, 2, STRAGGLER_REPORTS - 1, 1, STRAGGLER_SLOW), -1);
        assert_int_equal(first_news(even, 2, 1, 1, STRAGGLER_SLOW), -1);
    }
    assert_int_equal(first_news(between, 2, 20, 1, STRAGGLER_SLOW), -1);
    assert_int_equal(first_news(slow, 2, 3, 1, STRAGGLER_SLOW), STRAGGLER_REPORTS - 1);
    assert_int_equal(first_news(between, 2, 20, 1, STRAGGLER_RECOVERED), -1); /* too slow still */
}

static void test_who(void **state)
{
    (void)state;
    /* With two ranks the other one is the yardstick; the quick one is not called slow, nor is anybody alone. */
    const double two[] = {3, 1}, one[] = {3};
    assert_int_equal(first_news(two, 2, 5, 1, STRAGGLER_SLOW), -1);
    assert_int_equal(first_news(two, 2, 5, 0, STRAGGLER_SAME), 0);
    assert_true(s.slow[0]);
    reset(NULL);
    assert_int_equal(first_news(one, 1, 5, 0, STRAGGLER_SLOW), -1);
    /* Ranks that have no samples left are no yardstick, and half of the ranks are not slow by themselves. */
    const double joins[] = {0.02, 0.02, NAN, NAN}, halves[] = {1, 1, 2, 2};
    for (int r = 0; r < 4; r++)
        assert_int_equal(first_news(joins, 4, 4, r, STRAGGLER_SLOW), -1);
    reset(NULL);
    for (int r = 0; r < 2; r++)
        assert_int_equal(first_news(halves, 4, 4, r, STRAGGLER_SLOW), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_once, reset),
        cmocka_unit_test_setup(test_hesitates, reset),
        cmocka_unit_test_setup(test_who, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
