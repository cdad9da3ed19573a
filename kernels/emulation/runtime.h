/* runtime.h - errors as the emulated runtime keeps them, for each thread. Private to kernels/emulation. */
#ifndef RINGSIDE_KERNELS_EMULATION_RUNTIME_H
#define RINGSIDE_KERNELS_EMULATION_RUNTIME_H

#include <cuda_runtime_api.h>

/* Keeps the error for cudaGetLastError and returns it. */
cudaError_t runtime_failed(cudaError_t error);
/* What every call returns that has nothing of its own to say: the fault of a kernel, if there was one. */
cudaError_t runtime_state(void);

#endif
