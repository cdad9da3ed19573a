/*
 * paced.h - a transport that is slowed on purpose: it wraps another and lets no message be done before a slower
 * link would have carried it.
 *
 * Each rank has one cable, full duplex. Messages leave it one behind the other, b bytes in b / rate, and come in
 * one behind the other: of several ranks that send to one, each waits its turn. A message on its way is passed
 * on while it still comes in, so one alone takes latency + b / rate, not twice that. The data itself travels at
 * once, by the transport beneath; ahead of it goes a stamp that says when a slow link would have begun and ended
 * to deliver it, and the receiver keeps it back until then. So time is kept by token buckets, not by sleeping
 * for each message: a rank that wakes up late loses nothing, neither as sender nor as receiver.
 *
 * Its `rest` sleeps until something is due. It belongs to one thread at a time, as the transport beneath does.
 */
#ifndef RINGSIDE_COMM_PACED_H
#define RINGSIDE_COMM_PACED_H

#include "engine/base/transport.h"
#include "engine/spec/slow_link.h"

/*
 * inner and l must outlive it. same_clock: by rank, whether its clock (timing.h) is this rank's, as it is on one
 * host; copied. NULL: out of memory.
 */
struct transport *paced_new(struct transport *inner, const struct slow_link *l, const bool *same_clock,
                            struct error *e);
void paced_free(struct transport *t);

#endif
