/*
 * straggler.h - ranks that take longer than others, and what that costs a job in which all wait for the slowest.
 *
 * A rank's time in a step is its usual time multiplied by 1 + X, X drawn anew for each rank and step:
 *   none         X = 0
 *   uniform      X between 0 and spread, mean spread / 2
 *   normal       mean 0, standard deviation spread (never below -0.99)
 *   exponential  mean spread: a tail, as interrupts and other users make one
 * All wait for the largest of n: E[max] is the integral of the quantile function Q(u^(1/n)) over u in (0, 1), which
 * is spread · n/(n+1), spread · (1 + 1/2 + ... + 1/n) for the uniform and exponential one (H. David and H. Nagaraja,
 * Order Statistics, 2003). A step's maximum is drawn the same way from one number u, whatever n is, so that
 * 100 000 ranks cost as much as one. Besides, some ranks may always be slower by a factor: a class of their own.
 */
#ifndef RINGSIDE_SIM_STRAGGLER_H
#define RINGSIDE_SIM_STRAGGLER_H

#include "engine/base/error.h"

#include <stdint.h>

enum straggler_kind { STRAGGLER_NONE, STRAGGLER_UNIFORM, STRAGGLER_NORMAL, STRAGGLER_EXPONENTIAL };

struct straggler {
    enum straggler_kind kind;
    double spread;
    int slow_ranks;     /* so many always take ... */
    double slow_factor; /* ... this many times as long; at least 1 */
};

bool straggler_named(const char *name, enum straggler_kind *kind, struct error *e);
const char *straggler_name(enum straggler_kind kind);

/* 1 + the expected largest X of n ranks, the always slow ones with their factor. */
double straggler_expected(const struct straggler *s, int ranks);

/* The same of one step, drawn. */
double straggler_draw(const struct straggler *s, int ranks, uint64_t seed, long step);

#endif
