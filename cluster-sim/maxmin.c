#include "cluster-sim/maxmin.h"

#include <math.h>
#include <stdlib.h>

/* What rounding alone keeps apart. */
#define SAME (1 + 1e-14)

/* Waves go on while each settles at least one flow in so many; the rest, where few are left, is not worth the heap. */
enum { WORTH = 16, FEW = 64 };

struct state {
    const int *first, *link;
    double *rate;
    int *bottleneck;
    double *left, *share; /* of each link: what remains of its capacity; that, divided among its open flows */
    int *open, *count;    /* its flows that still grow; those of them that no other link would stop sooner */
    int *flow, flows;     /* those that still grow */
    int *live, lives;     /* links with such flows */
};

/* The flow has what it will get, and no longer grows on its links. */
static void settle(struct state *s, int f)
{
    for (int k = s->first[f]; k < s->first[f + 1]; k++) {
        int l = s->link[k];
        s->open[l]--;
        s->left[l] = fmax(0, s->left[l] - s->rate[f]);
    }
}

/* --- waves ------------------------------------------------------------------------------------------------------------- */

static void renew_shares(struct state *s)
{
    int kept = 0;
    for (int i = 0; i < s->lives; i++) {
        int l = s->live[i];
        if (s->open[l] == 0)
            continue;
        s->share[l] = s->left[l] / s->open[l];
        s->count[l] = 0;
        s->live[kept++] = l;
    }
    s->lives = kept;
}

static void count_stopped(struct state *s)
{
    for (int i = 0; i < s->flows; i++) {
        int begin = s->first[s->flow[i]], end = s->first[s->flow[i] + 1];
        double least = INFINITY;
        for (int k = begin; k < end; k++)
            least = s->share[s->link[k]] < least ? s->share[s->link[k]] : least;
        for (int k = begin; k < end; k++)
            s->count[s->link[k]] += s->share[s->link[k]] <= least * SAME;
    }
}

/*
 * A link that stops all of its flows before any other link would is their bottleneck, whatever happens elsewhere: other links'
 * shares only grow. All such links fill up at once. Returns how many flows that settles: at least one, since the link with the
 * least share is one of them.
 */
static int wave(struct state *s)
{
    renew_shares(s);
    count_stopped(s);
    int kept = 0, end = s->flows;
    for (int i = 0; i < end;) {
        int f = s->flow[i], k = s->first[f];
        while (k < s->first[f + 1] && s->count[s->link[k]] < s->open[s->link[k]])
            k++;
        if (k == s->first[f + 1]) {
            kept = ++i;
            continue;
        }
        s->rate[f] = s->share[s->link[k]];
        s->bottleneck[f] = s->link[k];
        s->flow[i] = s->flow[--end]; /* the settled gather at the end */
        s->flow[end] = f;
    }
    int settled = s->flows - kept;
    for (int i = kept; i < s->flows; i++)
        settle(s, s->flow[i]);
    s->flows = kept;
    return settled;
}

/* --- one link after another, where waves settle too little ----------------------------------------------------------- */

struct entry {
    double share; /* as it was: a share only grows, so an entry may be stale but never too large */
    int link;
};

static void sink(struct entry *heap, int size, int at)
{
    struct entry moved = heap[at];
    for (int child; (child = 2 * at + 1) < size; at = child) {
        if (child + 1 < size && heap[child + 1].share < heap[child].share)
            child++;
        if (heap[child].share >= moved.share)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* The open flows of each link, as lists: those of link l are list[begin[l]] .. list[begin[l] + open[l] - 1] in the beginning. */
static void list_flows(const struct state *s, int *begin, int *list)
{
    int used = 0;
    for (int i = 0; i < s->lives; i++) {
        begin[s->live[i]] = used;
        s->count[s->live[i]] = 0;
        used += s->open[s->live[i]];
    }
    for (int i = 0; i < s->flows; i++)
        for (int k = s->first[s->flow[i]]; k < s->first[s->flow[i] + 1]; k++) {
            int l = s->link[k];
            list[begin[l] + s->count[l]++] = s->flow[i];
        }
}

static void fill_in_order(struct state *s, struct entry *heap, int *begin, int *list)
{
    int size = 0;
    renew_shares(s);
    list_flows(s, begin, list);
    for (int i = 0; i < s->lives; i++)
        heap[size++] = (struct entry){s->share[s->live[i]], s->live[i]};
    for (int at = size / 2 - 1; at >= 0; at--)
        sink(heap, size, at);
    while (size > 0) {
        int l = heap[0].link;
        double now = s->open[l] > 0 ? s->left[l] / s->open[l] : 0;
        if (now > heap[0].share * SAME) {
            heap[0].share = now;
        } else {
            for (int i = begin[l]; s->open[l] > 0 && i < begin[l] + s->count[l]; i++) {
                int f = list[i];
                if (s->bottleneck[f] >= 0)
                    continue;
                s->rate[f] = heap[0].share;
                s->bottleneck[f] = l;
                settle(s, f);
            }
            heap[0] = heap[--size];
        }
        if (size > 0)
            sink(heap, size, 0);
    }
}

static bool one_by_one(struct state *s, int links, struct error *e)
{
    size_t crossings = 1;
    for (int i = 0; i < s->lives; i++)
        crossings += (size_t)s->open[s->live[i]];
    int *begin = malloc(((size_t)links + 1) * sizeof *begin), *list = malloc(crossings * sizeof *list);
    struct entry *heap = malloc(((size_t)s->lives + 1) * sizeof *heap);
    bool ok = begin && list && heap;
    if (ok)
        fill_in_order(s, heap, begin, list);
    else
        error_set(e, ERROR_FAILED, "out of memory for %d links", links);
    free(begin);
    free(list);
    free(heap);
    return ok;
}

/* --- together -------------------------------------------------------------------------------------------------------------- */

static void prepare(struct state *s, int links, const double *capacity, int flows)
{
    for (int f = 0; f < flows; f++) {
        bool crosses = s->first[f] < s->first[f + 1];
        s->rate[f] = crosses ? 0 : INFINITY;
        s->bottleneck[f] = -1;
        if (crosses)
            s->flow[s->flows++] = f;
    }
    for (int k = 0; k < s->first[flows]; k++)
        s->open[s->link[k]]++;
    for (int l = 0; l < links; l++) {
        s->left[l] = capacity[l];
        if (s->open[l] > 0)
            s->live[s->lives++] = l;
    }
}

bool maxmin_solve(int links, const double *capacity, int flows, const int *first, const int *link,
                  double *rate, int *bottleneck, struct error *e)
{
    size_t n = (size_t)links + 1;
    struct state s = {.first = first, .link = link, .rate = rate, .bottleneck = bottleneck};
    double *reals = malloc(2 * n * sizeof *reals);
    int *wholes = calloc(3 * n + (size_t)flows, sizeof *wholes);
    bool ok = reals && wholes;
    if (ok) {
        s.left = reals;
        s.share = reals + n;
        s.open = wholes;
        s.count = wholes + n;
        s.live = wholes + 2 * n;
        s.flow = wholes + 3 * n;
        prepare(&s, links, capacity, flows);
        for (int settled = flows; s.flows > 0 && (s.flows <= FEW || settled >= s.flows / WORTH);)
            settled = wave(&s);
        ok = s.flows == 0 || one_by_one(&s, links, e);
    } else {
        error_set(e, ERROR_FAILED, "out of memory for %d flows over %d links", flows, links);
    }
    free(reals);
    free(wholes);
    return ok;
}
