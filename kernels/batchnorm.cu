/*
 * Batch normalisation over rows × channels; formulas in engine/nn/cpu_batchnorm.c.
 *
 * Statistics take one pass over x. Each thread sums (x - k) and (x - k)² of some rows, k its first value: near the mean, so that
 * nothing is lost when its variance is told from them. Threads, then blocks, are combined by their means and sums of squares
 * (T. Chan, G. Golub and R. LeVeque, Algorithms for computing the sample variance, 1983), in double and in one order. A block
 * takes 32 channels of some hundreds of rows: a warp reads 32 neighbours of a row.
 *
 * Normalising is one more pass, with the relu; so are Σ dy and Σ dy (x - mean) backward, and dx. What the relu let through
 * is told from x: y is not read.
 */
#include "kernels/reduce.h"

enum { COLUMNS = 32, ROWS = 8, LEAST_ROWS = 64, MOST_PARTS = 256 };

/* How the rows are cut: by their number alone, so that any GPU finds the same bits. */
struct cut {
    int parts, rows_each;
};

static cut cut_of(int rows)
{
    int parts = ceil_div(rows, LEAST_ROWS),
        each = ceil_div(rows, parts < MOST_PARTS ? parts : (int)MOST_PARTS);
    return {ceil_div(rows, each), each};
}

extern "C" size_t kernel_batchnorm_scratch(int rows, int channels)
{
    return 2 * (size_t)cut_of(rows).parts * (size_t)channels;
}

__device__ __forceinline__ static int least(int a, int b)
{
    return a < b ? a : b;
}

/* The sum over the block's eight rows of threads, for each column; every thread of the column gets it. */
__device__ static double column_sum(double x, double (&room)[ROWS][COLUMNS])
{
    __syncthreads();
    room[threadIdx.y][threadIdx.x] = x;
    __syncthreads();
    double sum = 0;
    for (int r = 0; r < ROWS; r++)
        sum += room[r][threadIdx.x];
    return sum;
}

/* --- statistics --- */

/* partial[part][0][channel]: the mean of a part's rows, partial[part][1][channel]: Σ (x - that)². */
__global__ static void moments_of_parts(const float *__restrict__ x, float *__restrict__ partial, int rows,
                                        int channels, int rows_each)
{
    SHARED(double, room, [ROWS][COLUMNS]);
    int channel = (int)blockIdx.x * COLUMNS + (int)threadIdx.x;
    int first = (int)blockIdx.y * rows_each, end = least(first + rows_each, rows),
        mine = first + (int)threadIdx.y;
    float k = mine < end && channel < channels ? x[(size_t)mine * channels + channel] : 0, sum = 0,
          squares = 0;
    int count = 0;
    for (int r = mine; r < end && channel < channels; r += ROWS, count++) {
        float apart = x[(size_t)r * channels + channel] - k;
        sum += apart;
        squares += apart * apart;
    }
    double n = count, total = k * n + sum;
    double mean = column_sum(total, room) / (end - first);
    /* Σ (x - mean)² = Σ (x - k)² - 2 (mean - k) Σ (x - k) + n (mean - k)² */
    double shift = mean - k, own = squares - 2 * shift * sum + n * shift * shift;
    double all = column_sum(own, room);
    if (threadIdx.y == 0 && channel < channels) {
        float *part = partial + (size_t)blockIdx.y * 2 * channels + channel;
        part[0] = (float)mean;
        part[channels] = (float)fmax(all, 0.0);
    }
}

__device__ static void set_norms(const kernel_batchnorm &b, int channel, double mean, double variance)
{
    float inverse = (float)(1 / sqrt(variance + b.epsilon));
    b.norms.mean[channel] = (float)mean;
    b.norms.inverse[channel] = inverse;
    b.norms.scale[channel] = b.weight[channel] * inverse;
    b.norms.shift[channel] = b.bias[channel];
}

__device__ static void move_running(const kernel_batchnorm &b, int channel, double mean, double variance,
                                    double terms)
{
    double keep = 1 - b.momentum, m = b.running_mean[channel], v = b.running_var[channel];
    b.running_mean[channel] = (float)(keep * m + b.momentum * mean);
    b.running_var[channel] = (float)(keep * v + b.momentum * variance * terms / (terms - 1));
}

