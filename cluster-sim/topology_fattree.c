/*
 * topology_fattree.c - two levels of switches: L leaves of H ports, each leaf with one uplink to each of H/o spines.
 *
 * D-mod-k routing (Zahavi 2010): a packet to port d takes the uplink d mod k of its leaf (k uplinks), so all that goes
 * to d comes down from one spine, and a shift of all ports by the same distance spreads evenly.
 *
 * Links: 2h up and 2h+1 down of port h, then up and down of uplink j of leaf l at 2(LH + lk + j).
 */
#include "cluster-sim/topology.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool parse(struct platform *p, const char *sizes, struct error *e)
{
    const char *rest;
    double over = 1;
    if (!topology_sizes(sizes, 2, 2, p->size, &p->dimensions, &rest) || (*rest && *rest != ':'))
        return error_set(e, ERROR_INPUT,
                         "topology \"fattree:%.48s\": expected fattree:LxH:o, L leaves of H ports, o:1 "
                         "oversubscribed (fattree:4x16:2)",
                         sizes);
    if (*rest == ':') {
        char *end;
        over = strtod(rest + 1, &end);
        if (end == rest + 1 || *end || !(over > 0) || !isfinite(over))
            return error_set(
                e, ERROR_INPUT,
                "topology \"fattree:%.48s\": the oversubscription must be a number above 0, as 2 in "
                "fattree:4x16:2",
                sizes);
    }
    double uplinks = p->size[1] / over;
    if (!(uplinks >= 1) || uplinks > PLATFORM_PORTS_MAX || fabs(uplinks - round(uplinks)) > 1e-9)
        return error_set(
            e, ERROR_INPUT,
            "topology \"fattree:%.48s\": %d ports %g:1 oversubscribed leave %.4g uplinks a leaf; that must "
            "be a whole number from 1",
            sizes, p->size[1], over, uplinks);
    p->uplinks = (int)round(uplinks);
    p->ports = p->size[0] * p->size[1];
    return true;
}

static long count(const struct platform *p)
{
    return 2L * p->ports + 2L * p->size[0] * p->uplinks;
}

static bool route(const struct platform *p, int from, int to, struct route *r, struct error *e)
{
    int leaf = from / p->size[1], other = to / p->size[1], spine = to % p->uplinks;
    int base = 2 * p->ports;
    return route_add(r, 2 * from, e) &&
           (leaf == other || (route_add(r, base + 2 * (leaf * p->uplinks + spine), e) &&
                              route_add(r, base + 2 * (other * p->uplinks + spine) + 1, e))) &&
           route_add(r, 2 * to + 1, e);
}

static void name(const struct platform *p, int link, char *text, size_t size)
{
    int up = link % 2 == 0, base = 2 * p->ports;
    if (link < base) {
        int port = link / 2, leaf = port / p->size[1];
        if (up)
            snprintf(text, size, "port %d -> leaf %d", port, leaf);
        else
            snprintf(text, size, "leaf %d -> port %d", leaf, port);
        return;
    }
    int leaf = (link - base) / 2 / p->uplinks, spine = (link - base) / 2 % p->uplinks;
    if (up)
        snprintf(text, size, "leaf %d -> spine %d", leaf, spine);
    else
        snprintf(text, size, "spine %d -> leaf %d", spine, leaf);
}

const struct topology_class topology_fattree = {"fattree", "fattree:LxH:o", parse, count, route, name, false};
