/*
 * Matrix product, fifth rung: tensor cores.
 *
 * One instruction multiplies a 16 × 16 piece of A by one of B and adds it to one of C, by the 32 threads of a warp together;
 * which thread holds which numbers is the hardware's affair (a `fragment`). Operands are half precision: they are rounded on
 * their way into shared memory, to 11 bits, while sums stay in fp32. A block of eight warps makes 128 × 128 elements of
 * C, a warp 32 × 64 of them: 2 × 4 fragments, 32 of the depth at a time.
 *
 * Not emulated: the emulation has no tensor cores, and this rung is left out there.
 */
#include "kernels/ladder/rungs.h"
#include "kernels/reduce.h"

#ifdef KERNELS_EMULATED

void rung_product_tensor(const struct rung_work *)
{
}

#else

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

enum { TILE = 128, STEP = 32, PIECE = 16, WARPS = 8, DOWN = 2, ACROSS = 4, PAD = 8 };

/* rows × columns floats from (row0, column0) on into a tile of halves; 0 where the matrix has ended. */
template <int ROWS, int COLUMNS>
__device__ static void load_halves(__half (*tile)[COLUMNS + PAD], const float *from, int row0, int column0,
                                   int rows, int columns)
{
    for (int i = (int)threadIdx.x; i < ROWS * COLUMNS; i += WARPS * WARP) {
        int row = row0 + i / COLUMNS, column = column0 + i % COLUMNS;
        float value = row < rows && column < columns ? from[(size_t)row * columns + column] : 0;
        tile[i / COLUMNS][i % COLUMNS] = __float2half(value);
    }
}

__global__ static void __launch_bounds__(WARPS *WARP)
    product_tensor(const float *a, const float *b, float *c, int rows, int columns, int depth)
{
    __shared__ __align__(32) __half tile_a[TILE][STEP + PAD];
    __shared__ __align__(32) __half tile_b[STEP][TILE + PAD];
    __shared__ __align__(32) float out[WARPS][PIECE * PIECE];
    int warp = (int)threadIdx.x / WARP, lane = (int)threadIdx.x % WARP;
    int row0 = (int)blockIdx.y * TILE, column0 = (int)blockIdx.x * TILE;
    int down = warp / 2 * DOWN * PIECE, across = warp % 2 * ACROSS * PIECE; /* of this warp, in the tile */
    wmma::fragment<wmma::accumulator, PIECE, PIECE, PIECE, float> sum[DOWN][ACROSS];
#pragma unroll
    for (int i = 0; i < DOWN; i++)
#pragma unroll
        for (int j = 0; j < ACROSS; j++)
            wmma::fill_fragment(sum[i][j], 0.0F);
    for (int p0 = 0; p0 < depth; p0 += STEP) {
        load_halves<TILE, STEP>(tile_a, a, row0, p0, rows, depth);
        load_halves<STEP, TILE>(tile_b, b, p0, column0, depth, columns);
        __syncthreads();
#pragma unroll
        for (int p = 0; p < STEP; p += PIECE) {
            wmma::fragment<wmma::matrix_a, PIECE, PIECE, PIECE, __half, wmma::row_major> of_a[DOWN];
            wmma::fragment<wmma::matrix_b, PIECE, PIECE, PIECE, __half, wmma::row_major> of_b;
#pragma unroll
            for (int i = 0; i < DOWN; i++)
                wmma::load_matrix_sync(of_a[i], &tile_a[down + i * PIECE][p], STEP + PAD);
#pragma unroll
            for (int j = 0; j < ACROSS; j++) {
                wmma::load_matrix_sync(of_b, &tile_b[p][across + j * PIECE], TILE + PAD);
#pragma unroll
                for (int i = 0; i < DOWN; i++)
                    wmma::mma_sync(sum[i][j], of_a[i], of_b, sum[i][j]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < DOWN; i++)
#pragma unroll
        for (int j = 0; j < ACROSS; j++) {
            wmma::store_matrix_sync(out[warp], sum[i][j], PIECE, wmma::mem_row_major);
            __syncwarp();
            for (int k = lane; k < PIECE * PIECE; k += WARP) {
                int row = row0 + down + i * PIECE + k / PIECE,
                    column = column0 + across + j * PIECE + k % PIECE;
                if (row < rows && column < columns)
                    c[(size_t)row * columns + column] = out[warp][k];
            }
            __syncwarp();
        }
}

void rung_product_tensor(const struct rung_work *w)
{
    dim3 grid(ceil_div(w->columns, TILE), ceil_div(w->rows, TILE));
    LAUNCH(product_tensor, grid, WARPS * WARP, 0, w->stream, w->a, w->b, w->c, w->rows, w->columns, w->depth);
}

#endif
