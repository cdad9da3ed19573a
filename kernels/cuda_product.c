/*
 * Matrix products by cuBLAS. It counts columns first, so that a row-major c = a b is asked for as cᵀ = bᵀ aᵀ: the same
 * memory, operands exchanged. Operands are fp32 as they are, fp32 that tensor cores read as TF32, or bf16, always summed in fp32.
 */
#include "kernels/cuda.h"
#include "kernels/cuda_blas.h"

bool cuda_ok_blas(cublasStatus_t status, const char *doing, struct error *e)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return true;
    const char *why = status == CUBLAS_STATUS_ALLOC_FAILED       ? "it is out of memory"
                      : status == CUBLAS_STATUS_INVALID_VALUE    ? "the sizes are none it takes"
                      : status == CUBLAS_STATUS_ARCH_MISMATCH    ? "this GPU cannot do that"
                      : status == CUBLAS_STATUS_NOT_SUPPORTED    ? "it does not support that"
                      : status == CUBLAS_STATUS_EXECUTION_FAILED ? "the GPU failed to run it"
                                                                 : "it failed";
    return error_set(e, ERROR_FAILED, "cuBLAS could not %s: %s (status %d)", doing, why, (int)status);
}

bool cuda_multiply(struct cuda *cuda, const struct cuda_product *p, struct error *e)
{
    const float one = 1, beta = p->add ? 1 : 0;
    cublasOperation_t op_a = p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                      op_b = p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    cudaDataType_t type = p->halves ? CUDA_R_16BF : CUDA_R_32F;
    cublasComputeType_t compute =
        !p->halves && (cuda->options & GPU_TF32) ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasStatus_t status;
    if (p->count > 1)
        status = cuda->blas->gemm_batched(cuda->blas_handle, op_b, op_a, p->columns, p->rows, p->depth, &one,
                                          p->b, type, p->ldb, (long long)p->step_b, p->a, type, p->lda,
                                          (long long)p->step_a, &beta, p->c, CUDA_R_32F, p->ldc,
                                          (long long)p->step_c, p->count, compute, CUBLAS_GEMM_DEFAULT);
    else
        status = cuda->blas->gemm(cuda->blas_handle, op_b, op_a, p->columns, p->rows, p->depth, &one, p->b,
                                  type, p->ldb, p->a, type, p->lda, &beta, p->c, CUDA_R_32F, p->ldc, compute,
                                  CUBLAS_GEMM_DEFAULT);
    return cuda_ok_blas(status, "multiply matrices", e);
}

const void *cuda_operand(struct cuda *cuda, const float *from, size_t n, struct cuda_buffer **room,
                         struct error *e)
{
    if (!(cuda->options & GPU_BF16))
        return from;
    if (!*room && !(*room = cuda_buffer_take(cuda, n * sizeof(uint16_t), e)))
        return NULL;
    kernel_round(from, (uint16_t *)(*room)->data, n, cuda->stream);
    return (*room)->data;
}

bool cuda_multiply_rounded(struct cuda *cuda, const struct cuda_product *p, struct error *e)
{
    struct cuda_buffer *a = NULL, *b = NULL;
    struct cuda_product rounded = *p;
    rounded.halves = cuda->options & GPU_BF16;
    bool ok = (rounded.a = cuda_operand(cuda, p->a, (size_t)p->rows * (size_t)p->depth, &a, e)) &&
              (rounded.b = cuda_operand(cuda, p->b, (size_t)p->depth * (size_t)p->columns, &b, e)) &&
              cuda_multiply(cuda, &rounded, e);
    cuda_buffer_drop(a);
    cuda_buffer_drop(b);
    return ok;
}
