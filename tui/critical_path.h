/*
 * critical_path.h - the chain of spans that bounds a step: had each of them been shorter, the step would have ended earlier.
 *
 * It is followed backwards from the end of the rank that ends last to the beginning of the rank that begins first:
 *   - Work (layers, data, optimizer) was preceded by what the same thread did before it.
 *   - A collective could not begin before its last rank had come: from its end the chain goes back to that moment, and then
 *     goes on with what that rank did until it came. What the others waited before that is not on the chain.
 *   - A wait for the communication thread ends with a collective of that thread: the chain goes on with it. A collective of
 *     that thread that begins when the one before ends (within CRITICAL_GAP_NS) was held up by it; else by the main thread
 *     of its last rank, whose gradients were not there yet.
 *   - A wait without such a thread is one for other ranks: the chain goes on with the one that came last.
 * So the pieces follow each other without gaps and overlaps, and their lengths add up to the step. Of several that end at the
 * same moment one is taken: the lowest rank's.
 */
#ifndef RINGSIDE_TUI_CRITICAL_PATH_H
#define RINGSIDE_TUI_CRITICAL_PATH_H

#include "engine/base/trace_read.h"

#define CRITICAL_GAP_NS 50000

enum time_class { TIME_COMPUTE, TIME_COMM, TIME_DATA, TIME_OTHER, TIME_CLASSES };
/* What a span's own time counts as. */
enum time_class time_class_of(int kind);

struct path_piece {
    int event; /* of the trace; -1: nothing was recorded */
    int row;
    int64_t t0, t1;
    enum time_class class;
};

struct critical_path {
    struct path_piece *pieces; /* in time */
    int count;
    int64_t begin, end; /* of the step, over all ranks */
    double seconds[TIME_CLASSES];
};

/* ERROR_INPUT where the trace has no such step. */
bool critical_path_find(const struct trace_data *d, long step, struct critical_path *p, struct error *e);
void critical_path_free(struct critical_path *p);

/*
 * Communication that holds up the main threads in a step: by bucket, the longest first. A wait that says no bucket is for
 * those that the communication thread sums meanwhile.
 */
struct exposed_part {
    int bucket;     /* -1: of none: a wait for other ranks, a batchnorm's sum */
    double seconds; /* mean over the ranks */
};
enum { EXPOSED_PARTS = 64 };
/* Returns how many parts; *sum of all of them, also those beyond `most`. */
int exposed_of_step(const struct trace_data *d, long step, struct exposed_part *parts, int most, double *sum);

#endif
