/*
 * order.h - which samples a rank reads in which step.
 *
 * One permutation of the training set per (seed, epoch), the same on every rank. Each step deals the next B samples
 * of it to each rank, in their order: with R ranks, step s of an epoch takes rows [s·R·B, (s+1)·R·B) of it, and rank
 * r of those the rows [r·B, (r+1)·B). So R ranks with batch B see together exactly what one rank with batch R·B sees.
 * The last, short batch is dropped.
 *
 * Ranks may have unequal shares of the set. Each then has as many steps an epoch as its share has full batches; where
 * that is over, its samples go to nobody else: it joins, and the others go on without its part until the last has
 * none left (Join, as PyTorch's DistributedDataParallel and Horovod call it). Every sample of the full batches is read
 * once an epoch, and equal shares are no different from none.
 */
#ifndef RINGSIDE_DATA_ORDER_H
#define RINGSIDE_DATA_ORDER_H

#include "engine/base/error.h"

#include <stdint.h>

struct order {
    uint32_t rows;
    int ranks, batch;
    uint64_t seed;
    long steps_per_epoch; /* of the rank that has the most */
    long *batches;        /* by rank: full batches of an epoch */
    long epoch;           /* of the permutation held, -1: none yet */
    uint32_t *permutation;
};

/* ERROR_INPUT where the global batch is larger than the set. */
bool order_init(struct order *o, uint32_t rows, int ranks, int batch, uint64_t seed, struct error *e);
/* shares: of each rank, above 0; NULL: equal ones. ERROR_INPUT where a share has no full batch. */
bool order_init_shares(struct order *o, uint32_t rows, int ranks, int batch, const int *shares, uint64_t seed,
                       struct error *e);
void order_free(struct order *o);

/*
 * The `batch` samples of a rank in a step counted from the run's beginning, from 0; NULL: it has none left in this
 * epoch. Valid until the next call.
 */
const uint32_t *order_rows(struct order *o, long step, int rank);
/* Whether a rank has a batch in that step; how many ranks have, and how many of them come before it. */
bool order_reads(const struct order *o, long step, int rank);
int order_readers(const struct order *o, long step, int before);

#endif
