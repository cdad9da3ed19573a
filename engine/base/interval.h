/*
 * interval.h - the mean of repeated measurements, and how far from it the true one may be.
 *
 * The 95 % confidence interval of the mean of n values with standard deviation s is mean ± t s / sqrt(n), t being the
 * 97.5 % point of Student's distribution with n - 1 degrees of freedom (Student, The Probable Error of a Mean,
 * Biometrika 6, 1908). One value has no interval.
 */
#ifndef RINGSIDE_BASE_INTERVAL_H
#define RINGSIDE_BASE_INTERVAL_H

struct interval {
    double mean; /* NaN: no value */
    double half; /* of the interval's width; NaN: fewer than two values */
    int n;       /* values that are finite */
};

/* Of the finite ones of `count` values. */
struct interval interval_of(const double *values, int count);
/* Of a quotient, to first order: relative errors add in quadrature. NaN where either has no interval. */
struct interval interval_ratio(struct interval over, struct interval under);
/* |T| stays below this with probability 0.95; degrees of freedom from 1. */
double student_95(int freedom);

#endif
