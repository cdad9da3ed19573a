/* The emulation finds the faults that are planted in kernels, says where they are, and leaves right ones alone. */
#include "kernels/emulation/emulation.h"
#include "kernels/emulation/numbers.h"
#include "tests/unit/kernels/planted.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 1000, SEEDS = 20 };

static float *device_floats(int n)
{
    void *memory = NULL;
    assert_int_equal(cudaMalloc(&memory, (size_t)n * sizeof(float)), cudaSuccess);
    return memory;
}

static float *device_copy(const float *from, int n)
{
    float *to = device_floats(n);
    assert_int_equal(cudaMemcpy(to, from, (size_t)n * sizeof(float), cudaMemcpyHostToDevice), cudaSuccess);
    return to;
}

static void fetch(float *to, const float *from, int n)
{
    assert_int_equal(cudaMemcpy(to, from, (size_t)n * sizeof(float), cudaMemcpyDeviceToHost), cudaSuccess);
}

/* The last launch went wrong, and these words say so. */
static void expect_fault(const char *kernel, const char *words, const char *more)
{
    assert_int_equal(cudaGetLastError(), cudaErrorLaunchFailure);
    const char *fault = emulation_fault();
    assert_non_null(fault);
    if (!strstr(fault, kernel) || !strstr(fault, words) || !strstr(fault, more))
        fail_msg("\"%s\" names not \"%s\", \"%s\" and \"%s\"", fault, kernel, words, more);
    assert_string_equal(cudaGetErrorString(cudaErrorLaunchFailure), fault);
    void *memory = NULL;
    assert_int_equal(cudaMalloc(&memory, 4),
                     cudaErrorLaunchFailure); /* as on a device, nothing works any more */
    emulation_clear();
    cudaGetLastError();
}

static void expect_right(void)
{
    if (emulation_fault())
        fail_msg("%s", emulation_fault());
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

static void test_barriers(void **state)
{
    (void)state;
    float in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = (float)(i % 7);
    float *a = device_copy(in, N), *b = device_floats(N);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        emulation_seed(seed);
        planted_block_sum(false, a, b, N);
        expect_right();
        fetch(out, b, N);
        for (int i = 0; i < N; i++) {
            float sum = 0.0f;
            for (int k = i / 96 * 96; k < N && k < i / 96 * 96 + 96; k++)
                sum += in[k];
            assert_true(out[i] == sum);
        }
        if (emulation_checks_accesses()) {
            planted_block_sum(true, a, b, N);
            expect_fault("block_sum<true>", "where thread", "with no barrier between them");
        } else { /* some thread reads what is not there yet */
            planted_block_sum(true, a, b, N);
            fetch(out, b, N);
            int nans = 0;
            for (int i = 0; i < N; i++)
                nans += isnan(out[i]) != 0;
            assert_true(nans > 0);
        }
        planted_leave_early(false, b, N);
        expect_right();
        planted_leave_early(true, b, N);
        expect_fault("leave_early<true>", "has left the kernel", "waits in __syncthreads at");
        planted_two_barriers(b, N);
        expect_fault("two_barriers", "waits in __syncthreads at", ", but thread");
        planted_half_shuffle(b);
        expect_fault("half_shuffle", "__shfl_xor_sync", "waits in __syncthreads at");
    }
    cudaFree(a);
    cudaFree(b);
}

static void test_unwritten_memory(void **state)
{
    (void)state;
    float out[64];
    float *b = device_floats(64);
    fetch(out, b, 64);
    for (int i = 0; i < 64; i++)
        assert_true(isnan(out[i])); /* what nobody has written */
    planted_unwritten(b);
    expect_right();
    fetch(out, b, 64);
    for (int i = 0; i < 64; i++)
        assert_true(i < 32 ? out[i] == 2.0f : isnan(out[i]));
    planted_unwritten(b); /* another block finds nothing of the last one */
    fetch(out, b, 64);
    assert_true(isnan(out[40]));
    cudaFree(b);
}

