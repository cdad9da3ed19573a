/*
 * loader.h - the batches of one rank, one after another, made ahead of time by a thread of their own.
 *
 * The thread keeps at most two batches ready and sleeps when they are: it never spins. A call copies the
 * next one and tells how long the step waited for its data (`data_s`). Without the thread the batch is made
 * in the call, straight into place: better where making a batch is short beside a step, or where no core is
 * free for it.
 *
 * One step of the order may be taken in several parts (gradient accumulation, virtual shards): each call
 * gives the next `part` samples. A damaged file is told by the call that would have given its samples.
 */
#ifndef RINGSIDE_DATA_LOADER_H
#define RINGSIDE_DATA_LOADER_H

#include "engine/data/dataset.h"
#include "engine/data/order.h"

struct loader_spec {
    const struct dataset *data;
    struct order *order; /* the loader's alone until it is freed */
    int rank;
    int part;        /* samples a call: a divisor of the order's batch */
    long first_step; /* counted from the run's beginning: where a resumed run goes on */
    bool ahead;      /* a thread makes batches ahead of time */
};

struct loader;

/* data and order outlive it. ERROR_INPUT where part does not divide the batch. */
struct loader *loader_new(const struct loader_spec *spec, struct error *e);
void loader_free(struct loader *l);

/*
 * Puts the next samples into inputs and their classes into classes (as dataset_batch does): those of the next step in
 * which this rank has any (order_reads). *data_s is increased by the seconds that took.
 */
bool loader_next(struct loader *l, void *inputs, int32_t *classes, double *data_s, struct error *e);

/*
 * Whether the thread pays for this dataset: where a batch may wait for a disk. A batch of MNIST takes 0.05 to 0.2 ms to
 * make, a step of `cnn` on it 17 to 67 ms (batch 32 and 128, 2 cores); made ahead by a thread, it came up to 1 ms
 * late where the ranks already filled the cores, and no step was measurably shorter.
 */
bool loader_ahead_pays(const struct dataset *d);

#endif
