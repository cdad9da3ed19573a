/*
 * Pools over images that lie channels last: a thread an output forward, a thread an input backward, so that neighbouring threads
 * have neighbouring channels and nobody writes where another does. maxpool remembers where each maximum was: backward
 * then asks of each window around a place only whether it was there.
 */
#include "kernels/reduce.h"

/* A place of an image batch, from its number. */
struct spot {
    int channel, x, y;
    size_t image;
};

__device__ __forceinline__ static spot spot_of(unsigned i, int channels, int width, int height)
{
    unsigned place = i / (unsigned)channels, row = place / (unsigned)width;
    return {(int)(i % (unsigned)channels), (int)(place % (unsigned)width), (int)(row % (unsigned)height),
            row / (unsigned)height};
}

__device__ __forceinline__ static size_t place_at(const spot &s, int y, int x, int height, int width,
                                                  int channels)
{
    return ((s.image * height + y) * width + x) * channels + s.channel;
}

/* The part of an output's window that lies on the image, along one axis: from `first` to below `end`. */
struct span {
    int first, end;
};

__device__ __forceinline__ static span window_span(int out, int kernel, int stride, int padding, int size)
{
    int first = out * stride - padding, end = first + kernel;
    return {first > 0 ? first : 0, end < size ? end : size};
}

/* The outputs whose windows a place of the input is in, along one axis. */
__device__ __forceinline__ static span windows_around(int at, int kernel, int stride, int padding, int outs)
{
    int most = at + padding, least = most - kernel + 1;
    int first = least > 0 ? (least + stride - 1) / stride : 0, end = most / stride + 1;
    return {first, end < outs ? end : outs};
}

static unsigned outputs_of(const kernel_windows *w, int images)
{
    return (unsigned)images * (unsigned)w->out_height * (unsigned)w->out_width * (unsigned)w->channels;
}

static unsigned inputs_of(const kernel_windows *w, int images)
{
    return (unsigned)images * (unsigned)w->height * (unsigned)w->width * (unsigned)w->channels;
}

/* bias: added to the maximum, which is the same as to each. */
__global__ static void maxpool(const float *__restrict__ in, const float *__restrict__ bias,
                               float *__restrict__ out, int32_t *__restrict__ which, kernel_windows w,
                               unsigned n, bool relu)
{
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        spot s = spot_of(i, w.channels, w.out_width, w.out_height);
        span ys = window_span(s.y, w.kernel[0], w.stride[0], w.padding[0], w.height),
             xs = window_span(s.x, w.kernel[1], w.stride[1], w.padding[1], w.width);
        float best = -INFINITY;
        int at = ys.first * w.width + xs.first;
        for (int y = ys.first; y < ys.end; y++)
            for (int x = xs.first; x < xs.end; x++) {
                float value = in[place_at(s, y, x, w.height, w.width, w.channels)];
                if (value > best) {
                    best = value;
                    at = y * w.width + x;
                }
            }
        if (bias)
            best += bias[s.channel];
        bool open = !relu || best > 0;
        out[i] = open ? best : 0;
        which[i] = open ? at : -1;
    }
}

extern "C" void kernel_maxpool(const float *in, float *out, int32_t *which, const struct kernel_windows *w,
                               int images, bool relu, cudaStream_t stream)
{
    unsigned n = outputs_of(w, images);
    LAUNCH(maxpool, blocks_for(n), BLOCK, 0, stream, in, (const float *)nullptr, out, which, *w, n, relu);
}

extern "C" void kernel_bias_maxpool(const float *in, const float *bias, float *out, int32_t *which,
                                    const struct kernel_windows *w, int images, cudaStream_t stream)
{
    unsigned n = outputs_of(w, images);
    LAUNCH(maxpool, blocks_for(n), BLOCK, 0, stream, in, bias, out, which, *w, n, true);
}

__global__ static void maxpool_backward(const float *__restrict__ grad_out, const int32_t *__restrict__ which,
                                        float *__restrict__ grad_in, kernel_windows w, unsigned n, bool add)
{
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        spot s = spot_of(i, w.channels, w.width, w.height);
        span ys = windows_around(s.y, w.kernel[0], w.stride[0], w.padding[0], w.out_height),
             xs = windows_around(s.x, w.kernel[1], w.stride[1], w.padding[1], w.out_width);
        int here = s.y * w.width + s.x;
        float sum = 0;
        for (int y = ys.first; y < ys.end; y++)
            for (int x = xs.first; x < xs.end; x++) {
                size_t at = place_at(s, y, x, w.out_height, w.out_width, w.channels);
                if (which[at] == here)
                    sum += grad_out[at];
            }
        grad_in[i] = add ? grad_in[i] + sum : sum;
    }
}

