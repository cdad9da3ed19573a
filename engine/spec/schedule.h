/*
 * schedule.h - a collective written once, as the list of messages it consists of.
 *
 * engine/comm executes a schedule, cluster-sim times it, the application draws it, the ring exercise's judge
 * counts it. Transfers are ordered by round; all transfers of a round may run at the same time, and a
 * transfer of round k may use what round k-1 brought. Offsets and lengths count elements of the buffer, any
 * length and any number of ranks, so a chunk may be empty (its transfer is then left out: nothing is sent).
 */
#ifndef RINGSIDE_SPEC_SCHEDULE_H
#define RINGSIDE_SPEC_SCHEDULE_H

#include "engine/base/error.h"

#include <stddef.h>

enum phase { PHASE_REDUCE_SCATTER, PHASE_ALLGATHER, PHASE_REDUCE, PHASE_BROADCAST };

struct transfer {
    int round;     /* from 0 */
    int from, to;  /* ranks */
    int chunk;     /* which piece of the buffer, for drawing */
    size_t offset; /* of the piece, in elements */
    size_t length; /* of the piece, in elements */
    bool reduce;   /* the receiver adds to what it has; else it overwrites */
    enum phase phase;
};

struct schedule {
    char algo[32];
    int ranks;
    size_t length; /* of the whole buffer, in elements */
    int rounds;
    int chunks;
    struct transfer *transfers; /* ordered by round, then by from; owned */
    int count;
};

/* Where chunk i of n begins and how long it is: the first length % n chunks have one element more. */
size_t chunk_offset(size_t length, int n, int i);
size_t chunk_length(size_t length, int n, int i);

/*
 * Ring allreduce: a reduce-scatter and an allgather of N-1 rounds each; in each round every rank sends one
 * chunk to its right neighbour. Each rank sends 2(N-1) messages and 2(N-1)/N of the buffer.
 * Source: P. Patarasu and X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations,
 * Journal of Parallel and Distributed Computing 69 (2009) 117-124.
 */
bool schedule_ring(struct schedule *s, int ranks, size_t length, struct error *e);

/*
 * Binomial tree allreduce: the whole buffer up to rank 0 and down again in 2 ceil(log2 N) rounds, each rank adding what
 * it gets to what it has, always in the same pairing. 2(N-1) messages in all; rank 0 sends and receives ceil(log2 N).
 * Source: R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in MPICH,
 * International Journal of High Performance Computing Applications 19 (2005) 49-66.
 */
bool schedule_tree(struct schedule *s, int ranks, size_t length, struct error *e);

/* The name of the i-th algorithm there is, NULL past the last. */
const char *schedule_algo(int i);

/* By name: "ring", "tree". ERROR_INPUT names the algorithms there are. On failure *s is empty. */
bool schedule_make(struct schedule *s, const char *algo, int ranks, size_t length, struct error *e);
void schedule_free(struct schedule *s);

/* "reduce_scatter", "allgather", "reduce", "broadcast" */
const char *phase_name(enum phase phase);

#endif
