#include "cluster-sim/waiting.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

bool waiting_make(struct waiting *w, int places, struct error *e)
{
    *w = (struct waiting){.places = 1};
    while (w->places < places)
        w->places *= 2;
    w->procs = malloc((size_t)w->places * 2 * sizeof *w->procs);
    w->limit = malloc((size_t)w->places * 2 * sizeof *w->limit);
    if (!w->procs || !w->limit) {
        waiting_free(w);
        return error_set(e, ERROR_FAILED, "not enough memory for a queue of %d jobs", places);
    }
    for (int i = 0; i < 2 * w->places; i++) {
        w->procs[i] = INT_MAX;
        w->limit[i] = INFINITY;
    }
    return true;
}

void waiting_free(struct waiting *w)
{
    if (!w)
        return;
    free(w->procs);
    free(w->limit);
    *w = (struct waiting){0};
}

/* Node n's children are 2n and 2n + 1; the root is 1, the leaves begin at places. */
static void set(struct waiting *w, int place, int procs, double limit)
{
    int node = w->places + place;
    w->procs[node] = procs;
    w->limit[node] = limit;
    for (node /= 2; node > 0; node /= 2) {
        int left = 2 * node, right = left + 1;
        w->procs[node] = w->procs[left] < w->procs[right] ? w->procs[left] : w->procs[right];
        w->limit[node] = w->limit[left] < w->limit[right] ? w->limit[left] : w->limit[right];
    }
}

void waiting_put(struct waiting *w, int place, int procs, double limit_s)
{
    set(w, place, procs, limit_s);
    w->count++;
}

void waiting_take(struct waiting *w, int place)
{
    set(w, place, INT_MAX, INFINITY);
    w->count--;
}

/* Of a leaf: whether its job fits. Of an inner node: whether one below it may. */
static bool may_fit(const struct waiting *w, int node, struct hole hole)
{
    return w->procs[node] <= hole.spare ||
           (w->procs[node] <= hole.procs && w->limit[node] <= hole.window_s && w->procs[node] < INT_MAX);
}

/* The first place >= from below node, whose leaves are low ... low + width - 1, that fits. */
static int descend(const struct waiting *w, int node, int low, int width, int from, struct hole hole)
{
    if (low + width <= from || !may_fit(w, node, hole))
        return -1;
    if (width == 1)
        return low;
    int found = descend(w, 2 * node, low, width / 2, from, hole);
    return found >= 0 ? found : descend(w, 2 * node + 1, low + width / 2, width / 2, from, hole);
}

int waiting_fit(const struct waiting *w, int from, struct hole hole)
{
    return descend(w, 1, 0, w->places, from, hole);
}

int waiting_first(const struct waiting *w, int from)
{
    return waiting_fit(w, from,
                       (struct hole){.procs = INT_MAX - 1, .window_s = INFINITY, .spare = INT_MAX - 1});
}
