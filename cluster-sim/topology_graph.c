/*
 * topology_graph.c - a network given link by link. It must be a tree, so that there is one route between any two nodes and
 * nobody has to guess which way a switch would choose; a cycle or a node that cannot be reached is told by name.
 *
 * Links: the i-th of the description is 2i as it is written and 2i+1 the other way.
 */
#include "cluster-sim/platform_fields.h"
#include "cluster-sim/topology.h"
#include "engine/base/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vertex {
    char name[48];
    int parent, depth; /* towards node 0; parent -1: its root, or not reached */
    int edge;          /* to the parent */
    bool reached;
};

struct edge {
    int from, to;
    double bandwidth, latency;
};

struct graph {
    struct vertex *vertex; /* the nodes first, in their order */
    int vertices;
    struct edge *edge;
    int edges;
};

void graph_free(struct graph *g)
{
    if (!g)
        return;
    free(g->vertex);
    free(g->edge);
    free(g);
}

double graph_bandwidth(const struct graph *g, int link)
{
    return g->edge[link / 2].bandwidth;
}

double graph_latency(const struct graph *g, int link)
{
    return g->edge[link / 2].latency;
}

static int find(const struct graph *g, const char *name)
{
    for (int v = 0; v < g->vertices; v++)
        if (strcmp(g->vertex[v].name, name) == 0)
            return v;
    return -1;
}

/* The vertex of that name, a new switch where there is none yet. */
static int vertex_named(struct graph *g, const char *name, int link, struct error *e)
{
    if (!name || !*name || strlen(name) >= sizeof g->vertex->name) {
        error_set(
            e, ERROR_INPUT,
            "link %d: expected the names of its two ends, 1 to %zu letters each, as in {\"node0\", \"sw\"}",
            link + 1, sizeof g->vertex->name - 1);
        return -1;
    }
    int v = find(g, name);
    if (v < 0) {
        v = g->vertices++;
        g->vertex[v] = (struct vertex){.parent = -1};
        snprintf(g->vertex[v].name, sizeof g->vertex[v].name, "%s", name);
    }
    return v;
}

static int root_of(int *set, int v)
{
    while (set[v] != v)
        v = set[v] = set[set[v]];
    return v;
}

static bool read_edge(struct platform *p, struct graph *g, const json_t *link, int i, int *set,
                      struct error *e)
{
    if (!json_is_array(link) && !json_is_object(link))
        return error_set(e, ERROR_INPUT, "link %d: expected {\"node0\", \"sw\", bandwidth = \"10 Gb/s\"}",
                         i + 1);
    struct edge *edge = &g->edge[i];
    const json_t *a = json_is_array(link) ? json_array_get(link, 0) : json_object_get(link, "1");
    const json_t *b = json_is_array(link) ? json_array_get(link, 1) : json_object_get(link, "2");
    edge->from = vertex_named(g, json_string_value(a), i, e);
    edge->to = edge->from < 0 ? -1 : vertex_named(g, json_string_value(b), i, e);
    if (edge->to < 0)
        return false;
    edge->bandwidth = p->bandwidth;
    edge->latency = p->latency;
    if (json_is_object(link) && (!field_rate(link, "bandwidth", &edge->bandwidth, e) ||
                                 !field_seconds(link, "latency", &edge->latency, e)))
        return error_wrap(e, "link %d (%s - %s)", i + 1, g->vertex[edge->from].name,
                          g->vertex[edge->to].name);
    if (!(edge->bandwidth > 0))
        return error_set(e, ERROR_INPUT,
                         "link %d (%s - %s) has no bandwidth; give it one, or give the cluster one", i + 1,
                         g->vertex[edge->from].name, g->vertex[edge->to].name);
    int x = root_of(set, edge->from), y = root_of(set, edge->to);
    if (x == y)
        return error_set(
            e, ERROR_INPUT,
            "link %d (%s - %s) closes a cycle: there would be two routes between nodes; leave it out, or use "
            "a topology that knows its routes (fattree, torus, dragonfly)",
            i + 1, g->vertex[edge->from].name, g->vertex[edge->to].name);
    set[x] = y;
    return true;
}

/* Depth and parent of all that node 0 reaches. The edges form a forest, so each is crossed once. */
static bool root(struct graph *g, int hosts, struct error *e)
{
    int *first = calloc((size_t)g->vertices + 2, sizeof *first);
    int *beside = calloc(2 * (size_t)g->edges + 1, sizeof *beside);
    int *queue = calloc((size_t)g->vertices + 1, sizeof *queue);
    bool ok = first && beside && queue;
    for (int i = 0; ok && i < g->edges; i++) {
        first[g->edge[i].from + 2]++;
        first[g->edge[i].to + 2]++;
    }
    for (int v = 0; ok && v < g->vertices; v++)
        first[v + 2] += first[v + 1];
    for (int i = 0; ok && i < g->edges; i++) {
        beside[first[g->edge[i].from + 1]++] = i;
        beside[first[g->edge[i].to + 1]++] = i;
    }
    int head = 0, tail = 0;
    if (ok) {
        g->vertex[0].reached = true;
        queue[tail++] = 0;
    }
    while (head < tail) {
        int v = queue[head++];
        for (int k = first[v]; k < first[v + 1]; k++) {
            const struct edge *edge = &g->edge[beside[k]];
            struct vertex *w = &g->vertex[edge->from == v ? edge->to : edge->from];
            if (w->reached)
                continue;
            w->reached = true;
            w->parent = v;
            w->edge = beside[k];
            w->depth = g->vertex[v].depth + 1;
            queue[tail++] = (int)(w - g->vertex);
        }
    }
    free(first);
    free(beside);
    free(queue);
    if (!ok)
        return error_set(e, ERROR_FAILED, "out of memory for a network of %d links", g->edges);
    for (int v = 0; v < hosts; v++)
        if (!g->vertex[v].reached)
            return error_set(e, ERROR_INPUT, "%s cannot be reached from %s: no links lead there",
                             g->vertex[v].name, g->vertex[0].name);
    return true;
}

