/*
 * allreduce_gpu.h - the buffers of a measured allreduce in the memory of GPUs, where NCCL sums them.
 */
#ifndef RINGSIDE_RANK_ALLREDUCE_GPU_H
#define RINGSIDE_RANK_ALLREDUCE_GPU_H

#include "engine/train/device.h"

struct allreduce_gpu {
    struct device device;
    struct backend *backend;
    float *from, *to; /* what is summed, and where the sum goes where it is out of place */
};

/* Whether that list of algorithms, with commas between, has nccl. */
bool allreduce_gpu_wanted(const char *algos);
/* ERROR_MISSING, ERROR_INPUT: there is not a GPU for each rank. Collective. allreduce_gpu_close is fine after it failed. */
bool allreduce_gpu_open(struct allreduce_gpu *g, struct comm *comm, struct error *e);
void allreduce_gpu_close(struct allreduce_gpu *g, struct comm *comm);

/* Buffers of so many bytes; those before are dropped. out: also one for a sum out of place. */
bool allreduce_gpu_room(struct allreduce_gpu *g, size_t bytes, bool out, struct error *e);
/* From the host's buffer and back; the host's are as long as whole floats. */
bool allreduce_gpu_put(struct allreduce_gpu *g, const void *host, size_t bytes, struct error *e);
bool allreduce_gpu_get(struct allreduce_gpu *g, bool inplace, void *host, size_t bytes, struct error *e);
/* So many sums one after the other, and the end of the last. Collective. */
bool allreduce_gpu_sum(struct allreduce_gpu *g, struct comm *comm, const struct element *type, size_t n,
                       bool inplace, int times, struct error *e);

#endif
