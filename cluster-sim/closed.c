/*
 * closed.c - the first tier: a formula. Every round of a symmetric collective takes latency + bytes × load / bandwidth, and
 * the collective is so many of them.
 *
 * The load of a link is how many messages of a round cross it, counted along their routes. Where all of a round are equally
 * long, the link with the greatest load / bandwidth fills up first, its messages share it evenly and end together, so
 * nobody's rate changes before the round is over: the formula is then what max-min fairness gives. Rounds that are not so
 * are left to the other tiers.
 *
 * Where every rank talks to every other or to servers, on one switch, the loads need no counting. Of nccl_ring over hosts of
 * several GPUs the formula is an estimate: latencies add up along the ring, where ranks that wait for each other would all
 * wait for the slowest (as in NCCL's own model, src/graph/tuning.cc).
 */
#include "cluster-sim/tiers.h"
#include "cluster-sim/topology.h"
#include "engine/spec/collective.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-9

/* The rounds of a kind: who sends to whom. */
enum shape {
    SHIFT, /* i -> i + 1, the last -> 0 */
    SPAN,  /* inside groups of `distance`: the same */
    LEAP,  /* i -> i + distance, modulo all */
    PAIRS, /* i <-> i ^ distance, of the largest power of two of the ranks; the rest folded */
    FOLD,  /* 2i -> 2i + 1, of the first `distance` pairs */
    BACK,  /* the same backwards */
    UP,    /* i + distance -> i, for each multiple i of 2 distance */
    DOWN,  /* the same backwards */
};

struct term {
    enum shape shape;
    int distance;
    double repeats, bytes;
    bool reduce;
};

enum { TERMS = 160 };

struct count {
    const struct platform *platform;
    const struct sim_request *request;
    int ranks;
    int *load;              /* of each link */
    bool *busy, *were_busy; /* ranks, in this round and in the one before */
    struct route route;
    int folded, power; /* of PAIRS */
};

/* Of one round. */
struct paced {
    double latency, transfer, add; /* of its slowest message */
    double latencies;              /* of all messages added up */
    double load;                   /* on its bottleneck */
    int link, messages;
    bool even, exact;
    bool in_touch; /* every message has a rank that the round before has kept busy */
};

static int rank_of(const struct count *c, int i)
{
    return i < c->folded ? 2 * i + 1 : i + c->folded;
}

/* The i-th possible message of a round; false: there is none. */
static bool message(const struct count *c, const struct term *t, int i, int *from, int *to)
{
    int d = t->distance;
    *from = i;
    switch (t->shape) {
    case SHIFT: *to = (i + 1) % c->ranks; break;
    case SPAN: *to = i / d * d + (i % d + 1) % d; break;
    case LEAP: *to = (int)(((long)i + d) % c->ranks); break;
    case PAIRS:
        if (i >= c->power)
            return false;
        *from = rank_of(c, i);
        *to = rank_of(c, i ^ d);
        break;
    case FOLD:
    case BACK:
        *from = 2 * i + (t->shape == BACK);
        *to = 2 * i + (t->shape == FOLD);
        return i < d;
    case UP: *to = i - d; return i % (2 * d) == d;
    case DOWN:
        *from = i - d;
        *to = i;
        return i % (2 * d) == d;
    }
    return *from != *to;
}

static double worst_load(const struct count *c, int *link)
{
    double worst = 0;
    *link = -1;
    for (int k = 0; k < c->route.count; k++) {
        double seconds = c->load[c->route.link[k]] / platform_link_bandwidth(c->platform, c->route.link[k]);
        if (seconds > worst) {
            worst = seconds;
            *link = c->route.link[k];
        }
    }
    return worst;
}

static bool count_loads(struct count *c, const struct term *t, struct error *e)
{
    int from, to;
    memset(c->load, 0, (size_t)c->platform->links * sizeof *c->load);
    for (int i = 0; i < c->ranks; i++) {
        if (!message(c, t, i, &from, &to))
            continue;
        if (!platform_route(c->platform, from, to, &c->route, e))
            return false;
        for (int k = 0; k < c->route.count; k++)
            c->load[c->route.link[k]]++;
    }
    return true;
}

/* Whether those on the slowest one's bottleneck have its latency, so that they begin and end together. */
static bool begin_together(struct count *c, const struct term *t, const struct paced *pace, double latency)
{
    int from, to;
    for (int i = 0; i < c->ranks; i++) {
        if (!message(c, t, i, &from, &to) || !platform_route(c->platform, from, to, &c->route, NULL))
            continue;
        for (int k = 0; k < c->route.count; k++)
            if (c->route.link[k] == pace->link && fabs(c->route.latency - latency) > SAME * latency)
                return false;
    }
    return true;
}

