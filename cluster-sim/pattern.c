#include "cluster-sim/pattern.h"

#include "engine/spec/collective.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pattern_element(double bytes)
{
    return fmod(bytes, 4) == 0 ? 4 : 1;
}

bool pattern_is(const char *algo, const char *name)
{
    size_t n = strlen(name);
    return strncmp(algo, name, n) == 0 && (!algo[n] || algo[n] == ':');
}

int pattern_number(const char *algo)
{
    const char *colon = strchr(algo, ':');
    return colon ? atoi(colon + 1) : 0;
}

bool pattern_flows_freely(const char *algo)
{
    return pattern_is(algo, "nccl_ring") || pattern_is(algo, "nccl_tree");
}

double pattern_transfers(const struct pattern_kind *kind)
{
    const char *algo = kind->algo;
    double n = kind->hosts.ranks, lg = ceil(log2(n)), k = pattern_number(algo),
           element = pattern_element(kind->bytes);
    if (pattern_is(algo, "everyone") || pattern_is(algo, "alltoall") || pattern_is(algo, "allgather") ||
        pattern_is(algo, "reduce_scatter"))
        return n * (n - 1);
    if (pattern_is(algo, "ring"))
        return 2 * n * (n - 1);
    if (pattern_is(algo, "nccl_ring"))
        return 2 * n * (n - 1) * kind->hosts.nics;
    if (pattern_is(algo, "ring_segmented"))
        return 2 * n * (n - 1) * fmin(4096, fmax(1, ceil(kind->bytes / n / element / (k > 0 ? k : 65536))));
    if (pattern_is(algo, "central") || pattern_is(algo, "tree"))
        return 2 * n;
    if (pattern_is(algo, "param_server"))
        return 2 * n * (k > 0 ? k : fmax(1, floor(sqrt(n))));
    if (pattern_is(algo, "hierarchical"))
        return k > 1 ? 2 * n * (k - 1 + n / k - 1) : 2 * n * (n - 1);
    if (pattern_is(algo, "nccl_tree"))
        return nccl_tree_transfers(&kind->hosts, (size_t)(kind->bytes / element), (int)k);
    return 2 * n * (lg + 1); /* doubling, halving, trees, barrier */
}

bool pattern_schedule(struct schedule *s, const struct pattern_kind *kind, struct error *e)
{
    enum collective op = collective_named(kind->algo);
    int ranks = kind->hosts.ranks;
    size_t length = (size_t)(kind->bytes / pattern_element(kind->bytes));
    if (pattern_transfers(kind) > PATTERN_FLOWS_MAX)
        return error_set(
            e, ERROR_INPUT,
            "%s on %d ranks sends about %.3g messages; one by one the simulator follows at most %d: take "
            "fewer ranks, or --tier closed where there is a formula",
            kind->algo, ranks, pattern_transfers(kind), PATTERN_FLOWS_MAX);
    if (pattern_is(kind->algo, "nccl_tree"))
        return schedule_nccl_tree(s, &kind->hosts, length, pattern_number(kind->algo), e);
    if (pattern_is(kind->algo, "nccl_ring"))
        return schedule_nccl_ring(s, &kind->hosts, length, e);
    if (op != COLLECTIVES && op != ALLREDUCE)
        return schedule_collective(s, op, ranks, length, e);
    return schedule_make(s, kind->algo, ranks, length, e);
}

/* --- rings, written down at once ----------------------------------------------------------------------------- */

static bool room(struct pattern *p, size_t flows, int rounds, struct error *e)
{
    p->flow = malloc((flows + 1) * sizeof *p->flow);
    p->round = calloc((size_t)rounds + 1, sizeof *p->round);
    return (p->flow && p->round) || error_set(e, ERROR_FAILED, "out of memory for the rounds of %s", p->algo);
}

/*
 * Rounds of small rings that run side by side: `rings` of them, of `members` ranks `stride` apart; ring i begins at
 * rank i / group * span + i % group. Every length stands for the longest.
 */
struct side_by_side {
    int rings, members, stride, group, span;
    double bytes;
    bool reduce;
    long repeats;
};

