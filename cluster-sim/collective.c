#include "cluster-sim/collective.h"

#include "cluster-sim/tiers.h"
#include "cluster-sim/topology.h"
#include "engine/base/units.h"
#include "engine/spec/collective.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char sim_not_modelled[] =
    "not modelled: incast, packet loss, PFC, congestion control, adaptive routing";

/* Messages that auto lets the events tier follow one by one: a few seconds, where they hardly meet. */
enum { EVENTS_AUTO = 1 << 20 };

static const char *const tier_names[] = {"auto", "closed", "rounds", "events"};

const char *sim_tier_name(enum sim_tier tier)
{
    return tier_names[tier];
}

bool sim_tier_named(const char *name, enum sim_tier *tier, struct error *e)
{
    for (int i = SIM_AUTO; i <= SIM_EVENTS; i++)
        if (strcmp(tier_names[i], name) == 0) {
            *tier = (enum sim_tier)i;
            return true;
        }
    return error_set(e, ERROR_INPUT, "there is no tier \"%.32s\" (there are: auto, closed, rounds, events)",
                     name);
}

struct pattern_kind tier_kind(const struct platform *p, const struct sim_request *q)
{
    int per_host = p->per_node < q->ranks ? p->per_node : q->ranks;
    bool even = q->ranks % per_host == 0 && per_host % p->node.nics == 0;
    return (struct pattern_kind){q->algo, {q->ranks, per_host, even ? p->node.nics : 1}, q->bytes};
}

bool tier_links_of_ranks(const struct platform *p)
{
    return p->topology == &topology_switch && p->per_node == 1;
}

void tier_bottleneck(const struct platform *p, int link, struct sim_result *out)
{
    char name[80], rate[32];
    if (link < 0) {
        snprintf(out->bottleneck, sizeof out->bottleneck, "none");
        return;
    }
    platform_link_name(p, link, name, sizeof name);
    units_show_rate(platform_link_bandwidth(p, link), rate, sizeof rate);
    snprintf(out->bottleneck, sizeof out->bottleneck, "%s, %s", name, rate);
}

bool tier_spend(struct tier_budget *budget, double steps, const struct sim_request *q, struct error *e)
{
    budget->left -= steps;
    return budget->left >= 0 ||
           error_set(
               e, ERROR_INPUT,
               "%s on %d ranks takes this tier more than %g million steps, the most that it does; take fewer "
               "ranks or another tier",
               q->algo, q->ranks, TIER_STEPS_MOST / 1e6);
}

double *tier_capacities(const struct platform *p, struct error *e)
{
    double *capacity = malloc(((size_t)p->links + 1) * sizeof *capacity);
    if (!capacity) {
        error_set(e, ERROR_FAILED, "out of memory for %d links", p->links);
        return NULL;
    }
    for (int l = 0; l < p->links; l++)
        capacity[l] = platform_link_bandwidth(p, l);
    return capacity;
}

/* "nccl_tree:4096": elements of a piece; the ring takes no number. */
static bool check_nccl(const char *algo, struct error *e)
{
    const char *colon = strchr(algo, ':');
    char *end = NULL;
    if (!colon)
        return true;
    long value = strtol(colon + 1, &end, 10);
    if (pattern_is(algo, "nccl_tree") && end != colon + 1 && !*end && value >= 1 && value <= INT32_MAX)
        return true;
    return error_set(e, ERROR_INPUT, "the allreduce algorithm \"%.64s\": %s", algo,
                     pattern_is(algo, "nccl_tree") ? "nccl_tree takes a whole number from 1 behind its colon"
                                                   : "nccl_ring takes no number");
}

static bool check_algo(const char *algo, struct error *e)
{
    int index, number;
    size_t name = strcspn(algo, ":");
    char known[256] = "";
    if (collective_named(algo) == ALLREDUCE)
        return error_set(e, ERROR_INPUT,
                         "allreduce is no algorithm; take ring, or another that --help lists");
    if (collective_named(algo) != COLLECTIVES)
        return true;
    if (pattern_flows_freely(algo))
        return check_nccl(algo, e);
    for (int i = 0; schedule_algo(i); i++) {
        size_t used = strlen(known);
        if (strlen(schedule_algo(i)) == name && strncmp(schedule_algo(i), algo, name) == 0)
            return schedule_algo_parse(algo, &index, &number, e);
        snprintf(known + used, sizeof known - used, "%s, ", schedule_algo(i));
    }
    return error_set(e, ERROR_INPUT,
                     "there is no allreduce algorithm \"%.64s\" (there are: %snccl_ring, nccl_tree)", algo,
                     known);
}

