/*
 * timing.h - what every measurement needs: a clock that never jumps, and the middle of several values.
 */
#ifndef RINGSIDE_BASE_TIMING_H
#define RINGSIDE_BASE_TIMING_H

/* Seconds since some moment in the past; never set back. */
double timing_now(void);

/* The median of n values, n at least 1, which it sorts. */
double timing_median(double *values, int n);

#endif
