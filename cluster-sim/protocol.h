/*
 * protocol.h - what a message costs beside the links it crosses, as curves of its size in pieces.
 *
 * Software treats short and long messages differently (eager and rendezvous of MPI; LL, LL128 and Simple of NCCL), so
 * the time of a message of m bytes is, with the piece that m falls into,
 *
 *     latency_s + latency_factor × (the route's latency) + m / (bandwidth_factor × the share of the links' rate)
 *
 * as SimGrid's smpi/lat-factor and smpi/bw-factor do it (H. Casanova et al., Versatile, scalable, and accurate simulation
 * of distributed applications and platforms, J. of Parallel and Distributed Computing 74 (2014) 2899-2917).
 */
#ifndef RINGSIDE_SIM_PROTOCOL_H
#define RINGSIDE_SIM_PROTOCOL_H

#include "engine/base/error.h"

#include <jansson.h>

enum { PROTOCOL_PIECES = 16 };

struct protocol_piece {
    double from_bytes;       /* this piece holds from here to the next; the first holds from 0 */
    double latency_s;        /* once a message: both ends' software */
    double latency_factor;   /* on the route's latency */
    double bandwidth_factor; /* above 0; 0.9: a tenth of what is sent is overhead */
};

struct protocol {
    int count; /* 0: neutral, only the links count */
    struct protocol_piece piece[PROTOCOL_PIECES];
};

/* The piece for a message of so many bytes. */
struct protocol_piece protocol_at(const struct protocol *p, double bytes);

/* { {from_bytes =, latency_s =, latency_factor =, bandwidth_factor =}, ... }: ascending, checked. */
bool protocol_from_json(const json_t *list, struct protocol *p, struct error *e);

#endif
