/*
 * topology_torus.c - ports in a grid of 1 to 4 dimensions whose ends meet; each is its own switch.
 *
 * Dimension order: x first, then y, then z, each the shorter way round; where both ways are equally long, the + way.
 * Port number: x is fastest. Links: of port n in dimension d, + at 2(nD + d), - one after. Where a size is 2 the + and the
 * - link of a port lead to the same neighbour, and the tie takes +.
 */
#include "cluster-sim/topology.h"

#include <stdio.h>

static bool parse(struct platform *p, const char *sizes, struct error *e)
{
    if (!topology_sizes(sizes, 1, PLATFORM_DIMENSIONS, p->size, &p->dimensions, NULL))
        return error_set(
            e, ERROR_INPUT,
            "topology \"torus:%.48s\": expected torus:XxYxZ, 1 to %d whole numbers from 1 (torus:4x4x2)",
            sizes, PLATFORM_DIMENSIONS);
    p->ports = 1;
    for (int d = 0; d < p->dimensions; d++)
        p->ports *= p->size[d];
    return true;
}

static long count(const struct platform *p)
{
    return 2L * p->ports * p->dimensions;
}

static bool route(const struct platform *p, int from, int to, struct route *r, struct error *e)
{
    int at = from;
    for (int d = 0, stride = 1; d < p->dimensions; stride *= p->size[d], d++) {
        int n = p->size[d], here = at / stride % n, there = to / stride % n;
        int plus = (there - here + n) % n, minus = (n - plus) % n;
        bool forward = plus <= minus;
        for (int hops = forward ? plus : minus; hops > 0; hops--) {
            if (!route_add(r, 2 * (at * p->dimensions + d) + !forward, e))
                return false;
            int x = at / stride % n, next = forward ? (x + 1) % n : (x + n - 1) % n;
            at += (next - x) * stride;
        }
    }
    return true;
}

static void name(const struct platform *p, int link, char *text, size_t size)
{
    int port = link / 2 / p->dimensions, d = link / 2 % p->dimensions;
    snprintf(text, size, "port %d -> its neighbour %c%c", port, link % 2 ? '-' : '+', "xyzw"[d]);
}

const struct topology_class topology_torus = {"torus", "torus:XxYxZ", parse, count, route, name, true};
