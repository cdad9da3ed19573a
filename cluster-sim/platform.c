#include "cluster-sim/platform.h"

#include "cluster-sim/topology.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct topology_class *const topologies[] = {
    &topology_switch, &topology_fattree, &topology_torus, &topology_dragonfly, &topology_graph};

bool topology_sizes(const char *text, int least, int most, int *size, int *count, const char **rest)
{
    long product = 1;
    int n = 0;
    while (n < most) {
        char *end;
        if (!isdigit((unsigned char)*text))
            return false;
        long value = strtol(text, &end, 10);
        if (value < 1 || value > PLATFORM_PORTS_MAX || (product *= value) > PLATFORM_PORTS_MAX)
            return false;
        size[n++] = (int)value;
        text = end;
        if (*text != 'x' || n == most)
            break;
        text++;
    }
    *count = n;
    if (rest)
        *rest = text;
    return n >= least && (rest || !*text);
}

/* --- inside nodes: four links a GPU behind those of the network --------------------------------------------- */

enum { NVLINK_OUT, NVLINK_IN, PCIE_OUT, PCIE_IN, INNER_LINKS };

static int inner_link(const struct platform *p, int rank, int which)
{
    return p->network_links + rank * INNER_LINKS + which;
}

static int port_of(const struct platform *p, int rank)
{
    int inside = rank % p->per_node;
    return rank / p->per_node * p->node.nics + (int)((long)inside * p->node.nics / p->per_node);
}

/* --- making ------------------------------------------------------------------------------------------------- */

static bool find_topology(struct platform *p, const char *spec, const char **sizes, struct error *e)
{
    size_t n = strcspn(spec, ":");
    for (size_t i = 0; i < sizeof topologies / sizeof *topologies; i++)
        if (strlen(topologies[i]->name) == n && memcmp(topologies[i]->name, spec, n) == 0) {
            p->topology = topologies[i];
            *sizes = spec[n] ? spec + n + 1 : spec + n;
            return true;
        }
    return error_set(e, ERROR_INPUT,
                     "there is no topology \"%.48s\" (there are: switch, fattree:LxH:o, torus:XxYxZ, "
                     "dragonfly:GxAxH, and graph in a file)",
                     spec);
}

static bool fit(struct platform *p, struct error *e)
{
    long needed = (long)p->nodes * p->node.nics,
         limit = p->topology == &topology_switch ? PLATFORM_PORTS_MAX : p->ports;
    if (p->topology == &topology_switch)
        p->ports = needed <= limit ? (int)needed : 0;
    if (p->topology->exact ? needed != p->ports : needed > limit)
        return error_set(e, ERROR_INPUT, "topology \"%s\" has %ld ports, but %d nodes%s need %ld; %s",
                         p->topology_text, limit, p->nodes, p->node.nics > 1 ? " with their NICs" : "",
                         needed,
                         p->topology == &topology_torus ? "the product of its sizes must be their number"
                                                        : "make its sizes larger or the nodes fewer");
    return true;
}

static bool count_links(struct platform *p, struct error *e)
{
    long network = p->topology->links(p),
         all = network + (p->per_node > 1 ? (long)p->nodes * p->per_node * INNER_LINKS : 0);
    if (all > PLATFORM_LINKS_MAX || (long)p->nodes * p->per_node > PLATFORM_PORTS_MAX)
        return error_set(e, ERROR_INPUT,
                         "topology \"%s\" with %d nodes has %ld links; the simulator takes at most %d",
                         p->topology_text, p->nodes, all, PLATFORM_LINKS_MAX);
    p->network_links = (int)network;
    p->links = (int)all;
    return true;
}

bool platform_lay(struct platform *p, const char *spec, struct error *e)
{
    const char *sizes = "";
    if (strlen(spec) >= sizeof p->topology_text)
        return error_set(e, ERROR_INPUT, "a topology's text has at most %zu letters",
                         sizeof p->topology_text - 1);
    snprintf(p->topology_text, sizeof p->topology_text, "%s", spec);
    if (!find_topology(p, spec, &sizes, e) || !p->topology->parse(p, sizes, e))
        return false;
    if (p->topology != &topology_graph && (!(p->bandwidth > 0) || !isfinite(p->bandwidth)))
        return error_set(e, ERROR_INPUT, "the bandwidth of a link is %g; it must be above 0 bytes a second",
                         p->bandwidth);
    if (!(p->latency >= 0) || !isfinite(p->latency))
        return error_set(e, ERROR_INPUT, "the latency of a link is %g; it must be 0 or more seconds",
                         p->latency);
    if (p->node.nics < 1)
        p->node.nics = 1;
    if (p->per_node < 1)
        p->per_node = p->node.gpus > 0 ? p->node.gpus : 1;
    if (p->per_node % p->node.nics != 0)
        return error_set(e, ERROR_INPUT,
                         "%d ranks a node cannot share %d NICs evenly; the NICs must divide the ranks",
                         p->per_node, p->node.nics);
    if (p->nodes == 0)
        p->nodes = p->ports / p->node.nics;
    if (p->nodes < 1)
        return error_set(e, ERROR_INPUT, "a cluster needs at least one node");
    return fit(p, e) && count_links(p, e);
}

