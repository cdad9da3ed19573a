/* Shares as they are written. */
#include "engine/spec/job.h"
#include "engine/spec/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void test_read(void **state)
{
    (void)state;
    int shares[3] = {0};
    assert_true(shares_parse("3,1,1000000", 3, shares, NULL));
    assert_int_equal(shares[0], 3);
    assert_int_equal(shares[1], 1);
    assert_int_equal(shares[2], SHARE_MOST);
    assert_true(shares_parse("", 3, shares, NULL));
    assert_int_equal(shares[0] + shares[1] + shares[2], 3);
    assert_true(shares_parse("7", 1, shares, NULL));
    assert_int_equal(shares[0], 7);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "3",      "3,1,2,4", "3,1,",  ",3,1",  "3,,1", "0,1,1",       "-1,1,1",
        "3 ,1,1", "1.5,1,1", "a,b,c", "3;1;1", " ",    "1000001,1,1", "99999999999999999999,1,1"};
    int shares[3];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct error e = {0};
        if (shares_parse(wrong[i], 3, shares, &e))
            fail_msg("'%s' was taken", wrong[i]);
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_int_equal(strncmp(e.text, "shares: ", 8), 0);
    }
}

static void test_job(void **state)
{
    (void)state;
    struct job job;
    struct error e = {0};
    job_defaults(&job, JOB_TRAIN);
    strcpy(job.train.shares, "3,1");
    assert_true(job_validate(&job, &e));
    job.train.reproducible = true;
    assert_false(job_validate(&job, &e));
    assert_non_null(strstr(e.text, "shares: not together with reproducible"));
    job.train.reproducible = false;
    job.ranks = 3;
    assert_false(job_validate(&job, &e));
    assert_string_equal(e.text, "shares: 2 of them for 3 ranks; expected one for each");
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_job)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
