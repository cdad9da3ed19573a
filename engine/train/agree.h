/*
 * agree.h - whether all ranks hold the same parameters, bit for bit.
 *
 * They start from the same and take the same steps; where one differs (a faulty memory or processor, a bug in a
 * reduction), the ranks no longer train the same model, and nothing but this would notice.
 */
#ifndef RINGSIDE_TRAIN_AGREE_H
#define RINGSIDE_TRAIN_AGREE_H

#include "engine/base/sink.h"
#include "engine/comm/comm.h"

/*
 * Collective, with each rank's hash after that step. False where they differ: the sentence, the same on all ranks,
 * names the ranks that differ from most (of two alike large groups, from rank 0's), and rank 0 has emitted a
 * `fault` of kind mismatch.
 */
bool agree_check(struct comm *comm, uint64_t hash, long step, struct event_sink *sink, struct error *e);

#endif
