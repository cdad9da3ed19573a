/*
 * rungs.h - the rungs of the three ladders and the roofs above them, as C calls them. Private to kernels/ladder/.
 *
 * A ladder is one task written several times, each rung faster than the one before for one reason, which its file begins with.
 * Every function puts its kernels on the stream and returns at once. Arrays lie row after row, in the GPU's memory.
 *
 *     product   c (rows × columns) = a (rows × depth) b (depth × columns)
 *     sum       c[0] = the sum of a's rows × columns numbers; room: as many floats as RUNG_ROOM says
 *     softmax   each row of c = softmax of that row of a; columns at most RUNG_MOST_COLUMNS
 */
#ifndef RINGSIDE_KERNELS_LADDER_RUNGS_H
#define RINGSIDE_KERNELS_LADDER_RUNGS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RUNG_MOST_COLUMNS = 4096 };
/* Of n numbers: a block of 256 leaves one, and so on until there is one. */
#define RUNG_ROOM(n) ((n) / 128 + 1024)

struct rung_work {
    const float *a, *b;
    float *c, *room;
    int rows, columns, depth;
    cudaStream_t stream;
};

void rung_product_naive(const struct rung_work *w);
void rung_product_coalesced(const struct rung_work *w);
void rung_product_tiled(const struct rung_work *w);
void rung_product_blocked(const struct rung_work *w);
void rung_product_tensor(const struct rung_work *w); /* nothing under emulation, which has no tensor cores */

void rung_sum_atomic(const struct rung_work *w);
void rung_sum_tree(const struct rung_work *w);
void rung_sum_shuffle(const struct rung_work *w);
void rung_sum_vector(const struct rung_work *w);

void rung_softmax_naive(const struct rung_work *w);
void rung_softmax_block(const struct rung_work *w);
void rung_softmax_online(const struct rung_work *w);
void rung_softmax_registers(const struct rung_work *w);

/* roof.cu. Each returns the floating-point operations, or bytes, of the launch. sink: a float that nothing is written to. */
double roof_arithmetic(int processors, int iterations, float *sink, cudaStream_t stream);
double roof_tensor(int processors, int iterations, float *sink,
                   cudaStream_t stream);                                       /* 0: there are none here */
double roof_copy(const float *from, float *to, size_t n, cudaStream_t stream); /* n: a multiple of 4 */

#ifdef __cplusplus
}
#endif

#endif
