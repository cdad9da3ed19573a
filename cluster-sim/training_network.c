#include "cluster-sim/training_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many things at a time go through the same network port of a node. */
static double sharing(int at_once, int nics)
{
    return at_once > nics ? (double)at_once / nics : 1;
}

struct platform platform_group(const struct platform *p, enum mesh_axis axis, int tensor)
{
    struct platform group = *p;
    if (axis == MESH_DATA && tensor > 1 && p->per_node > 1) {
        /* Each node's ranks belong to so many groups, of so many ranks here each. */
        int groups = tensor < p->per_node ? tensor : p->per_node;
        group.per_node = p->per_node / groups;
        group.bandwidth = p->bandwidth / sharing(groups, p->node.nics);
    }
    return group;
}

/*
 * What a name that leaves the choice to the library stands for: the fastest of these is taken (a library that is tuned
 * for its cluster finds it). Those whose messages are followed one by one are tried on few ranks only.
 */
static const struct {
    const char *name, *candidates[4];
} choices[] = {{"auto", {"ring", "recursive_doubling", "halving_doubling", NULL}},
               {"mpi", {"ring", "recursive_doubling", "halving_doubling", NULL}},
               {"nccl", {"nccl_ring", "nccl_tree", NULL}}};
enum { FEW_RANKS = 256 };

static bool fastest(const struct platform *group, const struct sim_request *asked, struct sim_result *best,
                    struct error *e)
{
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (strcmp(choices[i].name, asked->algo) != 0)
            continue;
        bool any = false;
        for (const char *const *algo = choices[i].candidates; *algo; algo++) {
            struct sim_request request = *asked;
            struct sim_result r;
            request.algo = *algo;
            if (any && asked->ranks > FEW_RANKS)
                continue;
            if (!sim_collective(group, &request, &r, e))
                return false;
            if (!any || r.time_s < best->time_s)
                *best = r;
            any = true;
        }
        return true;
    }
    return sim_collective(group, asked, best, e);
}

static const struct sim_result *answer(struct platform_network *n, enum mesh_axis axis, double bytes,
                                       struct error *e)
{
    for (int i = 0; i < n->count; i++)
        if (n->answers[i].axis == axis && n->answers[i].bytes == bytes)
            return &n->answers[i].result;
    if (n->count == NETWORK_ANSWERS) {
        error_set(e, ERROR_FAILED, "more than %d different sizes are summed in a step", NETWORK_ANSWERS);
        return NULL;
    }
    struct network_answer *a = &n->answers[n->count];
    struct platform group = platform_group(n->platform, axis, n->tensor);
    struct sim_request request = {.algo = axis == MESH_DATA ? n->algo : "ring",
                                  .ranks = axis == MESH_DATA ? n->data : n->tensor,
                                  .bytes = bytes,
                                  .tier = n->tier};
    *a = (struct network_answer){.axis = axis, .bytes = bytes};
    if (!fastest(&group, &request, &a->result, e))
        return NULL;
    n->count++;
    return &a->result;
}

static bool allreduce(struct training_network *self, enum mesh_axis axis, double bytes, double *seconds,
                      struct error *e)
{
    struct platform_network *n = (struct platform_network *)self;
    const struct sim_result *r = answer(n, axis, bytes, e);
    *seconds = r ? r->time_s : 0;
    return r != NULL;
}

/* All ranks of a node hand on at the same time. */
static bool send_on(struct training_network *self, double bytes, double *seconds, struct error *e)
{
    struct platform_network *n = (struct platform_network *)self;
    const struct platform *p = n->platform;
    struct route route = {0};
    int to = n->data * n->tensor;
    bool inside = to < p->per_node;
    bool ok = platform_route(p, 0, to, &route, e);
    if (ok) {
        struct protocol_piece piece = protocol_at(&p->protocol, bytes);
        double rate = route.bandwidth * piece.bandwidth_factor;
        if (!inside && p->bandwidth / sharing(p->per_node, p->node.nics) < route.bandwidth)
            rate = p->bandwidth / sharing(p->per_node, p->node.nics) * piece.bandwidth_factor;
        *seconds = piece.latency_s + piece.latency_factor * route.latency + bytes / rate;
    }
    route_free(&route);
    return ok;
}

bool platform_network_make(struct platform_network *n, const struct platform *p, const char *algo,
                           enum sim_tier tier, int data, int tensor, int pipeline, struct error *e)
{
    *n = (struct platform_network){.network = {allreduce, send_on},
                                   .platform = p,
                                   .algo = algo,
                                   .tier = tier,
                                   .data = data,
                                   .tensor = tensor,
                                   .pipeline = pipeline};
    long ranks = (long)data * tensor * pipeline;
    if (ranks > platform_ranks(p))
        return error_set(e, ERROR_INPUT,
                         "ranks: the cluster \"%s\" has room for %d ranks (%d nodes of %d), not for %ld",
                         p->name, platform_ranks(p), p->nodes, p->per_node, ranks);
    n->answers = malloc(NETWORK_ANSWERS * sizeof *n->answers);
    return n->answers || error_set(e, ERROR_FAILED, "out of memory for the network's answers");
}

void platform_network_free(struct platform_network *n)
{
    if (!n)
        return;
    free(n->answers);
    n->answers = NULL;
    n->count = 0;
}

const struct sim_result *platform_network_largest(const struct platform_network *n)
{
    const struct network_answer *most = NULL;
    for (int i = 0; i < n->count; i++)
        if (n->answers[i].axis == MESH_DATA && (!most || n->answers[i].bytes > most->bytes))
            most = &n->answers[i];
    return most ? &most->result : NULL;
}

const char *platform_network_text(const struct platform_network *n, char *text, size_t size)
{
    const struct sim_result *r = platform_network_largest(n);
    if (!r)
        snprintf(text, size, "no sum of gradients");
    else
        snprintf(text, size, "%s over %d ranks (%s), bound by %s", n->algo, n->data, sim_tier_name(r->tier),
                 r->bottleneck);
    return text;
}