__global__ static void combine_moments(kernel_batchnorm b, int parts, int rows_each, bool ranks)
{
    SHARED(double, room, [ROWS][COLUMNS]);
    int channel = (int)blockIdx.x * COLUMNS + (int)threadIdx.x;
    bool inside = channel < b.channels;
    double sum = 0, squares = 0;
    for (int p = (int)threadIdx.y; p < parts && inside; p += ROWS)
        sum += (double)least(rows_each, b.rows - p * rows_each) *
               (double)b.partial[(size_t)p * 2 * b.channels + channel];
    double mean = column_sum(sum, room) / b.rows;
    for (int p = (int)threadIdx.y; p < parts && inside; p += ROWS) {
        const float *part = b.partial + (size_t)p * 2 * b.channels + channel;
        double apart = (double)part[0] - mean;
        squares +=
            (double)part[b.channels] + (double)least(rows_each, b.rows - p * rows_each) * apart * apart;
    }
    squares = column_sum(squares, room);
    if (threadIdx.y > 0 || !inside)
        return;
    if (ranks) {
        double apart = mean - (double)b.running_mean[channel];
        b.sums[channel] = (float)(b.rows * apart);
        b.sums[b.channels + channel] = (float)(squares + b.rows * apart * apart);
        return;
    }
    set_norms(b, channel, mean, squares / b.rows);
    move_running(b, channel, mean, squares / b.rows, b.rows);
}

__global__ static void norms_from_sums(kernel_batchnorm b, double terms)
{
    int channel = (int)thread_in_grid();
    if (channel >= b.channels)
        return;
    double apart = (double)b.sums[channel] / terms, mean = (double)b.running_mean[channel] + apart,
           squares = fmax(0.0, (double)b.sums[b.channels + channel] - terms * apart * apart);
    set_norms(b, channel, mean, squares / terms);
    move_running(b, channel, mean, squares / terms, terms);
}

__global__ static void norms_from_running(kernel_batchnorm b)
{
    int channel = (int)thread_in_grid();
    if (channel < b.channels)
        set_norms(b, channel, (double)b.running_mean[channel], (double)b.running_var[channel]);
}

extern "C" void kernel_batchnorm_moments(const struct kernel_batchnorm *b, const float *x, bool ranks,
                                         cudaStream_t stream)
{
    cut c = cut_of(b->rows);
    int tiles = ceil_div(b->channels, COLUMNS);
    LAUNCH(moments_of_parts, dim3(tiles, c.parts), dim3(COLUMNS, ROWS), 0, stream, x, b->partial, b->rows,
           b->channels, c.rows_each);
    LAUNCH(combine_moments, tiles, dim3(COLUMNS, ROWS), 0, stream, *b, c.parts, c.rows_each, ranks);
}

extern "C" void kernel_batchnorm_from_sums(const struct kernel_batchnorm *b, double terms,
                                           cudaStream_t stream)
{
    LAUNCH(norms_from_sums, ceil_div(b->channels, BLOCK), BLOCK, 0, stream, *b, terms);
}

extern "C" void kernel_batchnorm_from_running(const struct kernel_batchnorm *b, cudaStream_t stream)
{
    LAUNCH(norms_from_running, ceil_div(b->channels, BLOCK), BLOCK, 0, stream, *b);
}

/* --- passes over all elements: N channels a thread, which stays with them (see bias_relu in elementwise.cu) --- */

template <int N>
__global__ static void normalise(kernel_norms norms, const float *__restrict__ x, float *__restrict__ y,
                                 size_t packs, unsigned packs_in_row, bool relu)
{
    size_t step = threads_in_grid() / packs_in_row * packs_in_row, i = thread_in_grid();
    if (i >= step)
        return;
    unsigned channel = (unsigned)(i % packs_in_row) * N;
    pack<N> mean = load<N>(norms.mean + channel), scale = load<N>(norms.scale + channel),
            shift = load<N>(norms.shift + channel);
    for (; i < packs; i += step) {
        pack<N> v = load<N>(x + N * i);
#pragma unroll
        for (int k = 0; k < N; k++) {
            float value = (v.at[k] - mean.at[k]) * scale.at[k] + shift.at[k];
            v.at[k] = relu && value < 0 ? 0 : value;
        }
        store<N>(y + N * i, v);
    }
}

extern "C" void kernel_batchnorm_normalise(const struct kernel_batchnorm *b, const float *x, float *y,
                                           bool relu, cudaStream_t stream)
{
    size_t n = (size_t)b->rows * b->channels;
    unsigned channels = (unsigned)b->channels;
    if (channels % 4 == 0)
        LAUNCH(normalise<4>, blocks_for_rows(n / 4, channels / 4), BLOCK, 0, stream, b->norms, x, y, n / 4,
               channels / 4, relu);
    else
        LAUNCH(normalise<1>, blocks_for_rows(n, channels), BLOCK, 0, stream, b->norms, x, y, n, channels,
               relu);
}

/* What the relu lets through of dy. */
__device__ __forceinline__ static float through(float dy, float apart, float scale, float shift, bool relu)
{
    return !relu || apart * scale + shift > 0 ? dy : 0;
}

