#include "kernels/emulation/cublas_v2.h"
#include "kernels/emulation/graph.h"
#include "kernels/emulation/machine.h"
#include "kernels/emulation/numbers.h"

#include <stdlib.h>

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t pointers;
};

/* One matrix as it is given. */
struct matrix {
    const void *data;
    cudaDataType type;
    int rows, columns, ld; /* as stored, column-major */
};

cublasStatus_t cublasCreate(cublasHandle_t *handle)
{
    *handle = calloc(1, sizeof **handle);
    return *handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

cublasStatus_t cublasDestroy(cublasHandle_t handle)
{
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version)
{
    (void)handle;
    *version = 130000;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream)
{
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes)
{
    (void)handle;
    enum memory_kind kind;
    if (bytes > 0 && (!memory_within(workspace, bytes, &kind) || kind != MEMORY_DEVICE))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    (void)mode;
    return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode)
{
    handle->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR: return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
    }
    return "unknown";
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return cublasGetStatusName(status);
}

/* --- numbers --- */

static size_t size_of(cudaDataType type)
{
    return type == CUDA_R_32F ? sizeof(float) : sizeof(uint16_t);
}

static float load(const void *data, cudaDataType type, size_t i)
{
    if (type == CUDA_R_32F)
        return ((const float *)data)[i];
    uint16_t x = ((const uint16_t *)data)[i];
    return type == CUDA_R_16BF ? number_from_bf16(x) : number_from_half(x);
}

static void store(void *data, cudaDataType type, size_t i, float value)
{
    if (type == CUDA_R_32F)
        ((float *)data)[i] = value;
    else
        ((uint16_t *)data)[i] = number_to_bf16(value);
}

/* --- products --- */

/* Whether the matrix lies wholly in one piece of the device's memory. */
static bool on_device(const struct matrix *m)
{
    enum memory_kind kind;
    size_t elements = (size_t)m->ld * (size_t)(m->columns - 1) + (size_t)m->rows;
    return memory_within(m->data, elements * size_of(m->type), &kind) && kind == MEMORY_DEVICE;
}

/* op(M) in plain column-major floats, rows × columns. As it lies in memory, column after column. */
static float *plain(const struct matrix *m, cublasOperation_t op, int rows, int columns)
{
    float *all = malloc((size_t)rows * (size_t)columns * sizeof *all);
    if (!all)
        return NULL;
    for (int j = 0; j < m->columns; j++)
        for (int i = 0; i < m->rows; i++) {
            float value = load(m->data, m->type, (size_t)j * (size_t)m->ld + (size_t)i);
            all[op == CUBLAS_OP_N ? (size_t)j * (size_t)rows + (size_t)i
                                  : (size_t)i * (size_t)rows + (size_t)j] = value;
        }
    return all;
}

