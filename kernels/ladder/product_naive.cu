/*
 * Matrix product, first rung: the definition, one thread an element.
 *
 * Threads of a warp take neighbouring rows of one column. So each of them reads its own row of A, `depth` floats away from
 * its neighbour's: 32 loads of one instruction go to 32 different places, and of each sector of 32 bytes that comes
 * back one float is used.
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

__global__ static void product_naive(const float *a, const float *b, float *c, int rows, int columns,
                                     int depth)
{
    int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int column = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (row >= rows || column >= columns)
        return;
    float sum = 0;
    for (int p = 0; p < depth; p++)
        sum = fmaf(a[(size_t)row * depth + p], b[(size_t)p * columns + column], sum);
    c[(size_t)row * columns + column] = sum;
}

void rung_product_naive(const struct rung_work *w)
{
    dim3 block(WARP, 8), grid(ceil_div(w->rows, WARP), ceil_div(w->columns, 8));
    LAUNCH(product_naive, grid, block, 0, w->stream, w->a, w->b, w->c, w->rows, w->columns, w->depth);
}
