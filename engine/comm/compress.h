/*
 * compress.h - an allreduce of floats that travel as 16 bits: half the bytes, for a rounding at each addition.
 *
 * Each rank rounds its floats to the type (f16 or bf16), the sum is taken in that type by any algorithm, and is
 * spread to floats again, as Horovod's Compression.fp16 does (Sergeev and Del Balso 2018). All ranks get the same
 * bits. What that costs is measured: now and then some numbers are summed as floats, too, and compared.
 */
#ifndef RINGSIDE_COMM_COMPRESS_H
#define RINGSIDE_COMM_COMPRESS_H

#include "engine/comm/comm.h"

struct compressor;

/* For at most `most` floats at once. type: element_f16 or element_bf16. Collective over the ranks of a host. */
struct compressor *compressor_new(struct comm *c, const struct element *type, size_t most, struct error *e);
void compressor_free(struct compressor *z); /* before comm_close; NULL is fine */

/*
 * x[0..n) becomes the sum over all ranks. measure: compares a part with the sum of floats, which goes beside (the
 * same on all ranks). A sum beyond what the type holds is ERROR_FAILED on all ranks, unless some rank's x was not
 * finite before: then it is the sum. Belongs to the thread that owns the comm.
 */
bool comm_allreduce_compressed(struct compressor *z, const char *algo, float *x, size_t n, bool measure,
                               struct hop_log *log, struct error *e);

struct compression_figures {
    double
        error; /* the length of the difference over the length of the sum of floats; the same on all ranks */
    double lost; /* of this rank's numbers that were not 0: the share that became 0 */
};
/* Of all that has been measured since the last call of this; false: nothing has. */
bool compressor_figures(struct compressor *z, struct compression_figures *f);

#endif
