/*
 * A link that is slowed on purpose, as text: what is read, what is told again, what is refused, and what the cost
 * model makes of it.
 */
#include "engine/spec/job.h"
#include "engine/spec/slow_link.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void reads(const char *rate, const char *latency, const char *words)
{
    struct slow_link l;
    struct error e = {0};
    char text[SLOW_LINK_TEXT];
    if (!slow_link_parse(&l, rate, latency, 4, &e))
        fail_msg("'%s', '%s': %s", rate, latency, e.text);
    slow_link_text(&l, text, sizeof text);
    assert_string_equal(text, words);
}

static void test_texts(void **state)
{
    (void)state;
    reads("1Gbps", "", "slowed on purpose: 1 Gbit/s");
    reads("2.5Gbps", "50us", "slowed on purpose: 2.5 Gbit/s, 50 us");
    reads("100Mbps,2=500kbps,3=1Gbps", "50us,0=1.5ms",
          "slowed on purpose: 100 Mbit/s (rank 2: 500 kbit/s, rank 3: 1 Gbit/s), 50 us (rank 0: 1.5 ms)");
    reads("3=10Mbit/s", "", "slowed on purpose: full speed (rank 3: 10 Mbit/s)");
    reads("", "800ns", "slowed on purpose: latency 800 ns");
    reads("", "1s", "slowed on purpose: latency 1 s");
}

static void test_values(void **state)
{
    (void)state;
    struct slow_link l;
    assert_true(slow_link_parse(&l, "1Gbps,2=100Mbps", "1=5ms", 4, NULL));
    assert_float_equal(slow_link_rate(&l, 0), 1e9, 1);
    assert_float_equal(slow_link_rate(&l, 2), 1e8, 1);
    assert_float_equal(slow_link_latency(&l, 0), 0, 0);
    assert_float_equal(slow_link_latency(&l, 1), 5e-3, 1e-9);
    const struct cost_link real = {.alpha = 2e-6, .beta = 1e-10, .gamma = 3e-10};
    struct cost_link cost = slow_link_cost(&l, 4, &real); /* the slowest: 100 Mbit/s are 80 ns a byte */
    assert_float_equal(cost.alpha, 5e-3, 1e-9);
    assert_float_equal(cost.beta, 80e-9, 1e-15);
    assert_float_equal(cost.gamma, 3e-10, 0);
    assert_true(slow_link_parse(&l, "1000Gbps", "1us", 4, NULL));
    cost = slow_link_cost(&l, 4, &real); /* a machine that is slower than what it is slowed to */
    assert_float_equal(cost.alpha, 2e-6, 1e-12);
    assert_float_equal(cost.beta, 1e-10, 1e-16);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const rates[] = {
        "1",       "Gbps",          "1 Gbps",       "-1Gbps",          "1gbps",
        "1e3Mbps", "0x1Mbps",       "1Gbps,",       ",1Gbps",          "1Gbps,2Gbps",
        "4=1Mbps", "1Gbps,2=",      "1Gbps,=1Mbps", "1Gbps,x=1Mbps",   "0kbps",
        "nanGbps", "1Gbps,1=1MB/s", "999999Gbps",   "1=1Mbps,1=2Mbps", "0.5kbps"};
    static const char *const latencies[] = {"1", "1m", "-1us", "11s", "us", "1ms,7=1ms", "infs"};
    struct slow_link l;
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct error e = {0};
        if (slow_link_parse(&l, rates[i], "", 4, &e))
            fail_msg("'%s' was taken for a rate", rates[i]);
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_int_equal(strncmp(e.text, "link: ", 6), 0);
    }
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++) {
        struct error e = {0};
        if (slow_link_parse(&l, "", latencies[i], 4, &e))
            fail_msg("'%s' was taken for a latency", latencies[i]);
        assert_int_equal(strncmp(e.text, "link_latency: ", 14), 0);
    }
}

/* What goes past the link is refused with it, and nothing else is. */
static void test_jobs(void **state)
{
    (void)state;
    struct job job;
    struct error e = {0};
    job_defaults(&job, JOB_ALLREDUCE);
    assert_false(job_slow_link(&job, NULL));
    assert_true(job_validate(&job, &e)); /* ring,mpi */
    snprintf(job.allreduce.link, sizeof job.allreduce.link, "1Gbps");
    assert_true(job_slow_link(&job, NULL));
    assert_false(job_validate(&job, &e));
    assert_non_null(strstr(e.text, "mpi goes past the link"));
    snprintf(job.allreduce.algos, sizeof job.allreduce.algos, "ring,shm");
    assert_false(job_validate(&job, &e));
    assert_non_null(strstr(e.text, "shm goes past the link"));
    snprintf(job.allreduce.algos, sizeof job.allreduce.algos, "ring,auto,central,hierarchical:1");
    assert_true(job_validate(&job, &e));
    job.allreduce.tune = true;
    assert_false(job_validate(&job, &e));
    job_clear(&job);

    job_defaults(&job, JOB_TRAIN);
    snprintf(job.train.link_latency, sizeof job.train.link_latency, "50us");
    assert_true(job_slow_link(&job, NULL));
    assert_true(job_validate(&job, &e));
    snprintf(job.train.algo, sizeof job.train.algo, "mpi");
    assert_false(job_validate(&job, &e));
    snprintf(job.train.algo, sizeof job.train.algo, "ring");
    snprintf(job.train.link_latency, sizeof job.train.link_latency, "50us,2=1ms"); /* of two ranks */
    assert_false(job_validate(&job, &e));
    assert_non_null(strstr(e.text, "no rank 2"));
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
