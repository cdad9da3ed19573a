#include "kernels/nccl_comm.h"

#if (defined KERNELS_EMULATED && __has_include("kernels/emulation/nccl.h")) ||                               \
     (!defined KERNELS_EMULATED && __has_include(<nccl.h>))

#include "kernels/cuda_backend.h"
#include "kernels/device.h"
#include "kernels/library.h"

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the library --- */

struct nccl {
    __typeof__(&ncclGetVersion) version;
    __typeof__(&ncclGetUniqueId) unique_id;
    __typeof__(&ncclCommInitRank) init;
    __typeof__(&ncclAllReduce) allreduce;
    __typeof__(&ncclCommGetAsyncError) async_error;
    __typeof__(&ncclCommAbort) abort;
    __typeof__(&ncclGetErrorString) error;
};

#ifdef KERNELS_EMULATED

static bool load(struct nccl *n, struct error *e)
{
    (void)e;
    *n = (struct nccl){ncclGetVersion,        ncclGetUniqueId, ncclCommInitRank,  ncclAllReduce,
                       ncclCommGetAsyncError, ncclCommAbort,   ncclGetErrorString};
    return true;
}

#else

static bool load(struct nccl *n, struct error *e)
{
    static const char file[] = "libnccl.so.2";
    static const struct library_symbol symbols[] = {
        {"ncclGetVersion", offsetof(struct nccl, version)},
        {"ncclGetUniqueId", offsetof(struct nccl, unique_id)},
        {"ncclCommInitRank", offsetof(struct nccl, init)},
        {"ncclAllReduce", offsetof(struct nccl, allreduce)},
        {"ncclCommGetAsyncError", offsetof(struct nccl, async_error)},
        {"ncclCommAbort", offsetof(struct nccl, abort)},
        {"ncclGetErrorString", offsetof(struct nccl, error)},
        {NULL, 0},
    };
    void *handle = library_load(file); /* stays loaded */
    if (!handle)
        return error_set(e, ERROR_MISSING,
                         "NCCL (%s) is not found; load its module, or add its folder to LD_LIBRARY_PATH",
                         file);
    return library_find(handle, file, symbols, n, e);
}

#endif

static bool nccl_ok(const struct nccl *n, ncclResult_t code, const char *doing, struct error *e)
{
    if (code == ncclSuccess)
        return true;
    return error_set(e, ERROR_FAILED, "NCCL: %s failed: %s%s", doing, n->error(code),
                     code == ncclRemoteError    ? ": another rank has ended or cannot be reached"
                     : code == ncclSystemError  ? ": NCCL_DEBUG=INFO in the environment makes it say more"
                     : code == ncclInvalidUsage ? ": do two ranks share a GPU?"
                     : code == ncclUnhandledCudaError ? ": the GPU has an error of its own"
                                                      : "");
}

