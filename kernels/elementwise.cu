/*
 * Functions of each element by itself. All are bound by memory: what counts is that neighbouring threads ask for
 * neighbouring floats, four at a time, and that no array is read or written that need not be. So there is one loop over
 * the elements, and the function, a struct with a call operator, is compiled into it.
 */
#include "kernels/reduce.h"

/* out[i] = f(a[i], b[i]), added to what is there where ADD; b may be NULL. The first `fours` × 4 at four a time. */
template <bool ADD, typename F>
__global__ static void map(const float *a, const float *b, float *out, size_t n, size_t fours, F f)
{
    for (size_t i = thread_in_grid(); i < fours; i += threads_in_grid()) {
        pack<4> x = load<4>(a + 4 * i), y = b ? load<4>(b + 4 * i) : pack<4>{},
                z = ADD ? load<4>(out + 4 * i) : pack<4>{};
#pragma unroll
        for (int k = 0; k < 4; k++)
            z.at[k] = ADD ? z.at[k] + f(x.at[k], y.at[k]) : f(x.at[k], y.at[k]);
        store<4>(out + 4 * i, z);
    }
    for (size_t i = 4 * fours + thread_in_grid(); i < n; i += threads_in_grid()) {
        float z = f(a[i], b ? b[i] : 0);
        out[i] = ADD ? out[i] + z : z;
    }
}

/* What lies in the middle of the parameters may begin anywhere: then one at a time. */
template <typename F>
static void map_all(const float *a, const float *b, float *out, size_t n, bool add, F f, cudaStream_t stream)
{
    size_t fours = in_fours(a) && in_fours(b) && in_fours(out) ? n / 4 : 0;
    int blocks = blocks_for(fours > 0 ? fours : n);
    if (add)
        LAUNCH((map<true, F>), blocks, BLOCK, 0, stream, a, b, out, n, fours, f);
    else
        LAUNCH((map<false, F>), blocks, BLOCK, 0, stream, a, b, out, n, fours, f);
}

/* What is no number stays none. */
__device__ __forceinline__ static float relu(float x)
{
    return x < 0 ? 0 : x;
}

struct relu_of {
    __device__ float operator()(float x, float) const
    {
        return relu(x);
    }
};

struct sum_of {
    bool then_relu;
    __device__ float operator()(float a, float b) const
    {
        return then_relu ? relu(a + b) : a + b;
    }
};

struct same {
    __device__ float operator()(float x, float) const
    {
        return x;
    }
};

struct let_through {
    __device__ float operator()(float value, float grad) const
    {
        return value > 0 ? grad : 0;
    }
};

extern "C" void kernel_relu(const float *in, float *out, size_t n, cudaStream_t stream)
{
    map_all(in, NULL, out, n, false, relu_of{}, stream);
}

extern "C" void kernel_relu_backward(const float *value, const float *grad_out, float *grad_in, size_t n,
                                     bool add, cudaStream_t stream)
{
    map_all(value, grad_out, grad_in, n, add, let_through{}, stream);
}

extern "C" void kernel_add(const float *a, const float *b, float *out, size_t n, bool then_relu,
                           cudaStream_t stream)
{
    map_all(a, b, out, n, false, sum_of{then_relu}, stream);
}

extern "C" void kernel_copy(const float *from, float *to, size_t n, bool add, cudaStream_t stream)
{
    map_all(from, NULL, to, n, add, same{}, stream);
}

/* --- activations --- */

struct leaky_relu {
    float slope;
    __device__ float operator()(float x, float) const
    {
        return x < 0 ? slope * x : x;
    }
};

struct leaky_relu_gradient {
    float slope;
    __device__ float operator()(float value, float grad) const
    {
        return value > 0 ? grad : slope * grad;
    }
};

/* x Φ(x), exactly (D. Hendrycks and K. Gimpel, Gaussian error linear units, 2016). */
__device__ __forceinline__ static float normal(float x)
{
    return 0.5f * erfcf(-x * 0.70710678f);
}

