/*
 * collective.h - how long a collective takes on a platform: one function, three tiers of detail.
 *
 *   closed   a formula for symmetric collectives: rounds × (latency + bytes × load / bandwidth); at once at any size
 *   rounds   one max-min solution for each distinct round, times its repetitions; all ranks go from round to round together
 *   events   every message by itself: a rank begins a round when all that it sends and receives in earlier rounds is done
 *            (as a sendrecv a round), flows share links by max-min fairness at every moment
 *
 * auto takes the first that is exact here: closed, else rounds, else events, else (too large for events) rounds with
 * `exact` false. What would take minutes is refused, or left to a coarser tier (cluster-sim/tiers.h). In every tier a
 * message first waits for its latency, then its bytes share the links.
 *
 * Not modelled: incast, packet loss, PFC (priority flow control), congestion control, adaptive routing; adding costs
 * gamma a byte, by default nothing.
 */
#ifndef RINGSIDE_SIM_COLLECTIVE_H
#define RINGSIDE_SIM_COLLECTIVE_H

#include "cluster-sim/platform.h"
#include "engine/spec/schedule.h"

enum sim_tier { SIM_AUTO, SIM_CLOSED, SIM_ROUNDS, SIM_EVENTS };

struct sim_request {
    /*
     * An allreduce as schedule_make has them ("ring", "hierarchical:4"), "nccl_ring", "nccl_tree" (cluster-sim/nccl.h), or
     * another collective's name ("broadcast", "allgather" ...).
     */
    const char *algo;
    int ranks;    /* ranks 0 .. ranks-1 of the platform */
    double bytes; /* of the buffer; elements are 4 bytes where that divides it, else 1 */
    double gamma; /* seconds a byte that is added; 0: free */
    enum sim_tier tier;
    /* Each message, in the order of their ends, where it is not NULL (rounds and events; auto then takes one of them). */
    void (*hop)(void *self, const struct transfer *t, double t0, double t1);
    void *self;
};

struct sim_result {
    double time_s;
    enum sim_tier tier; /* the one that answered */
    bool exact;         /* false: ranks would not stay in step, and only events would tell */
    long rounds, distinct;
    double latency_s, transfer_s, add_s; /* of time_s; of events: of the chain of messages that ended last */
    char formula[512];                   /* of closed: with its numbers; else how it was put together */
    char bottleneck[128];                /* the link that bounds the longest round, and its rate */
    double bottleneck_bytes;             /* over that link in all, one direction */
    char note[256];                      /* "" or what else to know */
};

bool sim_collective(const struct platform *p, const struct sim_request *request, struct sim_result *result,
                    struct error *e);

const char *sim_tier_name(enum sim_tier tier); /* "auto", "closed", "rounds", "events" */
bool sim_tier_named(const char *name, enum sim_tier *tier, struct error *e);

/* What the network model leaves out, for every screen that shows its results. */
extern const char sim_not_modelled[];

#endif
