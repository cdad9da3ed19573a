/* Copies between host and device, and within it; filling its memory. At once, or in a recorded graph. */
#include "kernels/emulation/graph.h"
#include "kernels/emulation/machine.h"
#include "kernels/emulation/runtime.h"

#include <string.h>

/* Whether all these bytes are the device's (or none of them are). */
static bool on_device(const void *memory, size_t bytes, bool device)
{
    enum memory_kind kind;
    if (memory_within(memory, bytes, &kind))
        return (kind == MEMORY_DEVICE) == device;
    return !device && !memory_within(memory, 1, &kind);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t before = runtime_state();
    if (before != cudaSuccess)
        return before;
    if (bytes == 0)
        return cudaSuccess;
    bool into = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool out_of = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (kind != cudaMemcpyDefault && (!on_device(to, bytes, into) || !on_device(from, bytes, out_of)))
        return runtime_failed(cudaErrorInvalidValue);
    memmove(to, from, bytes);
    return cudaSuccess;
}

/* A copy in a recorded graph. */
struct copy {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
};

static void copy_again(const void *data)
{
    const struct copy *c = data;
    cudaMemcpy(c->to, c->from, c->bytes, c->kind);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    const struct copy copy = {to, from, bytes, kind};
    if (graph_records(stream) && stream)
        return graph_take(copy_again, &copy, sizeof copy, NULL, 0)
                   ? cudaSuccess
                   : runtime_failed(cudaErrorMemoryAllocation);
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (width > to_pitch || width > from_pitch)
        return runtime_failed(cudaErrorInvalidValue);
    for (size_t i = 0; i < height; i++) {
        cudaError_t error = cudaMemcpyAsync((char *)to + i * to_pitch, (const char *)from + i * from_pitch,
                                            width, kind, stream);
        if (error != cudaSuccess)
            return error;
    }
    return cudaSuccess;
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    cudaError_t before = runtime_state();
    if (before != cudaSuccess)
        return before;
    if (bytes == 0)
        return cudaSuccess;
    if (!on_device(memory, bytes, true))
        return runtime_failed(cudaErrorInvalidValue);
    memset(memory, value, bytes);
    return cudaSuccess;
}

/* To 0 or another value, in a recorded graph. */
struct fill {
    void *memory;
    int value;
    size_t bytes;
};

static void fill_again(const void *data)
{
    const struct fill *f = data;
    cudaMemset(f->memory, f->value, f->bytes);
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
    const struct fill fill = {memory, value, bytes};
    if (graph_records(stream) && stream)
        return graph_take(fill_again, &fill, sizeof fill, NULL, 0)
                   ? cudaSuccess
                   : runtime_failed(cudaErrorMemoryAllocation);
    return cudaMemset(memory, value, bytes);
}
