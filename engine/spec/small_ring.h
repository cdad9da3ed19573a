/* small_ring.h - for generators: half a ring allreduce over some of the ranks and a part of the buffer. */
#ifndef RINGSIDE_SPEC_SMALL_RING_H
#define RINGSIDE_SPEC_SMALL_RING_H

#include "engine/spec/schedule.h"

/*
 * N-1 rounds of a ring over members first, first + stride, ...: each passes a piece of [offset, offset + length) on.
 * Reduce-scatter leaves member m with the sum of piece m; allgather begins there.
 */
struct small_ring {
    int first, stride, members;
    size_t offset, length;
    int chunk, chunk_step; /* numbers of the pieces, for drawing */
};

/* Its k-th round, as the schedule's `round`. */
void small_ring_round(struct schedule *s, const struct small_ring *r, int round, int k, bool reduce);

#endif
