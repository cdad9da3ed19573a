/*
 * ring.c - the ring allreduce as a schedule.
 *
 * The buffer is cut into N chunks. Reduce-scatter: in round k rank r passes chunk r-k on to its right
 * neighbour, which adds it to its own; after N-1 rounds rank r holds the whole sum of chunk r+1. Allgather:
 * in round N-1+k rank r passes chunk r+1-k on, and the neighbour overwrites its own. Indices are modulo N.
 */
#include "engine/spec/schedule.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool schedule_ring(struct schedule *s, int ranks, size_t length, struct error *e)
{
    memset(s, 0, sizeof *s);
    if (ranks < 1)
        return error_set(e, ERROR_INPUT, "a ring needs at least one rank, not %d", ranks);
    strcpy(s->algo, "ring");
    s->ranks = ranks;
    s->length = length;
    s->chunks = ranks;
    s->rounds = 2 * (ranks - 1);
    /* The first `full` chunks hold something; each of them travels once in every round. */
    size_t full = length < (size_t)ranks ? length : (size_t)ranks;
    size_t count = (size_t)s->rounds * full;
    if (count == 0)
        return true;
    s->transfers = count <= INT32_MAX ? calloc(count, sizeof *s->transfers) : NULL;
    if (!s->transfers)
        return error_set(e, ERROR_FAILED,
                         "a ring of %d ranks needs a schedule of %zu transfers: out of memory", ranks, count);
    for (int round = 0; round < s->rounds; round++) {
        bool reduce = round < ranks - 1;
        int shift = reduce ? -round : 1 - (round - (ranks - 1));
        for (int from = 0; from < ranks; from++) {
            int chunk = ((from + shift) % ranks + ranks) % ranks;
            if (chunk_length(length, ranks, chunk) == 0)
                continue;
            s->transfers[s->count++] = (struct transfer){
                .round = round,
                .from = from,
                .to = (from + 1) % ranks,
                .chunk = chunk,
                .offset = chunk_offset(length, ranks, chunk),
                .length = chunk_length(length, ranks, chunk),
                .reduce = reduce,
                .phase = reduce ? PHASE_REDUCE_SCATTER : PHASE_ALLGATHER,
            };
        }
    }
    return true;
}
