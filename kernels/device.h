/*
 * device.h - the GPUs that there are, their memory, and the CUDA runtime's errors as sentences.
 *
 * Every call of the runtime goes through cuda_ok. Memory of a GPU is asked for with device_memory_new: where it does not fit,
 * the sentence names the GPU, what was asked for and what, and what is left.
 */
#ifndef RINGSIDE_KERNELS_DEVICE_H
#define RINGSIDE_KERNELS_DEVICE_H

#include "engine/nn/plugin.h"

#include <cuda_runtime_api.h>

/* True where code is cudaSuccess; else fills e: "doing" ("copying a batch to the GPU") failed, why, and what to do. */
bool cuda_ok(cudaError_t code, const char *doing, struct error *e);
/* The same for the last kernel that was started, which may also be an error of one before it. */
bool cuda_launched(const char *kernel, struct error *e);

/* Memory of the present device, not cleared; what: "the parameters". NULL where it does not fit. 0 bytes: some. */
void *device_memory_new(size_t bytes, const char *what, struct error *e);
/* The same of the host, pinned, so that copies can go on beside what is computed. */
void *device_pinned_new(size_t bytes, const char *what, struct error *e);

/* As of struct gpu_plugin. device_info leaves that device chosen: going back would occupy another one, too. */
int device_count(struct error *e);
bool device_info(int device, struct gpu_device *info, struct error *e);

#endif
