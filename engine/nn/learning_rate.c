#include "engine/nn/learning_rate.h"

#include <math.h>
#include <string.h>

#define WARM_SHARE 0.3
#define START_DIVISOR 25.0
#define END_DIVISOR 1e4

static const double pi = 3.14159265358979323846;

bool learning_rate_init(struct learning_rate *l, const char *name, double peak, double steps, struct error *e)
{
    l->peak = peak;
    l->steps = steps;
    if (!strcmp(name, "constant"))
        l->kind = LEARNING_RATE_CONSTANT;
    else if (!strcmp(name, "onecycle"))
        l->kind = LEARNING_RATE_ONECYCLE;
    else
        return error_set(e, ERROR_INPUT, "--schedule: expected constant or onecycle, got '%s'", name);
    return true;
}

static double half_cosine(double from, double to, double share)
{
    return to + (from - to) / 2 * (1 + cos(pi * share));
}

double learning_rate_at(const struct learning_rate *l, double step)
{
    if (l->kind == LEARNING_RATE_CONSTANT)
        return l->peak;
    double start = l->peak / START_DIVISOR, end = start / END_DIVISOR;
    double top = WARM_SHARE * l->steps - 1, last = l->steps - 1;
    if (step <= top)
        return half_cosine(start, l->peak, step / top);
    if (step >= last || last <= top)
        return end;
    /* In a run of so few steps that there is no way up, the way down begins at the first. */
    double from = top < 0 ? 0 : top;
    return half_cosine(l->peak, end, (step - from) / (last - from));
}
