/*
 * tree.c - the binomial tree allreduce as a schedule: a reduce to rank 0, then a broadcast from it.
 *
 * Reduce, distance d = 1, 2, 4 ...: of every 2d ranks the one in the middle sends the sum of its half to the
 * first, which adds it to its own. Broadcast: the same messages the other way, the last first. The whole
 * buffer travels each time, in 2 ceil(log2 N) rounds instead of the ring's 2(N-1): good for short vectors.
 *
 * And the sum is always paired in the same way, ((0+1)+(2+3))+...: ranks that first add up 2^k parts of their
 * own along that tree get the same bits however many of the parts each of them has (--reproducible).
 */
#include "engine/spec/schedule.h"

static void add_round(struct schedule *s, int distance, bool reduce)
{
    int round = s->rounds;
    for (int low = 0; low + distance < s->ranks; low += 2 * distance)
        schedule_add(s, (struct transfer){
                            .round = round,
                            .from = reduce ? low + distance : low,
                            .to = reduce ? low : low + distance,
                            .length = s->length,
                            .reduce = reduce,
                            .phase = reduce ? PHASE_REDUCE : PHASE_BROADCAST,
                        });
}

void schedule_add_tree(struct schedule *s, bool reduce)
{
    int distance = 1;
    if (reduce) {
        for (; distance < s->ranks; distance *= 2)
            add_round(s, distance, true);
        return;
    }
    while (distance < s->ranks)
        distance *= 2;
    while (distance /= 2)
        add_round(s, distance, false);
}

bool schedule_tree(struct schedule *s, int ranks, size_t length, struct error *e)
{
    if (!schedule_begin(s, "tree", ranks, length, 1, 2 * (size_t)ranks, e))
        return false;
    schedule_add_tree(s, true);
    schedule_add_tree(s, false);
    return true;
}