/* partial[part][0][channel]: Σ dy, partial[part][1][channel]: Σ dy (x - mean). */
__global__ static void slopes_of_parts(kernel_batchnorm b, const float *__restrict__ x,
                                       const float *__restrict__ dy, int rows_each, bool relu)
{
    SHARED(double, room, [ROWS][COLUMNS]);
    int channel = (int)blockIdx.x * COLUMNS + (int)threadIdx.x;
    int first = (int)blockIdx.y * rows_each, end = least(first + rows_each, b.rows);
    bool inside = channel < b.channels;
    float mean = inside ? b.norms.mean[channel] : 0, scale = inside ? b.norms.scale[channel] : 0,
          shift = inside ? b.norms.shift[channel] : 0, ones = 0, products = 0;
    for (int r = first + (int)threadIdx.y; r < end && inside; r += ROWS) {
        size_t i = (size_t)r * b.channels + channel;
        float apart = x[i] - mean, open = through(dy[i], apart, scale, shift, relu);
        ones += open;
        products += open * apart;
    }
    double all_ones = column_sum(ones, room), all_products = column_sum(products, room);
    if (threadIdx.y == 0 && inside) {
        float *part = b.partial + (size_t)blockIdx.y * 2 * b.channels + channel;
        part[0] = (float)all_ones;
        part[b.channels] = (float)all_products;
    }
}

__global__ static void combine_slopes(kernel_batchnorm b, int parts)
{
    SHARED(double, room, [ROWS][COLUMNS]);
    int channel = (int)blockIdx.x * COLUMNS + (int)threadIdx.x;
    bool inside = channel < b.channels;
    double ones = 0, products = 0;
    for (int p = (int)threadIdx.y; p < parts && inside; p += ROWS) {
        const float *part = b.partial + (size_t)p * 2 * b.channels + channel;
        ones += (double)part[0];
        products += (double)part[b.channels];
    }
    ones = column_sum(ones, room);
    products = column_sum(products, room);
    if (threadIdx.y == 0 && inside) {
        b.sums[channel] = (float)ones;
        b.sums[b.channels + channel] = (float)(products * (double)b.norms.inverse[channel]);
    }
}

extern "C" void kernel_batchnorm_slopes(const struct kernel_batchnorm *b, const float *x, const float *dy,
                                        bool relu, cudaStream_t stream)
{
    cut c = cut_of(b->rows);
    int tiles = ceil_div(b->channels, COLUMNS);
    LAUNCH(slopes_of_parts, dim3(tiles, c.parts), dim3(COLUMNS, ROWS), 0, stream, *b, x, dy, c.rows_each,
           relu);
    LAUNCH(combine_slopes, tiles, dim3(COLUMNS, ROWS), 0, stream, *b, c.parts);
}

template <int N>
__global__ static void spread(kernel_batchnorm b, const float *__restrict__ x, const float *__restrict__ dy,
                              float *dx, size_t packs, unsigned packs_in_row, double terms, bool relu,
                              bool add)
{
    size_t step = threads_in_grid() / packs_in_row * packs_in_row, i = thread_in_grid();
    if (i >= step)
        return;
    unsigned channel = (unsigned)(i % packs_in_row) * N;
    pack<N> mean = load<N>(b.norms.mean + channel), scale = load<N>(b.norms.scale + channel),
            shift = load<N>(b.norms.shift + channel), level, bend;
#pragma unroll
    for (int k = 0; k < N; k++) { /* dx = scale dy - level - bend (x - mean) */
        float each = scale.at[k] / (float)terms;
        level.at[k] = each * b.sums[channel + k];
        bend.at[k] = each * b.norms.inverse[channel + k] * b.sums[(unsigned)b.channels + channel + k];
    }
    for (; i < packs; i += step) {
        pack<N> v = load<N>(x + N * i), g = load<N>(dy + N * i),
                before = add ? load<N>(dx + N * i) : pack<N>{};
#pragma unroll
        for (int k = 0; k < N; k++) {
            float apart = v.at[k] - mean.at[k],
                  open = through(g.at[k], apart, scale.at[k], shift.at[k], relu);
            g.at[k] = before.at[k] + (scale.at[k] * open - level.at[k] - bend.at[k] * apart);
        }
        store<N>(dx + N * i, g);
    }
}

extern "C" void kernel_batchnorm_spread(const struct kernel_batchnorm *b, const float *x, const float *dy,
                                        float *dx, bool relu, double terms, bool add, cudaStream_t stream)
{
    size_t n = (size_t)b->rows * b->channels;
    unsigned channels = (unsigned)b->channels;
    if (channels % 4 == 0)
        LAUNCH(spread<4>, blocks_for_rows(n / 4, channels / 4), BLOCK, 0, stream, *b, x, dy, dx, n / 4,
               channels / 4, terms, relu, add);
    else
        LAUNCH(spread<1>, blocks_for_rows(n, channels), BLOCK, 0, stream, *b, x, dy, dx, n, channels, terms,
               relu, add);
}
