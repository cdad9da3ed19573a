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
#include "cluster-sim/closed.h"
#include "cluster-sim/tiers.h"
#include "cluster-sim/topology.h"
#include "engine/base/units.h"
#include "engine/spec/collective.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-9

struct count {
    const struct platform *platform;
    const struct sim_request *request;
    int ranks;
    int *load;              /* of each link */
    bool *busy, *were_busy; /* ranks, in this round and in the one before */
    struct route route;
    struct tier_budget *budget;
    int folded, power; /* of PAIRS */
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
        if (!tier_spend(c->budget, 2 * c->route.count, c->request, e))
            return false;
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

/* One message of a round stands for all where each is alone on its links. */
static bool pace_alone(struct count *c, const struct term *t, struct paced *out, struct error *e)
{
    struct protocol_piece piece = protocol_at(&c->platform->protocol, t->bytes);
    int i = 0, from = 0, to = 0;
    while (i < c->ranks && !message(c, t, i, &from, &to))
        i++;
    *out = (struct paced){.link = -1, .even = true, .exact = true, .in_touch = true};
    if (i == c->ranks)
        return true;
    if (!platform_route(c->platform, from, to, &c->route, e))
        return false;
    out->link = c->route.link[0];
    out->load = out->messages = 1;
    out->latency = out->latencies = piece.latency_s + piece.latency_factor * c->route.latency;
    out->transfer = t->bytes / piece.bandwidth_factor / platform_link_bandwidth(c->platform, out->link);
    out->add = t->reduce ? c->request->gamma * t->bytes : 0;
    return true;
}

static bool pace(struct count *c, const struct term *t, struct paced *out, struct error *e)
{
    struct protocol_piece piece = protocol_at(&c->platform->protocol, t->bytes);
    double wire = t->bytes / piece.bandwidth_factor, longest = 0, shortest = INFINITY, worst = 0, mine = 0,
           path = 0;
    int from, to;
    if (tier_links_of_ranks(c->platform))
        return pace_alone(c, t, out, e);
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

/* How many bytes each way takes. */
static double halving_doubling(struct terms *t, const struct count *c, double elements, int element)
{
    double moved = 0;
    for (int way = 0; way < 2; way++)
        for (int d = c->power / 2; d >= 1; d /= 2) {
            double base = floor(elements / c->power), longer = fmod(elements, c->power);
            double bytes = (base * d + fmin(longer, d)) * element;
            add(t, PAIRS, d, 1, bytes, way == 0);
            moved += way == 0 ? bytes : 0;
        }
    return moved;
}

static void say(struct terms *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct terms *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->text, sizeof t->text, format, args);
    va_end(args);
}

static void ring_terms(struct terms *t, const struct count *c, const char *algo, double elements, int element)
{
    double chunk = longest(elements, c->ranks), steps = c->ranks - 1;
    double segment = pattern_number(algo) > 0 ? pattern_number(algo) : 65536;
    double parts = pattern_is(algo, "ring_segmented") ? fmin(4096, fmax(1, longest(chunk, segment))) : 1;
    double longer = fmod(chunk, parts), shorter = floor(chunk / parts);
    bool half = pattern_is(algo, "allgather") || pattern_is(algo, "reduce_scatter");
    char piece[32];
    for (int reduce = 1; reduce >= 0; reduce--) {
        if (half && reduce != pattern_is(algo, "reduce_scatter"))
            continue;
        add(t, SHIFT, 0, longer * steps, (shorter + 1) * element, reduce);
        add(t, SHIFT, 0, (parts - longer) * steps, shorter * element, reduce);
    }
    units_show_bytes(chunk * element, piece, sizeof piece);
    if (parts > 1)
        say(t, "2(n-1) (p a + c/B), n = %d, p = %.0f segments, c = S/n = %s", c->ranks, parts, piece);
    else
        say(t, "%s(n-1) (a + c/B), n = %d, c = S/n = %s", half ? "" : "2", c->ranks, piece);
}

static void hierarchical_terms(struct terms *t, int n, int per_host, double elements, int element)
{
    int hosts = n / per_host;
    double piece = longest(elements, per_host), part = longest(piece, hosts);
    char inside[32], between[32];
    for (int way = 0; way < 2; way++) {
        if (way == 0)
            add(t, SPAN, per_host, per_host - 1, piece * element, true);
        add(t, LEAP, per_host, hosts - 1, part * element, way == 0);
        if (way == 1)
            add(t, SPAN, per_host, per_host - 1, piece * element, false);
    }
    t->ragged += pattern_ragged(elements, per_host);
    t->two = per_host > 1 && hosts > 1;
    units_show_bytes(piece * element, inside, sizeof inside);
    units_show_bytes(part * element, between, sizeof between);
    if (t->two)
        say(t, "2(K-1) (a1 + c1/B1) + 2(n/K-1) (a2 + c2/B2), n = %d, K = %d, c1 = S/K = %s, c2 = S/n = %s", n,
            per_host, inside, between);
    else
        say(t, "2(n-1) (a + c/B), n = %d, c = S/n = %s", n, between);
}

static void doubling_terms(struct terms *t, const struct count *c, bool halving, double elements, int element)
{
    double S = elements * element, moved = 0;
    int lg = (int)log2(c->power);
    char buffer[32], piece[32];
    units_show_bytes(S, buffer, sizeof buffer);
    add(t, FOLD, c->folded, c->folded > 0, S, true);
    if (halving)
        moved = halving_doubling(t, c, elements, element);
    for (int d = 1; !halving && d < c->power; d *= 2)
        add(t, PAIRS, d, 1, S, true);
    add(t, BACK, c->folded, c->folded > 0, S, false);
    t->ragged = halving ? pattern_ragged(elements, c->power) : 0;
    units_show_bytes(moved, piece, sizeof piece);
    if (!halving)
        say(t, "k (a + S/B), n = %d, k = %s = %d, S = %s", c->ranks, c->folded ? "floor(lg n) + 2" : "lg n",
            c->folded ? lg + 2 : lg, buffer);
    else if (c->folded)
        say(t,
            "2 (k a + c/B) + 2 (a + S/B), n = %d, k = floor(lg n) = %d, P = 2^k = %d, c = S (P-1)/P = %s, S "
            "= %s",
            c->ranks, lg, c->power, piece, buffer);
    else
        say(t, "2 (k a + c/B), n = %d, k = lg n = %d, c = S (n-1)/n = %s", c->ranks, lg, piece);
}

static void tree_terms(struct terms *t, const char *algo, int n, double bytes)
{
    bool both = pattern_is(algo, "tree");
    char buffer[32];
    units_show_bytes(bytes, buffer, sizeof buffer);
    if (both || pattern_is(algo, "reduce"))
        tree(t, n, bytes, true);
    if (both || pattern_is(algo, "broadcast"))
        tree(t, n, bytes, false);
    t->ragged = 0;
    say(t, "%sk (a + S/B), n = %d, k = %s = %d, S = %s", both ? "2" : "", n,
        (n & (n - 1)) == 0 ? "lg n" : "ceil(lg n)", both ? t->count / 2 : t->count, buffer);
}

/* False: no such formula. */
static bool terms_of(struct terms *t, const struct count *c, const char *algo, double elements, int element)
{
    int n = c->ranks, k = pattern_number(algo) > 0 ? pattern_number(algo) : 1;
    t->ragged = pattern_ragged(elements, n);
    if (pattern_is(algo, "ring") || pattern_is(algo, "ring_segmented") || pattern_is(algo, "allgather") ||
        pattern_is(algo, "reduce_scatter") ||
        (pattern_is(algo, "nccl_ring") && c->platform->node.nics == 1)) {
        ring_terms(t, c, algo, elements, element);
    } else if (pattern_is(algo, "recursive_doubling") || pattern_is(algo, "halving_doubling")) {
        doubling_terms(t, c, pattern_is(algo, "halving_doubling"), elements, element);
    } else if (pattern_is(algo, "tree") || pattern_is(algo, "broadcast") || pattern_is(algo, "reduce")) {
        tree_terms(t, algo, n, elements * element);
    } else if (pattern_is(algo, "barrier")) {
        for (int d = 1; d < n; d *= 2)
            add(t, LEAP, d, 1, element, false);
        t->ragged = 0;
        say(t, "k (a + c/B), n = %d, k = %s = %d, c = %d B", n, (n & (n - 1)) == 0 ? "lg n" : "ceil(lg n)",
            t->count, element);
    } else if (pattern_is(algo, "alltoall") && tier_links_of_ranks(c->platform) && fmod(elements, n) == 0) {
        /* In round k ranks r and k - r exchange; of two ranks nobody does so in the first. Alone on their links, as in a leap. */
        char piece[32];
        units_show_bytes(elements / n * element, piece, sizeof piece);
        add(t, LEAP, 1, n > 2 ? n : 1, elements / n * element, false);
        say(t, "%s, n = %d, c = S/n = %s", n > 2 ? "n (a + c/B)" : "a + c/B", n, piece);
    } else if (pattern_is(algo, "hierarchical") && n % k == 0) {
        hierarchical_terms(t, n, k, elements, element);
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
    bool servers = pattern_is(q->algo, "param_server");
    char size[32], latency[32], rate[32], adding[32] = "";
    units_show_bytes(bytes, size, sizeof size);
    units_show_seconds(out->latency_s / rounds, latency, sizeof latency);
    units_show_rate(p->bandwidth * piece.bandwidth_factor, rate, sizeof rate);
    units_show_seconds(out->add_s, adding, sizeof adding);
    snprintf(out->formula, sizeof out->formula, "%s, n = %d, %s%s, a = %s, B = %s%s%s",
             rounds == 1 ? "a + (n-1) S/B"
             : servers   ? "2 (a + (n-1) c/B)"
                         : "2 (a + (n-1) S/B)",
             q->ranks, servers ? "c = S/K = " : "S = ", size, latency, rate,
             out->add_s > 0 ? "; and adding " : "", out->add_s > 0 ? adding : "");
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
    struct paced paces[TERMS] = {{.link = -1}};
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
                 isinf(t->ragged)
                     ? "an estimate, at most this: some pieces are empty and are not sent, so ranks get ahead"
                     : "an estimate: the buffer does not divide evenly, and some messages are shorter");
    if (flows && !out->exact)
        snprintf(out->note, sizeof out->note,
                 "an estimate: latencies are added up along the ring, and the slowest link sets the pace of "
                 "the bytes");
    if (t->count) {
        for (int i = 0; i < t->count; i++)
            if (paces[i].link == main_term->link)
                out->bottleneck_bytes += t->term[i].repeats * t->term[i].bytes * paces[i].load;
        closed_formula(t, paces, flows, out->add_s, out->formula, sizeof out->formula);
        tier_bottleneck(c->platform, main_term->link, out);
    }
    return true;
}

bool closed_collective(const struct platform *p, const struct sim_request *q, struct tier_budget *budget,
                       struct sim_result *out, bool *known, struct error *e)
{
    int element = pattern_element(q->bytes);
    double elements = floor(q->bytes / element);
    struct count c = {.platform = p, .request = q, .ranks = q->ranks, .power = 1, .budget = budget};
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
