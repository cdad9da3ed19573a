#include "cluster-sim/maxmin.h"

#include <math.h>
#include <stdlib.h>

struct state {
    const double *capacity;
    const int *first, *link;
    double *left;           /* of a link's capacity */
    int *open;              /* flows of a link that still grow */
    int *flow_first, *flow; /* those that cross a link */
    double *share;          /* of the links in the heap */
    int *heap, size;
};

static void sink(struct state *s, int at)
{
    int moved = s->heap[at];
    for (;;) {
        int child = 2 * at + 1;
        if (child >= s->size)
            break;
        if (child + 1 < s->size && s->share[s->heap[child + 1]] < s->share[s->heap[child]])
            child++;
        if (s->share[s->heap[child]] >= s->share[moved])
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = moved;
}

/* Which flows cross each link, and the heap of those that any crosses. */
static void prepare(struct state *s, int links, int flows)
{
    for (int f = 0; f < flows; f++)
        for (int k = s->first[f]; k < s->first[f + 1]; k++)
            s->open[s->link[k]]++;
    for (int l = 0; l < links; l++)
        s->flow_first[l + 1] = s->flow_first[l] + s->open[l];
    for (int f = flows - 1; f >= 0; f--)
        for (int k = s->first[f]; k < s->first[f + 1]; k++)
            s->flow[s->flow_first[s->link[k]] + --s->open[s->link[k]]] = f;
    for (int l = 0; l < links; l++) {
        s->open[l] = s->flow_first[l + 1] - s->flow_first[l];
        s->left[l] = s->capacity[l];
        if (s->open[l] > 0) {
            s->share[l] = s->left[l] / s->open[l];
            s->heap[s->size++] = l;
        }
    }
    for (int at = s->size / 2 - 1; at >= 0; at--)
        sink(s, at);
}

/* The link is full: its flows have what they will get, and no longer grow on their other links. */
static void fill(struct state *s, int l, double *rate, int *bottleneck)
{
    double share = s->share[l];
    for (int k = s->flow_first[l]; k < s->flow_first[l + 1]; k++) {
        int f = s->flow[k];
        if (rate[f] >= 0)
            continue;
        rate[f] = share;
        bottleneck[f] = l;
        for (int j = s->first[f]; j < s->first[f + 1]; j++) {
            int other = s->link[j];
            s->open[other]--;
            s->left[other] = fmax(0, s->left[other] - share);
        }
    }
}

static void solve(struct state *s, double *rate, int *bottleneck)
{
    while (s->size > 0) {
        int l = s->heap[0];
        double now = s->open[l] > 0 ? s->left[l] / s->open[l] : INFINITY;
        if (s->open[l] == 0) {
            s->heap[0] = s->heap[--s->size];
        } else if (now > s->share[l] * (1 + 1e-14)) {
            s->share[l] = now;
        } else {
            fill(s, l, rate, bottleneck);
            s->heap[0] = s->heap[--s->size];
        }
        if (s->size > 0)
            sink(s, 0);
    }
}

bool maxmin_solve(int links, const double *capacity, int flows, const int *first, const int *link,
                  double *rate, int *bottleneck, struct error *e)
{
    size_t n = (size_t)links + 1, crossings = (size_t)first[flows] + 1;
    struct state s = {.capacity = capacity, .first = first, .link = link};
    s.left = malloc(n * sizeof *s.left);
    s.open = calloc(n, sizeof *s.open);
    s.flow_first = calloc(n + 1, sizeof *s.flow_first);
    s.flow = malloc(crossings * sizeof *s.flow);
    s.share = malloc(n * sizeof *s.share);
    s.heap = malloc(n * sizeof *s.heap);
    bool ok = s.left && s.open && s.flow_first && s.flow && s.share && s.heap;
    if (ok) {
        for (int f = 0; f < flows; f++) {
            rate[f] = first[f] == first[f + 1] ? INFINITY : -1;
            bottleneck[f] = -1;
        }
        prepare(&s, links, flows);
        solve(&s, rate, bottleneck);
    } else {
        error_set(e, ERROR_FAILED, "out of memory for %d flows over %d links", flows, links);
    }
    free(s.left);
    free(s.open);
    free(s.flow_first);
    free(s.flow);
    free(s.share);
    free(s.heap);
    return ok;
}
