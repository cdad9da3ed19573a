/*
 * Matrix product, third rung: tiles in shared memory.
 *
 * A block works on 32 × 32 elements of C. It loads a tile of A and one of B together, one float a thread, and then every
 * float is read 32 times from shared memory, on the chip, rather than from caches and memory further away. Two
 * barriers a tile: nobody reads before all have loaded, nobody loads anew before all have read.
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

enum { TILE = 32 };

__global__ static void product_tiled(const float *a, const float *b, float *c, int rows, int columns,
                                     int depth)
{
    SHARED(float, tile_a, [TILE][TILE]);
    SHARED(float, tile_b, [TILE][TILE]);
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    int column = (int)blockIdx.x * TILE + x, row = (int)blockIdx.y * TILE + y;
    float sum = 0;
    for (int p0 = 0; p0 < depth; p0 += TILE) {
        tile_a[y][x] = row < rows && p0 + x < depth ? a[(size_t)row * depth + p0 + x] : 0;
        tile_b[y][x] = p0 + y < depth && column < columns ? b[(size_t)(p0 + y) * columns + column] : 0;
        __syncthreads();
        for (int p = 0; p < TILE; p++)
            sum = fmaf(tile_a[y][p], tile_b[p][x], sum);
        __syncthreads();
    }
    if (row < rows && column < columns)
        c[(size_t)row * columns + column] = sum;
}

void rung_product_tiled(const struct rung_work *w)
{
    dim3 block(TILE, TILE), grid(ceil_div(w->columns, TILE), ceil_div(w->rows, TILE));
    LAUNCH(product_tiled, grid, block, 0, w->stream, w->a, w->b, w->c, w->rows, w->columns, w->depth);
}
