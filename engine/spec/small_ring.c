#include "engine/spec/small_ring.h"

void small_ring_round(struct schedule *s, const struct small_ring *r, int round, int k, bool reduce)
{
    int n = r->members;
    for (int m = 0; m < n; m++) {
        int piece = ((m - k - (reduce ? 1 : 0)) % n + n) % n;
        schedule_add(s, (struct transfer){
                            .round = round,
                            .from = r->first + m * r->stride,
                            .to = r->first + (m + 1) % n * r->stride,
                            .chunk = r->chunk + piece * r->chunk_step,
                            .offset = r->offset + chunk_offset(r->length, n, piece),
                            .length = chunk_length(r->length, n, piece),
                            .reduce = reduce,
                            .phase = reduce ? PHASE_REDUCE_SCATTER : PHASE_ALLGATHER,
                        });
    }
}
