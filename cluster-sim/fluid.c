#include "cluster-sim/fluid.h"

#include "cluster-sim/maxmin.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A flow on one of its links, in the list of all that cross it. */
struct crossing {
    int link, flow;
    struct crossing *before, *after;
};

struct flow {
    struct crossing
        *crossing; /* kept when the flow ends: the next that takes its place needs as many, most often */
    int count, room;
    int tag;
    double left, rate, since; /* bytes left at the moment `since` */
    double end;
    int place; /* in the heap; -1: not there */
    unsigned seen;
};

struct fluid {
    double now, work;
    const double *capacity;
    int links;
    struct crossing **on; /* of each link */
    unsigned *seen;       /* links that the present search has met */
    unsigned search;
    int *local; /* number of a met link in the small problem */

    struct flow *flow;
    int flows, flow_room;
    int *spare, spares; /* places of flows that have ended */
    int *heap, heap_size;

    int *dirty, dirty_count, dirty_room; /* links whose flows must be solved anew */

    /* The small problem, and its search; grown as needed. */
    int *met_link, *met_flow, *first, *link, *bottleneck;
    double *rate, *small;
    int met_links, met_flows, met_room, link_room;
};

bool fluid_same_moment(double a, double now)
{
    return fabs(a - now) <= 1e-12 * fabs(now);
}

struct fluid *fluid_new(int links, const double *capacity, struct error *e)
{
    struct fluid *f = calloc(1, sizeof *f);
    size_t n = (size_t)links + 1;
    if (f && (f->on = calloc(n, sizeof(struct crossing *))) && (f->seen = calloc(n, sizeof *f->seen)) &&
        (f->local = calloc(n, sizeof *f->local)) && (f->met_link = calloc(n, sizeof *f->met_link)) &&
        (f->small = calloc(n, sizeof *f->small))) {
        f->links = links;
        f->capacity = capacity;
        return f;
    }
    fluid_free(f);
    error_set(e, ERROR_FAILED, "out of memory for a network of %d links", links);
    return NULL;
}

void fluid_free(struct fluid *f)
{
    if (!f)
        return;
    for (int i = 0; i < f->flows; i++)
        free(f->flow[i].crossing);
    int *lists[] = {f->local,    f->spare, f->heap, f->dirty,     f->met_link,
                    f->met_flow, f->first, f->link, f->bottleneck};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    free(f->on);
    free(f->seen);
    free(f->flow);
    free(f->rate);
    free(f->small);
    free(f);
}

/* --- the heap of ends ---------------------------------------------------------------------------------------- */

static bool sooner(const struct fluid *f, int a, int b)
{
    const struct flow *x = &f->flow[a], *y = &f->flow[b];
    return x->end < y->end || (x->end == y->end && x->tag < y->tag);
}

static void put(struct fluid *f, int place, int flow)
{
    f->heap[place] = flow;
    f->flow[flow].place = place;
}

