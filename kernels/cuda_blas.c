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

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* The version that the headers at hand declare: another one may take other arguments. */
static const char library[] = "libcublas.so." TEXT(CUBLAS_VER_MAJOR);

/* Where the loader looks, then where toolkits are installed. */
static void *load(void)
{
    const char *home = getenv("CUDA_HOME");
    const char *const folders[] = {home ? home : "/usr/local/cuda", "/usr/local/cuda", "/opt/cuda"};
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; !handle && i < sizeof folders / sizeof *folders; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/lib64/%s", folders[i], library);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return handle;
}

bool cuda_blas_open(struct cuda_blas *blas, struct error *e)
{
    void *handle = load();
    if (!handle)
        return error_set(
            e, ERROR_MISSING,
            "%s of the CUDA toolkit is not found; load the CUDA module of this machine, or add the "
            "toolkit's lib64 to LD_LIBRARY_PATH",
            library);
    const struct {
        const char *name;
        size_t at;
    } symbols[] = {
        {"cublasCreate_v2", offsetof(struct cuda_blas, create)},
        {"cublasDestroy_v2", offsetof(struct cuda_blas, destroy)},
        {"cublasSetStream_v2", offsetof(struct cuda_blas, set_stream)},
        {"cublasSetWorkspace_v2", offsetof(struct cuda_blas, set_workspace)},
        {"cublasGemmEx", offsetof(struct cuda_blas, gemm)},
        {"cublasGemmStridedBatchedEx", offsetof(struct cuda_blas, gemm_batched)},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *function = dlsym(handle, symbols[i].name);
        if (!function)
            return error_set(e, ERROR_MISSING, "%s has no %s; install the CUDA toolkit %s was built with",
                             library, symbols[i].name, "that ringside");
        memcpy((char *)blas + symbols[i].at, &function, sizeof function);
    }
    return true;
}

#endif