static bool name_hosts(struct graph *g, const json_t *hosts, int nodes, struct error *e)
{
    if (hosts && json_array_size(hosts) != (size_t)nodes)
        return error_set(e, ERROR_INPUT, "hosts has %zu names for %d nodes; give each node one",
                         json_array_size(hosts), nodes);
    for (int i = 0; i < nodes; i++) {
        const char *given = json_string_value(json_array_get(hosts, (size_t)i));
        char own[32];
        snprintf(own, sizeof own, "node%d", i);
        if (hosts && (!given || !*given || strlen(given) >= sizeof g->vertex->name || find(g, given) >= 0))
            return error_set(e, ERROR_INPUT,
                             "hosts: name %d must be a text of its own, 1 to %zu letters long", i + 1,
                             sizeof g->vertex->name - 1);
        struct vertex *v = &g->vertex[g->vertices++];
        *v = (struct vertex){.parent = -1};
        snprintf(v->name, sizeof v->name, "%s", hosts ? given : own);
    }
    return true;
}

bool graph_from_json(struct platform *p, const json_t *links, const json_t *hosts, struct error *e)
{
    enum { EDGES_MAX = 100000 };
    size_t count = json_array_size(links), vertices = 2 * count + (size_t)p->nodes + 1;
    if (count == 0 || count > EDGES_MAX || p->nodes > EDGES_MAX)
        return error_set(e, ERROR_INPUT,
                         "topology \"graph\" needs links = { {\"node0\", \"sw\"}, {\"node1\", \"sw\"}, ... "
                         "}, 1 to %d of them",
                         EDGES_MAX);
    struct graph *g = p->graph = calloc(1, sizeof *g);
    int *set = calloc(vertices, sizeof *set);
    bool ok = g && set && (g->vertex = calloc(vertices, sizeof *g->vertex)) &&
              (g->edge = calloc(count, sizeof *g->edge));
    if (!ok)
        error_set(e, ERROR_FAILED, "out of memory for a network of %zu links", count);
    ok = ok && name_hosts(g, hosts, p->nodes, e);
    for (size_t v = 0; ok && v < vertices; v++)
        set[v] = (int)v;
    for (size_t i = 0; ok && i < count; i++, g->edges++)
        ok = read_edge(p, g, json_array_get(links, i), (int)i, set, e);
    free(set);
    p->ports = p->nodes;
    return ok && root(g, p->nodes, e);
}

static bool parse(struct platform *p, const char *sizes, struct error *e)
{
    if (*sizes || !p->graph)
        return error_set(e, ERROR_INPUT,
                         "topology \"graph\" is described by cluster{ links = {...} } and has no sizes");
    return true;
}

static long count_links(const struct platform *p)
{
    return 2L * p->graph->edges;
}

static int towards(const struct graph *g, int from, int edge)
{
    return 2 * edge + (g->edge[edge].from != from);
}

static bool route(const struct platform *p, int from, int to, struct route *r, struct error *e)
{
    const struct vertex *v = p->graph->vertex;
    int meet = from, other = to; /* the vertex where both climbs towards the root meet */
    while (meet != other)
        if (v[meet].depth >= v[other].depth)
            meet = v[meet].parent;
        else
            other = v[other].parent;
    for (int a = from; a != meet; a = v[a].parent)
        if (!route_add(r, towards(p->graph, a, v[a].edge), e))
            return false;
    int down = v[to].depth - v[meet].depth;
    for (int i = 0; i < down; i++)
        if (!route_add(r, 0, e))
            return false;
    for (int b = to, at = r->count; b != meet; b = v[b].parent)
        r->link[--at] = towards(p->graph, v[b].parent, v[b].edge);
    return true;
}

static void name(const struct platform *p, int link, char *text, size_t size)
{
    const struct graph *g = p->graph;
    const struct edge *edge = &g->edge[link / 2];
    int from = link % 2 ? edge->to : edge->from, to = link % 2 ? edge->from : edge->to;
    snprintf(text, size, "%s -> %s", g->vertex[from].name, g->vertex[to].name);
}

const struct topology_class topology_graph = {"graph", "graph", parse, count_links, route, name, true};
