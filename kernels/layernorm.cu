/*
 * Layernorm: a block for each row. Sums over the row go over the block's warps; the row is read again for each of them, but from
 * the cache.
 *
 * With x̂ = (x - mean) × factor and g = dy × weight: dx = (g - mean(g) - x̂ × mean(g × x̂)) × factor (J. Ba, J. Kiros and
 * G. Hinton, Layer normalization, 2016). dweight = Σ dy × x̂ and dbias = Σ dy over the rows are columns.cu's: this
 * kernel leaves dy × x̂ for it.
 */
#include "kernels/reduce.h"

/* Whole warps, about four elements a thread. */
static int threads_for(int features)
{
    int threads = ceil_div(ceil_div(features, 4), WARP) * WARP;
    return threads < BLOCK ? threads : (int)BLOCK;
}

/* Weights lie in plain order, the rows of images channels last. */
__device__ static int plain_place(int i, int channels, int points)
{
    return points == 1 ? i : i % channels * points + i / channels;
}

__global__ static void normalise(struct kernel_layernorm l, const float *x, const float *weight,
                                 const float *bias, float *y, float *means, float *factors)
{
    SHARED(float, sums, [BLOCK / WARP]);
    SHARED(float, squares, [BLOCK / WARP]);
    int features = l.channels * l.points;
    size_t row = (size_t)blockIdx.x * features;
    float sum = 0, square = 0;
    for (int i = (int)threadIdx.x; i < features; i += (int)blockDim.x)
        sum += x[row + i];
    float mean = block_sum(sum, sums) / (float)features;
    for (int i = (int)threadIdx.x; i < features; i += (int)blockDim.x)
        square += (x[row + i] - mean) * (x[row + i] - mean);
    float factor = rsqrtf(block_sum(square, squares) / (float)features + l.epsilon);
    for (int i = (int)threadIdx.x; i < features; i += (int)blockDim.x) {
        int at = plain_place(i, l.channels, l.points);
        y[row + i] = (x[row + i] - mean) * factor * weight[at] + bias[at];
    }
    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        factors[blockIdx.x] = factor;
    }
}

extern "C" void kernel_layernorm(const struct kernel_layernorm *l, const float *x, const float *weight,
                                 const float *bias, float *y, float *means, float *factors,
                                 cudaStream_t stream)
{
    LAUNCH(normalise, l->rows, threads_for(l->channels * l->points), 0, stream, *l, x, weight, bias, y, means,
           factors);
}

__global__ static void gradient(struct kernel_layernorm l, const float *x, const float *weight,
                                const float *dy, const float *means, const float *factors, float *products,
                                float *dx, bool add)
{
    SHARED(float, sums, [BLOCK / WARP]);
    SHARED(float, others, [BLOCK / WARP]);
    int features = l.channels * l.points;
    size_t row = (size_t)blockIdx.x * features;
    float mean = means[blockIdx.x], factor = factors[blockIdx.x], sum = 0, product = 0;
    for (int i = (int)threadIdx.x; i < features; i += (int)blockDim.x) {
        float straight = (x[row + i] - mean) * factor, d = dy[row + i];
        float g = d * weight[plain_place(i, l.channels, l.points)];
        products[row + i] = d * straight;
        sum += g;
        product += g * straight;
    }
    sum = block_sum(sum, sums) / (float)features;
    product = block_sum(product, others) / (float)features;
    for (int i = (int)threadIdx.x; dx && i < features; i += (int)blockDim.x) {
        float straight = (x[row + i] - mean) * factor;
        float g = dy[row + i] * weight[plain_place(i, l.channels, l.points)];
        float d = (g - sum - straight * product) * factor;
        dx[row + i] = add ? dx[row + i] + d : d;
    }
}

extern "C" void kernel_layernorm_backward(const struct kernel_layernorm *l, const float *x,
                                          const float *weight, const float *dy, const float *means,
                                          const float *factors, float *products, float *dx, bool add,
                                          cudaStream_t stream)
{
    LAUNCH(gradient, l->rows, threads_for(l->channels * l->points), 0, stream, *l, x, weight, dy, means,
           factors, products, dx, add);
}
