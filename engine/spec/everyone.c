/*
 * everyone.c - the allreduce that needs no thought, as a schedule: each rank sends its whole buffer to each other, and all
 * add up what they get. One round, but N(N-1) times the buffer in all, and each rank's link carries N-1 of it both ways.
 * Each begins with the rank after it: so that at any time each rank's link is sent to by one other. Where all send to rank
 * 0 first, and to the last rank last, the messages to it begin to arrive when all others are done: 2N-3 in a row, not N-1.
 *
 * Every rank forms the same sum by itself, so its order must be the same everywhere: what comes in one round for the same
 * elements is summed in the order of ranks (engine/comm/executor.c).
 */
#include "engine/spec/schedule.h"

bool schedule_everyone(struct schedule *s, int ranks, size_t length, struct error *e)
{
    size_t most = ranks > 0 ? (size_t)ranks * (size_t)(ranks - 1) : 0;
    if (!schedule_begin(s, "everyone", ranks, length, 1, most, e))
        return false;
    for (int from = 0; from < ranks; from++)
        for (int next = 1; next < ranks; next++)
            schedule_add(s, (struct transfer){.from = from,
                                              .to = (from + next) % ranks,
                                              .length = length,
                                              .reduce = true,
                                              .phase = PHASE_REDUCE});
    return true;
}
