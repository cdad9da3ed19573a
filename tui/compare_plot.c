#include "tui/compare_plot.h"

#include "tui/compare_table.h"
#include "tui/plot.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 32 };

/* Groups that are set against one base, as points. */
struct curve {
    int base, count;
    double x[POINTS], y[POINTS], lo[POINTS],
        hi[POINTS]; /* lo, hi: of the 95 % interval, where there is one */
    char name[64];  /* the groups' letters */
};

bool compare_scales(const struct comparison *c)
{
    for (int g = 1; g < c->group_count; g++)
        if (c->groups[g].base != g && isfinite(c->groups[g].figure[COMPARE_SPEED].mean))
            return true;
    return false;
}

/* At most PLOT_MAX_SERIES - 1: the last one is the ideal's. */
static int curves_of(const struct comparison *k, struct curve curves[PLOT_MAX_SERIES])
{
    int count = 0;
    for (int g = 0; g < k->group_count; g++) {
        const struct compare_group *group = &k->groups[g];
        double speed = group->figure[COMPARE_SPEED].mean;
        int at = 0, base = group->related ? group->base : g; /* what has no relatives is a curve of its own */
        while (at < count && curves[at].base != base)
            at++;
        if (at == PLOT_MAX_SERIES - 1 || !isfinite(speed))
            continue;
        struct curve *curve = &curves[at];
        if (at == count) {
            *curve = (struct curve){.base = base};
            count++;
        }
        if (curve->count == POINTS)
            continue;
        char letter[8];
        size_t used = strlen(curve->name);
        compare_letter(g, letter);
        snprintf(curve->name + used, sizeof curve->name - used, "%s%s", used ? " " : "", letter);
        double half = group->figure[COMPARE_SPEED].half;
        curve->lo[curve->count] = isfinite(half) ? fmax(speed - half, 0) : speed;
        curve->hi[curve->count] = isfinite(half) ? speed + half : speed;
        curve->x[curve->count] = group->ranks;
        curve->y[curve->count++] = speed;
    }
    return count;
}

void compare_plot(struct canvas *c, struct rect area, const struct comparison *k, struct axis *x,
                  struct axis *y)
{
    struct curve curves[PLOT_MAX_SERIES];
    struct plot_series series[PLOT_MAX_SERIES];
    int count = curves_of(k, curves), lines = count, scaled = 0;
    double lo = INFINITY, hi = 0, least = INFINITY, most = 0, ideal_x[2], ideal_y[2];
    for (int i = 0; i < count; i++) {
        series[i] = (struct plot_series){.name = curves[i].name,
                                         .x = curves[i].x,
                                         .y = curves[i].y,
                                         .lo = curves[i].lo,
                                         .hi = curves[i].hi,
                                         .count = curves[i].count,
                                         .points = true};
        for (int n = 0; n < curves[i].count; n++) {
            lo = fmin(lo, curves[i].lo[n]);
            hi = fmax(hi, curves[i].hi[n]);
            least = fmin(least, curves[i].x[n]);
            most = fmax(most, curves[i].x[n]);
        }
    }
    while (scaled < count && curves[scaled].count < 2)
        scaled++;
    if (scaled < count) { /* of the first that has more than its base */
        const struct compare_group *base = &k->groups[curves[scaled].base];
        ideal_x[0] = base->ranks;
        ideal_x[1] = most;
        ideal_y[0] = base->figure[COMPARE_SPEED].mean;
        ideal_y[1] = ideal_y[0] * most / ideal_x[0];
        hi = fmax(hi, ideal_y[1]);
        series[lines++] =
            (struct plot_series){.name = _("ideal"), .x = ideal_x, .y = ideal_y, .count = 2, .lines = true};
    }
    bool wide = count && most > 16 * least;
    *x = (struct axis){.log = wide, .twos = wide, .zero = !wide, .whole = true};
    *y = (struct axis){.log = wide, .zero = !wide};
    axis_fit(x, count ? least : 1, count ? most : 2);
    axis_fit(y, count ? lo : 1, count ? hi : 2);
    plot_draw(c, area,
              &(struct plot){.series = series,
                             .count = lines,
                             .x = x,
                             .y = y,
                             .x_label = _("ranks"),
                             .empty = _("no samples/s yet")});
}
