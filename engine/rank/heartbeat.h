/*
 * heartbeat.h - every rank's sign of life, and rank 0's eye on all of them.
 *
 * A thread of its own in each rank sends a beat twice a second to rank 0 (engine/comm/beat.h), so a long step does
 * not look like a death. Rank 0's thread judges them (engine/comm/judge.h): where a rank is dead, stopped, silent
 * or in another collective than the others, it emits a `fault` event and `done` and ends its process, which ends
 * the job; MPI's thread may be waiting for ever and is not asked. It also sends the supervisor a
 * {"ev":"heartbeat"} line about every second, whose absence means that rank 0 itself is stopped or its host gone;
 * the other ranks then say on standard error what they wait for.
 *
 * The thread also takes SIGTERM, which must be blocked in all threads, so that a rank that is told to end says
 * so: its end is then not taken for a death.
 */
#ifndef RINGSIDE_RANK_HEARTBEAT_H
#define RINGSIDE_RANK_HEARTBEAT_H

#include "engine/base/sink.h"
#include "engine/comm/comm.h"

struct heartbeat;

/*
 * Collective. The sink (of rank 0; the others' is not used) must take events from several threads; it and comm
 * must outlive the heartbeat. NULL where there is no thread left. Where no port is left the ranks do not hear of
 * each other, and a note says so.
 */
struct heartbeat *heartbeat_start(struct comm *comm, struct event_sink *sink);

/*
 * Before a rank that has failed says why: its end will be no death, and rank 0 waits a moment, since what failed may be a rank that has just
 * died or called another collective, which the thread then names, and ends the process.
 */
void heartbeat_settle(struct heartbeat *h);
/* Whether the caller may say rank 0's last words; else the thread is saying them. */
bool heartbeat_claim(struct heartbeat *h);

/* The rank's work is done. Rank 0 waits until the others have said so, too. NULL is fine. */
void heartbeat_stop(struct heartbeat *h);

#endif
