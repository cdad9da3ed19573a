/*
 * calibrate_curve.c - measured times by size as a curve in pieces.
 */
#include "cluster-sim/calibrate.h"

#include "engine/base/timing.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    const struct curve_point *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Between two points: alpha + beta m. */
static double between(struct curve_point a, struct curve_point b, double bytes)
{
    return a.seconds + (bytes - a.bytes) / (b.bytes - a.bytes) * (b.seconds - a.seconds);
}

/* The median of each size, ascending. */
static void merge(struct curve *c, const struct curve_point *sorted, int count)
{
    for (int i = 0; i < count && c->points < CURVE_POINTS;) {
        int end = i;
        while (end < count && sorted[end].bytes == sorted[i].bytes)
            end++;
        int middle = i + (end - i) / 2;
        double seconds = (end - i) % 2 ? sorted[middle].seconds
                                       : (sorted[middle - 1].seconds + sorted[middle].seconds) / 2;
        c->point[c->points++] = (struct curve_point){sorted[i].bytes, seconds};
        i = end;
    }
}

/* Marks the knots between two that are. */
static void split(const struct curve *c, int from, int to, bool *knot)
{
    double most = CURVE_TOLERANCE;
    int at = -1;
    for (int i = from + 1; i < to; i++) {
        double off = fabs(between(c->point[from], c->point[to], c->point[i].bytes) / c->point[i].seconds - 1);
        if (off > most)
            most = off, at = i;
    }
    if (at < 0)
        return;
    knot[at] = true;
    split(c, from, at, knot);
    split(c, at, to, knot);
}

/* Of each inner size, by its neighbours alone. */
static double error_by_neighbours(const struct curve *c)
{
    double off[CURVE_POINTS];
    int n = 0;
    for (int i = 1; i + 1 < c->points; i++)
        off[n++] =
            fabs(between(c->point[i - 1], c->point[i + 1], c->point[i].bytes) / c->point[i].seconds - 1);
    return n > 0 ? timing_median(off, n) : NAN;
}

bool curve_fit(struct curve *c, const struct curve_point *points, int count, struct error *e)
{
    bool knot[CURVE_POINTS] = {false};
    struct curve_point *sorted = malloc((size_t)(count > 0 ? count : 1) * sizeof *sorted);
    *c = (struct curve){0};
    if (!sorted)
        return error_set(e, ERROR_FAILED, "out of memory for %d measured sizes", count);
    int usable = 0;
    for (int i = 0; i < count; i++)
        if (points[i].bytes > 0 && points[i].seconds > 0)
            sorted[usable++] = points[i];
    qsort(sorted, (size_t)usable, sizeof *sorted, by_size);
    merge(c, sorted, usable);
    free(sorted);
    if (c->points < 2)
        return error_set(e, ERROR_INPUT, "a curve needs at least two different sizes, but %d %s measured",
                         c->points, c->points == 1 ? "was" : "were");
    knot[0] = knot[c->points - 1] = true;
    split(c, 0, c->points - 1, knot);
    for (int i = 0; i < c->points; i++)
        if (knot[i])
            c->knot[c->knots++] = i;
    c->error = error_by_neighbours(c);
    return true;
}

bool curve_piece(const struct curve *c, int k, double *alpha, double *beta)
{
    struct curve_point a = c->point[c->knot[k]], b = c->point[c->knot[k + 1]];
    *beta = (b.seconds - a.seconds) / (b.bytes - a.bytes);
    *alpha = a.seconds - *beta * a.bytes;
    if (*beta >= 0 && *alpha >= -1e-12 * a.seconds) {
        *alpha = fmax(*alpha, 0);
        return true;
    }
    *alpha = *beta < 0 ? b.seconds : 0;
    *beta = *beta < 0 ? 0 : b.seconds / b.bytes;
    return false;
}

double curve_seconds(const struct curve *c, double bytes)
{
    int k = 0;
    while (k + 2 < c->knots && bytes > c->point[c->knot[k + 1]].bytes)
        k++;
    struct curve_point a = c->point[c->knot[k]], b = c->point[c->knot[k + 1]];
    double seconds = between(a, b, bytes);
    /* Below the smallest size a message still costs what it costs; a falling piece must not reach 0. */
    return bytes < a.bytes ? fmax(seconds, fmin(a.seconds, b.seconds) / 2) : fmax(seconds, 0);
}

double curve_error(const struct curve *c, const struct curve_point *points, int count)
{
    double *off = malloc((size_t)(count > 0 ? count : 1) * sizeof *off), median = NAN;
    for (int i = 0; off && i < count; i++)
        off[i] = fabs(curve_seconds(c, points[i].bytes) / points[i].seconds - 1);
    if (off && count > 0)
        median = timing_median(off, count);
    free(off);
    return median;
}
