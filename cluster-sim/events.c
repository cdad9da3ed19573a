/*
 * events.c - the third tier: every message of a collective by itself.
 *
 * A rank enters a round when all that it sends and receives in its earlier rounds is done, as with a sendrecv a round; a
 * message begins when both its ends have entered its round (rendezvous), waits for its latency, and then its bytes share
 * the links with all others. Of the nccl algorithms a message begins as soon as the sender has what it carries, but its bytes
 * follow those of the sender's earlier messages to the same rank.
 */
#include "cluster-sim/fluid.h"
#include "cluster-sim/tiers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

struct message {
    double t0, latency;
    int waits;   /* for so many more before it begins */
    int because; /* the message whose end let it begin */
    /* Of free flow: */
    int after; /* the first of those that wait for it, in struct run's waiting */
    int next;  /* the sender's next to the same rank, whose bytes follow */
    int holds; /* its bytes wait for so much: the latency, and those before */
};

struct rank {
    int *list; /* its messages, by round; part of struct run's lists */
    int count;
    int begin, end; /* those of the present round */
    int open;       /* of them, not done */
    double adding;  /* until then: what came is added one after another */
};

struct timer {
    double when;
    int what; /* a message whose latency is over; or count + a message that has been added */
};

struct waiting {
    int message, next;
};

struct run {
    const struct platform *platform;
    const struct sim_request *request;
    struct sim_result *out;
    struct schedule schedule;
    struct message *message;
    struct rank *rank;
    int *lists;
    struct fluid *fluid;
    double *capacity, *carried; /* of each link */
    struct timer *timer;
    int timers, timer_room;
    struct waiting *waiting;
    int waitings, waiting_room;
    struct route route;
    struct tier_budget *budget;
    double now;
    int element, last, finished;
    bool free;
    struct error *e;
};

/* --- timers -------------------------------------------------------------------------------------------------- */

static bool before(const struct timer *a, const struct timer *b)
{
    return a->when < b->when || (a->when == b->when && a->what < b->what);
}

