/*
 * ladder.h - one matrix product, written five times, each faster than the one before.
 *
 * C = A B, single precision, all matrices in rows: A has m rows of k, B k rows of n, C m rows of n. The rungs compute
 * the same sums in different orders; what makes each faster stands in its file and, in one sentence, in `why`.
 * ladder_measure fills matrices, times every rung and holds its result against a product in float64. The first three
 * rungs are compiled without vector instructions (see the Makefile), so that each step changes one thing only.
 */
#ifndef RINGSIDE_NN_LADDER_LADDER_H
#define RINGSIDE_NN_LADDER_LADDER_H

#include "engine/base/error.h"

enum { LADDER_RUNGS = 5 };

struct ladder_sizes {
    int m, n, k;
};

/* Overwrites c. False where memory is short or the library fails. */
typedef bool ladder_product(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e);

struct ladder_rung {
    const char *name; /* "naive", "loop order", "blocked", "vectorised", "oneDNN" */
    const char *why;  /* a sentence: why it is faster than the rung before */
    ladder_product *product;
};

extern const struct ladder_rung ladder_rungs[LADDER_RUNGS];

ladder_product ladder_naive, ladder_order, ladder_blocked, ladder_vectorised, ladder_library;

struct ladder_result {
    double time_s; /* the median */
    int times;     /* how many it is the median of */
    double error;  /* the largest |c - c64| / (|a| |b|) of the elements that were checked, */
    double bound;  /* and what rounding explains at most: k eps/2 to first order */
};

/*
 * One rung on square matrices of n, run by one thread, again and again for about `seconds` (three times at least).
 * Elements of 64 rows, spread over C, are checked.
 */
bool ladder_measure(const struct ladder_rung *rung, int n, double seconds, struct ladder_result *result,
                    struct error *e);

/*
 * The largest error of some rows of c = a b, all n × n, relative to |a| |b|: infinite where c holds what is no number. room:
 * 2 n doubles.
 */
double ladder_error(int n, const float *a, const float *b, const float *c, double *room);

/* Floating-point operations and, reading A and B and writing C once each, bytes of a product. */
double ladder_flops(struct ladder_sizes s);
double ladder_bytes(struct ladder_sizes s);

#endif
