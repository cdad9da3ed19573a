#include "engine/base/lua_wait.h"

#include <stdio.h>
#include <string.h>

static bool send_met(const struct lua_wait *w, int r)
{
    const struct lua_wait *peer = &w[w[r].to];
    return !w[r].sending || (peer->receiving && peer->from == r);
}

static bool receive_met(const struct lua_wait *w, int r)
{
    const struct lua_wait *peer = &w[w[r].from];
    return !w[r].receiving || (peer->sending && peer->to == r);
}

/* Fills alive[]: the ranks that can go on, found from those that compute outwards. */
static void find_alive(const struct lua_wait *w, int n, bool *alive)
{
    for (int r = 0; r < n; r++)
        alive[r] = !w[r].finished && !w[r].sending && !w[r].receiving;
    for (bool changed = true; changed;) {
        changed = false;
        for (int r = 0; r < n; r++) {
            if (alive[r] || w[r].finished)
                continue;
            if ((send_met(w, r) || alive[w[r].to]) && (receive_met(w, r) || alive[w[r].from]))
                alive[r] = changed = true;
        }
    }
}

/* One rank that r waits for in vain, and by which operation. */
static int blocker(const struct lua_wait *w, int r, const bool *alive, bool *by_send)
{
    *by_send = !send_met(w, r) && !alive[w[r].to];
    return *by_send ? w[r].to : w[r].from;
}

static size_t add_wait(char *text, size_t size, size_t used, int rank, int peer, bool by_send)
{
    if (used >= size)
        return used;
    return used + (size_t)snprintf(text + used, size - used, "%srank %d waits to %s rank %d",
                                   used ? ", " : "", rank, by_send ? "send to" : "receive from", peer);
}

bool lua_wait_deadlock(const struct lua_wait *w, int n, struct lua_deadlock *d)
{
    bool alive[LUA_WAIT_MAX] = {false}, by_send;
    int seen[LUA_WAIT_MAX];
    memset(d, 0, sizeof *d);
    if (n > LUA_WAIT_MAX)
        return false;
    find_alive(w, n, alive);
    int start = 0;
    while (start < n && (alive[start] || w[start].finished))
        start++;
    if (start == n)
        return false;
    memset(seen, -1, sizeof seen);
    int path[LUA_WAIT_MAX] = {0}, steps = 0, r = start;
    while (!w[r].finished && seen[r] < 0) {
        seen[r] = steps;
        path[steps++] = r;
        r = blocker(w, r, alive, &by_send);
    }
    /* The way there is left out: what matters is the cycle itself, or the last wait. */
    int first = w[r].finished ? steps - 1 : seen[r];
    size_t used = 0;
    for (int i = first; i < steps; i++) {
        int peer = blocker(w, path[i], alive, &by_send);
        used = add_wait(d->sentence, sizeof d->sentence, used, path[i], peer, by_send);
        d->ranks[d->count++] = path[i];
        if (i == first)
            d->waiting_for = peer;
    }
    if (used < sizeof d->sentence) {
        if (w[r].finished)
            snprintf(d->sentence + used, sizeof d->sentence - used, ", but rank %d has finished: %s", r,
                     by_send ? "nobody takes the message" : "nobody sends it");
        else
            snprintf(d->sentence + used, sizeof d->sentence - used, ": nobody can go on");
    }
    return true;
}
