/*
 * autotune.h - finds, in the first steps of a training, the allreduce and the size of bucket that it is fastest with.
 *
 * First each algorithm there is, all gradients at once after backward; then the best of them so, and in buckets of
 * growing numbers beside backward. They take turns of a few steps, which are steps of the training itself. What counts
 * is the median time of a step, its mean over the ranks, so that all decide alike; the first way is kept unless another
 * is faster by a hundredth. Rank 0 emits a `trial` event for each way and, at the end, one more with `chosen` and a note.
 */
#ifndef RINGSIDE_TRAIN_AUTOTUNE_H
#define RINGSIDE_TRAIN_AUTOTUNE_H

#include "engine/base/sink.h"
#include "engine/train/reducer.h"

struct autotune;

struct autotune_spec {
    struct comm *comm;
    struct reducer *reducer;
    const struct model_spec *model;
    struct event_sink *sink;
};

/* Sets the reducer for the first trial; it is not to be set by others until the tuning is done. */
struct autotune *autotune_new(const struct autotune_spec *spec, struct error *e);
void autotune_free(struct autotune *a);

/* After each step, on every rank: it took so many seconds, of which communication was exposed in so many. *done: the
 * reducer is now set to the best. Collective. */
bool autotune_step(struct autotune *a, long step, double seconds, double exposed_s, bool *done,
                   struct error *e);
/* Steps that it takes in all, at most. */
int autotune_steps(const struct autotune *a);

#endif
