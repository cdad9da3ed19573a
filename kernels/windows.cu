/*
 * Convolutions as matrix products (K. Chellapilla, S. Puri and P. Simard, High performance convolutional neural networks for
 * document processing, 2006): what a filter sees at one place of the image is copied to a row, a patch, and all rows
 * times all filters is one product. The way back adds up, for each place of the image, the patches that it is in: gathered, so
 * that no two threads write to one place and the order of the sum is fixed.
 *
 * With channels last a patch is made of runs of neighbouring channels, so a warp reads and writes whole lines. Rows are
 * filled up with zeros to a multiple of 8 numbers: tensor cores take operands of 16 bytes.
 */
#include "kernels/reduce.h"

/* Where a number of a patch comes from. */
struct tap {
    int y, x, channel; /* in the window; of the whole image */
    bool inside;       /* not one of the zeros that fill up the row */
};

__device__ static tap tap_of(const kernel_windows &w, int column)
{
    int each = w.channels / w.groups, group = column / w.depth, k = column % w.depth, place = k / each;
    return {place / w.kernel[1] * w.dilation[0], place % w.kernel[1] * w.dilation[1], group * each + k % each,
            place < w.kernel[0] * w.kernel[1]};
}

template <int N> __device__ __forceinline__ void store_as(float *to, const pack<N> &value)
{
    store<N>(to, value);
}

/* N numbers of 16 bits, stored at once. */
template <int N> struct alignas(2 * N) half_pack {
    uint16_t at[N];
};

template <int N> __device__ __forceinline__ void store_as(uint16_t *to, const pack<N> &value)
{
    half_pack<N> halves;
#pragma unroll
    for (int k = 0; k < N; k++)
        halves.at[k] = to_bf16(value.at[k]);
    *reinterpret_cast<half_pack<N> *>(to) = halves;
}

/* N channels a thread, which stays with its column of the patches: see bias_relu in elementwise.cu. */
template <int N, typename OUT>
__global__ static void patches_of(const float *__restrict__ in, OUT *__restrict__ patches, kernel_windows w,
                                  unsigned rows, unsigned packs_in_row)
{
    size_t step = threads_in_grid() / packs_in_row, i = thread_in_grid();
    unsigned places = (unsigned)(w.out_height * w.out_width), column = (unsigned)(i % packs_in_row) * N;
    tap t = tap_of(w, (int)column);
    if (i >= step * packs_in_row)
        return;
    for (unsigned row = (unsigned)(i / packs_in_row); row < rows; row += (unsigned)step) {
        unsigned image = row / places, place = row % places;
        int y = (int)(place / (unsigned)w.out_width) * w.stride[0] - w.padding[0] + t.y,
            x = (int)(place % (unsigned)w.out_width) * w.stride[1] - w.padding[1] + t.x;
        pack<N> value = {};
        if (t.inside && y >= 0 && y < w.height && x >= 0 && x < w.width)
            value = load<N>(in + (((size_t)image * w.height + y) * w.width + x) * w.channels + t.channel);
        store_as<N>(patches + ((size_t)row * packs_in_row) * N + column, value);
    }
}

template <int N, typename OUT>
static void patches_launch(const float *in, OUT *patches, const kernel_windows *w, int images,
                           cudaStream_t stream)
{
    unsigned rows = (unsigned)(images * w->out_height * w->out_width),
             packs = (unsigned)(w->groups * w->depth / N);
    size_t threads = (size_t)rows * packs;
    int blocks = blocks_for(threads), least = (int)((packs + BLOCK - 1) / BLOCK); /* at least a whole row */
    LAUNCH((patches_of<N, OUT>), blocks > least ? blocks : least, BLOCK, 0, stream, in, patches, *w, rows,
           packs);
}

extern "C" void kernel_patches(const float *in, void *patches, const struct kernel_windows *w, int images,
                               bool halves, cudaStream_t stream)
{
    bool fours = w->channels / w->groups % 4 == 0;
    if (fours && halves)
        patches_launch<4>(in, (uint16_t *)patches, w, images, stream);
    else if (fours)
        patches_launch<4>(in, (float *)patches, w, images, stream);
    else if (halves)
        patches_launch<1>(in, (uint16_t *)patches, w, images, stream);
    else
        patches_launch<1>(in, (float *)patches, w, images, stream);
}

/* Along one axis: the window at which `at` is its tap k, or -1. */
__device__ __forceinline__ static int window_of(int at, int k, int stride, int padding, int dilation,
                                                int windows)
{
    int from = at + padding - k * dilation;
    if (from < 0 || from % stride)
        return -1;
    return from / stride < windows ? from / stride : -1;
}