bool nccl_comm_version(char text[32], struct error *e)
{
    struct nccl n;
    int v;
    if (!load(&n, e) || !nccl_ok(&n, n.version(&v), "asking for its version", e))
        return false;
#ifdef KERNELS_EMULATED
    snprintf(text, 32, "NCCL (emulation)");
#else
    snprintf(text, 32, "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
#endif
    return true;
}

bool nccl_comm_id(struct device_comm_id *id, struct error *e)
{
    struct nccl n;
    ncclUniqueId made;
    _Static_assert(sizeof made <= sizeof *id, "an identifier of NCCL has its place");
    if (!load(&n, e) || !nccl_ok(&n, n.unique_id(&made), "making an identifier", e))
        return false;
    *id = (struct device_comm_id){0};
    memcpy(id, &made, sizeof made);
    return true;
}

/* --- the ranks' sums --- */

struct nccl_comm {
    struct device_comm comm;
    struct nccl nccl;
    ncclComm_t ranks;
    cudaStream_t compute, stream; /* the backend's; NCCL's */
    cudaEvent_t ready;            /* in compute: what is to be summed is there */
    cudaEvent_t first, last,
        waited; /* first and last of the sums since times; waited: in compute, where join came */
    bool summing, joined;
};

static bool sum(struct device_comm *d, enum device_type type, const void *from, void *to, size_t n,
                struct error *e)
{
    static const ncclDataType_t types[] = {[DEVICE_F32] = ncclFloat32,
                                           [DEVICE_F64] = ncclFloat64,
                                           [DEVICE_BF16] = ncclBfloat16,
                                           [DEVICE_F16] = ncclFloat16};
    struct nccl_comm *c = d->self;
    if (!cuda_ok(cudaEventRecord(c->ready, c->compute), "marking what is to be summed", e) ||
        !cuda_ok(cudaStreamWaitEvent(c->stream, c->ready, 0), "waiting for what is to be summed", e) ||
        (!c->summing && !cuda_ok(cudaEventRecord(c->first, c->stream), "taking the time", e)) ||
        !nccl_ok(&c->nccl, c->nccl.allreduce(from, to, n, types[type], ncclSum, c->ranks, c->stream),
                 "the allreduce", e))
        return false;
    c->summing = true;
    c->joined = false;
    return true;
}

static bool join(struct device_comm *d, struct error *e)
{
    struct nccl_comm *c = d->self;
    c->joined = cuda_ok(cudaEventRecord(c->waited, c->compute), "taking the time", e) &&
                cuda_ok(cudaEventRecord(c->last, c->stream), "marking the sums' end", e) &&
                cuda_ok(cudaStreamWaitEvent(c->compute, c->last, 0), "waiting for the sums", e);
    return c->joined;
}

static enum progress poll(struct device_comm *d, struct error *e)
{
    struct nccl_comm *c = d->self;
    ncclResult_t state = ncclSuccess;
    if (!c->joined && !join(d, e))
        return PROGRESS_FAILED;
    cudaError_t code = cudaEventQuery(c->last);
    if (code == cudaSuccess)
        return PROGRESS_DONE;
    if (code == cudaErrorNotReady)
        cudaGetLastError(); /* or the next kernel's launch would be told of it */
    bool ok = (code == cudaErrorNotReady || cuda_ok(code, "the allreduce", e)) &&
              nccl_ok(&c->nccl, c->nccl.async_error(c->ranks, &state), "the allreduce", e) &&
              nccl_ok(&c->nccl, state, "the allreduce", e);
    return ok ? PROGRESS_BUSY : PROGRESS_FAILED;
}

static void times(struct device_comm *d, double *busy_s, double *exposed_s)
{
    struct nccl_comm *c = d->self;
    float busy = 0, exposed = 0;
    if (c->summing && c->joined && cudaEventElapsedTime(&busy, c->first, c->last) == cudaSuccess &&
        cudaEventElapsedTime(&exposed, c->waited, c->last) != cudaSuccess)
        exposed = 0;
    cudaGetLastError(); /* a time that is not there yet is no error */
    *busy_s = 1e-3 * (double)busy;
    *exposed_s = 1e-3 * (double)(exposed < 0 ? 0 : exposed < busy ? exposed : busy);
    c->summing = false;
}

static void close_comm(struct device_comm *d)
{
    struct nccl_comm *c = d->self;
    cudaEvent_t events[] = {c->ready, c->first, c->last, c->waited};
    if (c->ranks)
        c->nccl.abort(c->ranks); /* and not destroy, which may wait for ranks that are gone */
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (events[i])
            cudaEventDestroy(events[i]);
    if (c->stream)
        cudaStreamDestroy(c->stream);
    free(c);
}

static const struct device_comm_ops ops = {sum, join, poll, times, close_comm};

/* A stream whose work goes before the backend's where both have some, for the others wait for it. */
static bool open_streams(struct nccl_comm *c, struct error *e)
{
    int least = 0, greatest = 0;
    return cuda_ok(cudaDeviceGetStreamPriorityRange(&least, &greatest), "making a stream", e) &&
           cuda_ok(cudaStreamCreateWithPriority(&c->stream, cudaStreamNonBlocking, greatest),
                   "making a stream", e) &&
           cuda_ok(cudaEventCreateWithFlags(&c->ready, cudaEventDisableTiming), "making an event", e) &&
           cuda_ok(cudaEventCreate(&c->first), "making an event", e) &&
           cuda_ok(cudaEventCreate(&c->last), "making an event", e) &&
           cuda_ok(cudaEventCreate(&c->waited), "making an event", e);
}

struct device_comm *nccl_comm_open(struct backend *b, const struct device_comm_id *id, int rank, int ranks,
                                   struct error *e)
{
    struct nccl_comm *c = calloc(1, sizeof *c);
    ncclUniqueId unique;
    if (!c) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    c->comm = (struct device_comm){.ops = &ops, .self = c};
    c->compute = cuda_backend_stream(b);
    memcpy(&unique, id, sizeof unique);
    if (load(&c->nccl, e) && nccl_comm_version(c->comm.name, e) && open_streams(c, e) &&
        nccl_ok(&c->nccl, c->nccl.init(&c->ranks, ranks, unique, rank), "connecting the ranks' GPUs", e))
        return &c->comm;
    close_comm(&c->comm);
    return NULL;
}

#else

static bool without(struct error *e)
{
    return error_set(e, ERROR_MISSING,
                     "the CUDA plugin was built without NCCL; build it where nccl.h is, or take ring or mpi");
}

bool nccl_comm_version(char text[32], struct error *e)
{
    text[0] = 0;
    return without(e);
}

bool nccl_comm_id(struct device_comm_id *id, struct error *e)
{
    *id = (struct device_comm_id){0};
    return without(e);
}

struct device_comm *nccl_comm_open(struct backend *b, const struct device_comm_id *id, int rank, int ranks,
                                   struct error *e)
{
    (void)b, (void)id, (void)rank, (void)ranks;
    without(e);
    return NULL;
}

#endif