static void settle(struct fluid *f, int place)
{
    int moved = f->heap[place];
    while (place > 0 && sooner(f, moved, f->heap[(place - 1) / 2])) {
        put(f, place, f->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (int child; (child = 2 * place + 1) < f->heap_size; place = child) {
        if (child + 1 < f->heap_size && sooner(f, f->heap[child + 1], f->heap[child]))
            child++;
        if (!sooner(f, f->heap[child], moved))
            break;
        put(f, place, f->heap[child]);
    }
    put(f, place, moved);
}

static void take_out(struct fluid *f, int flow)
{
    int place = f->flow[flow].place;
    f->flow[flow].place = -1;
    int last = f->heap[--f->heap_size];
    if (last == flow)
        return;
    put(f, place, last);
    settle(f, place);
}

/* --- flows --------------------------------------------------------------------------------------------------- */

static bool grow_flows(struct fluid *f, struct error *e)
{
    int room = f->flow_room ? 2 * f->flow_room : 256;
    size_t n = (size_t)room;
    struct flow *flow = realloc(f->flow, n * sizeof *flow);
    f->flow = flow ? flow : f->flow;
    int **lists[] = {&f->spare, &f->heap, &f->met_flow, &f->bottleneck};
    bool ok = flow != NULL;
    for (size_t i = 0; ok && i < sizeof lists / sizeof *lists; i++) {
        int *grown = realloc(*lists[i], n * sizeof *grown);
        *lists[i] = grown ? grown : *lists[i];
        ok = grown != NULL;
    }
    int *first = ok ? realloc(f->first, (n + 1) * sizeof *first) : NULL;
    f->first = first ? first : f->first;
    double *rate = first ? realloc(f->rate, n * sizeof *rate) : NULL;
    f->rate = rate ? rate : f->rate;
    if (!rate)
        return error_set(e, ERROR_FAILED, "out of memory for %d flows at once", room);
    memset(f->flow + f->flow_room, 0, (n - (size_t)f->flow_room) * sizeof *f->flow);
    f->flow_room = room;
    return true;
}

static bool soil(struct fluid *f, int link, struct error *e)
{
    if (f->dirty_count == f->dirty_room) {
        int room = f->dirty_room ? 2 * f->dirty_room : 1024;
        int *grown = realloc(f->dirty, (size_t)room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "out of memory for the links of a network");
        f->dirty = grown;
        f->dirty_room = room;
    }
    f->dirty[f->dirty_count++] = link;
    return true;
}

bool fluid_start(struct fluid *f, const int *link, int count, double bytes, int tag, struct error *e)
{
    if (f->spares == 0 && f->flows == f->flow_room && !grow_flows(f, e))
        return false;
    int place = f->spares ? f->spare[--f->spares] : f->flows++;
    f->work += count + 1;
    struct flow *flow = &f->flow[place];
    if (flow->room < count) {
        struct crossing *grown = realloc(flow->crossing, (size_t)count * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "out of memory for a flow over %d links", count);
        flow->crossing = grown;
        flow->room = count;
    }
    flow->count = count;
    flow->tag = tag;
    flow->left = bytes;
    flow->since = f->now;
    flow->rate = 0;
    flow->end = count && bytes > 0 ? INFINITY : f->now;
    for (int i = 0; i < count; i++) {
        struct crossing *c = &flow->crossing[i];
        *c = (struct crossing){link[i], place, NULL, f->on[link[i]]};
        if (c->after)
            c->after->before = c;
        f->on[link[i]] = c;
    }
    f->heap[f->heap_size++] = place;
    settle(f, f->heap_size - 1);
    /* All its links lie in one part of the network: one of them is enough to find it. */
    return count == 0 || soil(f, link[0], e);
}

static void set_rate(struct fluid *f, int place, double rate)
{
    struct flow *flow = &f->flow[place];
    if (rate == flow->rate)
        return;
    flow->left = fmax(0, flow->left - flow->rate * (f->now - flow->since));
    flow->since = f->now;
    flow->rate = rate;
    flow->end = flow->left > 0 ? f->now + flow->left / rate : f->now;
    settle(f, flow->place);
}

/* --- solving anew -------------------------------------------------------------------------------------------- */

static void meet(struct fluid *f, int link)
{
    if (f->seen[link] == f->search)
        return;
    f->seen[link] = f->search;
    f->local[link] = f->met_links;
    f->small[f->met_links] = f->capacity[link];
    f->met_link[f->met_links++] = link;
}

/* All flows and links that hang together with the link; how many crossings that makes. */
static int search(struct fluid *f, int link)
{
    int crossings = 0;
    f->met_links = f->met_flows = 0;
    meet(f, link);
    for (int i = 0; i < f->met_links; i++)
        for (const struct crossing *c = f->on[f->met_link[i]]; c; c = c->after) {
            struct flow *flow = &f->flow[c->flow];
            if (flow->seen == f->search)
                continue;
            flow->seen = f->search;
            f->met_flow[f->met_flows++] = c->flow;
            crossings += flow->count;
            for (int k = 0; k < flow->count; k++)
                meet(f, flow->crossing[k].link);
        }
    return crossings;
}

static bool solve(struct fluid *f, int crossings, struct error *e)
{
    if (crossings > f->link_room) {
        int room = crossings > 2 * f->link_room ? crossings + 16 : 2 * f->link_room;
        int *grown = realloc(f->link, (size_t)room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "out of memory for %d flows at once", f->met_flows);
        f->link = grown;
        f->link_room = room;
    }
    int used = 0;
    for (int i = 0; i < f->met_flows; i++) {
        const struct flow *flow = &f->flow[f->met_flow[i]];
        f->first[i] = used;
        for (int k = 0; k < flow->count; k++)
            f->link[used++] = f->local[flow->crossing[k].link];
    }
    f->first[f->met_flows] = used;
    f->work += used + f->met_links;
    if (!maxmin_solve(f->met_links, f->small, f->met_flows, f->first, f->link, f->rate, f->bottleneck, e))
        return false;
    for (int i = 0; i < f->met_flows; i++)
        set_rate(f, f->met_flow[i], f->rate[i]);
    return true;
}

static bool renew(struct fluid *f, int link, struct error *e)
{
    const struct crossing *only = f->on[link];
    if (!only || f->seen[link] == f->search)
        return true;
    const struct flow *flow = &f->flow[only->flow];
    double rate = INFINITY;
    bool alone = true;
    for (int k = 0; k < flow->count && alone; k++) {
        const struct crossing *c = f->on[flow->crossing[k].link];
        alone = c == &flow->crossing[k] && !c->after;
        rate = fmin(rate, f->capacity[c->link]);
    }
    if (!alone)
        return solve(f, search(f, link), e);
    set_rate(f, only->flow, rate);
    return true;
}

bool fluid_next(struct fluid *f, double *when, struct error *e)
{
    if (f->dirty_count) {
        f->search++;
        for (int i = 0; i < f->dirty_count; i++)
            if (!renew(f, f->dirty[i], e))
                return false;
        f->dirty_count = 0;
    }
    *when = f->heap_size ? f->flow[f->heap[0]].end : INFINITY;
    return true;
}

double fluid_work(const struct fluid *f)
{
    return f->work;
}

void fluid_advance(struct fluid *f, double now)
{
    f->now = now;
}

int fluid_ended(struct fluid *f)
{
    if (f->heap_size == 0)
        return -1;
    int place = f->heap[0];
    struct flow *flow = &f->flow[place];
    if (flow->end > f->now && !fluid_same_moment(flow->end, f->now))
        return -1;
    take_out(f, place);
    for (int i = 0; i < flow->count; i++) {
        struct crossing *c = &flow->crossing[i];
        if (c->before)
            c->before->after = c->after;
        else
            f->on[c->link] = c->after;
        if (c->after)
            c->after->before = c->before;
        /* Room was made when the flow began; where memory is short the others keep their rates, which is no crash. */
        if (f->on[c->link])
            soil(f, c->link, NULL);
    }
    f->spare[f->spares++] = place;
    return flow->tag;
}