template <int N>
__global__ static void gather(const float *__restrict__ patches, float *__restrict__ in, kernel_windows w,
                              unsigned packs, bool add)
{
    unsigned packs_each = (unsigned)w.channels / N, each = (unsigned)(w.channels / w.groups);
    for (unsigned i = (unsigned)thread_in_grid(); i < packs; i += (unsigned)threads_in_grid()) {
        unsigned channel = i % packs_each * N, place = i / packs_each, group = channel / each;
        int x = (int)(place % (unsigned)w.width), y = (int)(place / (unsigned)w.width % (unsigned)w.height);
        size_t image = place / ((unsigned)w.width * (unsigned)w.height);
        const float *from = patches + (size_t)group * w.depth + channel % each;
        pack<N> sum = {};
        for (int ky = 0; ky < w.kernel[0]; ky++) {
            int oy = window_of(y, ky, w.stride[0], w.padding[0], w.dilation[0], w.out_height);
            for (int kx = 0; oy >= 0 && kx < w.kernel[1]; kx++) {
                int ox = window_of(x, kx, w.stride[1], w.padding[1], w.dilation[1], w.out_width);
                if (ox < 0)
                    continue;
                size_t row = (image * w.out_height + oy) * w.out_width + ox;
                pack<N> part =
                    load<N>(from + row * w.groups * w.depth + (size_t)(ky * w.kernel[1] + kx) * each);
#pragma unroll
                for (int k = 0; k < N; k++)
                    sum.at[k] += part.at[k];
            }
        }
        float *to = in + (size_t)i * N;
        if (add) {
            pack<N> before = load<N>(to);
#pragma unroll
            for (int k = 0; k < N; k++)
                sum.at[k] += before.at[k];
        }
        store<N>(to, sum);
    }
}

extern "C" void kernel_from_patches(const float *patches, float *in, const struct kernel_windows *w,
                                    int images, bool add, cudaStream_t stream)
{
    unsigned n = (unsigned)images * (unsigned)w->height * (unsigned)w->width * (unsigned)w->channels;
    if (w->channels / w->groups % 4 == 0)
        LAUNCH(gather<4>, blocks_for(n / 4), BLOCK, 0, stream, patches, in, *w, n / 4, add);
    else
        LAUNCH(gather<1>, blocks_for(n), BLOCK, 0, stream, patches, in, *w, n, add);
}

/* --- weights: small, so one number a thread --- */

/* Where packed number k of a filter lies in the plain order. */
__device__ __forceinline__ static int plain_place(const kernel_windows &w, int k)
{
    int each = w.channels / w.groups, area = w.kernel[0] * w.kernel[1];
    return k % each * area + k / each;
}

template <typename OUT>
__global__ static void pack_all(const float *__restrict__ weights, OUT *__restrict__ packed, kernel_windows w,
                                unsigned n)
{
    int used = w.channels / w.groups * w.kernel[0] * w.kernel[1];
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        int filter = (int)(i / (unsigned)w.depth), k = (int)(i % (unsigned)w.depth);
        pack<1> value = {{k < used ? weights[(size_t)filter * used + plain_place(w, k)] : 0}};
        store_as<1>(packed + i, value);
    }
}

extern "C" void kernel_pack_weights(const float *weights, void *packed, const struct kernel_windows *w,
                                    int out_channels, bool halves, cudaStream_t stream)
{
    unsigned n = (unsigned)out_channels * (unsigned)w->depth;
    if (halves)
        LAUNCH(pack_all<uint16_t>, blocks_for(n), BLOCK, 0, stream, weights, (uint16_t *)packed, *w, n);
    else
        LAUNCH(pack_all<float>, blocks_for(n), BLOCK, 0, stream, weights, (float *)packed, *w, n);
}

__global__ static void unpack_all(const float *__restrict__ packed, float *__restrict__ weights,
                                  kernel_windows w, unsigned n)
{
    int used = w.channels / w.groups * w.kernel[0] * w.kernel[1];
    for (unsigned i = (unsigned)thread_in_grid(); i < n; i += (unsigned)threads_in_grid()) {
        int filter = (int)(i / (unsigned)used), k = (int)(i % (unsigned)used);
        weights[(size_t)filter * used + plain_place(w, k)] = packed[(size_t)filter * w.depth + k];
    }
}

extern "C" void kernel_unpack_weights(const float *packed, float *weights, const struct kernel_windows *w,
                                      int out_channels, cudaStream_t stream)
{
    unsigned n = (unsigned)(out_channels * (w->channels / w->groups) * w->kernel[0] * w->kernel[1]);
    LAUNCH(unpack_all, blocks_for(n), BLOCK, 0, stream, packed, weights, *w, n);
}
