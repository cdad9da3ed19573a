/*
 * platform_json.c - what cluster{...} describes, as JSON, made into a platform.
 *
 *   nodes            how many; needed
 *   topology         SPEC of platform.h ("switch"); "graph" with links = { {"node0", "sw", bandwidth =, latency =}, ... } and,
 *                    where nodes are not to be called node0, node1 ..., hosts = {"a", "b"}
 *   network          a name of presets.c; or bandwidth = and latency = of a link, which also win over the name's
 *   sockets, cores, core_flops, memory, memory_bandwidth    of a node
 *   gpus, gpu        how many; a name of presets.c or { name =, f32 =, f16 =, bf16 =, memory =, memory_bandwidth = }
 *   nvlink           true: the GPU's own rate; or a rate a GPU and direction; nvlink_latency (1us, an assumption)
 *   pcie             "gen3" (GPUs have it without saying so), "gen4", "gen5" or a rate a GPU and direction; pcie_latency (1us)
 *   nics             of a node; ranks_per_node: without GPUs
 *   protocol         see protocol.h
 *   disk             { read =, write =, open =, opens_per_s = } of each node
 *   storage          { kind = "nfs" | "san" | "parallel", read =, write =, open =, opens_per_s =, link =, targets =,
 *                    stripe_count =, stripe = } of all
 */
#include "cluster-sim/platform.h"
#include "cluster-sim/platform_fields.h"
#include "cluster-sim/presets.h"
#include "cluster-sim/topology.h"
#include "engine/base/event.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES_MAX = 1 << 22, PER_NODE_MAX = 4096 };

#define INNER_LATENCY 1e-6

static bool read_gpu(const json_t *object, struct platform *p, double *nvlink, struct error *e)
{
    static const char *const keys[] = {"name", "f32", "f16", "bf16", "memory", "memory_bandwidth", NULL};
    struct sim_gpu *gpu = &p->node.gpu;
    const json_t *field = json_object_get(object, "gpu");
    *nvlink = 0;
    if (json_is_string(field)) {
        const struct preset_gpu *preset = preset_gpu(json_string_value(field), e);
        if (!preset)
            return false;
        *gpu = preset->gpu;
        *nvlink = preset->nvlink_bytes_per_s;
        return true;
    }
    if (!field)
        return true;
    snprintf(gpu->name, sizeof gpu->name, "GPU");
    return (field_known(field, "gpu", keys, e) && field_text(field, "name", gpu->name, sizeof gpu->name, e) &&
            field_flops(field, "f32", &gpu->f32_flops, e) && field_flops(field, "f16", &gpu->f16_flops, e) &&
            field_flops(field, "bf16", &gpu->bf16_flops, e) &&
            field_bytes(field, "memory", &gpu->memory_bytes, e) &&
            field_rate(field, "memory_bandwidth", &gpu->memory_bytes_per_s, e)) ||
           error_wrap(e, "gpu");
}

static bool read_inner(const json_t *object, struct platform *p, double preset_nvlink, struct error *e)
{
    struct sim_node *n = &p->node;
    const json_t *nvlink = json_object_get(object, "nvlink"), *slot = json_object_get(object, "pcie");
    n->nvlink_latency_s = n->pcie_latency_s = INNER_LATENCY;
    if (json_is_true(nvlink)) {
        n->nvlink_bytes_per_s = preset_nvlink;
        if (!(preset_nvlink > 0))
            return error_set(e, ERROR_INPUT,
                             "nvlink = true, but the rate of %s's is not known; give nvlink = a rate",
                             *n->gpu.name ? n->gpu.name : "this GPU");
    } else if (!json_is_false(nvlink) && !field_rate(object, "nvlink", &n->nvlink_bytes_per_s, e)) {
        return false;
    }
    if (n->gpus > 0)
        n->pcie_bytes_per_s = preset_pcie("gen3");
    double rate = json_is_string(slot) ? preset_pcie(json_string_value(slot)) : 0;
    if (rate > 0)
        n->pcie_bytes_per_s = rate;
    else if (!field_rate(object, "pcie", &n->pcie_bytes_per_s, e))
        return error_wrap(e, "gen3, gen4, gen5 or a rate");
    return field_seconds(object, "nvlink_latency", &n->nvlink_latency_s, e) &&
           field_seconds(object, "pcie_latency", &n->pcie_latency_s, e);
}

static bool read_node(const json_t *object, struct platform *p, struct error *e)
{
    struct sim_node *n = &p->node;
    double nvlink;
    n->sockets = n->cores = n->nics = 1;
    if (!field_whole(object, "sockets", 1, 64, &n->sockets, e) ||
        !field_whole(object, "cores", 1, 4096, &n->cores, e) ||
        !field_flops(object, "core_flops", &n->core_flops, e) ||
        !field_bytes(object, "memory", &n->memory_bytes, e) ||
        !field_rate(object, "memory_bandwidth", &n->memory_bytes_per_s, e) ||
        !field_whole(object, "gpus", 0, PER_NODE_MAX, &n->gpus, e) ||
        !field_whole(object, "nics", 1, PER_NODE_MAX, &n->nics, e) || !read_gpu(object, p, &nvlink, e) ||
        !read_inner(object, p, nvlink, e))
        return false;
    p->per_node = n->gpus > 0 ? n->gpus : 1;
    if (n->gpus > 0 && json_object_get(object, "ranks_per_node"))
        return error_set(e, ERROR_INPUT, "a node with GPUs has a rank for each; leave ranks_per_node out");
    return field_whole(object, "ranks_per_node", 1, PER_NODE_MAX, &p->per_node, e);
}

