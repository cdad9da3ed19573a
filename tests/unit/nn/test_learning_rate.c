/* Learning rates against PyTorch 1.13's schedulers: tests/golden/make_optimizers.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/nn/learning_rate.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static double number(const json_t *line, const char *key)
{
    return json_number_value(json_object_get(line, key));
}

static void test_like_pytorch(void **state)
{
    (void)state;
    json_t *golden = json_load_file("tests/golden/optimizers.json", 0, NULL);
    json_t *lines = json_object_get(golden, "schedules"), *line, *rate;
    size_t index, step;
    assert_int_equal(json_array_size(lines), 8);
    json_array_foreach(lines, index, line)
    {
        const char *name = json_string_value(json_object_get(line, "schedule"));
        struct learning_rate l;
        struct error e = {0};
        if (!learning_rate_init(&l, name, number(line, "peak"), number(line, "steps"), &e))
            fail_msg("%s", e.text);
        l.step_size = number(line, "step_size");
        l.gamma = number(line, "gamma");
        l.warm_steps = number(line, "warm");
        l.start = number(line, "start");
        assert_int_equal(json_array_size(json_object_get(line, "rates")), (size_t)l.steps);
        json_array_foreach(json_object_get(line, "rates"), step, rate)
        {
            double ours = learning_rate_at(&l, (double)step, (double)step / number(line, "per_epoch"));
            if (fabs(ours - json_number_value(rate)) > 1e-8 * l.peak)
                fail_msg("%s, %g steps, step %zu: %.12g, PyTorch %.12g", name, l.steps, step, ours,
                         json_number_value(rate));
        }
    }
    json_decref(golden);
}

/* A batch eight times as large: eight times the rate, reached from the one it was meant for. */
static void test_scaled(void **state)
{
    (void)state;
    struct learning_rate l;
    assert_true(learning_rate_init(&l, "constant", 0.1, 100, NULL));
    learning_rate_scale(&l, 256, 2048);
    learning_rate_warm_up(&l, 0.05);
    assert_float_equal(learning_rate_at(&l, 0, 0), 0.1, 1e-12);
    assert_float_equal(learning_rate_at(&l, 1, 0), 0.24, 1e-12);
    assert_float_equal(learning_rate_at(&l, 5, 0), 0.8, 1e-12);
    assert_float_equal(learning_rate_at(&l, 99, 0), 0.8, 1e-12);
}

/* Without scaling as if it had come from 0; a smaller batch does not begin above its peak. */
static void test_warm_up_from_nothing(void **state)
{
    (void)state;
    struct learning_rate l;
    assert_true(learning_rate_init(&l, "constant", 0.5, 10, NULL));
    learning_rate_scale(&l, 0, 64);
    learning_rate_warm_up(&l, 0.4);
    for (int step = 0; step < 10; step++)
        assert_float_equal(learning_rate_at(&l, step, 0), step < 4 ? 0.1 * (step + 1) : 0.5, 1e-12);
    assert_true(learning_rate_init(&l, "constant", 0.4, 10, NULL));
    learning_rate_scale(&l, 128, 32);
    learning_rate_warm_up(&l, 0.1);
    assert_float_equal(learning_rate_at(&l, 0, 0), 0.05, 1e-12);
    assert_float_equal(learning_rate_at(&l, 1, 0), 0.1, 1e-12);
}

/* Runs of one or two steps, and steps beyond the last, give a rate between zero and the peak. */
static void test_short_runs(void **state)
{
    (void)state;
    for (int total = 1; total < 6; total++)
        for (int step = 0; step < total + 3; step++) {
            struct learning_rate l;
            assert_true(learning_rate_init(&l, "onecycle", 0.1, total, NULL));
            double rate = learning_rate_at(&l, step, 0);
            assert_true(rate > 0 && rate <= 0.1);
        }
}

static void test_constant(void **state)
{
    (void)state;
    struct learning_rate l;
    assert_true(learning_rate_init(&l, "constant", 0.05, 10, NULL));
    assert_true(learning_rate_at(&l, 0, 0) == 0.05 && learning_rate_at(&l, 9, 0) == 0.05);
    struct error e = {0};
    assert_false(learning_rate_init(&l, "sometimes", 0.05, 10, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "'sometimes'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like_pytorch),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_warm_up_from_nothing),
        cmocka_unit_test(test_short_runs),
        cmocka_unit_test(test_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
