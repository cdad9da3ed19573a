/*
 * executor.h - carries out any schedule over any transport.
 *
 * A plan is a schedule together with what one rank does in it: its sends and receives, ordered by round, each
 * with those before it that touch the same elements. Long transfers are cut into segments, and a segment
 * starts as soon as the elements it needs are ready, so a rank receives one segment while its neighbour works
 * on the next, adds it while it is still in the cache, and begins the following round before this one has
 * ended. What is to be added, or would overwrite elements still being sent, is received into scratch memory
 * first. Additions to the same element happen in the schedule's order: the same bits on every run.
 */
#ifndef RINGSIDE_COMM_EXECUTOR_H
#define RINGSIDE_COMM_EXECUTOR_H

#include "engine/base/transport.h"
#include "engine/comm/element.h"
#include "engine/spec/schedule.h"

struct plan;
struct hop_log;

enum { PLAN_SEGMENT = 128 * 1024 }; /* elements in a segment at most */

/* Takes the schedule over (and empties *s), even where it fails. segment: elements, 0 for PLAN_SEGMENT. */
struct plan *plan_new(struct schedule *s, int rank, const struct element *type, size_t segment,
                      struct error *e);
void plan_free(struct plan *p);
/*
 * Marks the messages, in the bits of their tags that MPI promises no use of: those of plans with other stamps are not taken
 * for its own. Below 4096; the same on all ranks.
 */
void plan_stamp(struct plan *p, unsigned stamp);
const struct schedule *plan_schedule(const struct plan *p);
const struct element *plan_element(const struct plan *p);
double plan_sent_bytes(const struct plan *p); /* by a rank when it is run, the mean over all ranks */

/*
 * Runs it on x, which holds plan_schedule(p)->length elements of the plan's type. Every rank of the
 * transport must run the plan of the same schedule with the same segment length. log (or NULL) gets one
 * record per transfer of this rank.
 */
bool plan_run(struct plan *p, struct transport *t, void *x, struct hop_log *log, struct error *e);

/*
 * The same in parts, for a caller that has other things to do in between: start it once, then step it until it is no
 * longer BUSY. A step goes as far as it can now and never waits; *moved: it went anywhere.
 */
bool plan_start(struct plan *p, struct error *e);
enum progress plan_step(struct plan *p, struct transport *t, void *x, bool *moved, struct error *e);

#endif
