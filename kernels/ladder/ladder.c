#include "kernels/ladder/ladder.h"

#include "engine/base/timing.h"
#include "kernels/cuda_blas.h"
#include "kernels/device.h"
#include "kernels/ladder/rungs.h"

#include <limits.h>
#include <string.h>

enum { LEAST_TIMES = 5, MOST_TIMES = 201, MOST_SIDE = 8192 };
enum { MOST_PRODUCT = 65535 * 8 }; /* a grid has 65 535 blocks along y, of 8 elements at least */

const struct gpu_rung gpu_rungs[GPU_RUNGS] = {
    {"product", "naive", "the definition, a thread an element; neighbours read a row apart", false, false},
    {"product", "coalesced", "neighbouring threads read neighbouring floats", false, false},
    {"product", "tiled", "what is read once from memory is used 32 times from shared memory", false, false},
    {"product", "registers", "64 sums a thread in registers: 16 floats feed 64 multiply-adds", false, false},
    {"product", "tensor cores", "a warp multiplies pieces of 16 x 16 in one instruction, in half precision",
     true, true},
    {"product", "cuBLAS", "a library's code, made for this GPU, on its tensor cores", true, false},
    {"sum", "atomic", "every thread adds to one number, and queues up for it", false, false},
    {"sum", "tree", "blocks add by halves in shared memory and leave one number each", false, false},
    {"sum", "shuffle", "warps add from register to register: one barrier a block", false, false},
    {"sum", "vector", "16 bytes a load, four loads under way at once", false, false},
    {"softmax", "naive", "a thread a row, three reads a row apart", false, false},
    {"softmax", "block", "a block a row: reads side by side", false, false},
    {"softmax", "online", "maximum and sum in one read: two reads", false, false},
    {"softmax", "registers", "the row stays in registers: one read", false, false},
};

/* cuBLAS counts by columns: the product of rows is that of the transposed matrices the other way round. */
struct library {
    struct cuda_blas functions;
    cublasHandle_t handle;
};

static bool library_open(struct library *l, cudaStream_t stream, struct error *e)
{
    if (!cuda_blas_open(&l->functions, e))
        return false;
    if (l->functions.create(&l->handle) != CUBLAS_STATUS_SUCCESS ||
        l->functions.set_stream(l->handle, stream) != CUBLAS_STATUS_SUCCESS)
        return error_set(e, ERROR_FAILED, "cuBLAS could not be opened on this GPU");
    return true;
}

static bool library_product(const struct library *l, const struct rung_work *w, struct error *e)
{
    const float one = 1, zero = 0;
    cublasStatus_t status =
        l->functions.gemm(l->handle, CUBLAS_OP_N, CUBLAS_OP_N, w->columns, w->rows, w->depth, &one, w->b,
                          CUDA_R_32F, w->columns, w->a, CUDA_R_32F, w->depth, &zero, w->c, CUDA_R_32F,
                          w->columns, CUBLAS_COMPUTE_32F_FAST_16F, CUBLAS_GEMM_DEFAULT);
    return status == CUBLAS_STATUS_SUCCESS ||
           error_set(e, ERROR_FAILED, "cuBLAS could not multiply (status %d)", (int)status);
}

/* By rung; NULL: the library's. */
static void (*const launches[GPU_RUNGS])(const struct rung_work *w) = {
    rung_product_naive,   rung_product_coalesced, rung_product_tiled,
    rung_product_blocked, rung_product_tensor,    NULL,
    rung_sum_atomic,      rung_sum_tree,          rung_sum_shuffle,
    rung_sum_vector,      rung_softmax_naive,     rung_softmax_block,
    rung_softmax_online,  rung_softmax_registers,
};

static bool start(int rung, const struct rung_work *w, const struct library *l, struct error *e)
{
    if (l->handle)
        return library_product(l, w, e);
    launches[rung](w);
    return cuda_launched(gpu_rungs[rung].name, e);
}

/* --- time, as the GPU's own clock has it --- */