static bool check(const struct platform *p, const struct sim_request *q, struct error *e)
{
    if (q->ranks < 1 || q->ranks > platform_ranks(p))
        return error_set(e, ERROR_INPUT, "%d rank%s on a cluster that has room for %d; take 1 to %d",
                         q->ranks, q->ranks == 1 ? "" : "s", platform_ranks(p), platform_ranks(p));
    if (!(q->bytes >= 0) || q->bytes > 1e15)
        return error_set(e, ERROR_INPUT, "a buffer of %g bytes; take 0 to 10^15", q->bytes);
    if (!(q->gamma >= 0) || !isfinite(q->gamma))
        return error_set(e, ERROR_INPUT, "adding takes %g seconds a byte; that must be 0 or more", q->gamma);
    return check_algo(q->algo, e);
}

/* Whether a tier failed for want of steps alone, which leaves the question to another. */
static bool spent(const struct tier_budget *budget)
{
    return budget->left < 0;
}

static bool auto_tier(const struct platform *p, const struct sim_request *q, struct sim_result *out,
                      struct error *e)
{
    struct tier_budget budget = {TIER_STEPS_AUTO}, most = {TIER_STEPS_MOST};
    struct pattern_kind kind = tier_kind(p, q);
    struct sim_result first = *out, second = *out;
    struct error later = {0};
    bool known = false;
    if (q->hop)
        return events_collective(p, q, &most, out, e);
    if (!closed_collective(p, q, &budget, &first, &known, e) && !spent(&budget))
        return false;
    known = known && !spent(&budget);
    if (known && first.exact) {
        *out = first;
        return true;
    }
    budget.left = TIER_STEPS_AUTO;
    bool solved = rounds_collective(p, q, &budget, &second, &later);
    if ((!solved || !second.exact) && pattern_transfers(&kind) <= EVENTS_AUTO) {
        struct sim_result third = *out;
        budget.left = TIER_STEPS_AUTO;
        if (events_collective(p, q, &budget, &third, e)) {
            *out = third;
            return true;
        }
        if (!spent(&budget))
            return false;
    }
    if (known || solved) {
        *out = known ? first : second;
        return true;
    }
    if (spent(&budget))
        error_set(
            &later, ERROR_INPUT,
            "%s on %d ranks of %s takes every tier more than %g million steps; take fewer ranks, or one tier "
            "(--tier rounds), which may take %g million",
            q->algo, q->ranks, p->topology_text, TIER_STEPS_AUTO / 1e6, TIER_STEPS_MOST / 1e6);
    if (e)
        *e = later;
    return false;
}

/* "hierarchical" alone means the hosts as they are. */
static void name_hosts(const struct platform *p, struct sim_request *q, char *name, size_t size)
{
    if (strcmp(q->algo, "hierarchical") != 0 || p->per_node == 1 || q->ranks % p->per_node != 0)
        return;
    snprintf(name, size, "hierarchical:%d", p->per_node);
    q->algo = name;
}

static bool by_tier(const struct platform *p, const struct sim_request *q, struct sim_result *out,
                    struct error *e)
{
    struct tier_budget budget = {TIER_STEPS_MOST};
    bool known = false;
    if (q->ranks == 1 || q->bytes == 0) {
        out->tier = q->tier == SIM_AUTO ? SIM_CLOSED : q->tier;
        out->exact = true;
        snprintf(out->formula, sizeof out->formula, "nothing is sent");
        tier_bottleneck(p, -1, out);
        return true;
    }
    switch (q->tier) {
    case SIM_AUTO: return auto_tier(p, q, out, e);
    case SIM_ROUNDS:
        if (q->hop)
            return error_set(e, ERROR_INPUT,
                             "single messages are known to the events tier alone; take --tier events");
        return rounds_collective(p, q, &budget, out, e);
    case SIM_EVENTS: return events_collective(p, q, &budget, out, e);
    case SIM_CLOSED: break;
    }
    if (q->hop)
        return error_set(e, ERROR_INPUT,
                         "single messages are known to the events tier alone; take --tier events");
    if (!closed_collective(p, q, &budget, out, &known, e))
        return false;
    return known ||
           error_set(
               e, ERROR_INPUT,
               "there is no closed form for %s with %d ranks on this topology (%s): its rounds are not even; "
               "take --tier rounds or events",
               q->algo, q->ranks, p->topology_text);
}

bool sim_collective(const struct platform *p, const struct sim_request *request, struct sim_result *out,
                    struct error *e)
{
    struct sim_request named = *request;
    char name[32];
    memset(out, 0, sizeof *out);
    name_hosts(p, &named, name, sizeof name);
    if (!check(p, &named, e) || !by_tier(p, &named, out, e))
        return false;
    return isfinite(out->time_s) ||
           error_set(
               e, ERROR_INPUT,
               "%s takes longer than a number can hold: the bandwidth is too small, or the latency too large",
               request->algo);
}
