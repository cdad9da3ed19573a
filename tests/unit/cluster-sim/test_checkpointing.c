/* Checkpoint intervals: the figures of Daly's paper, the least of the wall time, and the formula beside random runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster-sim/checkpointing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double minute = 60, hour = 3600;

static struct checkpoint_result run(const struct checkpointing *c)
{
    struct checkpoint_result r;
    struct error e = {0};
    if (!checkpoint_simulate(c, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

/* Daly 2006, figures 3 to 5: delta = 5 min; M = 24 h, 6 h and 15 min give 117, 57 and 9.1 minutes. */
static void test_published(void **state)
{
    (void)state;
    assert_float_equal(checkpoint_daly(5 * minute, 24 * hour) / minute, 117, 0.5);
    assert_float_equal(checkpoint_daly(5 * minute, 6 * hour) / minute, 57, 0.5);
    assert_float_equal(checkpoint_daly(5 * minute, 15 * minute) / minute, 9.1, 0.05);
    assert_float_equal(checkpoint_daly(40 * minute, 15 * minute), 15 * minute, 0);
    /* Young: sqrt(2 x 5 min x 1440 min) = 120 min */
    assert_float_equal(checkpoint_young(5 * minute, 24 * hour) / minute, 120, 1e-9);
}

/* No interval beside the best one has a shorter wall time, and Daly's is within 0.1 % of it. */
static void test_best(void **state)
{
    (void)state;
    const double mtbf[] = {24 * hour, 6 * hour, 15 * minute};
    for (int i = 0; i < 3; i++) {
        struct checkpointing c = {
            .checkpoint_s = 5 * minute, .restart_s = 10 * minute, .node_mtbf_s = mtbf[i], .nodes = 1};
        c.interval_s = checkpoint_best(c.checkpoint_s, mtbf[i]);
        c.work_s = 1000 * c.interval_s;
        double best = run(&c).wall_s;
        c.interval_s *= 0.9;
        assert_true(run(&c).wall_s > best);
        c.interval_s *= 1.1 / 0.9;
        assert_true(run(&c).wall_s > best);
        c.interval_s = 0;
        assert_true(run(&c).wall_s < 1.001 * best && run(&c).wall_s > 0.9999 * best);
    }
}

/* Daly's equation 20 for whole intervals, in numbers: M = 6 h, delta = 5 min, R = 10 min, tau = 1 h, W = 500 h: 6 e^(1/36)
 * (e^(65/360) - 1) x 500 hours. The parts make up the whole. */
static void test_wall_time(void **state)
{
    (void)state;
    struct checkpointing c = {.work_s = 500 * hour,
                              .checkpoint_s = 5 * minute,
                              .restart_s = 10 * minute,
                              .node_mtbf_s = 600 * hour,
                              .nodes = 100,
                              .interval_s = hour};
    struct checkpoint_result r = run(&c);
    double expected = 6 * exp(1.0 / 36) * (exp(65.0 / 360) - 1) * 500;
    assert_float_equal(r.mtbf_s, 6 * hour, 1e-9);
    assert_float_equal(r.wall_s / hour, expected, 1e-9 * expected);
    assert_float_equal(r.goodput, 500 / expected, 1e-12);
    assert_float_equal(r.failures, expected / 6, 1e-9);
    assert_float_equal(r.checkpoints_s, 500 * 5 * minute, 1e-6);
    assert_float_equal(c.work_s + r.checkpoints_s + r.again_s + r.restarts_s, r.wall_s, 1e-6);
    /* hardly any failures: the work and its checkpoints */
    c.node_mtbf_s = 1e15;
    r = run(&c);
    assert_float_equal(r.wall_s, 500 * 65 * minute, 1);
}

/* The mean of seeded random runs lies within four standard errors of the formula, also with a shorter last interval. */
static void test_random_runs(void **state)
{
    (void)state;
    const struct checkpointing cases[] = {
        {.work_s = 100 * hour,
         .checkpoint_s = 5 * minute,
         .restart_s = 10 * minute,
         .node_mtbf_s = 24 * hour,
         .nodes = 1},
        {.work_s = 100 * hour,
         .checkpoint_s = 5 * minute,
         .restart_s = 10 * minute,
         .node_mtbf_s = 600 * hour,
         .nodes = 100,
         .interval_s = 0.7 * hour},
        {.work_s = 10 * hour,
         .checkpoint_s = 5 * minute,
         .restart_s = 10 * minute,
         .node_mtbf_s = 15 * minute,
         .nodes = 1},
        {.work_s = 1000,
         .checkpoint_s = 10,
         .restart_s = 0,
         .node_mtbf_s = 300,
         .nodes = 1,
         .interval_s = 5000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct checkpointing c = cases[i];
        c.runs = 2000;
        c.seed = 7;
        struct checkpoint_result r = run(&c), again = run(&c);
        assert_true(r.simulated_error_s > 0 && r.simulated_error_s < 0.05 * r.wall_s);
        if (fabs(r.simulated_s - r.wall_s) > 4 * r.simulated_error_s)
            fail_msg("case %zu: %g s, the formula %g s, standard error %g s", i, r.simulated_s, r.wall_s,
                     r.simulated_error_s);
        assert_true(fabs(r.simulated_failures / r.failures - 1) < 0.05);
        assert_true(r.simulated_s == again.simulated_s);
        c.seed = 8;
        assert_true(run(&c).simulated_s != r.simulated_s);
    }
}

static void test_mistakes(void **state)
{
    (void)state;
    struct checkpointing c = {
        .work_s = 1e6, .checkpoint_s = 100, .restart_s = 10, .node_mtbf_s = 1, .nodes = 1};
    struct checkpoint_result r;
    struct error e = {0};
    assert_false(
        checkpoint_simulate(&c, &r, &e)); /* a checkpoint takes a hundred times as long as nothing fails */
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "never end"));
    c.node_mtbf_s = 0;
    assert_false(checkpoint_simulate(&c, &r, &e));
    assert_non_null(strstr(e.text, "mean time between failures is 0"));
    c = (struct checkpointing){.work_s = 1e6,
                               .checkpoint_s = 1e-3,
                               .node_mtbf_s = 1e6,
                               .nodes = 1,
                               .interval_s = 1e-3,
                               .runs = 1000};
    assert_false(checkpoint_simulate(&c, &r, &e));
    assert_non_null(strstr(e.text, "fewer runs"));
    c.runs = 0;
    c.interval_s = 0;
    assert_true(checkpoint_simulate(&c, &r, &e));
    char *why = checkpoint_explain(&c, &r, &e);
    assert_non_null(why);
    assert_non_null(strstr(why, "Daly 2006"));
    free(why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),   cmocka_unit_test(test_best),     cmocka_unit_test(test_wall_time),
        cmocka_unit_test(test_random_runs), cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