struct stopwatch {
    cudaEvent_t from, to;
};

static bool stopwatch_open(struct stopwatch *s, struct error *e)
{
    return cuda_ok(cudaEventCreate(&s->from), "making an event", e) &&
           cuda_ok(cudaEventCreate(&s->to), "making an event", e);
}

static void stopwatch_close(struct stopwatch *s)
{
    if (s->from)
        cudaEventDestroy(s->from);
    if (s->to)
        cudaEventDestroy(s->to);
}

static bool stopwatch_read(struct stopwatch *s, cudaStream_t stream, double *seconds, struct error *e)
{
    float ms = 0;
    if (!cuda_ok(cudaEventRecord(s->to, stream), "taking the time", e) ||
        !cuda_ok(cudaEventSynchronize(s->to), "computing what was asked for", e) ||
        !cuda_ok(cudaEventElapsedTime(&ms, s->from, s->to), "taking the time", e))
        return false;
    *seconds = 1e-3 * (double)ms;
    return true;
}

static bool time_rung(int rung, const struct rung_work *w, const struct library *l, double seconds,
                      double *time_s, int *times, struct error *e)
{
    struct stopwatch watch = {0};
    double taken[MOST_TIMES], begin = 0;
    int count = 0;
    bool ok = stopwatch_open(&watch, e) && start(rung, w, l, e) && /* once to warm up */
              cuda_ok(cudaStreamSynchronize(w->stream), "computing what was asked for", e);
    begin = timing_now();
    while (ok && (count < LEAST_TIMES || (count < MOST_TIMES && timing_now() - begin < seconds))) {
        ok = cuda_ok(cudaEventRecord(watch.from, w->stream), "taking the time", e) && start(rung, w, l, e) &&
             stopwatch_read(&watch, w->stream, &taken[count], e);
        count += ok;
    }
    stopwatch_close(&watch);
    if (ok) {
        *time_s = timing_median(taken, count);
        *times = count;
    }
    return ok;
}

/* --- a rung --- */

struct extents {
    size_t a, b, c, room;
};

static bool check_sizes(int rung, struct gpu_ladder_sizes s, struct extents *n, struct error *e)
{
    const char *ladder = gpu_rungs[rung].ladder;
    size_t rows = (size_t)s.rows, columns = (size_t)s.columns, depth = (size_t)s.depth;
    if (s.rows < 1 || s.columns < 1 || s.depth < 1 || rows * columns > INT_MAX || rows * depth > INT_MAX ||
        depth * columns > INT_MAX)
        return error_set(e, ERROR_INPUT,
                         "a ladder's arrays have 1 to %d elements, not those of %d x %d and depth %d",
                         INT_MAX, s.rows, s.columns, s.depth);
    if (!strcmp(ladder, "product") && (s.rows > MOST_PRODUCT || s.columns > MOST_PRODUCT))
        return error_set(e, ERROR_INPUT, "the product ladder's grids reach %d rows and columns, not %d x %d",
                         MOST_PRODUCT, s.rows, s.columns);
    if (!strcmp(ladder, "softmax") && s.columns > RUNG_MOST_COLUMNS)
        return error_set(e, ERROR_INPUT, "the softmax ladder is written for rows of at most %d, not %d",
                         RUNG_MOST_COLUMNS, s.columns);
    if (!strcmp(ladder, "product"))
        *n = (struct extents){rows * depth, depth * columns, rows * columns, 0};
    else if (!strcmp(ladder, "sum"))
        *n = (struct extents){rows * columns, 0, 1, RUNG_ROOM(rows * columns)};
    else
        *n = (struct extents){rows * columns, 0, rows * columns, 0};
    return true;
}

static bool room_for(float **memory, size_t n, struct error *e)
{
    return n == 0 || (*memory = device_memory_new(n * sizeof(float), "a ladder's arrays", e));
}

