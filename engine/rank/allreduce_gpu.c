#include "engine/rank/allreduce_gpu.h"

#include <string.h>

bool allreduce_gpu_wanted(const char *algos)
{
    for (const char *p = algos; *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");
        if (n == 4 && strncmp(p, "nccl", n) == 0)
            return true;
        p += n;
    }
    return false;
}

bool allreduce_gpu_open(struct allreduce_gpu *g, struct comm *comm, struct error *e)
{
    *g = (struct allreduce_gpu){0};
    return device_choose(&g->device, "cuda", comm, e) && device_may_connect(&g->device, e) &&
           (g->backend = device_open(&g->device, "fp32", 1, e)) &&
           device_connect(&g->device, comm, g->backend, e);
}

static void drop_room(struct allreduce_gpu *g)
{
    float **buffers[] = {&g->from, &g->to};
    for (int i = 0; i < 2; i++) {
        if (*buffers[i])
            g->backend->ops->memory_free(g->backend, *buffers[i]);
        *buffers[i] = NULL;
    }
}

void allreduce_gpu_close(struct allreduce_gpu *g, struct comm *comm)
{
    drop_room(g);
    device_disconnect(&g->device, comm);
    backend_close(g->backend);
    *g = (struct allreduce_gpu){0};
}

static size_t floats(size_t bytes)
{
    return (bytes + sizeof(float) - 1) / sizeof(float);
}

bool allreduce_gpu_room(struct allreduce_gpu *g, size_t bytes, bool out, struct error *e)
{
    const struct backend_ops *ops = g->backend->ops;
    drop_room(g);
    return (g->from = ops->memory_new(g->backend, floats(bytes), e)) &&
           (!out || (g->to = ops->memory_new(g->backend, floats(bytes), e)));
}

bool allreduce_gpu_put(struct allreduce_gpu *g, const void *host, size_t bytes, struct error *e)
{
    return g->backend->ops->copy_in(g->backend, g->from, host, floats(bytes), e);
}

bool allreduce_gpu_get(struct allreduce_gpu *g, bool inplace, void *host, size_t bytes, struct error *e)
{
    return g->backend->ops->copy_out(g->backend, host, inplace ? g->from : g->to, floats(bytes), e);
}

bool allreduce_gpu_sum(struct allreduce_gpu *g, struct comm *comm, const struct element *type, size_t n,
                       bool inplace, int times, struct error *e)
{
    for (int i = 0; i < times; i++)
        if (!comm_device_sum(comm, type, g->from, inplace ? g->from : g->to, n, e))
            return false;
    return comm_device_wait(comm, e);
}
