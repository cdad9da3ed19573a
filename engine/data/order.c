#include "engine/data/order.h"

#include "engine/base/random.h"

#include <stdlib.h>
#include <string.h>

/* What random_stream's purpose is for the data's order; parameters have another. */
enum { STREAM_ORDER = 2 };

bool order_init(struct order *o, uint32_t rows, int ranks, int batch, uint64_t seed, struct error *e)
{
    memset(o, 0, sizeof *o);
    uint64_t global = (uint64_t)ranks * (uint64_t)batch;
    if (global > rows)
        return error_set(
            e, ERROR_INPUT,
            "--batch: %d samples on each of %d ranks are %llu a step, but the training set has only %u; "
            "choose a batch of at most %u",
            batch, ranks, (unsigned long long)global, rows, rows / (unsigned)ranks);
    o->permutation = malloc(rows * sizeof *o->permutation);
    if (!o->permutation)
        return error_set(e, ERROR_FAILED, "not enough memory for the order of %u samples", rows);
    o->rows = rows;
    o->ranks = ranks;
    o->batch = batch;
    o->seed = seed;
    o->steps_per_epoch = (long)(rows / global);
    o->epoch = -1;
    return true;
}

void order_free(struct order *o)
{
    free(o->permutation);
    o->permutation = NULL;
}

const uint32_t *order_rows(struct order *o, long step, int rank)
{
    long epoch = step / o->steps_per_epoch, within = step % o->steps_per_epoch;
    if (epoch != o->epoch) {
        struct random r = random_stream(o->seed, STREAM_ORDER, (uint64_t)epoch);
        random_permutation(&r, o->permutation, o->rows);
        o->epoch = epoch;
    }
    return o->permutation + ((size_t)within * (size_t)o->ranks + (size_t)rank) * (size_t)o->batch;
}
