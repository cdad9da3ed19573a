/*
 * pattern.h - a collective as its distinct rounds: which ranks send to which, how much, and how often that comes again.
 *
 * The rounds of a ring differ only in which chunk each rank passes on, so one of them stands for all: rounds with the same
 * pairs of ranks and the same lengths in any order are one. Rings are written down that way at once, for any number of
 * ranks; the schedules of the others are made and their rounds compared by a signature.
 */
#ifndef RINGSIDE_SIM_PATTERN_H
#define RINGSIDE_SIM_PATTERN_H

#include "cluster-sim/nccl.h"

struct pattern_flow {
    int from, to;
    double bytes;
    bool reduce;
};

struct pattern_round {
    int first, count; /* of its flows */
    long repeats;     /* in all, wherever they come */
};

struct pattern {
    char algo[64];
    int ranks;
    struct pattern_flow *flow;   /* owned */
    struct pattern_round *round; /* owned; in the order of their first coming */
    int distinct;
    long rounds;     /* with repetitions */
    double messages; /* in all */
    double ragged;   /* by how much its lengths are too long at most: see pattern_ragged */
};

/*
 * Where so many elements do not divide into parts, a round of the longest length stands for rounds in which each rank's messages
 * are now longer, now shorter: by which share of it. INFINITY: some parts are empty, and not sent at all.
 */
double pattern_ragged(double elements, double parts);
/* Whether that matters, in a round of which so much is not latency: more than half a thousandth. */
bool pattern_ragged_matters(double ragged, double transfer_s, double time_s);

/* What is asked for: see struct sim_request. Hosts matter to the algorithms of cluster-sim/nccl.h alone. */
struct pattern_kind {
    const char *algo;
    struct nccl_hosts hosts;
    double bytes;
};

/* ERROR_INPUT: no such algorithm, or more flows than PATTERN_FLOWS_MAX. */
bool pattern_make(struct pattern *p, const struct pattern_kind *kind, struct error *e);
void pattern_free(struct pattern *p);

enum { PATTERN_FLOWS_MAX = 8 << 20 };

/* The schedule with all its rounds. ERROR_INPUT: more than PATTERN_FLOWS_MAX transfers. */
bool pattern_schedule(struct schedule *s, const struct pattern_kind *kind, struct error *e);
/* How many transfers that has, or a few more. */
double pattern_transfers(const struct pattern_kind *kind);
/* Bytes of an element: 4 where that divides the buffer, else 1. */
int pattern_element(double bytes);
/* Whether ranks pass data on as soon as they have come (nccl_*), rather than going from round to round. */
bool pattern_flows_freely(const char *algo);
/* "ring" is the algorithm of "ring" and of "ring:5". */
bool pattern_is(const char *algo, const char *name);
/* 5 of "ring:5"; 0: none. */
int pattern_number(const char *algo);

#endif