static bool send(float *to, const float *from, size_t n, cudaStream_t stream, struct error *e)
{
    return n == 0 || cuda_ok(cudaMemcpyAsync(to, from, n * sizeof *to, cudaMemcpyHostToDevice, stream),
                             "copying memory", e);
}

bool gpu_rung_run(int device, int rung, struct gpu_ladder_sizes sizes, const float *a, const float *b,
                  float *c, double seconds, double *time_s, int *times, struct error *e)
{
#ifdef KERNELS_EMULATED
    if (gpu_rungs[rung].real_only)
        return error_set(e, ERROR_MISSING, "the rung \"%s\" takes a real GPU: it is not emulated",
                         gpu_rungs[rung].name);
#endif
    struct extents n = {0};
    struct library l = {.handle = NULL};
    float *memory[4] = {NULL};
    struct rung_work w = {.rows = sizes.rows, .columns = sizes.columns, .depth = sizes.depth};
    bool ok = check_sizes(rung, sizes, &n, e) && cuda_ok(cudaSetDevice(device), "opening it", e) &&
              cuda_ok(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking), "making a stream", e) &&
              room_for(&memory[0], n.a, e) && room_for(&memory[1], n.b, e) && room_for(&memory[2], n.c, e) &&
              room_for(&memory[3], n.room, e) && (launches[rung] || library_open(&l, w.stream, e)) &&
              send(memory[0], a, n.a, w.stream, e) && send(memory[1], b, n.b, w.stream, e) &&
              /* All bits set is no number: an element that a rung leaves out is found. */
              cuda_ok(cudaMemsetAsync(memory[2], 0xff, n.c * sizeof *c, w.stream), "clearing memory", e);
    w.a = memory[0];
    w.b = memory[1];
    w.c = memory[2];
    w.room = memory[3];
    ok = ok && time_rung(rung, &w, &l, seconds, time_s, times, e) &&
         cuda_ok(cudaMemcpyAsync(c, w.c, n.c * sizeof *c, cudaMemcpyDeviceToHost, w.stream), "copying memory",
                 e) &&
         cuda_ok(cudaStreamSynchronize(w.stream), "computing what was asked for", e);
    if (w.stream)
        cudaStreamSynchronize(w.stream);
    if (l.handle)
        l.functions.destroy(l.handle);
    for (int i = 0; i < 4; i++)
        cudaFree(memory[i]);
    if (w.stream)
        cudaStreamDestroy(w.stream);
    return ok;
}

/* --- the roofs --- */

struct roof_try {
    int processors, iterations;
    float *from, *to;
    size_t n;
    cudaStream_t stream;
    const struct library *library;
};

typedef double roof_launch(const struct roof_try *t);

static double launch_arithmetic(const struct roof_try *t)
{
    return roof_arithmetic(t->processors, t->iterations, t->to, t->stream);
}

static double launch_tensor(const struct roof_try *t)
{
    return roof_tensor(t->processors, t->iterations, t->to, t->stream);
}

static double launch_copy(const struct roof_try *t)
{
    return roof_copy(t->from, t->to, t->n, t->stream);
}

static double launch_library_copy(const struct roof_try *t)
{
    cudaError_t code =
        cudaMemcpyAsync(t->to, t->from, t->n * sizeof(float), cudaMemcpyDeviceToDevice, t->stream);
    return code == cudaSuccess ? 2.0 * sizeof(float) * (double)t->n : 0;
}