static void add_rings(struct pattern *p, const struct side_by_side *r)
{
    if (r->repeats == 0 || r->bytes == 0)
        return;
    struct pattern_round *round = &p->round[p->distinct];
    round->first = p->distinct ? round[-1].first + round[-1].count : 0;
    round->repeats = r->repeats;
    for (int i = 0; i < r->rings; i++)
        for (int m = 0; m < r->members; m++) {
            int base = i / r->group * r->span + i % r->group;
            p->flow[round->first + round->count++] = (struct pattern_flow){
                base + m * r->stride, base + (m + 1) % r->members * r->stride, r->bytes, r->reduce};
        }
    p->distinct++;
    p->rounds += r->repeats;
    p->messages += (double)round->count * (double)r->repeats;
}

double pattern_ragged(double elements, double parts)
{
    return fmod(elements, parts) == 0 ? 0 : elements < parts ? INFINITY : 1 / ceil(elements / parts);
}

bool pattern_ragged_matters(double ragged, double transfer_s, double time_s)
{
    return isinf(ragged) || ragged * transfer_s > 5e-4 * time_s;
}

static double longest(double elements, int parts)
{
    return ceil(elements / parts);
}

/* Each chunk in `parts`, the first of them an element longer where it does not divide: of both lengths rounds of their own. */
static bool ring(struct pattern *p, int ranks, double chunk, int parts, int element, const long rounds[2],
                 struct error *e)
{
    int longer = (int)fmod(chunk, parts);
    double shorter = floor(chunk / parts);
    if (!room(p, 4 * (size_t)ranks, 4, e))
        return false;
    for (int reduce = 1; reduce >= 0; reduce--) {
        struct side_by_side r = {1, ranks, 1, 1, 0, (shorter + 1) * element, reduce, longer * rounds[reduce]};
        add_rings(p, &r);
        r.bytes = shorter * element;
        r.repeats = (parts - longer) * rounds[reduce];
        add_rings(p, &r);
    }
    return true;
}

static bool nccl_ring(struct pattern *p, const struct nccl_hosts *h, double bytes, struct error *e)
{
    if (!room(p, 2 * (size_t)h->ranks * (size_t)h->nics, 2, e))
        return false;
    for (int reduce = 1; reduce >= 0 && bytes > 0; reduce--) {
        struct pattern_round *round = &p->round[p->distinct];
        round->first = p->distinct++ ? round[-1].count : 0;
        round->repeats = h->ranks - 1;
        for (int channel = 0; channel < h->nics; channel++)
            for (int r = 0; r < h->ranks; r++)
                p->flow[round->first + round->count++] =
                    (struct pattern_flow){r, nccl_ring_next(h, channel, r), bytes, reduce};
        p->rounds += round->repeats;
        p->messages += (double)round->count * (double)round->repeats;
    }
    return true;
}

static bool hierarchical(struct pattern *p, int ranks, double elements, int element, int per_host,
                         struct error *e)
{
    if (ranks % per_host != 0)
        return error_set(e, ERROR_INPUT,
                         "hierarchical:%d: %d ranks do not fill hosts of %d; every host needs as many",
                         per_host, ranks, per_host);
    int hosts = ranks / per_host;
    double piece = longest(elements, per_host);
    struct side_by_side inside = {hosts, per_host, 1, 1, per_host, piece * element, true, per_host - 1};
    struct side_by_side between = {
        per_host, hosts, per_host, per_host, ranks, longest(piece, hosts) * element, true, hosts - 1};
    if (!room(p, 4 * (size_t)ranks, 4, e))
        return false;
    add_rings(p, &inside);
    add_rings(p, &between);
    between.reduce = inside.reduce = false;
    add_rings(p, &between);
    add_rings(p, &inside);
    return true;
}

