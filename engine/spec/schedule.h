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

enum phase {
    PHASE_REDUCE_SCATTER,
    PHASE_ALLGATHER,
    PHASE_REDUCE,
    PHASE_BROADCAST,
    PHASE_ALLTOALL,
    PHASE_BARRIER,
};

struct transfer {
    int round;       /* from 0 */
    int from, to;    /* ranks */
    int chunk;       /* which piece of the buffer, for drawing */
    size_t offset;   /* of the piece, in elements */
    size_t length;   /* of the piece, in elements */
    ptrdiff_t shift; /* the receiver has it at offset + shift: 0 but in an alltoall */
    bool reduce;     /* the receiver adds to what it has; else it overwrites */
    enum phase phase;
};

struct schedule {
    char algo[32];
    int ranks;
    size_t length; /* of the whole buffer, in elements */
    int rounds;
    int chunks;
    struct transfer *transfers; /* ordered by round; owned */
    int count;
};

/* Where chunk i of n begins and how long it is: the first length % n chunks have one element more. */
size_t chunk_offset(size_t length, int n, int i);
size_t chunk_length(size_t length, int n, int i);

/*
 * The algorithms: an allreduce each, in a file of its own with its source. S is the buffer; counts are of
 * messages of whole pieces (the executor cuts long ones into segments).
 *
 *   everyone            each rank to each other, all in one round: N(N-1) S in all, what a ring is compared with
 *   central             all to rank 0, which sums, and back: 2(N-1) S through one rank's link
 *   param_server        the same with the buffer cut among `servers` ranks: each link of theirs 2(N-1)/servers S
 *   tree                binomial reduce and broadcast: 2 ceil(log2 N) rounds of S
 *   recursive_doubling  log2 N rounds of S, pairs that exchange and both add
 *   halving_doubling    log2 N rounds that halve (reduce-scatter), as many that double (allgather): 2(N-1)/N S a rank
 *   ring                2(N-1) rounds of S/N: 2(N-1)/N S a rank, to one neighbour
 *   ring_segmented      the ring in pieces of at most `segment` elements that follow each other round
 *   hierarchical        reduce-scatter inside each host, a ring between hosts for each piece, allgather inside
 *
 * Sources: R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations in
 * MPICH, Int. J. of High Performance Computing Applications 19 (2005) 49-66 (tree, recursive doubling,
 * halving doubling and how they fold a number of ranks that is no power of two); P. Patarasu and X. Yuan,
 * Bandwidth optimal all-reduce algorithms for clusters of workstations, J. of Parallel and Distributed
 * Computing 69 (2009) 117-124 (ring); M. Li et al., Scaling distributed machine learning with the parameter
 * server, OSDI 2014; hierarchical as in A. Sergeev and M. Del Balso, Horovod: fast and easy distributed deep
 * learning in TensorFlow, 2018.
 */
bool schedule_everyone(struct schedule *s, int ranks, size_t length, struct error *e);
bool schedule_central(struct schedule *s, int ranks, size_t length, struct error *e);
/* servers 0: the root of the number of ranks. */
bool schedule_param_server(struct schedule *s, int ranks, size_t length, int servers, struct error *e);
bool schedule_tree(struct schedule *s, int ranks, size_t length, struct error *e);
bool schedule_recursive_doubling(struct schedule *s, int ranks, size_t length, struct error *e);
bool schedule_halving_doubling(struct schedule *s, int ranks, size_t length, struct error *e);
bool schedule_ring(struct schedule *s, int ranks, size_t length, struct error *e);
/* segment 0: 65 536 elements. */
bool schedule_ring_segmented(struct schedule *s, int ranks, size_t length, int segment, struct error *e);
/*
 * Host h has the ranks [h·per_host, (h+1)·per_host); ranks must be a multiple of per_host. 0: each its own
 * host.
 */
bool schedule_hierarchical(struct schedule *s, int ranks, size_t length, int per_host, struct error *e);

/*
 * For generators: an empty schedule with room for `most` transfers (ERROR_INPUT where ranks < 1), and the
 * next transfer, which is left out where its length is 0. Rounds count up to the last that was added or
 * given.
 */
bool schedule_begin(struct schedule *s, const char *algo, int ranks, size_t length, int chunks, size_t most,
                    struct error *e);
void schedule_add(struct schedule *s, struct transfer t);

/* Half of a tree: the binomial reduce to rank 0, or the broadcast from it. */
void schedule_add_tree(struct schedule *s, bool reduce);

/* The name of the i-th algorithm there is, NULL past the last. */
const char *schedule_algo(int i);

/*
 * "ring"; or where the algorithm has a parameter "NAME:NUMBER": "param_server:3" (servers),
 * "ring_segmented:65536" (elements of a segment), "hierarchical:4" (ranks of a host). ERROR_INPUT names the
 * algorithms there are.
 */
bool schedule_algo_parse(const char *algo, int *index, int *number, struct error *e);
/*
 * Whether it is such a name, "auto", "mpi", "shm" or "nccl": what a job may ask for; and whether the number behind a colon goes
 * with so many ranks (0: not known yet). ERROR_INPUT as above.
 */
bool allreduce_algo_check(const char *algo, int ranks, struct error *e);
/* By such a name. On failure *s is empty. */
bool schedule_make(struct schedule *s, const char *algo, int ranks, size_t length, struct error *e);
void schedule_free(struct schedule *s);

/* "reduce_scatter", "allgather", "reduce", "broadcast", "alltoall", "barrier" */
const char *phase_name(enum phase phase);

#endif
