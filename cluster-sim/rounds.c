/*
 * rounds.c - the second tier: all ranks go from round to round together, and each distinct round is solved once.
 *
 * A round takes as long as its slowest message: its latency, then its bytes at its max-min fair rate. Where the flows on that
 * message's bottleneck all end with it, one solution of the rates is the whole answer; else what ends earlier leaves room,
 * and the round is followed through time (fluid.h).
 *
 * Ranks that wait for nobody but their partners may run ahead of the slowest. The sum of the slowest is still exact where a
 * chain of messages leads from round to round through ranks that each time have a slowest one.
 */
#include "cluster-sim/fluid.h"
#include "cluster-sim/maxmin.h"
#include "cluster-sim/tiers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-9 /* of one another: times that differ by rounding alone */

struct solver {
    const struct platform *platform;
    const struct sim_request *request;
    struct pattern pattern;
    double *capacity, *carried; /* of each link */
    int *first, *link;          /* the routes of the present round's flows */
    int link_room;
    double *latency, *wire, *rate, *time; /* of its flows */
    int *bottleneck;
    double *adding; /* seconds of each rank, which adds one message after another */
    double *round_time, *round_latency, *round_add;
    bool *on_chain, *reached; /* ranks */
    bool *busy, *were_busy;   /* in this round, and in the one before */
    struct route route;
    struct tier_budget *budget;
    bool chain, even, shared, in_touch, ragged;
    struct error *e;
};

static bool keep_route(struct solver *s, int flow)
{
    int used = s->first[flow];
    if (used + s->route.count > s->link_room) {
        int room = 2 * (used + s->route.count);
        int *grown = realloc(s->link, (size_t)room * sizeof *grown);
        if (!grown)
            return error_set(s->e, ERROR_FAILED, "out of memory for the routes of a round");
        s->link = grown;
        s->link_room = room;
    }
    for (int i = 0; i < s->route.count; i++)
        s->link[used + i] = s->route.link[i];
    s->first[flow + 1] = used + s->route.count;
    return true;
}

static bool find_routes(struct solver *s, const struct pattern_round *round)
{
    const struct pattern_flow *flow = s->pattern.flow + round->first;
    for (int f = 0; f < round->count; f++) {
        struct protocol_piece piece = protocol_at(&s->platform->protocol, flow[f].bytes);
        if (!platform_route(s->platform, flow[f].from, flow[f].to, &s->route, s->e) || !keep_route(s, f))
            return false;
        s->latency[f] = piece.latency_s + piece.latency_factor * s->route.latency;
        s->wire[f] = flow[f].bytes / piece.bandwidth_factor;
        for (int i = 0; i < s->route.count; i++)
            s->carried[s->route.link[i]] += flow[f].bytes * (double)round->repeats;
    }
    return true;
}

static int by_latency(const void *a, const void *b, void *latency)
{
    double x = ((double *)latency)[*(const int *)a], y = ((double *)latency)[*(const int *)b];
    return x != y ? (x > y) - (x < y) : *(const int *)a - *(const int *)b;
}

/* The round through time: flows that end earlier leave room for the others. */
static bool follow(struct solver *s, int count)
{
    struct fluid *fluid = fluid_new(s->platform->links, s->capacity, s->e);
    int *order = malloc(((size_t)count + 1) * sizeof *order), begun = 0, open = count;
    if (!fluid || !order) {
        fluid_free(fluid);
        free(order);
        return error_set(s->e, ERROR_FAILED, "out of memory for a round of %d messages", count);
    }
    double worked = 0;
    bool ok = tier_spend(s->budget, s->platform->links, s->request, s->e);
    for (int f = 0; f < count; f++)
        order[f] = f;
    qsort_r(order, (size_t)count, sizeof *order, by_latency, s->latency);
    while (ok && open > 0) {
        double when;
        ok = fluid_next(fluid, &when, s->e) &&
             tier_spend(s->budget, fluid_work(fluid) - worked, s->request, s->e);
        worked = fluid_work(fluid);
        if (begun < count)
            when = fmin(when, s->latency[order[begun]]);
        fluid_advance(fluid, when);
        for (int f; (f = fluid_ended(fluid)) >= 0; open--)
            s->time[f] = when;
        for (int f; ok && begun < count && s->latency[f = order[begun]] <= when; begun++)
            ok =
                fluid_start(fluid, s->link + s->first[f], s->first[f + 1] - s->first[f], s->wire[f], f, s->e);
    }
    free(order);
    fluid_free(fluid);
    return ok;
}

