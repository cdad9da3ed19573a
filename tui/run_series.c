#include "tui/run_series.h"

#include <math.h>
#include <stdlib.h>

/* All four arrays in one piece of memory: x, y, lo, hi. */
static bool grow(struct run_series *s)
{
    int capacity = s->capacity ? 2 * s->capacity : 64;
    double *values = malloc(4 * (size_t)capacity * sizeof *values);
    if (!values)
        return false;
    double **arrays[] = {&s->x, &s->y, &s->lo, &s->hi}, *old = s->x;
    for (int a = 0; a < 4; a++) {
        double *to = values + (size_t)a * (size_t)capacity;
        for (int i = 0; i < s->count; i++)
            to[i] = (*arrays[a])[i];
        *arrays[a] = to;
    }
    free(old);
    s->capacity = capacity;
    return true;
}

static double mean_of(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : a + (b - a) / 2;
}

/* Two full buckets become one of twice as many samples. */
static void merge_pairs(struct run_series *s)
{
    for (int i = 0; i < s->count / 2; i++) {
        int a = 2 * i, b = a + 1;
        s->x[i] = mean_of(s->x[a], s->x[b]);
        s->y[i] = mean_of(s->y[a], s->y[b]);
        s->lo[i] = fmin(s->lo[a], s->lo[b]); /* fmin and fmax pass over what is no number */
        s->hi[i] = fmax(s->hi[a], s->hi[b]);
    }
    s->count /= 2;
    s->stride *= 2;
    s->in_last = s->stride;
}

bool run_series_add(struct run_series *s, double x, double y)
{
    if (s->stride == 0)
        s->stride = 1;
    bool fresh = s->count == 0 || s->in_last == s->stride;
    if (fresh && s->count == RUN_SERIES_MAX) {
        merge_pairs(s);
    }
    if (fresh && s->count == s->capacity && !grow(s))
        return false;
    s->x_last = x;
    s->y_last = y;
    s->samples++;
    if (fresh) {
        int i = s->count++;
        s->x[i] = x;
        s->y[i] = s->lo[i] = s->hi[i] = y;
        s->in_last = 1;
        return true;
    }
    int i = s->count - 1;
    s->in_last++;
    s->x[i] += (x - s->x[i]) / (double)s->in_last;
    s->y[i] = isnan(s->y[i]) ? y : isnan(y) ? s->y[i] : s->y[i] + (y - s->y[i]) / (double)s->in_last;
    s->lo[i] = fmin(s->lo[i], y);
    s->hi[i] = fmax(s->hi[i], y);
    return true;
}

void run_series_free(struct run_series *s)
{
    free(s->x);
    *s = (struct run_series){0};
}

bool run_series_range_within(const struct run_series *s, double x_lo, double x_hi, double *lo, double *hi)
{
    bool any = false;
    for (int i = 0; i < s->count; i++) {
        if (!(s->x[i] >= x_lo && s->x[i] <= x_hi) || !isfinite(s->lo[i]) || !isfinite(s->hi[i]))
            continue;
        *lo = any ? fmin(*lo, s->lo[i]) : s->lo[i];
        *hi = any ? fmax(*hi, s->hi[i]) : s->hi[i];
        any = true;
    }
    return any;
}

bool run_series_range(const struct run_series *s, double *lo, double *hi)
{
    return run_series_range_within(s, -INFINITY, INFINITY, lo, hi);
}

int run_series_nearest(const struct run_series *s, double x)
{
    int from = 0, to = s->count - 1;
    while (from < to) {
        int middle = (from + to) / 2;
        if (s->x[middle] < x)
            from = middle + 1;
        else
            to = middle;
    }
    if (from > 0 && x - s->x[from - 1] <= s->x[from] - x)
        from--;
    return s->count ? from : -1;
}
