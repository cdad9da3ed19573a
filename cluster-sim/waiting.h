/*
 * waiting.h - the jobs that wait, in the order of a policy, and the first of them that fits a hole.
 *
 * Every place of the queue is a leaf of a segment tree, whose inner nodes hold the least processors and the least
 * time that any job below asks for. So the first job from a place on that fits is found in about log n steps, and
 * a queue of 100 000 jobs costs a backfilling pass no more than one of ten.
 */
#ifndef RINGSIDE_CLUSTER_SIM_WAITING_H
#define RINGSIDE_CLUSTER_SIM_WAITING_H

#include "engine/base/error.h"

struct waiting {
    int places;    /* a power of two */
    int *procs;    /* by node: the least below it; WAITING_NONE where nobody waits */
    double *limit; /* by node: the least below it */
    int count;     /* jobs that wait */
};

/* What a job may take so that it disturbs nobody: it asks for at most procs and ends within window_s, or asks for at
 * most spare (which is at most procs) and ends whenever it likes. */
struct hole {
    int procs;
    double window_s;
    int spare;
};

/* An empty queue with that many places, 0 ... places - 1. */
bool waiting_make(struct waiting *w, int places, struct error *e);
void waiting_free(struct waiting *w);

/* A job that asks for that waits at a place; each place holds one. */
void waiting_put(struct waiting *w, int place, int procs, double limit_s);
void waiting_take(struct waiting *w, int place);

/* The first place from `from` on with a job, or with a job that fits; -1 where there is none. */
int waiting_first(const struct waiting *w, int from);
int waiting_fit(const struct waiting *w, int from, struct hole hole);

#endif
