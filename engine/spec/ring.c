/*
 * ring.c - the ring allreduce as a schedule, whole chunks or segments of them.
 *
 * The buffer is cut into N chunks. Reduce-scatter: in round k rank r passes chunk r-k on to its right
 * neighbour, which adds it to its own; after N-1 rounds rank r holds the whole sum of chunk r+1. Allgather:
 * in round N-1+k rank r passes chunk r+1-k on, and the neighbour overwrites its own. Indices are modulo N.
 *
 * Segmented, each chunk is cut once more, and each round of the ring becomes one round a segment: a rank may pass the
 * first segments on while the last are still on their way to it.
 */
#include "engine/spec/schedule.h"

/* Round k of the ring for the part of every chunk that is segment `part` of `parts`. */
static void ring_round(struct schedule *s, int k, int part, int parts)
{
    int n = s->ranks;
    bool reduce = k < n - 1;
    int shift = reduce ? -k : 1 - (k - (n - 1));
    for (int from = 0; from < n; from++) {
        int chunk = ((from + shift) % n + n) % n;
        size_t length = chunk_length(s->length, n, chunk);
        schedule_add(s, (struct transfer){
                            .round = k * parts + part,
                            .from = from,
                            .to = (from + 1) % n,
                            .chunk = chunk * parts + part,
                            .offset = chunk_offset(s->length, n, chunk) + chunk_offset(length, parts, part),
                            .length = chunk_length(length, parts, part),
                            .reduce = reduce,
                            .phase = reduce ? PHASE_REDUCE_SCATTER : PHASE_ALLGATHER,
                        });
    }
}

static bool ring(struct schedule *s, const char *algo, int ranks, size_t length, int parts, struct error *e)
{
    /* The chunks that hold something travel once in every round. */
    size_t full =
        ranks > 0 && length < (size_t)ranks * (size_t)parts ? length : (size_t)ranks * (size_t)parts;
    if (!schedule_begin(s, algo, ranks, length, ranks * parts, 2 * (size_t)ranks * full, e))
        return false;
    for (int k = 0; k < 2 * (ranks - 1); k++)
        for (int part = 0; part < parts; part++)
            ring_round(s, k, part, parts);
    return true;
}

bool schedule_ring(struct schedule *s, int ranks, size_t length, struct error *e)
{
    return ring(s, "ring", ranks, length, 1, e);
}

bool schedule_ring_segmented(struct schedule *s, int ranks, size_t length, int segment, struct error *e)
{
    size_t longest = ranks > 0 ? chunk_length(length, ranks, 0) : 0, most = segment ? (size_t)segment : 65536;
    size_t parts = (longest + most - 1) / most;
    return ring(s, "ring_segmented", ranks, length, parts > 1 ? (int)(parts < 4096 ? parts : 4096) : 1, e);
}