static void test_bounds(void **state)
{
    (void)state;
    float out[N], host[96];
    float *b = device_floats(N);
    planted_fill(false, b, N);
    expect_right();
    fetch(out, b, N);
    for (int i = 0; i < N; i++)
        assert_true(out[i] == 2.0f);
    if (emulation_checks_accesses()) { /* else AddressSanitizer ends the process */
        planted_fill(true, b, N);
        expect_fault("fill<true>, block (10, 0, 0)", "writes 4 bytes at", "beyond the end of what is there");
        planted_over_shared(b, N);
        expect_fault("over_shared", "thread 95 writes", "beyond the end of what is there");
        planted_fill(false, host, 96); /* a pointer to the host's memory */
        expect_fault("fill<false>", "writes 4 bytes at", "no memory of the device");
        float *gone = device_floats(96);
        cudaFree(gone);
        planted_fill(false, gone, 96);
        expect_fault("fill<false>", "writes 4 bytes at", "beyond the end of what is there");
    }
    /* Copies are held to the same. */
    assert_int_equal(cudaMemcpy(b, out, (N + 1) * sizeof(float), cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpy(out, host, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpy(out, b, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    assert_int_equal(cudaMemset(out, 0, 4), cudaErrorInvalidValue);
    assert_int_equal(cudaFree(out), cudaErrorInvalidValue);
    cudaGetLastError();
    cudaFree(b);
}

static void test_races(void **state)
{
    (void)state;
    float in[32], out[32];
    for (int i = 0; i < 32; i++)
        in[i] = (float)i;
    float zero = 0.0f, *sum = device_copy(&zero, 1), *a = device_copy(in, 32), *b = device_floats(32);
    planted_count(false, sum, N);
    expect_right();
    fetch(&zero, sum, 1);
    assert_true(zero == (float)N);
    planted_pass_on(false, a, b);
    expect_right();
    fetch(out, b, 32);
    for (int i = 0; i < 32; i++)
        assert_true(out[i] == (float)((i + 1) % 32));
    if (emulation_checks_accesses()) { /* found whatever the order: one after another, all additions would count */
        planted_count(true, sum, N);
        expect_fault("count<true>", "with no barrier between them", "where");
        planted_pass_on(true, a, b);
        expect_fault("pass_on<true>", "with no barrier between them", "thread");
    }
    cudaFree(sum);
    cudaFree(a);
    cudaFree(b);
}

/* Threads and blocks come in another order with another seed, in the same one with the same. */
static void test_orders(void **state)
{
    (void)state;
    int *ticket = (int *)device_floats(1), zero = 0, different = 0;
    float *b = device_floats(1), last[SEEDS], again;
    for (int seed = 0; seed < SEEDS; seed++) {
        for (int round = 0; round < 2; round++) {
            emulation_seed((uint64_t)seed);
            cudaMemcpy(ticket, &zero, sizeof zero, cudaMemcpyHostToDevice);
            planted_last_come(ticket, b, N);
            expect_right();
            fetch(round == 0 ? &last[seed] : &again, b, 1);
        }
        assert_true(again == last[seed]);
        different += seed > 0 && last[seed] != last[seed - 1];
    }
    assert_true(different > SEEDS / 2);
    cudaFree(ticket);
    cudaFree(b);
}

static void test_warps(void **state)
{
    (void)state;
    float out[64 * 16];
    float *b = device_floats(64 * 16);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        emulation_seed(seed);
        planted_warp_functions(b);
        expect_right();
        fetch(out, b, 64 * 16);
        for (int t = 0; t < 64; t++) {
            int lane = t % 32, first = t - lane, section = t / 8 * 8;
            const float *o = out + (ptrdiff_t)16 * t;
            assert_true(o[0] == (float)(first + 5));
            assert_true(o[1] == (float)(lane < 3 ? t : t - 3));
            assert_true(o[2] == (float)(lane > 28 ? t : t + 3));
            assert_true(o[3] == (float)(first + (lane ^ 9)));
            assert_true(o[4] == (float)(section + 2));
            assert_true(o[5] == (float)(t % 8 == 7 ? t : t + 1));
            assert_true(o[6] == (float)(t % 8 == 0 ? t : t - 1));
            assert_true(o[7] == 11.0f && o[8] == 1.0f && o[9] == 0.0f); /* 0, 3 ... 30 */
            assert_true(o[10] == 2.0f && o[11] == 1.0f && o[12] == 0.0f);
            assert_true(o[13] == (float)(first + 1));
            assert_true(o[14] == (lane < 16 ? (float)(first + (lane ^ 1)) : 0.0f));
        }
    }
    cudaFree(b);
}

/* Blocks that agree by an atomic counter who is last: no race, whatever the order. */
static void test_last_block(void **state)
{
    (void)state;
    float in[N], zero = 0.0f, sum = 0.0f;
    for (int i = 0; i < N; i++)
        in[i] = (float)(i % 5);
    float *a = device_copy(in, N), *parts = device_floats(7), *out = device_floats(1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        emulation_seed(seed);
        unsigned *done = (unsigned *)(void *)device_copy(&zero, 1);
        planted_tree_sum(a, parts, done, out, N);
        expect_right();
        fetch(&sum, out, 1);
        assert_true(sum == 2000.0f);
        cudaFree(done);
    }
    cudaFree(a);
    cudaFree(parts);
    cudaFree(out);
}

static void test_memory_limit(void **state)
{
    (void)state;
    void *a = NULL, *b = NULL;
    size_t before = emulation_memory_in_use(), left, total;
    emulation_memory_limit(before + 1000);
    assert_int_equal(cudaMalloc(&a, 600), cudaSuccess);
    assert_int_equal(cudaMemGetInfo(&left, &total), cudaSuccess);
    assert_int_equal(left, 400);
    assert_int_equal(cudaMalloc(&b, 401), cudaErrorMemoryAllocation);
    assert_null(b);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    assert_int_equal(cudaGetLastError(), cudaSuccess); /* told once: the device is well */
    assert_int_equal(cudaFree(a), cudaSuccess);
    assert_int_equal(cudaMalloc(&b, 401), cudaSuccess);
    assert_int_equal(cudaFree(b), cudaSuccess);
    assert_int_equal(emulation_memory_in_use(), before);
    emulation_memory_limit(0);
}

/* Products by hand: C = 2 op(A) op(B) + 3 C, with A as [[1 2 3] [4 5 6]] in memory column by column. */
static void test_products(void **state)
{
    (void)state;
    const float A[] = {1, 4, 2, 5, 3, 6}, B[] = {1, 0, 2, 1, 1, 0}, one = 1, two = 2, three = 3, zero = 0;
    float C[4];
    cublasHandle_t h = NULL;
    assert_int_equal(cublasCreate(&h), CUBLAS_STATUS_SUCCESS);
    float *a = device_copy(A, 6), *b = device_copy(B, 6), *c = device_floats(4);
    /* B is 3 × 2: columns (1 0 2) and (1 1 0). A B = [[7 3] [16 9]]. With beta 0 what is in C, NaN, does not count. */
    assert_int_equal(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &one, a, 2, b, 3, &zero, c, 2),
                     CUBLAS_STATUS_SUCCESS);
    fetch(C, c, 4);
    assert_true(C[0] == 7 && C[1] == 16 && C[2] == 3 && C[3] == 9);
    /* The same memory as A' (2 × 3, so 3 × 2 with columns (1 4 2) and (5 3 6)): A'' B' ... both transposed, 2 × 2. */
    assert_int_equal(cublasSgemm(h, CUBLAS_OP_T, CUBLAS_OP_T, 2, 2, 3, &two, a, 3, b, 2, &three, c, 2),
                     CUBLAS_STATUS_SUCCESS);
    fetch(C, c, 4);
    /* rows (1 4 2), (5 3 6); B' from 2 × 3 columns (1 0) (2 1) (1 0): rows (1 2 1), (0 1 0). */
    assert_true(C[0] == 2 * (1 + 8 + 2) + 21 && C[1] == 2 * (5 + 6 + 6) + 48);
    assert_true(C[2] == 2 * 4 + 9 && C[3] == 2 * 3 + 27);
    /* Leading dimensions below the rows, and operands that are no memory of the device. */
    assert_int_equal(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &one, a, 1, b, 3, &zero, c, 2),
                     CUBLAS_STATUS_INVALID_VALUE);
    cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 4, &one, a, 2, b, 4, &zero, c, 2);
    expect_fault("cuBLAS", "not wholly", "device's memory");
    cublasDestroy(h);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}

