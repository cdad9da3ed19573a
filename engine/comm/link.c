/*
 * link.c - alpha, beta and gamma of this machine, measured.
 *
 * Everything is done by all ranks at the same time, as it is in a collective, where they share cores, memory
 * and wires. A message: each rank sends to the next one and receives from the one before. A flag and a copy:
 * what shm consists of. Times are the least of several: what the machine does when nothing else disturbs it.
 */
#include "engine/comm/comm_internal.h"
#include "engine/comm/shm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TIMES = 9,         /* of each measurement */
    SHORT = 16 * 1024, /* up to here a measurement is several messages */
    LONG = 32 << 20,   /* bytes that are copied or added: more than a cache holds, */
    ALL = 128 << 20,   /* but from and to of all ranks of a host no more than this */
    LEAST = 4 << 20,   /* and no less than this: the longest message */
};

/* One thing to time: `count` of them take how long? */
struct timed {
    bool (*once)(struct comm *c, struct timed *w, struct error *e);
    char *from, *to;
    size_t bytes;
    int count;
};

/* The least of TIMES, each the slowest rank's; once before, to warm up. */
static bool least_time(struct comm *c, struct timed *w, double *seconds, struct error *e)
{
    *seconds = INFINITY;
    for (int i = -1; i < TIMES; i++) {
        if (!comm_barrier(c, e))
            return false;
        double begin = sink_clock();
        for (int k = 0; k < w->count; k++)
            if (!w->once(c, w, e))
                return false;
        double most = (sink_clock() - begin) / w->count;
        if (!comm_max_double(c, &most, 1, e))
            return false;
        if (i >= 0 && most < *seconds)
            *seconds = most;
    }
    return true;
}

static bool exchange(struct comm *c, struct timed *w, struct error *e)
{
    struct transport *t = comm_transport_real(c); /* also where it is slowed */
    struct pending p[2] = {0};
    int next = (t->rank + 1) % t->size, before = (t->rank + t->size - 1) % t->size;
    return t->ops->recv_start(t, before, 0, w->to, w->bytes, &p[0], e) &&
           t->ops->send_start(t, next, 0, w->from, w->bytes, false, &p[1], e) && t->ops->wait(t, p, 2, e);
}

static bool flag(struct comm *c, struct timed *w, struct error *e)
{
    (void)w;
    return shm_barrier(c->shm, e);
}

static bool copy(struct comm *c, struct timed *w, struct error *e)
{
    (void)c;
    (void)e;
    memcpy(w->to, w->from, w->bytes);
    return true;
}

static bool addition(struct comm *c, struct timed *w, struct error *e)
{
    (void)c;
    (void)e;
    element_f32.add(w->to, w->from, w->bytes / sizeof(float));
    return true;
}

static bool measure_messages(struct comm *c, char *from, char *to, struct cost_link *l, struct error *e)
{
    static const double bytes[] = {4, 256, 4096, 65536, 1 << 20, LEAST};
    enum { SIZES = sizeof bytes / sizeof *bytes };
    double seconds[SIZES];
    for (int i = 0; i < SIZES; i++) {
        struct timed w = {.once = exchange, .from = from, .to = to, .bytes = (size_t)bytes[i]};
        w.count = w.bytes <= SHORT ? 20 : 1;
        if (!least_time(c, &w, &seconds[i], e))
            return false;
    }
    return cost_fit(bytes, seconds, SIZES, &l->alpha, &l->beta) ||
           error_set(e, ERROR_FAILED, "the clock is too coarse to time messages");
}

static bool measure(struct comm *c, char *from, char *to, size_t bytes, struct comm_links *l, struct error *e)
{
    struct timed adding = {.once = addition, .from = from, .to = to, .bytes = bytes, .count = 1};
    struct timed copying = {.once = copy, .from = from, .to = to, .bytes = bytes, .count = 1};
    struct timed flagging = {.once = flag, .count = 100};
    double added = 0, copied = 0;
    if (!least_time(c, &adding, &added, e) || !measure_messages(c, from, to, &l->messages, e))
        return false;
    l->messages.gamma = added / (double)bytes;
    l->shared = comm_shares_memory(c);
    if (c->paced)
        l->messages = slow_link_cost(&c->slow, c->size, &l->messages);
    if (!l->shared)
        return true;
    if (!least_time(c, &copying, &copied, e) || !least_time(c, &flagging, &l->memory.alpha, e))
        return false;
    l->memory.beta = copied / (double)bytes;
    l->memory.gamma = added / (double)bytes;
    return true;
}

bool comm_measure_links(struct comm *c, struct comm_links *l, struct error *e)
{
    *l = (struct comm_links){0};
    if (c->size == 1)
        return true;
    size_t share = (size_t)ALL / 2 / (size_t)c->host_ranks, bytes = share < LONG ? share / 64 * 64 : LONG;
    if (bytes < LEAST)
        bytes = LEAST;
    char *from = malloc(bytes), *to = malloc(bytes);
    bool ok = from && to;
    if (from && to) {
        memset(from, 0, bytes);
        memset(to, 0, bytes);
        ok = measure(c, from, to, bytes, l, e);
    } else {
        error_set(e, ERROR_FAILED, "out of memory for the timing of messages");
    }
    free(from);
    free(to);
    return ok;
}

double comm_predict(const struct comm *c, const struct comm_links *l, const char *algo, double bytes,
                    bool shared)
{
    char name[32];
    if (strcmp(algo, "shm") == 0)
        return cost_seconds(&l->memory, shared ? "shm" : "shm_private", c->size, bytes);
    snprintf(name, sizeof name, "%s", algo);
    if (strcmp(algo, "hierarchical") == 0 && c->ranks_per_host > 0)
        snprintf(name, sizeof name, "%s:%d", algo, c->ranks_per_host);
    return cost_seconds(&l->messages, name, c->size, bytes);
}
