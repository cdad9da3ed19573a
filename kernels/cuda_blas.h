/*
 * cuda_blas.h - the few functions of cuBLAS that products need, looked up when the first backend opens. Private to
 * kernels/cuda_*.c.
 *
 * The library is loaded, not linked: the plugin opens on machines that have none, and says what is missing only when
 * somebody wants to compute. In the emulation they are the stand-ins of kernels/emulation/.
 */
#ifndef RINGSIDE_KERNELS_CUDA_BLAS_H
#define RINGSIDE_KERNELS_CUDA_BLAS_H

#include "engine/base/error.h"

#include <cublas_v2.h>

struct cuda_blas {
    __typeof__(&cublasCreate_v2) create;
    __typeof__(&cublasDestroy_v2) destroy;
    __typeof__(&cublasSetStream_v2) set_stream;
    __typeof__(&cublasSetWorkspace_v2) set_workspace;
    __typeof__(&cublasGemmEx) gemm;
    __typeof__(&cublasGemmStridedBatchedEx) gemm_batched;
};

/* ERROR_MISSING where cuBLAS cannot be loaded. The library stays loaded: closing it would not unload it for certain. */
bool cuda_blas_open(struct cuda_blas *blas, struct error *e);

#endif