static bool pace(struct count *c, const struct term *t, struct paced *out, struct error *e)
{
    struct protocol_piece piece = protocol_at(&c->platform->protocol, t->bytes);
    double wire = t->bytes / piece.bandwidth_factor, longest = 0, shortest = INFINITY, worst = 0, mine = 0,
           path = 0;
    int from, to;
    *out = (struct paced){.link = -1, .even = true, .exact = true, .in_touch = true};
    bool *before = c->were_busy;
    c->were_busy = c->busy;
    c->busy = before;
    memset(c->busy, 0, (size_t)c->ranks * sizeof *c->busy);
    if (!count_loads(c, t, e))
        return false;
    for (int i = 0; i < c->ranks; i++) {
        if (!message(c, t, i, &from, &to))
            continue;
        int link;
        if (!platform_route(c->platform, from, to, &c->route, e))
            return false;
        double load = worst_load(c, &link),
               latency = piece.latency_s + piece.latency_factor * c->route.latency;
        double time = latency + wire * load;
        out->messages++;
        out->in_touch = out->in_touch && (c->were_busy[from] || c->were_busy[to]);
        c->busy[from] = c->busy[to] = true;
        out->latencies += latency;
        worst = fmax(worst, load);
        shortest = fmin(shortest, time);
        if (time > longest * (1 + SAME)) {
            longest = time;
            out->latency = latency;
            out->transfer = wire * load;
            out->link = link;
            mine = load;
            path = c->route.latency;
        }
    }
    out->add = t->reduce ? c->request->gamma * t->bytes : 0;
    out->load = out->link >= 0 ? c->load[out->link] : 0;
    out->even = out->messages == 0 || longest - shortest <= SAME * longest;
    /* A link that is not the fullest of all may not be the one that stops the message, unless nobody shares its route. */
    out->exact =
        out->even || ((out->load <= 1 || mine >= worst * (1 - SAME)) && begin_together(c, t, out, path));
    return true;
}

/* --- the rounds of each algorithm -------------------------------------------------------------------------------- */

static double longest(double elements, double parts)
{
    return ceil(elements / parts);
}

struct terms {
    struct term term[TERMS];
    int count;
    const char *text; /* the formula; a: latency of a round, B: bytes a second */
    double ragged;    /* see pattern.h */
};

static void add(struct terms *t, enum shape shape, int distance, double repeats, double bytes, bool reduce)
{
    if (repeats > 0 && bytes > 0 && t->count < TERMS)
        t->term[t->count++] = (struct term){shape, distance, repeats, bytes, reduce};
}

static void tree(struct terms *t, int n, double bytes, bool up)
{
    int most = 1;
    while (2 * most < n)
        most *= 2;
    for (int d = 1; up && d < n; d *= 2)
        add(t, UP, d, 1, bytes, true);
    for (int d = most; !up && n > 1 && d >= 1; d /= 2)
        add(t, DOWN, d, 1, bytes, false);
}

static void halving_doubling(struct terms *t, const struct count *c, double elements, int element)
{
    for (int way = 0; way < 2; way++)
        for (int d = c->power / 2; d >= 1; d /= 2) {
            double base = floor(elements / c->power), longer = fmod(elements, c->power);
            add(t, PAIRS, d, 1, (base * d + fmin(longer, d)) * element, way == 0);
        }
}

