/*
 * closed.h - what closed.c and closed_formula.c share: a collective as its terms, each so many equal rounds.
 */
#ifndef RINGSIDE_SIM_CLOSED_H
#define RINGSIDE_SIM_CLOSED_H

#include "cluster-sim/collective.h"

/* The rounds of a kind: who sends to whom. */
enum shape {
    SHIFT, /* i -> i + 1, the last -> 0 */
    SPAN,  /* inside groups of `distance`: the same */
    LEAP,  /* i -> i + distance, modulo all */
    PAIRS, /* i <-> i ^ distance, of the largest power of two of the ranks; the rest folded */
    FOLD,  /* 2i -> 2i + 1, of the first `distance` pairs */
    BACK,  /* the same backwards */
    UP,    /* i + distance -> i, for each multiple i of 2 distance */
    DOWN,  /* the same backwards */
};

struct term {
    enum shape shape;
    int distance;
    double repeats, bytes;
    bool reduce;
};

enum { TERMS = 160 };

struct terms {
    struct term term[TERMS];
    int count;
    char text
        [192]; /* the formula and its numbers; a: latency of a round, B: bytes a second, both the same in all rounds */
    bool two;      /* inside hosts (SPAN) a1 and B1, between them a2 and B2 */
    double ragged; /* see pattern.h */
};

/* Of one round. */
struct paced {
    double latency, transfer, add; /* of its slowest message */
    double latencies;              /* of all messages added up */
    double load;                   /* on its bottleneck */
    int link, messages;
    bool even, exact;
    bool in_touch; /* every message has a rank that the round before has kept busy */
};

/* The formula of a sum of terms, with numbers from which its time can be computed again. */
void closed_formula(const struct terms *t, const struct paced *paces, bool flows, double add_s, char *text,
                    size_t size);

#endif
