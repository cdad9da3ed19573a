#include "engine/nn/learning_rate.h"

#include <math.h>
#include <string.h>

#define RISE_SHARE 0.3
#define START_DIVISOR 25.0
#define END_DIVISOR 1e4

static const double pi = 3.14159265358979323846;

bool learning_rate_init(struct learning_rate *l, const char *name, double peak, double steps, struct error *e)
{
    static const char *const names[] = {[LEARNING_RATE_CONSTANT] = "constant",
                                        [LEARNING_RATE_STEP] = "step",
                                        [LEARNING_RATE_COSINE] = "cosine",
                                        [LEARNING_RATE_ONECYCLE] = "onecycle"};
    *l = (struct learning_rate){.peak = peak, .steps = steps, .step_size = 1, .gamma = 0.1};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) {
            l->kind = (enum learning_rate_kind)i;
            return true;
        }
    return error_set(e, ERROR_INPUT, "--schedule: expected constant, step, cosine or onecycle, got '%s'",
                     name);
}

void learning_rate_scale(struct learning_rate *l, double base, double batch)
{
    if (base <= 0)
        return;
    l->peak *= batch / base;
    l->start = batch > base ? base / batch : 0;
}

void learning_rate_warm_up(struct learning_rate *l, double share)
{
    l->warm_steps = round(share * l->steps);
    if (l->start == 0)
        l->start = 1 / (l->warm_steps + 1);
}

static double half_cosine(double from, double to, double share)
{
    return to + (from - to) / 2 * (1 + cos(pi * share));
}

static double onecycle(double peak, double steps, double step)
{
    double start = peak / START_DIVISOR, end = start / END_DIVISOR;
    double top = RISE_SHARE * steps - 1, last = steps - 1;
    if (step <= top)
        return half_cosine(start, peak, step / top);
    if (step >= last || last <= top)
        return end;
    /* In a run of so few steps that there is no way up, the way down begins at the first. */
    double from = top < 0 ? 0 : top;
    return half_cosine(peak, end, (step - from) / (last - from));
}

double learning_rate_at(const struct learning_rate *l, double step, double epoch)
{
    double peak = l->peak, left = l->steps - l->warm_steps, over = step - l->warm_steps;
    if (l->kind == LEARNING_RATE_STEP) /* the small number mends 0.3 / 0.1 = 2.9999999999999996 */
        peak *= pow(l->gamma, floor(epoch / l->step_size + 1e-9));
    if (over < 0)
        return peak * (l->start + (1 - l->start) * step / l->warm_steps);
    switch (l->kind) {
    case LEARNING_RATE_COSINE: return half_cosine(peak, 0, left > 0 ? fmin(1, over / left) : 1);
    case LEARNING_RATE_ONECYCLE: return onecycle(peak, left, over);
    case LEARNING_RATE_CONSTANT:
    case LEARNING_RATE_STEP: break;
    }
    return peak;
}
