/*
 * collective_check.h - numbers that every rank can make for every other, and how far a collective's result
 * is from theirs.
 *
 * Errors are relative to the sum of the summands' sizes. Sums are compared with float64's; what is only
 * moved must be the same to the bit.
 */
#ifndef RINGSIDE_RANK_COLLECTIVE_CHECK_H
#define RINGSIDE_RANK_COLLECTIVE_CHECK_H

#include "engine/comm/comm.h"

/* This rank's numbers, in [-1, 1), rounded to the type. */
void collective_fill(struct comm *c, const struct element *type, void *x, size_t n);

/* The largest error of any rank after the operation on what collective_fill made. Collective. */
bool collective_error(struct comm *c, enum collective op, const struct element *type, const void *x, size_t n,
                      double *worst, struct error *e);

/*
 * What rounding explains. Each of the N-1 additions, in whatever order, is off by at most half an ulp of its
 * result: (N-1) epsilon/2 of the sum of sizes (N. J. Higham, Accuracy and Stability of Numerical Algorithms,
 * section 4.2), and a little for the growth of what is rounded; 0 where nothing is added.
 */
double collective_bound(struct comm *c, enum collective op, const struct element *type);

#endif