extern "C" void kernel_maxpool_backward(const float *grad_out, const int32_t *which, float *grad_in,
                                        const struct kernel_windows *w, int images, bool add,
                                        cudaStream_t stream)
{
    unsigned n = inputs_of(w, images);
    LAUNCH(maxpool_backward, blocks_for(n), BLOCK, 0, stream, grad_out, which, grad_in, *w, n, add);
}

/* --- averages --- */

__global__ static void avgpool(const float *__restrict__ in, float *__restrict__ out, kernel_windows w,
                               unsigned n)
{
    float share = 1 / (float)(w.kernel[0] * w.kernel[1]);
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        spot s = spot_of(i, w.channels, w.out_width, w.out_height);
        span ys = window_span(s.y, w.kernel[0], w.stride[0], w.padding[0], w.height),
             xs = window_span(s.x, w.kernel[1], w.stride[1], w.padding[1], w.width);
        float sum = 0;
        for (int y = ys.first; y < ys.end; y++)
            for (int x = xs.first; x < xs.end; x++)
                sum += in[place_at(s, y, x, w.height, w.width, w.channels)];
        out[i] = sum * share;
    }
}

__global__ static void avgpool_backward(const float *__restrict__ grad_out, float *__restrict__ grad_in,
                                        kernel_windows w, unsigned n, bool add)
{
    float share = 1 / (float)(w.kernel[0] * w.kernel[1]);
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        spot s = spot_of(i, w.channels, w.width, w.height);
        span ys = windows_around(s.y, w.kernel[0], w.stride[0], w.padding[0], w.out_height),
             xs = windows_around(s.x, w.kernel[1], w.stride[1], w.padding[1], w.out_width);
        float sum = 0;
        for (int y = ys.first; y < ys.end; y++)
            for (int x = xs.first; x < xs.end; x++)
                sum += grad_out[place_at(s, y, x, w.out_height, w.out_width, w.channels)];
        grad_in[i] = add ? grad_in[i] + sum * share : sum * share;
    }
}

extern "C" void kernel_avgpool(const float *in, float *out, const struct kernel_windows *w, int images,
                               cudaStream_t stream)
{
    unsigned n = outputs_of(w, images);
    LAUNCH(avgpool, blocks_for(n), BLOCK, 0, stream, in, out, *w, n);
}

extern "C" void kernel_avgpool_backward(const float *grad_out, float *grad_in, const struct kernel_windows *w,
                                        int images, bool add, cudaStream_t stream)
{
    unsigned n = inputs_of(w, images);
    LAUNCH(avgpool_backward, blocks_for(n), BLOCK, 0, stream, grad_out, grad_in, *w, n, add);
}

/* A block takes 32 channels of an image; eight warps share its places out among them. */
enum { CHANNELS = 32, SHARES = 8 };

__global__ static void image_means(const float *__restrict__ in, float *__restrict__ out, int points,
                                   int channels)
{
    SHARED(float, sums, [SHARES][CHANNELS]);
    int channel = (int)blockIdx.x * CHANNELS + (int)threadIdx.x;
    const float *image = in + (size_t)blockIdx.y * points * channels;
    float sum = 0;
    for (int p = (int)threadIdx.y; p < points && channel < channels; p += SHARES)
        sum += image[(size_t)p * channels + channel];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && channel < channels) {
        for (int k = 1; k < SHARES; k++)
            sum += sums[k][threadIdx.x];
        out[(size_t)blockIdx.y * channels + channel] = sum / (float)points;
    }
}

__global__ static void spread_means(const float *__restrict__ grad_out, float *__restrict__ grad_in,
                                    unsigned n, unsigned points, unsigned channels, bool add)
{
    float share = 1 / (float)points;
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        float part = grad_out[i / (points * channels) * channels + i % channels] * share;
        grad_in[i] = add ? grad_in[i] + part : part;
    }
}

extern "C" void kernel_global_avgpool(const float *in, float *out, int images, int points, int channels,
                                      cudaStream_t stream)
{
    const int most = 65535; /* that far a grid's second extent goes */
    for (int first = 0; first < images; first += most)
        LAUNCH(image_means, dim3(ceil_div(channels, CHANNELS), images - first < most ? images - first : most),
               dim3(CHANNELS, SHARES), 0, stream, in + (size_t)first * points * channels,
               out + (size_t)first * channels, points, channels);
}

extern "C" void kernel_global_avgpool_backward(const float *grad_out, float *grad_in, int images, int points,
                                               int channels, bool add, cudaStream_t stream)
{
    unsigned n = (unsigned)images * (unsigned)points * (unsigned)channels;
    LAUNCH(spread_means, blocks_for(n), BLOCK, 0, stream, grad_out, grad_in, n, (unsigned)points,
           (unsigned)channels, add);
}