/* --- the others: rounds of a schedule, compared -------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ (x >> 33);
}

/* Sums, so that the order in which transfers are listed does not matter: of pairs, and of lengths. */
static uint64_t signature(const struct transfer *t, int count)
{
    uint64_t pairs = 0, lengths = 0;
    for (int i = 0; i < count; i++) {
        pairs += mix(((uint64_t)t[i].from << 32) + (uint64_t)t[i].to + 1);
        lengths += mix(t[i].length * 2 + t[i].reduce + 0x9e3779b97f4a7c15ULL);
    }
    return mix(pairs) + lengths;
}

static void copy_flows(struct pattern *p, struct pattern_round *r, const struct transfer *t, int count,
                       int element)
{
    for (int i = 0; i < count; i++)
        p->flow[r->first + r->count++] =
            (struct pattern_flow){t[i].from, t[i].to, (double)t[i].length * element, t[i].reduce};
}

static bool from_schedule(struct pattern *p, const struct schedule *s, int element, struct error *e)
{
    uint64_t *known = calloc((size_t)s->rounds + 1, sizeof *known);
    if (!known || !room(p, (size_t)s->count, s->rounds, e)) {
        free(known);
        return error_set(e, ERROR_FAILED, "out of memory for the rounds of %s", p->algo);
    }
    for (int i = 0, end; i < s->count; i = end) {
        for (end = i; end < s->count && s->transfers[end].round == s->transfers[i].round;)
            end++;
        uint64_t mine = signature(&s->transfers[i], end - i);
        int k = p->distinct - 1; /* a round most often is as the one before */
        while (k >= 0 && known[k] != mine)
            k--;
        if (k < 0) {
            k = p->distinct++;
            known[k] = mine;
            p->round[k].first = k ? p->round[k - 1].first + p->round[k - 1].count : 0;
            copy_flows(p, &p->round[k], &s->transfers[i], end - i, element);
        }
        p->round[k].repeats++;
        p->rounds++;
    }
    p->messages = s->count;
    free(known);
    return true;
}

bool pattern_make(struct pattern *p, const struct pattern_kind *kind, struct error *e)
{
    const char *algo = kind->algo;
    int element = pattern_element(kind->bytes), number = pattern_number(algo), index,
        ranks = kind->hosts.ranks;
    double elements = floor(kind->bytes / element), chunk = longest(elements, ranks);
    memset(p, 0, sizeof *p);
    snprintf(p->algo, sizeof p->algo, "%s", algo);
    p->ranks = ranks;
    bool ok = pattern_flows_freely(algo) || collective_named(algo) != COLLECTIVES ||
              schedule_algo_parse(algo, &index, &number, e);
    if (!ok)
        return false;
    if (ranks == 1)
        return true;
    const long both[2] = {ranks - 1, ranks - 1}, reduces[2] = {0, ranks - 1}, copies[2] = {ranks - 1, 0};
    p->ragged = pattern_ragged(elements, ranks);
    if (pattern_is(algo, "ring")) {
        ok = ring(p, ranks, chunk, 1, element, both, e);
    } else if (pattern_is(algo, "ring_segmented")) {
        double parts = fmin(4096, fmax(1, ceil(chunk / (number > 0 ? number : 65536))));
        ok = ring(p, ranks, chunk, (int)parts, element, both, e);
    } else if (pattern_is(algo, "allgather") || pattern_is(algo, "reduce_scatter")) {
        ok = ring(p, ranks, chunk, 1, element, pattern_is(algo, "reduce_scatter") ? reduces : copies, e);
    } else if (pattern_is(algo, "nccl_ring")) {
        ok = nccl_ring(p, &kind->hosts, longest(longest(elements, kind->hosts.nics), ranks) * element, e);
    } else if (pattern_is(algo, "hierarchical")) {
        p->ragged += number > 0 ? pattern_ragged(elements, number) : 0;
        ok = hierarchical(p, ranks, elements, element, number > 0 ? number : 1, e);
    } else {
        struct schedule s = {.count = 0};
        p->ragged = 0; /* each length is its own */
        ok = pattern_schedule(&s, kind, e) && from_schedule(p, &s, element, e);
        schedule_free(&s);
    }
    if (!ok)
        pattern_free(p);
    return ok;
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    free(p->flow);
    free(p->round);
    memset(p, 0, sizeof *p);
}
