/*
 * topology_dragonfly.c - G groups of A routers of H ports (Kim et al. 2008): inside a group every router is linked to every
 * other, and every two groups are linked once.
 *
 * The global links of a group are numbered 0 .. G-2 by the other group, itself left out, and dealt to its routers in
 * order, ceil((G-1)/A) to each. Minimal routing: to the router with the link to the other group, over it, and on to the
 * router of the destination; at most local, global, local.
 *
 * Links: 2h up, 2h+1 down of port h; then router a to router b of group g at (gA + a)A + b; then group g to g' at gG + g'.
 */
#include "cluster-sim/topology.h"

#include <stdio.h>

static bool parse(struct platform *p, const char *sizes, struct error *e)
{
    if (!topology_sizes(sizes, 3, 3, p->size, &p->dimensions, NULL))
        return error_set(
            e, ERROR_INPUT,
            "topology \"dragonfly:%.48s\": expected dragonfly:GxAxH, G groups of A routers of H ports "
            "(dragonfly:9x4x2)",
            sizes);
    p->ports = p->size[0] * p->size[1] * p->size[2];
    return true;
}

static long count(const struct platform *p)
{
    long groups = p->size[0], routers = p->size[1];
    return 2L * p->ports + groups * routers * routers + groups * groups;
}

/* The router of `group` that has its link to `other`. */
static int gateway(const struct platform *p, int group, int other)
{
    int each = (p->size[0] - 1 + p->size[1] - 1) / p->size[1];
    return (other - (other > group)) / each;
}

static bool local(const struct platform *p, int group, int a, int b, struct route *r, struct error *e)
{
    return a == b || route_add(r, 2 * p->ports + (group * p->size[1] + a) * p->size[1] + b, e);
}

static bool route(const struct platform *p, int from, int to, struct route *r, struct error *e)
{
    int hosts = p->size[2], routers = p->size[1], groups = p->size[0];
    int a = from / hosts % routers, b = to / hosts % routers;
    int g = from / hosts / routers, h = to / hosts / routers;
    if (!route_add(r, 2 * from, e))
        return false;
    if (g != h) {
        int leave = gateway(p, g, h), enter = gateway(p, h, g);
        int base = 2 * p->ports + groups * routers * routers;
        if (!local(p, g, a, leave, r, e) || !route_add(r, base + g * groups + h, e))
            return false;
        a = enter;
    }
    return local(p, h, a, b, r, e) && route_add(r, 2 * to + 1, e);
}

static void name(const struct platform *p, int link, char *text, size_t size)
{
    int routers = p->size[1], hosts = p->size[2], groups = p->size[0];
    if (link < 2 * p->ports) {
        int port = link / 2, router = port / hosts;
        if (link % 2 == 0)
            snprintf(text, size, "port %d -> router %d of group %d", port, router % routers,
                     router / routers);
        else
            snprintf(text, size, "router %d of group %d -> port %d", router % routers, router / routers,
                     port);
        return;
    }
    link -= 2 * p->ports;
    if (link < groups * routers * routers) {
        snprintf(text, size, "group %d, router %d -> router %d", link / routers / routers,
                 link / routers % routers, link % routers);
        return;
    }
    link -= groups * routers * routers;
    snprintf(text, size, "group %d -> group %d", link / groups, link % groups);
}

const struct topology_class topology_dragonfly = {"dragonfly", "dragonfly:GxAxH", parse, count, route, name,
                                                  false};
