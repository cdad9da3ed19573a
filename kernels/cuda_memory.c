/* Device memory, the buffers that stages take turns with, and pinned host memory. */
#include "kernels/cuda.h"

#include <stdlib.h>

bool cuda_wait(struct cuda *cuda, const char *doing, struct error *e)
{
    return cuda_ok(cudaStreamSynchronize(cuda->stream), doing, e);
}

void *cuda_memory_new(struct cuda *cuda, size_t bytes, const char *what, struct error *e)
{
    void *memory = device_memory_new(bytes, what, e);
    if (memory &&
        !cuda_ok(cudaMemsetAsync(memory, 0, bytes > 0 ? bytes : 1, cuda->stream), "clearing memory", e)) {
        cudaFree(memory);
        return NULL;
    }
    return memory;
}

void cuda_memory_free(void *memory)
{
    if (memory)
        cudaFree(memory);
}

bool cuda_pinned_room(struct cuda_pinned *p, size_t bytes, struct error *e)
{
    if (p->bytes >= bytes)
        return true;
    cuda_pinned_free(p);
    if (!(p->data = device_pinned_new(bytes, "copies to the GPU", e)))
        return false;
    p->bytes = bytes;
    return true;
}

void cuda_pinned_free(struct cuda_pinned *p)
{
    if (p->data)
        cudaFreeHost(p->data);
    *p = (struct cuda_pinned){0};
}

struct cuda_buffer *cuda_buffer_take(struct cuda *cuda, size_t bytes, struct error *e)
{
    struct cuda_buffer *best = NULL;
    for (struct cuda_buffer *b = cuda->buffers; b; b = b->next)
        if (b->users == 0 && b->bytes >= bytes && (!best || b->bytes < best->bytes))
            best = b;
    if (!best) {
        void *data = device_memory_new(bytes, "the gradients of its layers", e);
        best = data ? calloc(1, sizeof *best) : NULL;
        if (data && !best) {
            cudaFree(data);
            error_set(e, ERROR_FAILED, "there is not enough memory for another buffer");
        }
        if (!best)
            return NULL;
        *best = (struct cuda_buffer){.data = data, .bytes = bytes, .next = cuda->buffers};
        cuda->buffers = best;
    }
    best->users++;
    return best;
}

void cuda_buffer_drop(struct cuda_buffer *buffer)
{
    if (buffer)
        buffer->users--;
}
