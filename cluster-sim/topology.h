/*
 * topology.h - what platform.c asks of a topology; one table a kind, each in a file of its own.
 *
 * A topology numbers its ports from 0 and its directed links from 0. Sizes are checked in `parse`, which sets size,
 * dimensions, uplinks and ports (0: as many as the nodes need); `links` is then how many links that makes.
 */
#ifndef RINGSIDE_SIM_TOPOLOGY_H
#define RINGSIDE_SIM_TOPOLOGY_H

#include "cluster-sim/platform.h"

struct topology_class {
    const char *name;
    const char *form; /* "fattree:LxH:o" */
    /* sizes: what follows the colon, "" where there is none. */
    bool (*parse)(struct platform *p, const char *sizes, struct error *e);
    long (*links)(const struct platform *p);
    /* From one port to another; adds the links in order with route_add. */
    bool (*route)(const struct platform *p, int from, int to, struct route *r, struct error *e);
    void (*link_name)(const struct platform *p, int link, char *text, size_t size);
    bool exact; /* the nodes must fill it */
};

extern const struct topology_class topology_switch, topology_fattree, topology_torus, topology_dragonfly,
    topology_graph;

/* Ports of a platform at most, and links. */
enum { PLATFORM_PORTS_MAX = 1 << 24, PLATFORM_LINKS_MAX = 1 << 28 };

/*
 * "8x4x2" into size: at least `least` and at most `most` whole numbers from 1 whose product is within PLATFORM_PORTS_MAX.
 * Where rest is NULL nothing may follow.
 */
bool topology_sizes(const char *text, int least, int most, int *size, int *count, const char **rest);

/* Bytes a second between two ranks of a node of which nothing is said: a core's copy through memory. */
#define PLATFORM_INNER_RATE 10e9

/*
 * What all ways to make a platform end with: reads SPEC, counts ports and links. p has its node, its nodes and the
 * figures of its links.
 */
bool platform_lay(struct platform *p, const char *spec, struct error *e);

bool route_add(struct route *r, int link, struct error *e);

/* --- topology_graph.c --- */

/* links: { {from, to, bandwidth =, latency =}, ... }, names of nodes and switches. */
bool graph_from_json(struct platform *p, const json_t *links, const json_t *hosts, struct error *e);
void graph_free(struct graph *g);
double graph_bandwidth(const struct graph *g, int link);
double graph_latency(const struct graph *g, int link);

#endif
