/*
 * Matrix product, second rung: the same code, but a warp takes neighbouring columns of one row.
 *
 * Its 32 loads from B are 128 bytes side by side, which come in one piece and are used whole; its 32 loads from A are of one
 * address, which comes once for all. Nothing else has changed: only which thread does what.
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

__global__ static void product_coalesced(const float *a, const float *b, float *c, int rows, int columns,
                                         int depth)
{
    int column = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int row = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (row >= rows || column >= columns)
        return;
    float sum = 0;
    for (int p = 0; p < depth; p++)
        sum = fmaf(a[(size_t)row * depth + p], b[(size_t)p * columns + column], sum);
    c[(size_t)row * columns + column] = sum;
}

void rung_product_coalesced(const struct rung_work *w)
{
    dim3 block(WARP, 8), grid(ceil_div(w->columns, WARP), ceil_div(w->rows, 8));
    LAUNCH(product_coalesced, grid, block, 0, w->stream, w->a, w->b, w->c, w->rows, w->columns, w->depth);
}
