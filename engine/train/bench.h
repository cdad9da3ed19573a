/*
 * bench.h - the parts of `ringside bench` that one rank does alone: the ladder of matrix products, the roofline and
 * the layers of a model on it, and the training step beside PyTorch's.
 *
 * What is measured leaves as `point` events with fields of their own: time_s, flops, bytes, error, ratio ... The
 * ladder's rungs appear on the roofline, too, where both are asked for. Each part looks at the stop file between two
 * measurements.
 */
#ifndef RINGSIDE_TRAIN_BENCH_H
#define RINGSIDE_TRAIN_BENCH_H

#include "engine/base/sink.h"
#include "engine/spec/job.h"

struct bench;
struct device;

/* job->bench says what to do, device on which GPU, if any. All are the caller's and must outlive it. */
struct bench *bench_new(const struct job *job, const struct device *device, const char *rundir,
                        struct event_sink *sink, struct error *e);
void bench_free(struct bench *b);

/* Whether part "ladder", "roofline", "train" or "allreduce" is asked for. */
bool bench_has(const struct job *job, const char *part);

/* Series "ladder": FLOP/s of each rung, held against float64. *right: all sums are within rounding. */
bool bench_ladder(struct bench *b, bool *right, struct error *e);
/* Series "roofline": the roof; "products": the rungs; "layers": the model's layers, forward. */
bool bench_roofline(struct bench *b, struct error *e);
/*
 * bench_gpu.c. On a GPU (else nothing): its roofs, as a note; series "gpu product", "gpu sum", "gpu softmax": the rungs of its
 * ladders, held against float64, each with its share of the roof above it.
 */
bool bench_gpu(struct bench *b, bool *right, struct error *e);
/* Series "ringside" and "PyTorch": samples/s over threads, taking turns; a note where there is no PyTorch. */
bool bench_train(struct bench *b, struct error *e);

/* Whether somebody asked the run to stop. */
bool bench_stopped(const struct bench *b);

#endif