/* False: no such formula. */
static bool terms_of(struct terms *t, const struct count *c, const char *algo, double elements, int element)
{
    int n = c->ranks, k = pattern_number(algo);
    t->ragged = pattern_ragged(elements, n);
    double S = elements * element, chunk = longest(elements, n), N = n;
    if (pattern_is(algo, "ring") || (pattern_is(algo, "nccl_ring") && c->platform->node.nics == 1)) {
        add(t, SHIFT, 0, N - 1, chunk * element, true);
        add(t, SHIFT, 0, N - 1, chunk * element, false);
        t->text = "2(n-1) (a + S/n / B)";
    } else if (pattern_is(algo, "ring_segmented")) {
        double parts = fmin(4096, fmax(1, longest(chunk, k > 0 ? k : 65536)));
        double longer = fmod(chunk, parts), shorter = floor(chunk / parts);
        for (int reduce = 1; reduce >= 0; reduce--) {
            add(t, SHIFT, 0, longer * (N - 1), (shorter + 1) * element, reduce);
            add(t, SHIFT, 0, (parts - longer) * (N - 1), shorter * element, reduce);
        }
        t->text = "2(n-1)p (a + S/np / B), p segments";
    } else if (pattern_is(algo, "allgather") || pattern_is(algo, "reduce_scatter")) {
        add(t, SHIFT, 0, N - 1, chunk * element, pattern_is(algo, "reduce_scatter"));
        t->text = "(n-1) (a + S/n / B)";
    } else if (pattern_is(algo, "recursive_doubling")) {
        add(t, FOLD, c->folded, c->folded > 0, S, true);
        for (int d = 1; d < c->power; d *= 2)
            add(t, PAIRS, d, 1, S, true);
        add(t, BACK, c->folded, c->folded > 0, S, false);
        t->ragged = 0;
        t->text = c->folded ? "(lg n + 2) (a + S / B)" : "lg n (a + S / B)";
    } else if (pattern_is(algo, "halving_doubling")) {
        add(t, FOLD, c->folded, c->folded > 0, S, true);
        halving_doubling(t, c, elements, element);
        t->ragged = pattern_ragged(elements, c->power);
        add(t, BACK, c->folded, c->folded > 0, S, false);
        t->text = c->folded ? "2 lg P a + 2(P-1)/P S / B + 2 (a + S / B)" : "2 lg n a + 2(n-1)/n S / B";
    } else if (pattern_is(algo, "tree")) {
        tree(t, n, S, true);
        tree(t, n, S, false);
        t->ragged = 0;
        t->text = "2 lg n (a + S / B)";
    } else if (pattern_is(algo, "broadcast") || pattern_is(algo, "reduce")) {
        tree(t, n, S, pattern_is(algo, "reduce"));
        t->ragged = 0;
        t->text = "lg n (a + S / B)";
    } else if (pattern_is(algo, "barrier")) {
        for (int d = 1; d < n; d *= 2)
            add(t, LEAP, d, 1, element, false);
        t->ragged = 0;
        t->text = "lg n (a + 1 element / B)";
    } else if (pattern_is(algo, "hierarchical") && n % (k > 0 ? k : 1) == 0) {
        int per_host = k > 0 ? k : 1, hosts = n / per_host;
        double piece = longest(elements, per_host), part = longest(piece, hosts);
        add(t, SPAN, per_host, per_host - 1, piece * element, true);
        add(t, LEAP, per_host, hosts - 1, part * element, true);
        add(t, LEAP, per_host, hosts - 1, part * element, false);
        add(t, SPAN, per_host, per_host - 1, piece * element, false);
        t->ragged += pattern_ragged(elements, per_host);
        t->text = "2(K-1) (a1 + S/K / B1) + 2(n/K-1) (a2 + S/n / B2)";
    } else {
        return false;
    }
    return true;
}

/* --- one switch, everybody with everybody ------------------------------------------------------------------------- */

static bool everyone(const struct platform *p, const struct sim_request *q, double elements, int element,
                     struct sim_result *out, bool *known)
{
    double n = q->ranks, k = pattern_number(q->algo), rounds = 2, bytes = elements * element, adds = n - 1;
    if (p->topology != &topology_switch || p->per_node > 1)
        return true;
    if (pattern_is(q->algo, "everyone"))
        rounds = 1;
    else if (pattern_is(q->algo, "param_server") && k <= n)
        bytes = longest(elements, k > 0 ? k : fmax(1, floor(sqrt(n)))) * element;
    else if (!pattern_is(q->algo, "central"))
        return true;
    struct protocol_piece piece = protocol_at(&p->protocol, bytes);
    *known = out->exact = true;
    out->rounds = out->distinct = (long)rounds;
    out->latency_s = rounds * (piece.latency_s + piece.latency_factor * 2 * p->latency);
    out->transfer_s = rounds * adds * bytes / piece.bandwidth_factor / p->bandwidth;
    out->add_s = adds * q->gamma * bytes; /* one after another */
    out->time_s = out->latency_s + out->transfer_s + out->add_s;
    out->bottleneck_bytes = adds * bytes;
    snprintf(out->formula, sizeof out->formula, "%s, a = %.4g s, B = %.4g B/s, n = %d, %g bytes",
             rounds == 1                      ? "a + (n-1) S / B"
             : pattern_is(q->algo, "central") ? "2 (a + (n-1) S / B)"
                                              : "2 (a + (n-1) S/K / B)",
             out->latency_s / rounds, p->bandwidth, q->ranks, bytes);
    tier_bottleneck(p, 1, out); /* down to port 0, the root or a server */
    return true;
}

