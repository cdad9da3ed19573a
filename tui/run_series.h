/*
 * run_series.h - a curve of any length in bounded memory.
 *
 * Samples are kept one by one until there are RUN_SERIES_MAX of them. Then neighbours are merged in pairs, and again
 * whenever there is no more room, so that a bucket stands for 1, 2, 4 ... samples: their means, their smallest and
 * their largest value. Plots draw all three, so no peak is lost. Values that are not finite are passed over when
 * buckets are merged.
 */
#ifndef RINGSIDE_TUI_RUN_SERIES_H
#define RINGSIDE_TUI_RUN_SERIES_H

#include <stdbool.h>

enum { RUN_SERIES_MAX = 4096 };

struct run_series {
    double *x, *y;         /* means of each bucket; with few samples the samples themselves */
    double *lo, *hi;       /* smallest and largest y of each bucket */
    int count, capacity;   /* buckets */
    long stride;           /* samples in each bucket but the last one; 0: empty */
    long in_last, samples; /* in the last bucket, and ever */
    double x_last, y_last; /* the newest sample */
};

bool run_series_add(struct run_series *s, double x,
                    double y); /* false: out of memory, and nothing was added */
void run_series_free(struct run_series *s);
/* Smallest and largest finite y; false: none. */
bool run_series_range(const struct run_series *s, double *lo, double *hi);
/* The same of the buckets from x_lo to x_hi. */
bool run_series_range_within(const struct run_series *s, double x_lo, double x_hi, double *lo, double *hi);
/* The bucket nearest to x, where x grows; -1: there is none. */
int run_series_nearest(const struct run_series *s, double x);

#endif
