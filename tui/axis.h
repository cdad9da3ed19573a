/*
 * axis.h - the scale of one direction of a plot: its range, its round ticks and how numbers are written on
 * it.
 *
 * An axis is kept by its view from one drawing to the next, because its range has a memory: it widens at once
 * when a value does not fit, narrows only when most of it is unused, and otherwise stays. So a plot that gets
 * a sample changes by a cell or two, not as a whole, which is what makes it cheap over a slow line. A filling
 * axis doubles when it is full and never scrolls.
 */
#ifndef RINGSIDE_TUI_AXIS_H
#define RINGSIDE_TUI_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum axis_unit {
    AXIS_NUMBER,  /* 0.5, 20, 3 k, 2 M; beyond P 1e+24 */
    AXIS_PERCENT, /* fractions, written as per cent */
    AXIS_BYTES,   /* 1 KiB, 64 MiB */
    AXIS_RATE,    /* bytes a second, SI: 1.5 GB/s */
    AXIS_SECONDS, /* 20 µs, 3 ms, 2 s */
};

struct axis {
    double lo, hi; /* the range now; both 0: not fitted yet */
    enum axis_unit unit;
    bool log;   /* logarithmic; the range is positive */
    bool twos;  /* ... with ticks at powers of two; bytes always have these */
    bool whole; /* counts things: no ticks between whole numbers (not with log) */
    bool zero;  /* the range always holds 0 (not with log) */
    double lo_limit,
        hi_limit; /* the range never leaves these, where hi_limit > lo_limit (accuracy: 0 and 1) */
};

enum { AXIS_MAX_TICKS = 16, AXIS_LABEL = 16 };

/* Widens to hold lo..hi with round ends; narrows only when less than 0.4 of the range is used. */
void axis_fit(struct axis *a, double lo, double hi);
/* For time or steps, from 0: doubles `hi` (from `first`) until it holds `value`. */
void axis_fit_filling(struct axis *a, double first, double value);
/* Where a value lies: 0 at lo, 1 at hi; NaN where it cannot be placed (not finite, or not positive on a log
 * axis). */
double axis_place(const struct axis *a, double value);
/* Round ticks within the range, at most `most` (and AXIS_MAX_TICKS); returns how many. */
int axis_ticks(const struct axis *a, int most, double ticks[AXIS_MAX_TICKS]);
/* Writes a tick's value, with as many digits as neighbouring ticks need. */
void axis_label(const struct axis *a, double value, char text[AXIS_LABEL]);

/* Numbers in text, always of three significant digits, so that fields keep their width. SI: "3.21 k". */
void format_si(double value, char *text, size_t size);
void format_bytes(double bytes, char *text, size_t size);      /* "1.50 MiB" */
void format_rate(double bytes_per_s, char *text, size_t size); /* "7.70 GB/s" */
void format_loss(double loss, char *text, size_t size);        /* "0.0154"; of one that diverges "9.6e+22" */
void format_seconds(double s, char *text, size_t size);        /* "184 µs", "3.20 ms", "12.0 s" */
void format_clock(double s, char *text, size_t size);          /* "0:34", "12:05", "1:02:03" */

#endif