bool platform_make(struct platform *p, const char *spec, int nodes, double bandwidth, double latency,
                   struct error *e)
{
    memset(p, 0, sizeof *p);
    p->nodes = nodes;
    p->bandwidth = bandwidth;
    p->latency = latency;
    snprintf(p->name, sizeof p->name, "plain");
    if (platform_lay(p, spec, e))
        return true;
    platform_free(p);
    return false;
}

bool platform_resize(struct platform *p, int nodes, struct error *e)
{
    int before = p->nodes;
    if (nodes < 1)
        return error_set(e, ERROR_INPUT, "a cluster needs at least one node, not %d", nodes);
    p->nodes = nodes;
    if (fit(p, e) && count_links(p, e))
        return true;
    p->nodes = before;
    return fit(p, NULL) && count_links(p, NULL) && false; /* e tells why; p is as it was */
}

void platform_free(struct platform *p)
{
    if (!p)
        return;
    graph_free(p->graph);
    memset(p, 0, sizeof *p);
}

/* --- asking ------------------------------------------------------------------------------------------------- */

int platform_ranks(const struct platform *p)
{
    return p->nodes * p->per_node;
}

bool route_add(struct route *r, int link, struct error *e)
{
    if (r->count == r->room) {
        int room = r->room ? 2 * r->room : 16;
        int *grown = realloc(r->link, (size_t)room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "out of memory for a route");
        r->link = grown;
        r->room = room;
    }
    r->link[r->count++] = link;
    return true;
}

void route_free(struct route *r)
{
    if (!r)
        return;
    free(r->link);
    memset(r, 0, sizeof *r);
}

static bool find_links(const struct platform *p, int from, int to, struct route *r, struct error *e)
{
    if (from == to)
        return true;
    if (from / p->per_node != to / p->per_node) {
        bool pcie = p->per_node > 1 && p->node.pcie_bytes_per_s > 0;
        return (!pcie || route_add(r, inner_link(p, from, PCIE_OUT), e)) &&
               p->topology->route(p, port_of(p, from), port_of(p, to), r, e) &&
               (!pcie || route_add(r, inner_link(p, to, PCIE_IN), e));
    }
    bool nvlink = p->node.nvlink_bytes_per_s > 0;
    return route_add(r, inner_link(p, from, nvlink ? NVLINK_OUT : PCIE_OUT), e) &&
           route_add(r, inner_link(p, to, nvlink ? NVLINK_IN : PCIE_IN), e);
}

bool platform_route(const struct platform *p, int from, int to, struct route *r, struct error *e)
{
    r->count = 0;
    r->latency = 0;
    r->bandwidth = INFINITY;
    if (from < 0 || to < 0 || from >= platform_ranks(p) || to >= platform_ranks(p))
        return error_set(e, ERROR_INPUT,
                         "there is no route from rank %d to rank %d: the cluster has %d ranks", from, to,
                         platform_ranks(p));
    if (!find_links(p, from, to, r, e))
        return false;
    for (int i = 0; i < r->count; i++) {
        r->latency += platform_link_latency(p, r->link[i]);
        r->bandwidth = fmin(r->bandwidth, platform_link_bandwidth(p, r->link[i]));
    }
    return true;
}

double platform_link_bandwidth(const struct platform *p, int link)
{
    if (link < p->network_links)
        return p->graph ? graph_bandwidth(p->graph, link) : p->bandwidth;
    bool nvlink = (link - p->network_links) % INNER_LINKS < PCIE_OUT;
    double rate = nvlink ? p->node.nvlink_bytes_per_s : p->node.pcie_bytes_per_s;
    return rate > 0                         ? rate
           : p->node.memory_bytes_per_s > 0 ? p->node.memory_bytes_per_s
                                            : PLATFORM_INNER_RATE;
}

double platform_link_latency(const struct platform *p, int link)
{
    if (link < p->network_links)
        return p->graph ? graph_latency(p->graph, link) : p->latency;
    bool nvlink = (link - p->network_links) % INNER_LINKS < PCIE_OUT;
    return nvlink ? p->node.nvlink_latency_s : p->node.pcie_latency_s;
}

void platform_link_name(const struct platform *p, int link, char *text, size_t size)
{
    static const char *const inner[] = {"to NVLink", "from NVLink", "to PCIe", "from PCIe"};
    if (link < p->network_links) {
        p->topology->link_name(p, link, text, size);
        return;
    }
    int rank = (link - p->network_links) / INNER_LINKS, which = (link - p->network_links) % INNER_LINKS;
    snprintf(text, size, "node %d, %s %d %s", rank / p->per_node, p->node.gpus > 0 ? "GPU" : "rank",
             rank % p->per_node,
             p->node.gpus > 0 ? inner[which]
             : which % 2      ? "from memory"
                              : "to memory");
}