static bool read_storage(const json_t *object, const char *key, struct sim_storage *s, struct error *e)
{
    static const char *const keys[] = {"kind", "name",    "read",         "write",  "open", "opens_per_s",
                                       "link", "targets", "stripe_count", "stripe", NULL};
    static const char *const kinds[] = {"none", "local", "nfs", "san", "parallel"};
    const json_t *field = json_object_get(object, key);
    if (!field)
        return true;
    bool disk = strcmp(key, "disk") == 0;
    const char *kind = event_text(field, "kind", disk ? "local" : "nfs");
    s->kind = SIM_STORAGE_NONE;
    for (int i = SIM_STORAGE_LOCAL; i <= SIM_STORAGE_PARALLEL; i++)
        if (strcmp(kinds[i], kind) == 0)
            s->kind = (enum sim_storage_kind)i;
    if (s->kind == SIM_STORAGE_NONE || disk != (s->kind == SIM_STORAGE_LOCAL))
        return error_set(e, ERROR_INPUT, "%s: kind \"%.20s\" is none of %s", key, kind,
                         disk ? "\"local\"" : "\"nfs\", \"san\", \"parallel\"");
    s->targets = s->stripe_count = 1;
    s->stripe_bytes = 1 << 20;
    snprintf(s->name, sizeof s->name, "%s", kind);
    if (!field_known(field, key, keys, e) || !field_text(field, "name", s->name, sizeof s->name, e) ||
        !field_rate(field, "read", &s->read_bytes_per_s, e) ||
        !field_rate(field, "write", &s->write_bytes_per_s, e) ||
        !field_seconds(field, "open", &s->open_s, e) ||
        !field_number(field, "opens_per_s", &s->opens_per_s, e) ||
        !field_rate(field, "link", &s->link_bytes_per_s, e) ||
        !field_whole(field, "targets", 1, 100000, &s->targets, e) ||
        !field_whole(field, "stripe_count", 1, 100000, &s->stripe_count, e) ||
        !field_bytes(field, "stripe", &s->stripe_bytes, e))
        return error_wrap(e, "%s", key);
    if (!(s->read_bytes_per_s > 0))
        return error_set(e, ERROR_INPUT, "%s: give read =, the bytes a second it can be read at", key);
    if (!(s->write_bytes_per_s > 0))
        s->write_bytes_per_s = s->read_bytes_per_s;
    if (s->stripe_count > s->targets)
        return error_set(e, ERROR_INPUT,
                         "%s: a stripe_count of %d on %d targets; a file lies on as many at most", key,
                         s->stripe_count, s->targets);
    return true;
}

static bool read_network(const json_t *object, struct platform *p, struct error *e)
{
    const json_t *links = json_object_get(object, "links"), *protocol = json_object_get(object, "protocol");
    char spec[64] = "";
    if (!field_text(object, "network", p->network, sizeof p->network, e) ||
        !field_text(object, "topology", spec, sizeof spec, e))
        return false;
    if (*p->network) {
        const struct preset_network *preset = preset_network(p->network, e);
        if (!preset)
            return false;
        p->bandwidth = preset->bandwidth;
        p->latency = preset->latency;
    }
    if (!field_rate(object, "bandwidth", &p->bandwidth, e) ||
        !field_seconds(object, "latency", &p->latency, e))
        return false;
    if (!*spec)
        snprintf(spec, sizeof spec, links ? "graph" : "switch");
    if (links && strcmp(spec, "graph") != 0)
        return error_set(e, ERROR_INPUT, "topology \"%s\" knows its links; leave links out, or the topology",
                         spec);
    if (protocol && !protocol_from_json(protocol, &p->protocol, e))
        return false;
    if (links && !graph_from_json(p, links, json_object_get(object, "hosts"), e))
        return false;
    if (!links && !(p->bandwidth > 0))
        return error_set(e, ERROR_INPUT,
                         "no network: give network = \"10GbE\", or bandwidth = and latency =");
    return platform_lay(p, spec, e);
}

bool platform_from_json(const json_t *object, struct platform *p, struct error *e)
{
    static const char *const keys[] = {"name",
                                       "nodes",
                                       "topology",
                                       "network",
                                       "bandwidth",
                                       "latency",
                                       "links",
                                       "hosts",
                                       "sockets",
                                       "cores",
                                       "core_flops",
                                       "memory",
                                       "memory_bandwidth",
                                       "gpus",
                                       "gpu",
                                       "nvlink",
                                       "nvlink_latency",
                                       "pcie",
                                       "pcie_latency",
                                       "nics",
                                       "ranks_per_node",
                                       "protocol",
                                       "disk",
                                       "storage",
                                       "kind",
                                       "file",
                                       "line",
                                       NULL};
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "cluster");
    bool ok = field_known(object, "cluster", keys, e) &&
              field_text(object, "name", p->name, sizeof p->name, e) &&
              field_whole(object, "nodes", 1, NODES_MAX, &p->nodes, e);
    if (ok && p->nodes == 0)
        ok = error_set(e, ERROR_INPUT, "cluster needs nodes, how many there are");
    ok = ok && read_node(object, p, e) && read_storage(object, "disk", &p->disk, e) &&
         read_storage(object, "storage", &p->shared, e) && read_network(object, p, e);
    if (ok)
        return true;
    platform_free(p);
    const char *file = event_text(object, "file", "");
    long long line = event_integer(object, "line", 0);
    return *file && line > 0 ? error_wrap(e, "%s:%lld: cluster", file, line) : false;
}
