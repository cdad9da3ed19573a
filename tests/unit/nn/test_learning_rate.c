/* Learning rates against PyTorch 1.13's OneCycleLR (total_steps, max_lr, cycle_momentum=False). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/nn/learning_rate.h"

#include <math.h>
#include <string.h>

/*
 * p = [torch.nn.Parameter(torch.zeros(1))]; o = torch.optim.SGD(p, lr=1)
 * s = torch.optim.lr_scheduler.OneCycleLR(o, max_lr=PEAK, total_steps=TOTAL, cycle_momentum=False)
 * o.param_groups[0]['lr'] after `step` calls of s.step()
 */
static const struct {
    int total;
    double peak;
    int step;
    double rate;
} pytorch[] = {
    {100, 0.003, 0, 0.00012},
    {100, 0.003, 1, 0.000128441341698},
    {100, 0.003, 20, 0.00236810937412},
    {100, 0.003, 29, 0.003},
    {100, 0.003, 30, 0.00299848960585},
    {100, 0.003, 50, 0.00238168035173},
    {100, 0.003, 98, 1.52239414643e-06},
    {100, 0.003, 99, 1.2e-08},
    {937, 0.003, 0, 0.00012},
    {937, 0.003, 1, 0.000120090573567},
    {937, 0.003, 187, 0.00228372668631},
    {937, 0.003, 280, 0.00299999909425},
    {937, 0.003, 281, 0.00299998606303},
    {937, 0.003, 468, 0.0024324257147},
    {937, 0.003, 935, 2.92061291934e-08},
    {937, 0.003, 936, 1.2e-08},
    {7, 0.1, 0, 0.004},
    {7, 0.1, 1, 0.0980556627335},
    {7, 0.1, 2, 0.091904437627},
    {7, 0.1, 3, 0.0672683836481},
    {7, 0.1, 5, 0.00992967918933},
    {7, 0.1, 6, 4e-07},
};

static void test_onecycle(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pytorch / sizeof *pytorch; i++) {
        struct learning_rate l;
        assert_true(learning_rate_init(&l, "onecycle", pytorch[i].peak, pytorch[i].total, NULL));
        double rate = learning_rate_at(&l, pytorch[i].step);
        if (fabs(rate - pytorch[i].rate) > 1e-10 * pytorch[i].peak)
            fail_msg("%d steps, peak %g, step %d: %.12g, PyTorch %.12g", pytorch[i].total, pytorch[i].peak,
                     pytorch[i].step, rate, pytorch[i].rate);
    }
}

/* Runs of one or two steps, and steps beyond the last, give a rate between zero and the peak. */
static void test_short_runs(void **state)
{
    (void)state;
    for (int total = 1; total < 6; total++)
        for (int step = 0; step < total + 3; step++) {
            struct learning_rate l;
            assert_true(learning_rate_init(&l, "onecycle", 0.1, total, NULL));
            double rate = learning_rate_at(&l, step);
            assert_true(rate > 0 && rate <= 0.1);
        }
}

static void test_constant(void **state)
{
    (void)state;
    struct learning_rate l;
    assert_true(learning_rate_init(&l, "constant", 0.05, 10, NULL));
    assert_true(learning_rate_at(&l, 0) == 0.05 && learning_rate_at(&l, 9) == 0.05);
    struct error e = {0};
    assert_false(learning_rate_init(&l, "sometimes", 0.05, 10, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "'sometimes'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onecycle),
        cmocka_unit_test(test_short_runs),
        cmocka_unit_test(test_constant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