/* --- together ------------------------------------------------------------------------------------------------------ */

/* Whether the slowest round after round are one chain of ranks: all take part, or the same are slowest each time. */
static bool in_step(const struct terms *t, const struct paced *paces)
{
    for (int i = 0; i < t->count; i++)
        if (!paces[i].even && (t->term[i].shape != t->term[0].shape || t->term[0].shape != SHIFT))
            return false;
    return true;
}

static bool sum_up(struct count *c, const struct terms *t, bool flows, struct sim_result *out, bool *known,
                   struct error *e)
{
    struct paced paces[TERMS];
    double longest_term = -1;
    const struct paced *main_term = &paces[0];
    bool exact = true, even = true, ragged = false, in_touch = true;
    for (int i = 0; i < t->count; i++) {
        const struct term *term = &t->term[i];
        struct paced *now = &paces[i];
        bool again = i > 0 && term->shape == t->term[i - 1].shape &&
                     term->distance == t->term[i - 1].distance && term->bytes == t->term[i - 1].bytes;
        if (again) {
            *now = paces[i - 1];
            now->add = term->reduce ? c->request->gamma * term->bytes : 0;
        } else if (!pace(c, term, now, e)) {
            return false;
        }
        exact = exact && now->exact;
        even = even && now->even;
        ragged = ragged || pattern_ragged_matters(t->ragged, now->transfer, now->latency + now->transfer);
        in_touch = in_touch && now->in_touch;
        double latency = flows ? now->latencies / fmax(1, now->messages) : now->latency;
        out->rounds += (long)term->repeats;
        out->latency_s += term->repeats * latency;
        out->transfer_s += term->repeats * now->transfer;
        out->add_s += term->repeats * now->add;
        if (term->repeats * (now->latency + now->transfer) > longest_term) {
            longest_term = term->repeats * (now->latency + now->transfer);
            main_term = now;
        }
    }
    out->distinct = t->count;
    out->time_s = out->latency_s + out->transfer_s + out->add_s;
    bool own = tier_links_of_ranks(c->platform);
    *known = exact && in_step(t, paces) && (!flows || even) && (in_touch || own);
    out->exact = *known && (!ragged || (even && own));
    *known = *known || flows;
    if (!flows && !out->exact)
        snprintf(out->note, sizeof out->note,
                 "an estimate: the buffer does not divide evenly, and some messages are shorter");
    if (flows && !out->exact)
        snprintf(out->note, sizeof out->note,
                 "an estimate: latencies are added up along the ring, and the slowest link sets the pace of "
                 "the bytes");
    if (t->count) {
        double rate = main_term->link >= 0 ? platform_link_bandwidth(c->platform, main_term->link) : 0;
        for (int i = 0; i < t->count; i++)
            if (paces[i].link == main_term->link)
                out->bottleneck_bytes += t->term[i].repeats * t->term[i].bytes * paces[i].load;
        snprintf(out->formula, sizeof out->formula, "%s, n = %d, S = %g B, a = %.4g s, B = %.4g B/s%s",
                 t->text, c->ranks, c->request->bytes, main_term->latency, rate / fmax(1, main_term->load),
                 main_term->load > 1 ? " (shared)" : "");
        tier_bottleneck(c->platform, main_term->link, out);
    }
    return true;
}

bool closed_collective(const struct platform *p, const struct sim_request *q, struct sim_result *out,
                       bool *known, struct error *e)
{
    int element = pattern_element(q->bytes);
    double elements = floor(q->bytes / element);
    struct count c = {.platform = p, .request = q, .ranks = q->ranks, .power = 1};
    struct terms terms = {.count = 0};
    while (2 * c.power <= q->ranks)
        c.power *= 2;
    c.folded = q->ranks - c.power;
    *known = false;
    out->tier = SIM_CLOSED;
    if (!terms_of(&terms, &c, q->algo, elements, element))
        return everyone(p, q, elements, element, out, known);
    c.load = calloc((size_t)p->links + 1, sizeof *c.load);
    bool *busy = calloc(2 * (size_t)q->ranks, sizeof *busy), ok = false;
    if (c.load && busy) {
        c.busy = busy;
        c.were_busy = busy + q->ranks;
        memset(c.busy, true, (size_t)q->ranks * sizeof *c.busy); /* all begin together */
        ok = sum_up(&c, &terms, pattern_flows_freely(q->algo), out, known, e);
    } else {
        error_set(e, ERROR_FAILED, "out of memory for the loads of %d links", p->links);
    }
    free(c.load);
    free(busy);
    route_free(&c.route);
    return ok;
}
