/*
 * calibrate_platform.c - a curve of ring allreduces as the network of a described cluster.
 *
 * A ring of n ranks sends 2 (n - 1) messages of S / n one after another, so a message of m bytes takes
 * T(n m) / (2 (n - 1)): what adding costs is in it. Its pieces become a protocol (protocol.h) on links as fast as the
 * fastest piece, without a latency of their own. A protocol's latency is not below 0; a piece that grows faster than its
 * size goes through 0 then, and is right at its upper end.
 */
#include "cluster-sim/calibrate.h"

#include "cluster-sim/protocol.h"
#include "engine/base/event.h"

#include <math.h>

/* Fewer knots than a protocol has pieces: those that matter most stay. */
static bool coarser(struct curve *c)
{
    int least = -1;
    double least_off = INFINITY;
    for (int k = 1; k + 1 < c->knots; k++) {
        struct curve_point a = c->point[c->knot[k - 1]], m = c->point[c->knot[k]],
                           b = c->point[c->knot[k + 1]];
        double line = a.seconds + (m.bytes - a.bytes) / (b.bytes - a.bytes) * (b.seconds - a.seconds);
        double off = fabs(line / m.seconds - 1);
        if (off < least_off)
            least_off = off, least = k;
    }
    if (least < 0)
        return false;
    for (int k = least; k + 1 < c->knots; k++)
        c->knot[k] = c->knot[k + 1];
    c->knots--;
    return true;
}

/* alpha and beta of a message, by the piece of the whole buffer. */
static void message_piece(const struct curve *c, int k, int ranks, double *alpha, double *beta)
{
    double messages = 2.0 * (ranks - 1);
    curve_piece(c, k, alpha, beta);
    if (*beta <= 0) { /* it does not grow: as fast as its end */
        struct curve_point end = c->point[c->knot[k + 1]];
        *alpha = 0.5 * end.seconds;
        *beta = 0.5 * end.seconds / end.bytes;
    }
    *alpha /= messages;
    *beta *= ranks / messages;
}

json_t *curve_to_cluster(const struct curve *fitted, int ranks)
{
    struct curve c = *fitted;
    while (c.knots - 1 > PROTOCOL_PIECES && coarser(&c))
        ;
    double fastest = 0, alpha, beta;
    for (int k = 0; k + 1 < c.knots; k++) {
        message_piece(&c, k, ranks, &alpha, &beta);
        fastest = fmax(fastest, 1 / beta);
    }
    json_t *cluster = json_object(), *protocol = json_array();
    event_set_text(cluster, "name", "calibrated");
    event_set_text(cluster, "topology", "switch");
    event_set_integer(cluster, "nodes", ranks);
    event_set_number(cluster, "bandwidth", fastest);
    event_set_number(cluster, "latency", 0);
    for (int k = 0; k + 1 < c.knots; k++) {
        json_t *piece = json_object();
        message_piece(&c, k, ranks, &alpha, &beta);
        event_set_number(piece, "from_bytes", k == 0 ? 0 : c.point[c.knot[k]].bytes / ranks);
        event_set_number(piece, "latency_s", alpha);
        event_set_number(piece, "latency_factor", 1);
        event_set_number(piece, "bandwidth_factor", 1 / beta / fastest);
        json_array_append_new(protocol, piece);
    }
    json_object_set_new(cluster, "protocol", protocol);
    return cluster;
}
