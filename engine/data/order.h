/*
 * order.h - which samples a rank reads in which step.
 *
 * One permutation of the training set per (seed, epoch), the same on every rank. Step s of an epoch takes rows
 * [s·R·B, (s+1)·R·B) of it, R ranks with B samples each, and rank r of those the rows [r·B, (r+1)·B). So R ranks
 * with batch B see together exactly what one rank with batch R·B sees. The last, short batch is dropped.
 */
#ifndef RINGSIDE_DATA_ORDER_H
#define RINGSIDE_DATA_ORDER_H

#include "engine/base/error.h"

#include <stdint.h>

struct order {
    uint32_t rows;
    int ranks, batch;
    uint64_t seed;
    long steps_per_epoch;
    long epoch; /* of the permutation held, -1: none yet */
    uint32_t *permutation;
};

/* ERROR_INPUT where the global batch is larger than the set. */
bool order_init(struct order *o, uint32_t rows, int ranks, int batch, uint64_t seed, struct error *e);
void order_free(struct order *o);
/* The `batch` samples of a rank in a step counted from the run's beginning, from 0. Valid until the next call. */
const uint32_t *order_rows(struct order *o, long step, int rank);

#endif
