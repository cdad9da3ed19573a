#include "cluster-sim/straggler.h"

#include "engine/base/random.h"

#include <math.h>
#include <string.h>

/* Of random_stream: what the numbers are drawn for. */
enum { PURPOSE = 0x51de, PANELS = 4096 };

static const char *const names[] = {"none", "uniform", "normal", "exponential"};

const char *straggler_name(enum straggler_kind kind)
{
    return names[kind];
}

bool straggler_named(const char *name, enum straggler_kind *kind, struct error *e)
{
    for (int i = STRAGGLER_NONE; i <= STRAGGLER_EXPONENTIAL; i++)
        if (!strcmp(name, names[i])) {
            *kind = (enum straggler_kind)i;
            return true;
        }
    return error_set(e, ERROR_INPUT, "straggler: expected none, uniform, normal or exponential, got '%.40s'",
                     name);
}

/*
 * The normal quantile by bisection of erfc, which is exact to rounding and fast enough: sixty halvings of [-40, 40]. In
 * the upper half the distance to 1 is kept, where most of the maxima of many ranks lie.
 */
static double normal_quantile(double u, double above)
{
    bool upper = u > 0.5;
    double tail = upper ? above : u, low = 0, high = 40;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (0.5 * erfc(middle / sqrt(2)) > tail)
            low = middle;
        else
            high = middle;
    }
    return upper ? low : -low;
}

/* above: 1 - u, given apart because u may be 1 to rounding. */
static double quantile(const struct straggler *s, double u, double above)
{
    switch (s->kind) {
    case STRAGGLER_UNIFORM: return s->spread * u;
    case STRAGGLER_NORMAL: return fmax(-0.99, s->spread * normal_quantile(u, above));
    case STRAGGLER_EXPONENTIAL: return -s->spread * log(above);
    case STRAGGLER_NONE: break;
    }
    return 0;
}

/* Of the largest of n, below which it stays with probability u: each of them does with u^(1/n). */
static double largest(const struct straggler *s, int n, double u)
{
    double power = log(u) / n;
    return quantile(s, exp(power), -expm1(power));
}

/* The later of two groups: the others, and the slow ones. */
static double slowest(const struct straggler *s, int ranks, double u, double u_slow)
{
    int slow = s->slow_ranks < ranks ? s->slow_ranks : ranks;
    double usual = ranks > slow ? 1 + largest(s, ranks - slow, u) : 0;
    double always = slow > 0 ? s->slow_factor * (1 + largest(s, slow, u_slow)) : 0;
    return fmax(usual, always);
}

/*
 * Of two groups the expected later one, with one u for both, is a little too small where they are about equally late,
 * and right where one of them always is.
 */
double straggler_expected(const struct straggler *s, int ranks)
{
    if (s->kind == STRAGGLER_NONE)
        return slowest(s, ranks, 0.5, 0.5);
    /* The midpoint rule in v, u = v^2 (3 - 2 v), which is flat at both ends, where the quantiles are steep. */
    double sum = 0;
    for (int i = 0; i < PANELS; i++) {
        double v = (i + 0.5) / PANELS, u = v * v * (3 - 2 * v), weight = 6 * v * (1 - v);
        sum += weight * slowest(s, ranks, u, u);
    }
    return sum / PANELS;
}

double straggler_draw(const struct straggler *s, int ranks, uint64_t seed, long step)
{
    struct random r = random_stream(seed, PURPOSE, (uint64_t)step);
    double u = ((double)(random_next(&r) >> 11) + 0.5) * 0x1p-53;
    double u_slow = ((double)(random_next(&r) >> 11) + 0.5) * 0x1p-53;
    return slowest(s, ranks, u, u_slow);
}