static bool timer_set(struct run *r, double when, int what)
{
    if (r->timers == r->timer_room) {
        int more = r->timer_room ? 2 * r->timer_room : 1024;
        struct timer *grown = realloc(r->timer, (size_t)more * sizeof *grown);
        if (!grown)
            return error_set(r->e, ERROR_FAILED, "out of memory for %d messages at once", more);
        r->timer = grown;
        r->timer_room = more;
    }
    struct timer t = {when, what};
    int at = r->timers++;
    while (at > 0 && before(&t, &r->timer[(at - 1) / 2])) {
        r->timer[at] = r->timer[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    r->timer[at] = t;
    return true;
}

static int timer_take(struct run *r)
{
    int what = r->timer[0].what, at = 0;
    struct timer t = r->timer[--r->timers];
    for (int child; (child = 2 * at + 1) < r->timers; at = child) {
        if (child + 1 < r->timers && before(&r->timer[child + 1], &r->timer[child]))
            child++;
        if (!before(&r->timer[child], &t))
            break;
        r->timer[at] = r->timer[child];
    }
    r->timer[at] = t;
    return what;
}

/* --- messages ------------------------------------------------------------------------------------------------ */

static double bytes_of(const struct run *r, int m)
{
    return (double)r->schedule.transfers[m].length * r->element;
}

static bool begin(struct run *r, int m)
{
    const struct transfer *t = &r->schedule.transfers[m];
    struct message *message = &r->message[m];
    struct protocol_piece piece = protocol_at(&r->platform->protocol, bytes_of(r, m));
    if (!platform_route(r->platform, t->from, t->to, &r->route, r->e))
        return false;
    message->t0 = r->now;
    message->latency = piece.latency_s + piece.latency_factor * r->route.latency;
    return timer_set(r, r->now + message->latency, m);
}

static bool flow(struct run *r, int m)
{
    const struct transfer *t = &r->schedule.transfers[m];
    double bytes = bytes_of(r, m), factor = protocol_at(&r->platform->protocol, bytes).bandwidth_factor;
    if (!platform_route(r->platform, t->from, t->to, &r->route, r->e))
        return false;
    for (int i = 0; i < r->route.count; i++)
        r->carried[r->route.link[i]] += bytes;
    return fluid_start(r->fluid, r->route.link, r->route.count, bytes / factor, m, r->e);
}

static bool released(struct run *r, int m)
{
    return m == NONE || --r->message[m].holds > 0 || flow(r, m);
}

static bool one_less(struct run *r, int m, int because)
{
    if (--r->message[m].waits > 0)
        return true;
    r->message[m].because = because;
    return begin(r, m);
}

static bool enter(struct run *r, struct rank *rank, int because)
{
    const struct transfer *t = r->schedule.transfers;
    rank->begin = rank->end;
    if (rank->begin == rank->count)
        return true;
    int round = t[rank->list[rank->begin]].round;
    while (rank->end < rank->count && t[rank->list[rank->end]].round == round)
        rank->end++;
    rank->open = rank->end - rank->begin;
    for (int i = rank->begin; i < rank->end; i++)
        if (!one_less(r, rank->list[i], because))
            return false;
    return true;
}

static bool done(struct run *r, int rank, int m)
{
    return r->free || --r->rank[rank].open > 0 || enter(r, &r->rank[rank], m);
}

/* What came is there, and added where it is to be. */
static bool arrived(struct run *r, int m)
{
    const struct transfer *t = &r->schedule.transfers[m];
    r->last = m;
    r->finished++;
    if (r->request->hop)
        r->request->hop(r->request->self, t, r->message[m].t0, r->now);
    for (int w = r->message[m].after; w != NONE; w = r->waiting[w].next)
        if (!one_less(r, r->waiting[w].message, m))
            return false;
    return done(r, t->to, m);
}

static bool through(struct run *r, int m)
{
    const struct transfer *t = &r->schedule.transfers[m];
    if (!done(r, t->from, m) || !released(r, r->message[m].next))
        return false;
    if (!t->reduce || !(r->request->gamma > 0))
        return arrived(r, m);
    struct rank *to = &r->rank[t->to];
    to->adding = fmax(to->adding, r->now) + r->request->gamma * bytes_of(r, m);
    return timer_set(r, to->adding, r->schedule.count + m);
}

static bool go(struct run *r)
{
    for (double worked = 0;; worked = fluid_work(r->fluid)) {
        double when;
        if (!fluid_next(r->fluid, &when, r->e) ||
            !tier_spend(r->budget, fluid_work(r->fluid) - worked, r->request, r->e))
            return false;
        if (r->timers && r->timer[0].when < when)
            when = r->timer[0].when;
        if (isinf(when))
            return true;
        r->now = when;
        fluid_advance(r->fluid, when);
        for (int m; (m = fluid_ended(r->fluid)) >= 0;)
            if (!through(r, m))
                return false;
        while (r->timers && (r->timer[0].when <= when || fluid_same_moment(r->timer[0].when, when))) {
            int what = timer_take(r);
            if (!(what < r->schedule.count ? released(r, what) : arrived(r, what - r->schedule.count)))
                return false;
        }
    }
}

/* --- before ---------------------------------------------------------------------------------------------------- */

static bool lists(struct run *r)
{
    const struct schedule *s = &r->schedule;
    int used = 0;
    for (int i = 0; i < s->count; i++) {
        r->rank[s->transfers[i].from].count++;
        r->rank[s->transfers[i].to].count++;
    }
    for (int k = 0; k < s->ranks; k++) {
        r->rank[k].list = r->lists + used;
        used += r->rank[k].count;
        r->rank[k].count = 0;
    }
    for (int i = 0; i < s->count; i++) {
        struct rank *from = &r->rank[s->transfers[i].from], *to = &r->rank[s->transfers[i].to];
        from->list[from->count++] = i;
        to->list[to->count++] = i;
        r->message[i] = (struct message){
            .waits = r->free ? 0 : 2, .because = NONE, .after = NONE, .next = NONE, .holds = 1};
    }
    return true;
}

static bool wait_for(struct run *r, int m, int before_it)
{
    if (r->waitings == r->waiting_room) {
        int more = r->waiting_room ? 2 * r->waiting_room : 1024;
        struct waiting *grown = realloc(r->waiting, (size_t)more * sizeof *grown);
        if (!grown)
            return error_set(r->e, ERROR_FAILED, "out of memory for %d messages", r->schedule.count);
        r->waiting = grown;
        r->waiting_room = more;
    }
    r->waiting[r->waitings] = (struct waiting){m, r->message[before_it].after};
    r->message[before_it].after = r->waitings++;
    r->message[m].waits++;
    return true;
}

/* A send waits for what came last, in one earlier round, for the elements that it carries; its bytes for those before. */
static bool depend(struct run *r, const struct rank *rank, int number)
{
    const struct transfer *t = r->schedule.transfers;
    for (int i = 0; i < rank->count; i++) {
        const struct transfer *send = &t[rank->list[i]];
        if (send->from != number)
            continue;
        int round = NONE, earlier = i - 1;
        while (earlier >= 0 &&
               (t[rank->list[earlier]].from != number || t[rank->list[earlier]].to != send->to))
            earlier--;
        if (earlier >= 0) {
            r->message[rank->list[earlier]].next = rank->list[i];
            r->message[rank->list[i]].holds++;
        }
        for (int j = i - 1; j >= 0; j--) {
            const struct transfer *got = &t[rank->list[j]];
            if (round != NONE && got->round != round)
                break;
            if (got->to != number || got->round == send->round ||
                got->offset >= send->offset + send->length || send->offset >= got->offset + got->length)
                continue;
            round = got->round;
            if (!wait_for(r, rank->list[i], rank->list[j]))
                return false;
        }
    }
    return true;
}

static bool start(struct run *r)
{
    if (!r->free) {
        for (int k = 0; k < r->schedule.ranks; k++)
            if (!enter(r, &r->rank[k], NONE))
                return false;
        return true;
    }
    for (int k = 0; k < r->schedule.ranks; k++)
        if (!depend(r, &r->rank[k], k))
            return false;
    for (int i = 0; i < r->schedule.count; i++)
        if (r->message[i].waits == 0 && !begin(r, i))
            return false;
    return true;
}

/* --- after ----------------------------------------------------------------------------------------------------- */

/* The chain of messages that ended last: how much of it is latency, and how much adding. */
static void explain(struct run *r)
{
    struct sim_result *out = r->out;
    int messages = 0, busiest = NONE;
    for (int m = r->last; m != NONE; m = r->message[m].because, messages++) {
        out->latency_s += r->message[m].latency;
        if (r->schedule.transfers[m].reduce)
            out->add_s += r->request->gamma * bytes_of(r, m);
    }
    out->transfer_s = fmax(0, out->time_s - out->latency_s - out->add_s);
    for (int l = 0; l < r->platform->links; l++)
        if (r->carried[l] > 0 &&
            (busiest == NONE || r->carried[l] / r->capacity[l] > r->carried[busiest] / r->capacity[busiest]))
            busiest = l;
    tier_bottleneck(r->platform, busiest, out);
    out->bottleneck_bytes = busiest == NONE ? 0 : r->carried[busiest];
    snprintf(out->formula, sizeof out->formula, "%d message%s, each by itself; the last ends a chain of %d",
             r->schedule.count, r->schedule.count == 1 ? "" : "s", messages);
}

static bool prepare(struct run *r)
{
    struct pattern_kind kind = tier_kind(r->platform, r->request);
    if (!pattern_schedule(&r->schedule, &kind, r->e))
        return false;
    size_t n = (size_t)r->schedule.count + 1;
    r->message = calloc(n, sizeof *r->message);
    r->rank = calloc((size_t)r->schedule.ranks + 1, sizeof *r->rank);
    r->lists = calloc(2 * n, sizeof *r->lists);
    r->carried = calloc((size_t)r->platform->links + 1, sizeof *r->carried);
    if (!r->message || !r->rank || !r->lists || !r->carried) {
        error_set(r->e, ERROR_FAILED, "out of memory for %d messages", r->schedule.count);
        return false;
    }
    r->capacity = tier_capacities(r->platform, r->e);
    r->fluid = r->capacity ? fluid_new(r->platform->links, r->capacity, r->e) : NULL;
    return r->fluid && lists(r);
}

bool events_collective(const struct platform *p, const struct sim_request *q, struct tier_budget *budget,
                       struct sim_result *out, struct error *e)
{
    struct run r = {.platform = p,
                    .request = q,
                    .out = out,
                    .budget = budget,
                    .element = pattern_element(q->bytes),
                    .last = NONE,
                    .free = pattern_flows_freely(q->algo),
                    .e = e};
    bool ok = prepare(&r) && start(&r) && go(&r);
    if (ok && r.finished != r.schedule.count)
        ok = error_set(e, ERROR_FAILED, "%s: %d of %d messages never began; its rounds wait for each other",
                       q->algo, r.schedule.count - r.finished, r.schedule.count);
    if (ok) {
        out->tier = SIM_EVENTS;
        out->exact = true;
        out->time_s = r.now;
        out->rounds = out->distinct = r.schedule.rounds;
        explain(&r);
    }
    fluid_free(r.fluid);
    free(r.capacity);
    free(r.carried);
    free(r.message);
    free(r.rank);
    free(r.lists);
    free(r.timer);
    free(r.waiting);
    route_free(&r.route);
    schedule_free(&r.schedule);
    return ok;
}
