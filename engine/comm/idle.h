/*
 * idle.h - what to do between two polls that brought nothing.
 *
 * Spinning is fastest while the partner runs on another core, and ruinous where it waits for this one. So:
 * spin for a moment, then give the core away at each poll, then sleep for short, growing times. Reset it at
 * any progress. Where the process computes meanwhile (the communication thread beside backward), every poll
 * in vain is followed by a sleep: the core is not this thread's.
 */
#ifndef RINGSIDE_COMM_IDLE_H
#define RINGSIDE_COMM_IDLE_H

#include <stdbool.h>

enum { IDLE_SPINS = 10000 }; /* polls of about 0.1 us: 1 ms, far less than the turn that a yield may cost */

struct idle {
    unsigned polls;
    unsigned spins; /* polls before the core is given away */
    const _Atomic bool *aside;
};

/* aside: true while this process has better use for the core; looked at before each pause. NULL: never. */
static inline struct idle idle_start(bool crowded, const _Atomic bool *aside)
{
    return (struct idle){.spins = crowded ? 0 : IDLE_SPINS, .aside = aside};
}

static inline void idle_reset(struct idle *idle)
{
    idle->polls = 0;
}

void idle_step(struct idle *idle);

/* The same where the poll itself has given the core away, as MPI's may: not twice. */
void idle_gave_way(struct idle *idle);

#endif
