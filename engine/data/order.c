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
    return order_init_shares(o, rows, ranks, batch, NULL, seed, e);
}

bool order_init_shares(struct order *o, uint32_t rows, int ranks, int batch, const int *shares, uint64_t seed,
                       struct error *e)
{
    uint64_t total = 0;
    memset(o, 0, sizeof *o);
    o->permutation = malloc(rows * sizeof *o->permutation);
    o->batches = calloc((size_t)ranks, sizeof *o->batches);
    if (!o->permutation || !o->batches) {
        order_free(o);
        return error_set(e, ERROR_FAILED, "not enough memory for the order of %u samples", rows);
    }
    o->rows = rows;
    o->ranks = ranks;
    o->batch = batch;
    o->seed = seed;
    o->epoch = -1;
    for (int r = 0; r < ranks; r++)
        total += shares ? (uint64_t)shares[r] : 1;
    for (int r = 0; r < ranks; r++) {
        uint64_t samples = (uint64_t)rows * (shares ? (uint64_t)shares[r] : 1) / total;
        o->batches[r] = (long)(samples / (uint64_t)batch);
        if (o->batches[r] > o->steps_per_epoch)
            o->steps_per_epoch = o->batches[r];
        if (o->batches[r] == 0) {
            order_free(o);
            return error_set(
                e, ERROR_INPUT,
                "--shares: rank %d has %llu of the %u training samples, which is no full batch of %d: "
                "give it a larger share, or take a smaller batch",
                r, (unsigned long long)samples, rows, batch);
        }
    }
    return true;
}

void order_free(struct order *o)
{
    free(o->permutation);
    free(o->batches);
    o->permutation = NULL;
    o->batches = NULL;
}

bool order_reads(const struct order *o, long step, int rank)
{
    return step % o->steps_per_epoch < o->batches[rank];
}

int order_readers(const struct order *o, long step, int before)
{
    int readers = 0;
    for (int r = 0; r < before; r++)
        readers += order_reads(o, step, r);
    return readers;
}

const uint32_t *order_rows(struct order *o, long step, int rank)
{
    long epoch = step / o->steps_per_epoch, within = step % o->steps_per_epoch;
    if (epoch != o->epoch) {
        struct random r = random_stream(o->seed, STREAM_ORDER, (uint64_t)epoch);
        random_permutation(&r, o->permutation, o->rows);
        o->epoch = epoch;
    }
    if (!order_reads(o, step, rank))
        return NULL;
    size_t dealt = 0; /* batches of the steps before */
    for (int r = 0; r < o->ranks; r++)
        dealt += (size_t)(o->batches[r] < within ? o->batches[r] : within);
    dealt += (size_t)order_readers(o, step, rank);
    return o->permutation + dealt * (size_t)o->batch;
}
