#include "kernels/cuda_blas.h"

#include <stddef.h>

#ifdef KERNELS_EMULATED

bool cuda_blas_open(struct cuda_blas *blas, struct error *e)
{
    (void)e;
    *blas = (struct cuda_blas){.create = cublasCreate_v2,
                               .destroy = cublasDestroy_v2,
                               .set_stream = cublasSetStream_v2,
                               .set_workspace = cublasSetWorkspace_v2,
                               .gemm = cublasGemmEx,
                               .gemm_batched = cublasGemmStridedBatchedEx};
    return true;
}

#else

#include "kernels/library.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* The version that the headers at hand declare: another one may take other arguments. */
static const char library[] = "libcublas.so." TEXT(CUBLAS_VER_MAJOR);

bool cuda_blas_open(struct cuda_blas *blas, struct error *e)
{
    void *handle = library_load(library);
    if (!handle)
        return error_set(
            e, ERROR_MISSING,
            "%s of the CUDA toolkit is not found; load the CUDA module of this machine, or add the "
            "toolkit's lib64 to LD_LIBRARY_PATH",
            library);
    static const struct library_symbol symbols[] = {
        {"cublasCreate_v2", offsetof(struct cuda_blas, create)},
        {"cublasDestroy_v2", offsetof(struct cuda_blas, destroy)},
        {"cublasSetStream_v2", offsetof(struct cuda_blas, set_stream)},
        {"cublasSetWorkspace_v2", offsetof(struct cuda_blas, set_workspace)},
        {"cublasGemmEx", offsetof(struct cuda_blas, gemm)},
        {"cublasGemmStridedBatchedEx", offsetof(struct cuda_blas, gemm_batched)},
        {NULL, 0},
    };
    return library_find(handle, library, symbols, blas, e);
}

#endif
