/*
 * Layouts: between the plain order of images (batch, channels, places) and channels last (batch, places, channels); rounding
 * to bf16; columns in and out of wider rows.
 *
 * Turning the order is a transposition of each image's channels × places matrix. Read row by row and written column by
 * column each of a warp's 32 writes would go to a place of its own; so a block takes a tile of 32 × 32 into shared memory,
 * reading along its rows, and writes it along its columns: both ways 32 neighbours at a time. The tile's rows are one float
 * longer than needed, so that a column of it lies in 32 different banks.
 */
#include "kernels/reduce.h"

enum { TILE = 32, TILE_ROWS = 8 };

__global__ static void nothing()
{
}

extern "C" void kernel_nothing(cudaStream_t stream)
{
    LAUNCH(nothing, 1, 1, 0, stream);
}

__global__ static void set_step(struct kernel_step *to, struct kernel_step value)
{
    *to = value;
}

extern "C" void kernel_set_step(struct kernel_step *to, struct kernel_step value, cudaStream_t stream)
{
    LAUNCH(set_step, 1, 1, 0, stream, to, value);
}

/* out[image][column][row] = in[image][row][column] */
__global__ static void transpose(const float *__restrict__ in, float *__restrict__ out, int rows, int columns,
                                 bool add)
{
    SHARED(float, tile, [TILE][TILE + 1]);
    int tiles = (columns + TILE - 1) / TILE;
    int first_row = (int)blockIdx.x / tiles * TILE, first_column = (int)blockIdx.x % tiles * TILE;
    size_t image = (size_t)blockIdx.y * rows * columns;
    int column = first_column + (int)threadIdx.x;
    for (int r = (int)threadIdx.y; r < TILE; r += TILE_ROWS)
        if (first_row + r < rows && column < columns)
            tile[r][threadIdx.x] = in[image + (size_t)(first_row + r) * columns + column];
    __syncthreads();
    int row = first_row + (int)threadIdx.x;
    for (int c = (int)threadIdx.y; c < TILE; c += TILE_ROWS)
        if (first_column + c < columns && row < rows) {
            float *to = out + image + (size_t)(first_column + c) * rows + row;
            *to = add ? *to + tile[threadIdx.x][c] : tile[threadIdx.x][c];
        }
}

static void turn(const float *in, float *out, int batch, int rows, int columns, bool add, cudaStream_t stream)
{
    const int most = 65535; /* images in one launch: that far a grid's second extent goes */
    size_t image = (size_t)rows * columns;
    for (int first = 0; first < batch; first += most) {
        int images = batch - first < most ? batch - first : most;
        LAUNCH(transpose, dim3(ceil_div(rows, TILE) * ceil_div(columns, TILE), images), dim3(TILE, TILE_ROWS),
               0, stream, in + first * image, out + first * image, rows, columns, add);
    }
}

extern "C" void kernel_to_channels_last(const float *in, float *out, int batch, int channels, int points,
                                        bool add, cudaStream_t stream)
{
    turn(in, out, batch, channels, points, add, stream);
}

extern "C" void kernel_to_plain(const float *in, float *out, int batch, int channels, int points, bool add,
                                cudaStream_t stream)
{
    turn(in, out, batch, points, channels, add, stream);
}

struct alignas(8) four_halves {
    uint16_t at[4];
};

__global__ static void round_all(const float *__restrict__ in, uint16_t *__restrict__ out, size_t n,
                                 size_t fours)
{
    for (size_t i = thread_in_grid(); i < fours; i += threads_in_grid()) {
        pack<4> x = load<4>(in + 4 * i);
        four_halves rounded;
#pragma unroll
        for (int k = 0; k < 4; k++)
            rounded.at[k] = to_bf16(x.at[k]);
        reinterpret_cast<four_halves *>(out)[i] = rounded;
    }
    for (size_t i = 4 * fours + thread_in_grid(); i < n; i += threads_in_grid())
        out[i] = to_bf16(in[i]);
}

extern "C" void kernel_round(const float *in, uint16_t *out, size_t n, cudaStream_t stream)
{
    size_t fours = in_fours(in) && in_fours(out) ? n / 4 : 0; /* parameters may begin anywhere */
    LAUNCH(round_all, blocks_for(fours > 0 ? fours : n), BLOCK, 0, stream, in, out, n, fours);
}

/* Between an array of its own and the columns from `first` on of wider rows. */
__global__ static void into_columns(const float *__restrict__ in, float *__restrict__ out, unsigned n,
                                    unsigned columns, unsigned first, unsigned stride)
{
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid())
        out[(size_t)(i / columns) * stride + first + i % columns] = in[i];
}

__global__ static void from_columns(const float *__restrict__ in, float *__restrict__ out, unsigned n,
                                    unsigned columns, unsigned first, unsigned stride, bool add)
{
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        float value = in[(size_t)(i / columns) * stride + first + i % columns];
        out[i] = add ? out[i] + value : value;
    }
}

extern "C" void kernel_into_columns(const float *in, float *out, int rows, int columns, int first, int stride,
                                    cudaStream_t stream)
{
    unsigned n = (unsigned)rows * (unsigned)columns;
    LAUNCH(into_columns, blocks_for(n), BLOCK, 0, stream, in, out, n, (unsigned)columns, (unsigned)first,
           (unsigned)stride);
}

extern "C" void kernel_from_columns(const float *in, float *out, int rows, int columns, int first, int stride,
                                    bool add, cudaStream_t stream)
{
    unsigned n = (unsigned)rows * (unsigned)columns;
    LAUNCH(from_columns, blocks_for(n), BLOCK, 0, stream, in, out, n, (unsigned)columns, (unsigned)first,
           (unsigned)stride, add);
}
