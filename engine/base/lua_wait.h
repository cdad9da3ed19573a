/*
 * lua_wait.h - who waits for whom, and whether that can ever end.
 *
 * A rank that waits names the rank it sends to, the rank it receives from, or both (sendrecv). It can go on when
 * each of these is met by the matching operation or by a rank that can itself go on. What is left over is a
 * deadlock: a cycle of ranks, or a wait for a rank that has finished.
 */
#ifndef RINGSIDE_BASE_LUA_WAIT_H
#define RINGSIDE_BASE_LUA_WAIT_H

#include <stdbool.h>
#include <stddef.h>

enum { LUA_WAIT_MAX = 64 }; /* ranks */

struct lua_wait {
    bool finished;           /* its function has returned */
    bool sending, receiving; /* both false and not finished: it computes */
    int to, from;
};

struct lua_deadlock {
    char sentence[768];
    int ranks
        [LUA_WAIT_MAX]; /* those in the cycle, each waits for the next; or one that waits for a finished rank */
    int count;
    int waiting_for; /* the rank that ranks[0] waits for */
};

/* Whether some of the n ranks can never go on. */
bool lua_wait_deadlock(const struct lua_wait *w, int n, struct lua_deadlock *d);

#endif
