/*
 * Sums over the rows of an array, for each column: the gradient of a bias; with the relu in front of it done in the same pass.
 *
 * Two kernels. First each block takes 32 columns of some hundreds of rows: a warp reads 32 neighbours of one row, eight
 * rows go side by side, and each block leaves its part of the sum. Then the parts, if there are several, are added up in double. Blocks are cut
 * by rows and columns alone, so any GPU finds the same bits.
 */
#include "kernels/reduce.h"

enum { COLUMNS = 32, ROWS = 8, LEAST_ROWS = 256, MOST_PARTS = 256 };

static int parts_of(int rows)
{
    int parts = ceil_div(rows, LEAST_ROWS);
    return parts < MOST_PARTS ? parts : (int)MOST_PARTS;
}

extern "C" size_t kernel_column_scratch(int rows, int columns)
{
    return (size_t)parts_of(rows) * (size_t)columns;
}

__global__ static void sum_parts(float *g, const float *value, float *parts, int rows, int columns,
                                 int rows_each)
{
    SHARED(float, sums, [ROWS][COLUMNS]);
    int column = (int)blockIdx.x * COLUMNS + (int)threadIdx.x;
    int first = (int)blockIdx.y * rows_each, end = first + rows_each < rows ? first + rows_each : rows;
    float sum = 0;
    for (int r = first + (int)threadIdx.y; r < end && column < columns; r += ROWS) {
        size_t i = (size_t)r * columns + column;
        float x = g[i];
        if (value) {
            x = value[i] > 0 ? x : 0;
            g[i] = x;
        }
        sum += x;
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        for (int r = 1; r < ROWS; r++)
            sum += sums[r][threadIdx.x];
        parts[(size_t)blockIdx.y * columns + column] = sum;
    }
}

__global__ static void add_parts(const float *__restrict__ parts, float *__restrict__ total, int columns,
                                 int count)
{
    SHARED(double, sums, [ROWS][COLUMNS]);
    int column = (int)blockIdx.x * COLUMNS + (int)threadIdx.x;
    double sum = 0;
    for (int p = (int)threadIdx.y; p < count && column < columns; p += ROWS)
        sum += parts[(size_t)p * columns + column];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        for (int r = 1; r < ROWS; r++)
            sum += sums[r][threadIdx.x];
        total[column] = (float)sum;
    }
}

extern "C" void kernel_column_sums(float *g, const float *value, float *sums, float *scratch, int rows,
                                   int columns, cudaStream_t stream)
{
    int tiles = ceil_div(columns, COLUMNS), rows_each = ceil_div(rows, parts_of(rows)),
        parts = ceil_div(rows, rows_each);
    /* One part is the whole sum. */
    LAUNCH(sum_parts, dim3(tiles, parts), dim3(COLUMNS, ROWS), 0, stream, g, value,
           parts > 1 ? scratch : sums, rows, columns, rows_each);
    if (parts > 1)
        LAUNCH(add_parts, tiles, dim3(COLUMNS, ROWS), 0, stream, scratch, sums, columns, parts);
}
