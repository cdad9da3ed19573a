/*
 * published.c - one published run, simulated.
 */
#include "cluster-sim/published.h"

#include "cluster-sim/collective.h"
#include "cluster-sim/topology.h"
#include "cluster-sim/training.h"
#include "engine/spec/model_lua.h"

#include <stdio.h>
#include <string.h>

/* NCCL's ring, Simple: a step's latency over NVLink, PCIe and the network; the factor of larger chunks between nodes. */
#define NVLINK_STEP 3.4e-6
#define PCIE_STEP 5.7e-6
#define NETWORK_STEP 9.6e-6
#define PLATEAU_FROM 4096
#define PLATEAU_FACTOR 1.9
/* Of a link's rate. */
#define RDMA_SHARE 0.96
#define TCP_SHARE 0.94
/* A message through the host's TCP stack, each way (cost.h's default network has the same). */
#define TCP_LATENCY 30e-6

#define FUSION_BYTES (64.0 * 1024 * 1024)
#define STRAGGLER_SPREAD 0.02
#define AIM 0.1
#define AIM_SERVERS 0.2

enum { SIZES_KNOWN = 256 };

static double aim_of(const struct published_case *c)
{
    return c->sum == SUM_SERVERS || c->sum == SUM_SERVER_LOCAL ? AIM_SERVERS : AIM;
}

/* --- clusters ---------------------------------------------------------------------------------------------- */

/* Routes inside a node cross two inner links, between nodes two of them and two of the network. */
static bool make_platform(const struct published_case *c, struct platform *p, struct error *e)
{
    const struct published_cluster *k = c->cluster;
    bool servers = c->sum == SUM_SERVERS; /* one rank a node: what its GPUs have has been summed */
    double step = k->nvlink ? NVLINK_STEP : PCIE_STEP;
    *p = (struct platform){.nodes = c->nodes, .per_node = servers ? 1 : k->gpus};
    snprintf(p->name, sizeof p->name, "%s", k->name);
    p->node = (struct sim_node){.gpus = k->gpus, .nics = 1};
    if (k->nvlink)
        p->node.nvlink_bytes_per_s = k->inner_bytes_per_s, p->node.nvlink_latency_s = step / 2;
    p->node.pcie_bytes_per_s = k->nvlink ? k->host_link : k->inner_bytes_per_s;
    p->node.pcie_latency_s = PCIE_STEP / 2;
    p->bandwidth = k->network_bytes_per_s > 0 ? k->network_bytes_per_s : k->inner_bytes_per_s;
    p->latency = servers ? TCP_LATENCY / 2 : (NETWORK_STEP - PCIE_STEP) / 2;
    double share = k->rdma ? RDMA_SHARE : k->network_bytes_per_s > 0 ? TCP_SHARE : 1;
    p->protocol.count = 1;
    p->protocol.piece[0] = (struct protocol_piece){0, 0, 1, share};
    if (c->nodes > 1 && k->rdma) {
        p->protocol.count = 2;
        p->protocol.piece[1] = (struct protocol_piece){PLATEAU_FROM, 0, PLATEAU_FACTOR, share};
    }
    return platform_lay(p, "switch", e);
}

/* --- sums -------------------------------------------------------------------------------------------------- */

struct published_network {
    struct training_network network;
    const struct published_case *c;
    const struct platform *platform;
    char algo[32];
    char text[256];     /* about the largest sum so far */
    enum sim_tier tier; /* of it; SIM_AUTO: nothing crosses the network */
    double largest;
    struct {
        double bytes, seconds;
    } known[SIZES_KNOWN]; /* variables of one size are summed alike */
    int count;
};

/*
 * Each GPU writes its gradient into the host's memory and reads the parameters back over its link; of the memory the
 * writes, the sum's reads and write, and the reads back.
 */
static double local_seconds(const struct published_cluster *k, double bytes)
{
    return 2 * bytes / k->host_link + (3 * k->gpus + 1) * bytes / (k->host_memory * ROOFLINE_MEMORY) +
           2 * PCIE_STEP;
}