static void test_numbers(void **state)
{
    (void)state;
    for (unsigned x = 0; x < 65536; x++) {
        if (!isnan(number_from_half((uint16_t)x)))
            assert_int_equal(number_to_half(number_from_half((uint16_t)x)), x);
        if (!isnan(number_from_bf16((uint16_t)x)))
            assert_int_equal(number_to_bf16(number_from_bf16((uint16_t)x)), x);
    }
    /* From IEEE 754's binary16: 1, the largest, the smallest normal and subnormal; ties go to the even one. */
    assert_true(number_from_half(0x3c00) == 1.0f && number_from_half(0x7bff) == 65504.0f);
    assert_true(number_from_half(0x0400) == 0x1p-14f && number_from_half(0x0001) == 0x1p-24f);
    assert_int_equal(number_to_half(1.0f + 0x1p-11f), 0x3c00);
    assert_int_equal(number_to_half(1.0f + 3 * 0x1p-11f), 0x3c02);
    assert_int_equal(number_to_half(65519.0f), 0x7bff);
    assert_int_equal(number_to_half(65520.0f), 0x7c00);
    assert_int_equal(number_to_bf16(1.0f + 0x1p-8f), 0x3f80);
    assert_int_equal(number_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
}

enum { RANKS = 3, SUMMED = 40000 };

/* What rank r does; the exit status says how it went. Numbers are small and whole: their sums are exact. */
static int sum_as_rank(int rank, const ncclUniqueId *id, bool same_device)
{
    static float values[SUMMED];
    static uint16_t halves[SUMMED];
    ncclComm_t c;
    cudaSetDevice(same_device ? 0 : rank);
    ncclResult_t made = ncclCommInitRank(&c, RANKS, *id, rank);
    if (same_device)
        return made == ncclInvalidUsage ? 0 : 1;
    if (made != ncclSuccess)
        return 2;
    for (int i = 0; i < SUMMED; i++) {
        values[i] = (float)(i % 100 + rank);
        halves[i] = number_to_bf16((float)(i % 8 * (rank + 1)));
    }
    void *a, *b;
    if (cudaMalloc(&a, sizeof values) || cudaMalloc(&b, sizeof halves) ||
        cudaMemcpy(a, values, sizeof values, cudaMemcpyHostToDevice) ||
        cudaMemcpy(b, halves, sizeof halves, cudaMemcpyHostToDevice))
        return 3;
    if (ncclAllReduce(a, a, SUMMED, ncclFloat32, ncclSum, c, NULL) ||
        ncclAllReduce(b, b, SUMMED, ncclBfloat16, ncclSum, c, NULL))
        return 4;
    if (cudaMemcpy(values, a, sizeof values, cudaMemcpyDeviceToHost) ||
        cudaMemcpy(halves, b, sizeof halves, cudaMemcpyDeviceToHost))
        return 5;
    for (int i = 0; i < SUMMED; i++)
        if (values[i] != (float)(3 * (i % 100) + 3) || number_from_bf16(halves[i]) != (float)(i % 8 * 6))
            return 6;
    if (rank == 2)
        _exit(0); /* without a word: the others notice at the next sum */
    cudaFree(b);
    ncclResult_t left = ncclAllReduce(a, a, SUMMED, ncclFloat32, ncclSum, c, NULL), kept;
    ncclCommGetAsyncError(c, &kept);
    cudaFree(a);
    ncclCommAbort(c);
    return left == ncclRemoteError && kept == ncclRemoteError ? 0 : 7;
}

static void test_sums_over_ranks(void **state)
{
    (void)state;
    setenv("RINGSIDE_EMULATION_DEVICES", "3", 1);
    for (int same = 0; same < 2; same++) {
        ncclUniqueId id;
        pid_t child[RANKS];
        assert_int_equal(ncclGetUniqueId(&id), ncclSuccess);
        for (int r = 0; r < RANKS; r++) {
            child[r] = fork();
            assert_true(child[r] >= 0);
            if (child[r] == 0)
                _exit(sum_as_rank(r, &id, same != 0));
        }
        for (int r = RANKS - 1; r >= 0; r--) { /* the one that leaves first: until then it is a process */
            int status = 0;
            assert_int_equal(waitpid(child[r], &status, 0), child[r]);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
        }
    }
    unsetenv("RINGSIDE_EMULATION_DEVICES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers),        cmocka_unit_test(test_unwritten_memory),
        cmocka_unit_test(test_bounds),          cmocka_unit_test(test_races),
        cmocka_unit_test(test_orders),          cmocka_unit_test(test_warps),
        cmocka_unit_test(test_last_block),      cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_products),        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_sums_over_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
