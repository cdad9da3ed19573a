/*
 * collective.h - the collectives besides the allreduce, as schedules over one buffer of S elements on every
 * rank.
 *
 *   broadcast       rank 0's buffer to all: the tree's second half, ceil(log2 N) rounds of S
 *   reduce          the sum to rank 0 (what others hold afterwards is of no use): the tree's first half
 *   allgather       piece r of rank r to all: N-1 rounds of a ring, S/N each
 *   reduce_scatter  rank r is left with the sum of piece r: N-1 rounds of a ring, S/N each
 *   alltoall        piece i of rank r becomes piece r of rank i, in place: N rounds of pairs that swap, S/N each
 *   barrier         nobody leaves before all have come: ceil(log2 N) rounds of one element, to the rank 1, 2, 4 ... further
 *
 * Pieces are chunk_offset's; alltoall needs pieces of equal length. Sources: R. Thakur, R. Rabenseifner and
 * W. Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19 (2005) 49-66 (tree,
 * ring, pairwise exchange); D. Hensgen, R. Finkel and U. Manber, Two algorithms for barrier synchronization,
 * Int. J. of Parallel Programming 17 (1988) 1-17 (dissemination).
 */
#ifndef RINGSIDE_SPEC_COLLECTIVE_H
#define RINGSIDE_SPEC_COLLECTIVE_H

#include "engine/spec/schedule.h"

enum collective { ALLREDUCE, BROADCAST, REDUCE, ALLGATHER, REDUCE_SCATTER, ALLTOALL, BARRIER, COLLECTIVES };

/* "allreduce", "broadcast", ...; NULL past the last. */
const char *collective_name(enum collective op);
/* COLLECTIVES where there is none of that name. */
enum collective collective_named(const char *name);
/* How ours goes: "tree", "ring", "pairwise", "dissemination"; of the allreduce, which has many: NULL. */
const char *collective_algo(enum collective op);
/*
 * busbw as a share of algbw on n ranks, as nccl-tests has it: allreduce 2(n-1)/n, broadcast 1, allgather
 * (n-1)/n ...
 */
double collective_bus_factor(enum collective op, int ranks);

/*
 * One of them but the allreduce. A barrier's schedule is of one element whatever length says. ERROR_INPUT:
 * no such operation, or the buffer of an alltoall has no equal pieces.
 */
bool schedule_collective(struct schedule *s, enum collective op, int ranks, size_t length, struct error *e);

#endif
