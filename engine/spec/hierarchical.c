/*
 * hierarchical.c - the allreduce for hosts of several ranks, as a schedule.
 *
 * Inside each host a ring reduce-scatter leaves each of its L ranks with the host's sum of 1/L of the
 * buffer. Then rank l of every host forms a ring with the l-th ranks of the other hosts and sums that part
 * over the H hosts. Last a ring allgather inside each host. A host's link carries 2(H-1)/H of the buffer
 * each way, where a ring over all ranks, however well placed, puts 2(HL-1)/(HL) on it: with two hosts a
 * third less, and the more hosts the smaller the gain in bytes; but the slow links see 2(H-1) rounds instead
 * of 2(HL-1).
 */
#include "engine/spec/small_ring.h"

/*
 * All hosts in step: inside each of them. A part of the buffer is as many pieces, for drawing, as there
 * are hosts.
 */
static void inside(struct schedule *s, int hosts, int per_host, bool reduce)
{
    for (int k = 0, round = s->rounds; k < per_host - 1; k++, round++)
        for (int h = 0; h < hosts; h++) {
            struct small_ring r = {.first = h * per_host,
                                   .stride = 1,
                                   .members = per_host,
                                   .length = s->length,
                                   .chunk_step = hosts};
            small_ring_round(s, &r, round, k, reduce);
        }
}

/* Between hosts, a ring for each part of the buffer. */
static void between(struct schedule *s, int hosts, int per_host, bool reduce)
{
    for (int k = 0, round = s->rounds; k < hosts - 1; k++, round++)
        for (int l = 0; l < per_host; l++) {
            struct small_ring r = {.first = l,
                                   .stride = per_host,
                                   .members = hosts,
                                   .offset = chunk_offset(s->length, per_host, l),
                                   .length = chunk_length(s->length, per_host, l),
                                   .chunk = l * hosts,
                                   .chunk_step = 1};
            small_ring_round(s, &r, round, k, reduce);
        }
}

bool schedule_hierarchical(struct schedule *s, int ranks, size_t length, int per_host, struct error *e)
{
    if (per_host == 0)
        per_host = 1;
    if (ranks > 0 && ranks % per_host != 0)
        return error_set(e, ERROR_INPUT,
                         "hierarchical:%d: %d ranks do not fill hosts of %d; take a number that divides %d",
                         per_host, ranks, per_host, ranks);
    int hosts = ranks / per_host;
    size_t most = 2 * (size_t)ranks * (size_t)(per_host + hosts);
    if (!schedule_begin(s, "hierarchical", ranks, length, ranks, most, e))
        return false;
    inside(s, hosts, per_host, true);
    between(s, hosts, per_host, true);
    between(s, hosts, per_host, false);
    inside(s, hosts, per_host, false);
    return true;
}