static bool time_sum(struct published_network *n, double bytes, double *seconds, struct error *e)
{
    const struct published_case *c = n->c;
    bool local = c->sum == SUM_SERVER_LOCAL || c->sum == SUM_SERVERS, over = c->sum != SUM_SERVER_LOCAL;
    *seconds = local ? local_seconds(c->cluster, bytes) : 0;
    if (local && bytes > n->largest)
        snprintf(n->text, sizeof n->text, "a server in the node's memory, bound by PCIe (%.3g GB/s)",
                 1e-9 * c->cluster->host_link);
    if (over) {
        struct sim_result r;
        struct sim_request request = {.algo = n->algo,
                                      .ranks = c->sum == SUM_SERVERS ? c->nodes : c->nodes * c->cluster->gpus,
                                      .bytes = bytes};
        if (!sim_collective(n->platform, &request, &r, e))
            return false;
        *seconds += r.time_s;
        if (bytes > n->largest) {
            n->tier = r.tier;
            snprintf(n->text, sizeof n->text, "%s (%s), bound by %s", n->algo, sim_tier_name(r.tier),
                     r.bottleneck);
        }
    }
    if (bytes > n->largest)
        n->largest = bytes;
    return true;
}

static bool allreduce(struct training_network *self, enum mesh_axis axis, double bytes, double *seconds,
                      struct error *e)
{
    (void)axis;
    struct published_network *n = (struct published_network *)self;
    for (int i = 0; i < n->count; i++)
        if (n->known[i].bytes == bytes) {
            *seconds = n->known[i].seconds;
            return true;
        }
    if (!time_sum(n, bytes, seconds, e))
        return false;
    if (n->count < SIZES_KNOWN) {
        n->known[n->count].bytes = bytes;
        n->known[n->count++].seconds = *seconds;
    }
    return true;
}

static void name_algo(const struct published_case *c, char algo[32])
{
    if (c->sum == SUM_SERVERS)
        snprintf(algo, 32, "param_server:%d", c->servers);
    else
        snprintf(algo, 32, "nccl_ring");
}

/* --- a case ------------------------------------------------------------------------------------------------ */

static struct training training_of(const struct published_case *c, const struct model_spec *model, int gpus)
{
    const struct published_cluster *k = c->cluster;
    return (struct training){
        .model = model,
        .device = roofline_of(k->flops, k->gpu_memory, true),
        .data = gpus,
        .tensor = 1,
        .pipeline = 1,
        .batch = c->batch,
        .microbatches = 1,
        .overlap = true,
        .bucket_bytes = c->sum == SUM_HOROVOD ? FUSION_BYTES : 1,
        .width = 4,
        .optimizer = "sgd",
        .samples_per_s = c->one,
        .straggler = {.kind = STRAGGLER_NORMAL, .spread = STRAGGLER_SPREAD, .slow_factor = 1}};
}

bool published_simulate(const struct published_case *c, struct published_result *r,
                        void (*say)(void *self, const char *what, double seconds, const char *text),
                        void *self, struct error *e)
{
    struct platform platform;
    struct model_spec model;
    struct training_plan plan;
    *r = (struct published_result){.gpus = c->nodes * c->cluster->gpus, .aim = aim_of(c)};
    if (!model_named(c->model, &model, e))
        return false;
    if (!make_platform(c, &platform, e)) {
        model_free(&model);
        return false;
    }
    struct published_network network = {.network = {.allreduce = allreduce}, .c = c, .platform = &platform};
    name_algo(c, network.algo);
    struct training t = training_of(c, &model, r->gpus);
    bool ok = training_plan_make(&plan, &t, &network.network, e);
    if (ok) {
        r->published = c->efficiency > 0 ? c->efficiency * c->one * r->gpus : c->samples_per_s;
        r->published_efficiency = r->published / (c->one * r->gpus);
        r->simulated = plan.expected.samples_per_s;
        r->simulated_efficiency = plan.expected.efficiency;
        r->error = r->simulated / r->published - 1;
        r->tier = network.tier == SIM_AUTO ? SIM_CLOSED : network.tier;
        memcpy(r->network, network.text, sizeof r->network);
        training_bottleneck_text(&plan, network.text, r->bottleneck, sizeof r->bottleneck);
        if (say)
            training_explain(&plan, network.text, say, self);
        training_plan_free(&plan);
    }
    platform_free(&platform);
    model_free(&model);
    return ok;
}