struct gelu {
    __device__ float operator()(float x, float) const
    {
        return x * normal(x);
    }
};

/* Φ(x) + x φ(x). */
struct gelu_gradient {
    __device__ float operator()(float x, float grad) const
    {
        return grad * (normal(x) + x * 0.39894228f * expf(-0.5f * x * x));
    }
};

struct hyperbolic_tangent {
    __device__ float operator()(float x, float) const
    {
        return tanhf(x);
    }
};

struct hyperbolic_tangent_gradient {
    __device__ float operator()(float value, float grad) const
    {
        return grad * (1 - value * value);
    }
};

struct sigmoid {
    __device__ float operator()(float x, float) const
    {
        return 1 / (1 + expf(-x));
    }
};

struct sigmoid_gradient {
    __device__ float operator()(float value, float grad) const
    {
        return grad * (value * (1 - value));
    }
};

extern "C" void kernel_activation(enum kernel_function f, const float *in, float *out, size_t n, float slope,
                                  cudaStream_t stream)
{
    switch (f) {
    case KERNEL_LEAKY_RELU: map_all(in, NULL, out, n, false, leaky_relu{slope}, stream); return;
    case KERNEL_GELU: map_all(in, NULL, out, n, false, gelu{}, stream); return;
    case KERNEL_TANH: map_all(in, NULL, out, n, false, hyperbolic_tangent{}, stream); return;
    case KERNEL_SIGMOID: map_all(in, NULL, out, n, false, sigmoid{}, stream); return;
    }
}

extern "C" void kernel_activation_backward(enum kernel_function f, const float *value, const float *grad_out,
                                           float *grad_in, size_t n, float slope, bool add,
                                           cudaStream_t stream)
{
    switch (f) {
    case KERNEL_LEAKY_RELU:
        map_all(value, grad_out, grad_in, n, add, leaky_relu_gradient{slope}, stream);
        return;
    case KERNEL_GELU: map_all(value, grad_out, grad_in, n, add, gelu_gradient{}, stream); return;
    case KERNEL_TANH:
        map_all(value, grad_out, grad_in, n, add, hyperbolic_tangent_gradient{}, stream);
        return;
    case KERNEL_SIGMOID: map_all(value, grad_out, grad_in, n, add, sigmoid_gradient{}, stream); return;
    }
}

/* --- bias and relu behind a matrix product --- */

/*
 * N columns a thread. The loop goes on in whole rows, so that a thread stays with its columns: their biases are loaded once,
 * and no division is needed in the loop.
 */
template <int N>
__global__ static void bias_relu(float *__restrict__ y, const float *__restrict__ bias, size_t packs,
                                 unsigned packs_in_row, bool then_relu)
{
    size_t step = threads_in_grid() / packs_in_row * packs_in_row, i = thread_in_grid();
    if (i >= step)
        return;
    pack<N> b = {};
    unsigned column = (unsigned)(i % packs_in_row) * N;
#pragma unroll
    for (int k = 0; bias && k < N; k++)
        b.at[k] = bias[column + k]; /* one by one: in the parameters it may lie anywhere */
    for (; i < packs; i += step) {
        pack<N> v = load<N>(y + N * i);
#pragma unroll
        for (int k = 0; k < N; k++) {
            float sum = v.at[k] + b.at[k];
            v.at[k] = then_relu ? relu(sum) : sum;
        }
        store<N>(y + N * i, v);
    }
}

extern "C" void kernel_bias_relu(float *y, const float *bias, int rows, int columns, bool then_relu,
                                 cudaStream_t stream)
{
    size_t n = (size_t)rows * columns;
    if (columns % 4 == 0)
        LAUNCH(bias_relu<4>, blocks_for_rows(n / 4, (unsigned)columns / 4), BLOCK, 0, stream, y, bias, n / 4,
               (unsigned)columns / 4, then_relu);
    else
        LAUNCH(bias_relu<1>, blocks_for_rows(n, (unsigned)columns), BLOCK, 0, stream, y, bias, n,
               (unsigned)columns, then_relu);
}
