/*
 * topology_switch.c - all ports on one switch that forwards everything at once: a path is one link up, one down.
 */
#include "cluster-sim/topology.h"

#include <stdio.h>

static bool parse(struct platform *p, const char *sizes, struct error *e)
{
    if (*sizes)
        return error_set(e, ERROR_INPUT,
                         "topology \"switch:%.32s\": a switch has as many ports as are needed, "
                         "so no size; write switch",
                         sizes);
    p->ports = 0;
    return true;
}

static long count(const struct platform *p)
{
    return 2L * p->ports;
}

static bool route(const struct platform *p, int from, int to, struct route *r, struct error *e)
{
    (void)p;
    return route_add(r, 2 * from, e) && route_add(r, 2 * to + 1, e);
}

static void name(const struct platform *p, int link, char *text, size_t size)
{
    (void)p;
    snprintf(text, size, link % 2 ? "switch -> port %d" : "port %d -> switch", link / 2);
}

const struct topology_class topology_switch = {"switch", "switch", parse, count, route, name, false};