/* Whether the flows on the slowest one's bottleneck all end with it, so that nobody leaves it room. */
static bool ends_together(const struct solver *s, int count, int slowest)
{
    for (int f = 0; f < count; f++)
        for (int k = s->first[f]; k < s->first[f + 1]; k++)
            if (s->link[k] == s->bottleneck[slowest] &&
                fabs(s->time[f] - s->time[slowest]) > SAME * s->time[slowest])
                return false;
    return true;
}

static int slowest_of(const struct solver *s, int count)
{
    int slowest = 0;
    for (int f = 1; f < count; f++)
        if (s->time[f] > s->time[slowest])
            slowest = f;
    return slowest;
}

/* Goes on with the chain of ranks that have a slowest message in every round so far. */
static void follow_chain(struct solver *s, const struct pattern_round *round, double longest)
{
    const struct pattern_flow *flow = s->pattern.flow + round->first;
    memset(s->reached, 0, (size_t)s->pattern.ranks * sizeof *s->reached);
    for (int f = 0; f < round->count; f++) {
        if (s->time[f] < longest * (1 - SAME)) {
            s->even = false;
            continue;
        }
        if (s->on_chain[flow[f].from] || s->on_chain[flow[f].to])
            s->reached[flow[f].from] = s->reached[flow[f].to] = true;
    }
    s->chain = false;
    for (int r = 0; r < s->pattern.ranks; r++) {
        s->on_chain[r] = s->reached[r];
        s->chain = s->chain || s->reached[r];
    }
}

/* Nobody runs ahead where every message has a rank that the round before has kept busy. */
static void note_busy(struct solver *s, const struct pattern_round *round)
{
    const struct pattern_flow *flow = s->pattern.flow + round->first;
    bool *before = s->were_busy;
    s->were_busy = s->busy;
    s->busy = before;
    memset(s->busy, 0, (size_t)s->pattern.ranks * sizeof *s->busy);
    for (int f = 0; f < round->count; f++) {
        s->in_touch = s->in_touch && (s->were_busy[flow[f].from] || s->were_busy[flow[f].to]);
        s->busy[flow[f].from] = s->busy[flow[f].to] = true;
    }
}

static bool solve_round(struct solver *s, int k, int *bottleneck)
{
    const struct pattern_round *round = &s->pattern.round[k];
    const struct pattern_flow *flow = s->pattern.flow + round->first;
    if (!find_routes(s, round) ||
        !tier_spend(s->budget, 2.0 * s->first[round->count] + s->platform->links, s->request, s->e) ||
        !maxmin_solve(s->platform->links, s->capacity, round->count, s->first, s->link, s->rate,
                      s->bottleneck, s->e))
        return false;
    for (int f = 0; f < round->count; f++)
        s->time[f] = s->latency[f] + s->wire[f] / s->rate[f];
    int slowest = slowest_of(s, round->count);
    *bottleneck = s->bottleneck[slowest];
    if (!ends_together(s, round->count, slowest) && !follow(s, round->count))
        return false;
    memset(s->adding, 0, (size_t)s->pattern.ranks * sizeof *s->adding);
    for (int f = 0; f < round->count; f++)
        s->adding[flow[f].to] += flow[f].reduce ? s->request->gamma * flow[f].bytes : 0;
    for (int f = 0; f < round->count; f++) {
        s->shared =
            s->shared || (s->bottleneck[f] >= 0 && s->rate[f] < s->capacity[s->bottleneck[f]] * (1 - SAME));
        s->time[f] += s->adding[flow[f].to];
    }
    slowest = slowest_of(s, round->count);
    s->round_time[k] = s->time[slowest];
    s->round_latency[k] = s->latency[slowest];
    s->round_add[k] = s->adding[flow[slowest].to];
    double transfer = s->round_time[k] - s->round_latency[k] - s->round_add[k];
    s->ragged = s->ragged || pattern_ragged_matters(s->pattern.ragged, transfer, s->round_time[k]);
    follow_chain(s, round, s->time[slowest]);
    note_busy(s, round);
    return true;
}

