/*
 * reducer.h - the sum of the gradients over all ranks: in one allreduce after backward, or bucket by bucket on the
 * communication thread while backward goes on.
 *
 * A step begins (reducer_begin), tells as its gradients get ready (reducer_ready, a network's gradient_hook; left out
 * where there is nothing to overlap) and ends with the sums (reducer_finish). What lies behind the gradients in the
 * buffer must be there before the first call of reducer_ready. Between steps the caller owns the comm, within one the
 * reducer does: whatever else a step has to sum goes through reducer_sum. The thread is started with the first plan
 * of several buckets; with "nccl" there is none, for the GPU itself sums beside backward. Where the gradients lie in a
 * backend's own memory and another algorithm sums them, each bucket is fetched to the host as it gets ready and brought
 * back at the end.
 */
#ifndef RINGSIDE_TRAIN_REDUCER_H
#define RINGSIDE_TRAIN_REDUCER_H

#include "engine/comm/comm.h"
#include "engine/comm/compress.h"
#include "engine/train/buckets.h"
#include "engine/train/gradients.h"

enum { REDUCER_LOGS = 8 }; /* operations of a step whose hops are recorded, at most */

struct reducer_spec {
    struct comm *comm;
    const struct model_spec *model;
    const struct gradients *gradients; /* of comm and model; what travels behind them are its words */
    const float *part;   /* where the gradients that get ready lie, to be added to those; NULL: there */
    struct trace *trace; /* NULL: nothing is recorded */
    bool whole;          /* one allreduce, whatever size of bucket is asked for */
    const struct element *compress; /* what gradients travel as; NULL: as they are */
};

struct reducer;

struct reducer *reducer_new(const struct reducer_spec *spec, struct error *e);
void reducer_free(struct reducer *r); /* a step that has not ended is given up */

/* Between steps, the same on all ranks: algorithm, and bytes of a bucket (buckets.h). algo: kept, not copied. */
bool reducer_set(struct reducer *r, const char *algo, size_t bucket, struct error *e);
const char *reducer_algo(const struct reducer *r);
size_t reducer_bucket(const struct reducer *r); /* as it was set */
int reducer_buckets(const struct reducer *r);   /* that makes so many allreduces a step */
bool reducer_overlaps(const struct reducer *r); /* several buckets and several ranks */

/* logs: of the first allreduces of this step; NULL: not this time. */
void reducer_begin(struct reducer *r, struct hop_log **logs);
/* self: the reducer. Where it overlaps, the gradients from `from` on are final. */
bool reducer_ready(void *self, size_t from, struct error *e);
bool reducer_finish(struct reducer *r, struct error *e);
/* Within a step: x[0..n) summed over all ranks, behind the buckets that are under way. */
bool reducer_sum(struct reducer *r, float *x, size_t n, struct error *e);

/*
 * Of the step that has ended: bytes that a rank sent (comm_take_sent_bytes); and what was measured of the
 * compression, where it was since the last call.
 */
double reducer_sent_bytes(const struct reducer *r);
bool reducer_compression(struct reducer *r, struct compression_figures *f);

/* Of the step that has ended: seconds that communication took, and those of them in which nothing was computed. */
double reducer_comm_s(const struct reducer *r);
double reducer_exposed_s(const struct reducer *r);

#endif
