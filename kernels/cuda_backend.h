/*
 * cuda_backend.h - the backend table of engine/nn/backend.h on a CUDA GPU. Host code is C; kernels are reached through
 * kernels/kernels.h.
 *
 * Everything a backend asks the GPU for goes to one stream, in order; only the next batch travels on a stream of its own.
 * Whoever orders other work behind it (NCCL) records an event there. A backend belongs to the thread that opened it.
 */
#ifndef RINGSIDE_KERNELS_CUDA_BACKEND_H
#define RINGSIDE_KERNELS_CUDA_BACKEND_H

#include "engine/nn/backend.h"

#include <cuda_runtime_api.h>

/* options: of enum gpu_option (engine/nn/plugin.h). ERROR_MISSING where the device, its driver or cuBLAS cannot. Close with backend_close. */
struct backend *cuda_backend_open(int device, unsigned options, struct error *e);
cudaStream_t cuda_backend_stream(struct backend *b);

#endif
