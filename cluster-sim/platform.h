/*
 * platform.h - a simulated cluster: nodes of a kind, and the network between them as directed links.
 *
 * A platform is data, made from a topology's text (platform_make), from cluster{...} as JSON (platform_from_json) or
 * by the name of a file in exercises/clusters (platform_named, cluster-sim/platform_lua.h). Rank r runs on node
 * r / per_node. Every route is a list of directed links; links of both directions of a cable are two links (full
 * duplex). Routes are computed when asked for, so that a platform of 100 000 GPUs is a few megabytes.
 *
 * SPEC of a topology (its endpoints are network ports: a node has `nics` of them)
 *   switch               one switch; a path crosses two links
 *   fattree:LxH:o        L leaves of H ports, H/o uplinks a leaf to as many spines (o: oversubscription); D-mod-k: the
 *                        uplink is the destination's number modulo the uplinks; 2 links in a leaf, else 4
 *   torus:XxYxZ          2 or 3 sizes (1 to 4); x is fastest in rank and routed first; a tie of both ways takes +; a path
 *                        crosses as many links as it makes hops
 *   dragonfly:GxAxH      G groups of A routers of H ports; all routers of a group are linked, and each two groups once;
 *                        minimal routing: at most local, global, local between the ports' links
 *   graph                the links of the description, which form a tree: one route between any two
 *
 * D-mod-k: E. Zahavi, D-Mod-K routing providing non-blocking traffic for shift permutations on real life fat trees,
 * 2010. Dragonfly: J. Kim et al., Technology-driven, highly-scalable dragonfly topology, ISCA 2008 (each router takes
 * the next of the group's global links in order).
 *
 * Inside a node with several ranks: between two GPUs over NVLink (out of one, into the other, through a switch) or, where
 * there is none, over PCIe; to the network over PCIe and the NIC that is nearest to the GPU.
 */
#ifndef RINGSIDE_SIM_PLATFORM_H
#define RINGSIDE_SIM_PLATFORM_H

#include "cluster-sim/protocol.h"
#include "engine/base/error.h"

#include <jansson.h>
#include <stddef.h>

/* Peak rates by type of number; 0: not known. */
struct sim_gpu {
    char name[48];
    double f32_flops, f16_flops, bf16_flops; /* operations a second; of f16 and bf16 with matrix units */
    double memory_bytes, memory_bytes_per_s;
};

struct sim_node {
    int sockets, cores; /* cores of all sockets */
    double core_flops;  /* f32, a core */
    double memory_bytes, memory_bytes_per_s;
    int gpus; /* 0: ranks run on cores */
    struct sim_gpu gpu;
    double nvlink_bytes_per_s, nvlink_latency_s; /* a GPU and direction; 0: no NVLink */
    double pcie_bytes_per_s, pcie_latency_s;     /* a GPU and direction; 0: not modelled */
    int nics;
};

enum sim_storage_kind {
    SIM_STORAGE_NONE,
    SIM_STORAGE_LOCAL,
    SIM_STORAGE_NFS,
    SIM_STORAGE_SAN,
    SIM_STORAGE_PARALLEL
};

/* A local disk (of each node), or what all nodes share. */
struct sim_storage {
    enum sim_storage_kind kind;
    char name[48];
    double read_bytes_per_s, write_bytes_per_s; /* of the disk, the NFS server, or each target */
    double open_s;                              /* one open, as one client sees it */
    double opens_per_s;                         /* of the metadata server; 0: no limit */
    double link_bytes_per_s;                    /* of the server's link, or of each target's server */
    int targets, stripe_count;                  /* of a parallel file system */
    double stripe_bytes;
};

enum { PLATFORM_DIMENSIONS = 4 };

struct topology_class;
struct graph;

struct platform {
    char name[64];
    char topology_text[64]; /* SPEC */
    int nodes, per_node;    /* ranks of a node: its GPUs, or what ranks_per_node says, else 1 */
    struct sim_node node;
    struct sim_storage disk, shared; /* of each node; of all */
    char network[48];                /* "10GbE"; "" where only figures are given */
    struct protocol protocol;        /* what a message costs beside the links; neutral by default */

    const struct topology_class *topology;
    int size[PLATFORM_DIMENSIONS], dimensions; /* L, H; X, Y, Z; G, A, H */
    int uplinks;                               /* of a leaf of a fat tree */
    int ports;                                 /* endpoints of the topology */
    struct graph *graph;                       /* of a graph; owned */
    double bandwidth, latency;                 /* of each link of the network, unless a graph says more */
    int network_links, links;                  /* of the topology; with those inside nodes */
};

/* A route: links in order, the sum of their latencies and the least of their bandwidths. Reuse it; free it once. */
struct route {
    int *link;
    int count, room;
    double latency, bandwidth;
};

/*
 * A plain cluster: `nodes` of one rank each (0: as many as the topology has ports) and links of one kind. ERROR_INPUT:
 * the text is no SPEC, its sizes do not fit the nodes, or a rate is not above 0.
 */
bool platform_make(struct platform *p, const char *spec, int nodes, double bandwidth, double latency,
                   struct error *e);
/*
 * What cluster{...} made: see platform_json.c for its keys. "file" and "line" in it go before what is wrong.
 */
bool platform_from_json(const json_t *object, struct platform *p, struct error *e);
void platform_free(struct platform *p);

/* Another number of nodes of the same kind: 1 .. what the topology has room for (a switch grows). */
bool platform_resize(struct platform *p, int nodes, struct error *e);

int platform_ranks(const struct platform *p);
bool platform_route(const struct platform *p, int from, int to, struct route *r, struct error *e);
void route_free(struct route *r);

double platform_link_bandwidth(const struct platform *p, int link);
double platform_link_latency(const struct platform *p, int link);
/* "node 3 -> switch", "leaf 2 -> spine 1", "node 0, GPU 3 -> NVLink" */
void platform_link_name(const struct platform *p, int link, char *text, size_t size);

#endif
