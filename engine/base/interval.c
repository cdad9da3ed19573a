#include "engine/base/interval.h"

#include <math.h>

/*
 * P(|T| <= t) for integer degrees of freedom, theta = atan(t / sqrt(freedom)): the finite sums 26.7.3 and 26.7.4 of
 * Abramowitz and Stegun, Handbook of Mathematical Functions, 1964.
 */
static double student_within(double theta, int freedom)
{
    double c = cos(theta), term, sum;
    if (freedom % 2 == 0) {
        term = sum = 1;
        for (int k = 2; k < freedom; k += 2) {
            term *= c * c * (k - 1) / k;
            sum += term;
        }
        return sin(theta) * sum;
    }
    if (freedom == 1)
        return 2 / M_PI * theta;
    term = sum = c;
    for (int k = 3; k < freedom; k += 2) {
        term *= c * c * (k - 1) / k;
        sum += term;
    }
    return 2 / M_PI * (theta + sin(theta) * sum);
}

double student_95(int freedom)
{
    if (freedom < 1)
        return NAN;
    double lo = 0, hi = M_PI / 2;
    for (int i = 0; i < 80; i++) {
        double middle = (lo + hi) / 2;
        if (student_within(middle, freedom) < 0.95)
            lo = middle;
        else
            hi = middle;
    }
    return sqrt(freedom) * tan(lo);
}

struct interval interval_of(const double *values, int count)
{
    struct interval r = {NAN, NAN, 0};
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            r.n++;
        }
    if (r.n == 0)
        return r;
    r.mean = sum / r.n;
    for (int i = 0; i < count; i++)
        if (isfinite(values[i]))
            squares += (values[i] - r.mean) * (values[i] - r.mean);
    if (r.n > 1)
        r.half = student_95(r.n - 1) * sqrt(squares / (r.n - 1) / r.n);
    return r;
}

struct interval interval_ratio(struct interval over, struct interval under)
{
    struct interval r = {over.mean / under.mean, NAN, over.n < under.n ? over.n : under.n};
    double a = over.half / over.mean, b = under.half / under.mean;
    r.half = fabs(r.mean) * sqrt(a * a + b * b);
    return r;
}