/* A square of halves times itself, as large as the arrays allow: the library has instructions that wmma has not. */
static double launch_library_tensor(const struct roof_try *t)
{
    const float one = 1, zero = 0;
    int side = MOST_SIDE;
    while ((size_t)side * (size_t)side > t->n)
        side /= 2;
    if (!t->library->handle ||
        t->library->functions.gemm(t->library->handle, CUBLAS_OP_N, CUBLAS_OP_N, side, side, side, &one,
                                   t->from, CUDA_R_16F, side, t->from, CUDA_R_16F, side, &zero, t->to,
                                   CUDA_R_32F, side, CUBLAS_COMPUTE_32F,
                                   CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS)
        return 0;
    return 2.0 * (double)side * (double)side * (double)side;
}

/* The best rate of many launches, if it is above *rate: a roof is what is possible, not what is usual. */
static bool best_rate(const struct roof_try *t, roof_launch *launch, double seconds, double *rate,
                      struct error *e)
{
    struct stopwatch watch = {0};
    bool ok = stopwatch_open(&watch, e);
    double begin = timing_now(), taken = 0;
    for (int i = 0; ok && (i < LEAST_TIMES || timing_now() - begin < seconds); i++) {
        ok = cuda_ok(cudaEventRecord(watch.from, t->stream), "taking the time", e);
        double amount = ok ? launch(t) : 0;
        ok = ok && cuda_launched("a roof", e) && stopwatch_read(&watch, t->stream, &taken, e);
        if (ok && i > 0 && taken > 0 && amount / taken > *rate)
            *rate = amount / taken;
    }
    stopwatch_close(&watch);
    return ok;
}

#ifdef KERNELS_EMULATED
enum { ITERATIONS = 4, MOST_ARRAY = 1 << 16 };
#else
enum { ITERATIONS = 4096, MOST_ARRAY = 1 << 30 };
#endif

/* Each roof by code of our own and by the library's: the higher one counts. */
static bool measure_all(const struct roof_try *t, double seconds, struct gpu_roof *roof, struct error *e)
{
    const struct {
        roof_launch *launch;
        double *rate;
        bool real_only;
    } tries[] = {{launch_arithmetic, &roof->flops_per_s, false},
                 {launch_tensor, &roof->tensor_flops_per_s, true},
                 {launch_library_tensor, &roof->tensor_flops_per_s, true},
                 {launch_copy, &roof->copy_bytes_per_s, false},
                 {launch_library_copy, &roof->copy_bytes_per_s, false}};
    const size_t count = sizeof tries / sizeof *tries;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
#ifdef KERNELS_EMULATED
        if (tries[i].real_only)
            continue;
#endif
        ok = best_rate(t, tries[i].launch, seconds / (double)count, tries[i].rate, e);
    }
    return ok;
}

bool gpu_roof_measure(int device, double seconds, struct gpu_roof *roof, struct error *e)
{
    size_t free_bytes = 0, total = 0;
    struct library library = {.handle = NULL};
    struct roof_try t = {.iterations = ITERATIONS, .library = &library};
    *roof = (struct gpu_roof){0};
    bool ok = cuda_ok(cudaSetDevice(device), "opening it", e) &&
              cuda_ok(cudaDeviceGetAttribute(&t.processors, cudaDevAttrMultiProcessorCount, device),
                      "asking for its properties", e) &&
              cuda_ok(cudaMemGetInfo(&free_bytes, &total), "asking for its memory", e);
    size_t bytes = free_bytes / 4 < MOST_ARRAY ? free_bytes / 4 : MOST_ARRAY;
    t.n = bytes / 16 * 4;
    ok = ok && cuda_ok(cudaStreamCreateWithFlags(&t.stream, cudaStreamNonBlocking), "making a stream", e) &&
         room_for(&t.from, t.n, e) && room_for(&t.to, t.n, e) && library_open(&library, t.stream, e) &&
         /* As halves 0.5, of 0 a product costs less power. */
         cuda_ok(cudaMemsetAsync(t.from, 0x38, t.n * sizeof(float), t.stream), "clearing memory", e) &&
         cuda_ok(cudaMemsetAsync(t.to, 0, t.n * sizeof(float), t.stream), "clearing memory", e) &&
         measure_all(&t, seconds, roof, e);
    roof->array_bytes = t.n * sizeof(float);
    if (t.stream)
        cudaStreamSynchronize(t.stream);
    if (library.handle)
        library.functions.destroy(library.handle);
    cudaFree(t.from);
    cudaFree(t.to);
    if (t.stream)
        cudaStreamDestroy(t.stream);
    return ok;
}
