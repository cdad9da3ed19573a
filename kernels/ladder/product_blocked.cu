/*
 * Matrix product, fourth rung: a block of C in registers.
 *
 * The rung before needs two loads from shared memory for each multiply-add, and a multiprocessor starts four times as many
 * multiply-adds as such loads. Here a thread keeps 8 × 8 sums in registers: 16 floats loaded, in fours, feed 64
 * multiply-adds. A block of 256 threads makes 128 × 128 elements of C, 8 of the depth at a time.
 *
 * A's tile lies transposed, so that a thread's eight rows are two loads of four. A thread's columns are two groups of four,
 * 64 apart: so neighbouring threads read neighbouring fours and no two of them meet in one bank.
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

enum { TILE = 128, STEP = 8, HALF = TILE / 2, PAD = 4, SIDE = 16 };

/* Four floats from row `row` on, column `column` on; 0 where the matrix has ended. */
__device__ static pack<4> load_inside(const float *from, int row, int column, int rows, int columns)
{
    pack<4> four;
    for (int i = 0; i < 4; i++)
        four.at[i] = row < rows && column + i < columns ? from[(size_t)row * columns + column + i] : 0.0F;
    return four;
}

__global__ static void __launch_bounds__(SIDE *SIDE)
    product_blocked(const float *a, const float *b, float *c, int rows, int columns, int depth)
{
    SHARED(float, tile_a, [STEP][TILE + PAD]); /* transposed; the pad keeps stores out of each other's bank */
    SHARED(float, tile_b, [STEP][TILE]);
    int t = (int)threadIdx.x, x = t % SIDE, y = t / SIDE;
    int row0 = (int)blockIdx.y * TILE, column0 = (int)blockIdx.x * TILE;
    float sum[8][8] = {};
    for (int p0 = 0; p0 < depth; p0 += STEP) {
        pack<4> of_a = load_inside(a, row0 + t / 2, p0 + t % 2 * 4, rows, depth);
        pack<4> of_b = load_inside(b, p0 + t / 32, column0 + t % 32 * 4, depth, columns);
        for (int i = 0; i < 4; i++)
            tile_a[t % 2 * 4 + i][t / 2] = of_a.at[i];
        store<4>(&tile_b[t / 32][t % 32 * 4], of_b);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < STEP; p++) {
            pack<4> up = load<4>(&tile_a[p][y * 4]), down = load<4>(&tile_a[p][HALF + y * 4]);
            pack<4> left = load<4>(&tile_b[p][x * 4]), right = load<4>(&tile_b[p][HALF + x * 4]);
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    sum[i][j] = fmaf(up.at[i], left.at[j], sum[i][j]);
                    sum[i][4 + j] = fmaf(up.at[i], right.at[j], sum[i][4 + j]);
                    sum[4 + i][j] = fmaf(down.at[i], left.at[j], sum[4 + i][j]);
                    sum[4 + i][4 + j] = fmaf(down.at[i], right.at[j], sum[4 + i][4 + j]);
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int row = row0 + i / 4 * HALF + y * 4 + i % 4, column = column0 + j / 4 * HALF + x * 4 + j % 4;
            if (row < rows && column < columns)
                c[(size_t)row * columns + column] = sum[i][j];
        }
}

void rung_product_blocked(const struct rung_work *w)
{
    dim3 grid(ceil_div(w->columns, TILE), ceil_div(w->rows, TILE));
    LAUNCH(product_blocked, grid, SIDE * SIDE, 0, w->stream, w->a, w->b, w->c, w->rows, w->columns, w->depth);
}
