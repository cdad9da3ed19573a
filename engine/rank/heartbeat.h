/*
 * heartbeat.h - rank 0's sign of life: a {"ev":"heartbeat"} line about every second.
 *
 * The supervisor drops it from the stream and notices when it stays away, which happens where rank 0's process is
 * stopped or its host is gone. A thread of its own sends it, so a long step does not look like a death.
 */
#ifndef RINGSIDE_RANK_HEARTBEAT_H
#define RINGSIDE_RANK_HEARTBEAT_H

#include "engine/base/sink.h"

struct heartbeat;

/* The sink must take events from several threads and outlive the heartbeat. NULL where no thread can be had. */
struct heartbeat *heartbeat_start(struct event_sink *sink);
void heartbeat_stop(struct heartbeat *h); /* returns once no more will be sent */

#endif
