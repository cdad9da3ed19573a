/*
 * bench_internal.h - what the files of the bench share. Private to engine/train/bench*.c.
 */
#ifndef RINGSIDE_TRAIN_BENCH_INTERNAL_H
#define RINGSIDE_TRAIN_BENCH_INTERNAL_H

#include "engine/nn/ladder/ladder.h"
#include "engine/train/bench.h"

struct bench {
    const struct job_bench *job;
    const struct device *device;
    const char *rundir;
    struct event_sink *sink;
    int threads;
    int product_size; /* of the ladder's matrices */
    int climbed;      /* rungs of the ladder that have been measured */
    struct ladder_result rungs[LADDER_RUNGS];
};

/* A point of a plot with this title; fields may be added before it is emitted. */
json_t *bench_point(const struct bench *b, const char *title, const char *series, double x, double y,
                    const char *label);

/* bench_layers.c: the model's layers, each on the roof of `threads` threads. */
bool bench_layers(struct bench *b, double peak, double bandwidth, struct error *e);

#endif