static bool make_room(struct solver *s)
{
    size_t flows = 1, ranks = (size_t)s->pattern.ranks + 1, rounds = (size_t)s->pattern.distinct + 1;
    for (int k = 0; k < s->pattern.distinct; k++)
        if ((size_t)s->pattern.round[k].count >= flows)
            flows = (size_t)s->pattern.round[k].count + 1;
    s->capacity = tier_capacities(s->platform, s->e);
    s->carried = calloc((size_t)s->platform->links + 1, sizeof *s->carried);
    s->first = calloc(flows + 1, sizeof *s->first);
    s->latency = calloc(4 * flows, sizeof *s->latency);
    s->bottleneck = calloc(flows, sizeof *s->bottleneck);
    s->round_time = calloc(3 * rounds, sizeof *s->round_time);
    s->adding = calloc(ranks, sizeof *s->adding);
    s->on_chain = calloc(4 * ranks, sizeof *s->on_chain);
    if (!s->capacity || !s->carried || !s->first || !s->latency || !s->bottleneck || !s->round_time ||
        !s->on_chain)
        return error_set(s->e, ERROR_FAILED, "out of memory for %d ranks", s->pattern.ranks);
    s->wire = s->latency + flows;
    s->rate = s->wire + flows;
    s->time = s->rate + flows;
    s->round_latency = s->round_time + rounds;
    s->round_add = s->round_latency + rounds;
    s->reached = s->on_chain + ranks;
    s->busy = s->reached + ranks;
    s->were_busy = s->busy + ranks;
    memset(s->on_chain, true, ranks * sizeof *s->on_chain);
    memset(s->busy, true, ranks * sizeof *s->busy); /* all begin together */
    s->even = s->in_touch = true;
    return true;
}

static bool one_set_of_pairs(const struct pattern *p)
{
    for (int k = 1; k < p->distinct; k++) {
        const struct pattern_flow *a = p->flow + p->round[0].first, *b = p->flow + p->round[k].first;
        if (p->round[k].count != p->round[0].count)
            return false;
        for (int f = 0; f < p->round[k].count; f++)
            if (a[f].from != b[f].from || a[f].to != b[f].to)
                return false;
    }
    return true;
}

static bool solve_all(struct solver *s, struct sim_result *out)
{
    double longest = 0;
    bool chain = true;
    int bottleneck = -1;
    for (int k = 0; k < s->pattern.distinct; k++) {
        int link;
        double repeats = (double)s->pattern.round[k].repeats;
        if (!solve_round(s, k, &link))
            return false;
        chain = chain && s->chain;
        out->time_s += repeats * s->round_time[k];
        out->latency_s += repeats * s->round_latency[k];
        out->add_s += repeats * s->round_add[k];
        if (repeats * s->round_time[k] > longest) {
            longest = repeats * s->round_time[k];
            bottleneck = link;
        }
    }
    out->transfer_s = fmax(0, out->time_s - out->latency_s - out->add_s);
    /* Ranks that get ahead meet nobody new on their links where all rounds have the same pairs, each alone on its links. */
    bool alone = !s->shared && one_set_of_pairs(&s->pattern) && !pattern_flows_freely(s->request->algo);
    bool tree = pattern_is(s->request->algo, "nccl_tree");
    bool in_step = s->even && (s->in_touch || tier_links_of_ranks(s->platform));
    out->exact =
        chain && !tree && (in_step || alone) && (!s->ragged || (s->even && tier_links_of_ranks(s->platform)));
    out->bottleneck_bytes = bottleneck >= 0 ? s->carried[bottleneck] : 0;
    tier_bottleneck(s->platform, bottleneck, out);
    return true;
}

bool rounds_collective(const struct platform *p, const struct sim_request *q, struct tier_budget *budget,
                       struct sim_result *out, struct error *e)
{
    struct solver s = {.platform = p, .request = q, .budget = budget, .e = e};
    struct pattern_kind kind = tier_kind(p, q);
    bool ok = pattern_make(&s.pattern, &kind, e) && make_room(&s) && solve_all(&s, out);
    if (ok) {
        /* Rings over several NICs have messages between the same ranks at once, whose bytes follow each other. */
        out->exact = out->exact && !(pattern_flows_freely(q->algo) && kind.hosts.nics > 1);
        out->tier = SIM_ROUNDS;
        out->rounds = s.pattern.rounds;
        out->distinct = s.pattern.distinct;
        snprintf(
            out->formula, sizeof out->formula,
            "%ld round%s, %d of them distinct, each as long as its slowest message; %.12g messages in all",
            s.pattern.rounds, s.pattern.rounds == 1 ? "" : "s", s.pattern.distinct, s.pattern.messages);
        if (!out->exact)
            snprintf(out->note, sizeof out->note,
                     "ranks would not stay in step here, so a round is not simply its slowest message: take "
                     "--tier events where it can be had");
    }
    free(s.capacity);
    free(s.carried);
    free(s.first);
    free(s.link);
    free(s.latency);
    free(s.bottleneck);
    free(s.round_time);
    free(s.adding);
    free(s.on_chain);
    route_free(&s.route);
    pattern_free(&s.pattern);
    return ok;
}
