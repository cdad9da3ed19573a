/*
 * slots.h - a cap on the ranks of one node, over all users, with a first-come queue.
 *
 * Thirty learners share a login node. Each rank of a training or allreduce job holds a lock on one of `cap`
 * files slot-0, slot-1 ... in a directory everybody may write to (RINGSIDE_SLOTS_DIR, default
 * /tmp/ringside-slots). Who waits holds a lock on a ticket; only the oldest ticket may take slots, and takes
 * all it needs or none. The kernel drops the locks of a process that dies, so nothing needs mending after a
 * crash.
 */
#ifndef RINGSIDE_LAUNCH_SLOTS_H
#define RINGSIDE_LAUNCH_SLOTS_H

#include "engine/base/error.h"

#include <limits.h>

struct slots; /* a place in the queue, later the slots themselves */

/* Queues for `count` of `cap` slots. NULL and *e where the directory cannot be used (run without a cap then).
 */
struct slots *slots_queue(int count, int cap, struct error *e);
/* Never blocks. True: the slots are held. Else *position says how many jobs are before this one (0: it is
 * next). */
bool slots_try(struct slots *s, int *position);
/* How many of the first `cap` slots are taken now; -1 where that cannot be told. */
int slots_taken(int cap);
/* The directory they lie in. */
const char *slots_directory(void);
void slots_free(struct slots *s);

#endif
