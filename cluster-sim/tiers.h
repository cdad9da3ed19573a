/*
 * tiers.h - what collective.c and its three tiers share.
 */
#ifndef RINGSIDE_SIM_TIERS_H
#define RINGSIDE_SIM_TIERS_H

#include "cluster-sim/collective.h"
#include "cluster-sim/pattern.h"

/*
 * What an answer may cost: steps, each a link that a message crosses in a computation, some tens of nanoseconds. auto goes on to another
 * tier after the first limit; a tier that was asked for refuses after the second.
 */
#define TIER_STEPS_AUTO 5e7
#define TIER_STEPS_MOST 5e8

struct tier_budget {
    double left; /* negative: it was not enough */
};

/* False, with a sentence: too much to compute. */
bool tier_spend(struct tier_budget *budget, double steps, const struct sim_request *q, struct error *e);

/* closed.c: whether there is a formula for this algorithm on this topology; *known false: there is none. */
bool closed_collective(const struct platform *p, const struct sim_request *q, struct tier_budget *budget,
                       struct sim_result *out, bool *known, struct error *e);
/* rounds.c */
bool rounds_collective(const struct platform *p, const struct sim_request *q, struct tier_budget *budget,
                       struct sim_result *out, struct error *e);
/* events.c */
bool events_collective(const struct platform *p, const struct sim_request *q, struct tier_budget *budget,
                       struct sim_result *out, struct error *e);

struct pattern_kind tier_kind(const struct platform *p, const struct sim_request *q);

/*
 * Whether each link belongs to one rank, as on one switch: a message of a later round then cannot meet one of an earlier round,
 * for which one of its ranks would still be busy.
 */
bool tier_links_of_ranks(const struct platform *p);

/* "leaf 2 -> spine 1, 1.25 GB/s" into out->bottleneck; link -1: none. */
void tier_bottleneck(const struct platform *p, int link, struct sim_result *out);

/* The capacity of every link, to be freed. */
double *tier_capacities(const struct platform *p, struct error *e);

#endif