static cublasStatus_t product(cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k,
                              float alpha, const struct matrix *A, const struct matrix *B, float beta,
                              const struct matrix *C)
{
    if (!on_device(A) || !on_device(B) || !on_device(C)) {
        machine_host_fault("cuBLAS is given a matrix that is not wholly in one piece of the device's memory");
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    float *a = plain(A, transa, m, k), *b = plain(B, transb, k, n);
    float *column = malloc((size_t)m * sizeof *column);
    bool ok = a && b && column;
    void *c = (void *)(uintptr_t)C->data;
    for (int j = 0; ok && j < n; j++) {
        memset(column, 0, (size_t)m * sizeof *column);
        for (int p = 0; p < k; p++) {
            const float factor = b[(size_t)j * (size_t)k + (size_t)p];
            const float *from = a + (size_t)p * (size_t)m;
            for (int i = 0; i < m; i++)
                column[i] += factor * from[i];
        }
        for (int i = 0; i < m; i++) {
            size_t at = (size_t)j * (size_t)C->ld + (size_t)i;
            float old = beta == 0.0f ? 0.0f : beta * load(c, C->type, at);
            store(c, C->type, at, alpha * column[i] + old);
        }
    }
    free(a);
    free(b);
    free(column);
    return ok ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

static const void *moved(const void *data, cudaDataType type, long long elements)
{
    return (const char *)data + elements * (long long)size_of(type);
}

/* What is asked for, so that a recorded graph can ask for it again. */
struct products {
    cublasOperation_t transa, transb;
    int m, n, k, lda, ldb, ldc, batches;
    cudaDataType type_a, type_b, type_c;
    long long stride_a, stride_b, stride_c;
    const void *a, *b;
    void *c;
    float alpha, beta;
};

static cublasStatus_t multiply_all(const struct products *p)
{
    const int rows_a = p->transa == CUBLAS_OP_N ? p->m : p->k,
              rows_b = p->transb == CUBLAS_OP_N ? p->k : p->n;
    for (int i = 0; i < p->batches; i++) {
        struct matrix a = {moved(p->a, p->type_a, i * p->stride_a), p->type_a, rows_a,
                           p->transa == CUBLAS_OP_N ? p->k : p->m, p->lda};
        struct matrix b = {moved(p->b, p->type_b, i * p->stride_b), p->type_b, rows_b,
                           p->transb == CUBLAS_OP_N ? p->n : p->k, p->ldb};
        struct matrix c = {moved(p->c, p->type_c, i * p->stride_c), p->type_c, p->m, p->n, p->ldc};
        cublasStatus_t status =
            product(p->transa, p->transb, p->m, p->n, p->k, p->alpha, &a, &b, p->beta, &c);
        if (status != CUBLAS_STATUS_SUCCESS)
            return status;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static void multiply_again(const void *data)
{
    if (!emulation_fault())
        multiply_all(data);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k, const void *alpha,
                                          const void *A, cudaDataType type_a, int lda, long long stride_a,
                                          const void *B, cudaDataType type_b, int ldb, long long stride_b,
                                          const void *beta, void *C, cudaDataType type_c, int ldc,
                                          long long stride_c, int batches, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algo)
{
    (void)compute;
    (void)algo;
    if (!handle)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    const int rows_a = transa == CUBLAS_OP_N ? m : k, rows_b = transb == CUBLAS_OP_N ? k : n;
    if (m < 0 || n < 0 || k < 0 || batches < 0 || lda < (rows_a > 1 ? rows_a : 1) ||
        ldb < (rows_b > 1 ? rows_b : 1) || ldc < (m > 1 ? m : 1))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (type_a != type_b || type_c == CUDA_R_16F || (type_c != CUDA_R_32F && type_c != type_a))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (emulation_fault())
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (m == 0 || n == 0 || k == 0)
        return k == 0 && m > 0 && n > 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    const struct products p = {.transa = transa,
                               .transb = transb,
                               .m = m,
                               .n = n,
                               .k = k,
                               .lda = lda,
                               .ldb = ldb,
                               .ldc = ldc,
                               .batches = batches,
                               .type_a = type_a,
                               .type_b = type_b,
                               .type_c = type_c,
                               .stride_a = stride_a,
                               .stride_b = stride_b,
                               .stride_c = stride_c,
                               .a = A,
                               .b = B,
                               .c = C,
                               .alpha = *(const float *)alpha,
                               .beta = *(const float *)beta};
    if (graph_records(NULL))
        return graph_take(multiply_again, &p, sizeof p, NULL, 0) ? CUBLAS_STATUS_SUCCESS
                                                                 : CUBLAS_STATUS_ALLOC_FAILED;
    return multiply_all(&p);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                            int n, int k, const void *alpha, const void *A, cudaDataType type_a, int lda,
                            const void *B, cudaDataType type_b, int ldb, const void *beta, void *C,
                            cudaDataType type_c, int ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, type_a, lda, 0, B, type_b,
                                      ldb, 0, beta, C, type_c, ldc, 0, 1, compute, algo);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k, const float *alpha,
                                         const float *A, int lda, long long stride_a, const float *B, int ldb,
                                         long long stride_b, const float *beta, float *C, int ldc,
                                         long long stride_c, int batches)
{
    return cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_32F, lda, stride_a, B,
                                      CUDA_R_32F, ldb, stride_b, beta, C, CUDA_R_32F, ldc, stride_c, batches,
                                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                           int n, int k, const float *alpha, const float *A, int lda, const float *B, int ldb,
                           const float *beta, float *C, int ldc)
{
    return cublasSgemmStridedBatched(handle, transa, transb, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C,
                                     ldc, 0, 1);
}

cublasStatus_t cublasSgemv(cublasHandle_t handle, cublasOperation_t trans, int m, int n, const float *alpha,
                           const float *A, int lda, const float *x, int incx, const float *beta, float *y,
                           int incy)
{
    /* x and y as rows: y' = alpha × x' × op(A)' + beta × y', where the increment is what lies between columns. */
    if (incx < 1 || incy < 1)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const bool plain_a = trans == CUBLAS_OP_N;
    return cublasSgemm(handle, CUBLAS_OP_N, plain_a ? CUBLAS_OP_T : CUBLAS_OP_N, 1, plain_a ? m : n,
                       plain_a ? n : m, alpha, x, incx, A, lda, beta, y, incy);
}
