#include "kernels/emulation/runtime.h"
#include "kernels/emulation/graph.h"
#include "kernels/emulation/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_DEVICES = 16, SHARED_BYTES = 48 << 10, SHARED_MOST = 227 << 10 };

struct CUstream_st {
    int device;
};

struct CUevent_st {
    double recorded_s; /* 0: never */
    bool timing;
};

/* As in the runtime, each thread has a last error and a device. */
static _Thread_local cudaError_t last_error;
static _Thread_local int current_device;
static size_t shared_allowed = SHARED_BYTES;

cudaError_t runtime_failed(cudaError_t error)
{
    last_error = error;
    return error;
}

/* A fault of a kernel stays, as it does on a device: nothing works after it. */
cudaError_t runtime_state(void)
{
    return emulation_fault() ? runtime_failed(cudaErrorLaunchFailure) : cudaSuccess;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- devices --- */

/* RINGSIDE_EMULATION_DRIVER: the version of CUDA that the driver would be good for (12040), 0: there is none. */
cudaError_t cudaDriverGetVersion(int *version)
{
    const char *text = getenv("RINGSIDE_EMULATION_DRIVER");
    *version = text ? atoi(text) : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    const char *text = getenv("RINGSIDE_EMULATION_DEVICES");
    int n = text ? atoi(text) : 1, driver;
    cudaDriverGetVersion(&driver);
    if (driver < CUDART_VERSION)
        return runtime_failed(cudaErrorInsufficientDriver);
    *count = n > MAX_DEVICES ? MAX_DEVICES : n;
    return n > 0 ? cudaSuccess : runtime_failed(cudaErrorNoDevice);
}

static bool is_device(int device)
{
    int count = 0;
    return cudaGetDeviceCount(&count) == cudaSuccess && device >= 0 && device < count;
}

cudaError_t cudaSetDevice(int device)
{
    if (!is_device(device))
        return runtime_failed(cudaErrorInvalidDevice);
    current_device = device;
    return runtime_state();
}

cudaError_t cudaGetDevice(int *device)
{
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    if (!is_device(device))
        return runtime_failed(cudaErrorInvalidDevice);
    /* Two multiprocessors: a loop over more than the grid has to go round more than once. */
    *p = (struct cudaDeviceProp){.name = "cuda (emulation)",
                                 .uuid = {{(char)device}},
                                 .totalGlobalMem = memory_of_device(),
                                 .sharedMemPerBlock = SHARED_BYTES,
                                 .sharedMemPerBlockOptin = SHARED_MOST,
                                 .sharedMemPerMultiprocessor = SHARED_MOST + 1024,
                                 .regsPerBlock = 65536,
                                 .warpSize = EMULATION_LANES,
                                 .maxThreadsPerBlock = EMULATION_MAX_THREADS,
                                 .maxThreadsDim = {1024, 1024, 64},
                                 .maxGridSize = {2147483647, 65535, 65535},
                                 .major = 8,
                                 .minor = 0,
                                 .multiProcessorCount = 2,
                                 .maxThreadsPerMultiProcessor = 1024,
                                 .memoryBusWidth = 64,
                                 .l2CacheSize = 1 << 20,
                                 .pciDeviceID = device};
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    struct cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, device) != cudaSuccess)
        return last_error;
    switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)p.sharedMemPerBlock; break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = p.memoryBusWidth; break;
    case cudaDevAttrL2CacheSize: *value = p.l2CacheSize; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)p.sharedMemPerMultiprocessor; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: *value = 0; break; /* it has no clock */
    default: return runtime_failed(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int room, int device)
{
    if (!is_device(device))
        return runtime_failed(cudaErrorInvalidDevice);
    snprintf(id, (size_t)room, "0000:00:%02x.0", (unsigned)device & 0xff);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    return runtime_state();
}

cudaError_t cudaDeviceReset(void)
{
    return runtime_state();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    size_t used = emulation_memory_in_use();
    *total_bytes = memory_of_device();
    *free_bytes = used < *total_bytes ? *total_bytes - used : 0;
    return runtime_state();
}

/* --- errors --- */

cudaError_t cudaPeekAtLastError(void)
{
    return emulation_fault() ? cudaErrorLaunchFailure : last_error;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return error;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidKernelImage, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidPtx, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {cudaErrorJitCompilerNotFound, "cudaErrorJitCompilerNotFound", "PTX JIT compiler library not found"},
    {cudaErrorUnsupportedPtxVersion, "cudaErrorUnsupportedPtxVersion",
     "the provided PTX was compiled with an unsupported toolchain."},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "hardware stack error"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "cudaErrorUnknown";
}

/* Of a fault it says what the emulation has found. */
const char *cudaGetErrorString(cudaError_t error)
{
    if (error == cudaErrorLaunchFailure && emulation_fault())
        return emulation_fault();
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error)
            return errors[i].text;
    return "unknown error";
}

/* --- memory --- */

static cudaError_t take(void **memory, size_t bytes, enum memory_kind kind)
{
    *memory = NULL;
    if (runtime_state() != cudaSuccess)
        return last_error;
    if (bytes > 0 && !(*memory = memory_take(bytes, kind)))
        return runtime_failed(cudaErrorMemoryAllocation);
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    return take(memory, bytes, MEMORY_DEVICE);
}

cudaError_t cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    return cudaMalloc(memory, bytes);
}

cudaError_t cudaFree(void *memory)
{
    return memory_give(memory) ? runtime_state() : runtime_failed(cudaErrorInvalidValue);
}

cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream)
{
    (void)stream;
    return cudaFree(memory);
}

cudaError_t cudaMallocHost(void **memory, size_t bytes)
{
    return take(memory, bytes, MEMORY_PINNED);
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMallocHost(memory, bytes);
}

cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}

/* --- streams and events: all that was asked for before is done --- */

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    *stream = calloc(1, sizeof **stream);
    if (!*stream)
        return runtime_failed(cudaErrorMemoryAllocation);
    (*stream)->device = current_device;
    return runtime_state();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    (void)flags;
    return cudaStreamCreate(stream);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    free(stream);
    return runtime_state();
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    if (stream && graph_records(stream))
        return runtime_failed(cudaErrorStreamCaptureUnsupported);
    return runtime_state();
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    (void)stream;
    return runtime_state();
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)stream;
    (void)flags;
    return event ? runtime_state() : runtime_failed(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void *data)
{
    (void)stream;
    if (runtime_state() != cudaSuccess)
        return last_error;
    call(data);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    *event = calloc(1, sizeof **event);
    if (!*event)
        return runtime_failed(cudaErrorMemoryAllocation);
    (*event)->timing = !(flags & cudaEventDisableTiming);
    return runtime_state();
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    free(event);
    return runtime_state();
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    (void)stream;
    if (!event)
        return runtime_failed(cudaErrorInvalidResourceHandle);
    event->recorded_s = now_s();
    return runtime_state();
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return event ? runtime_state() : runtime_failed(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    return cudaEventQuery(event);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (!from || !to || !from->timing || !to->timing || from->recorded_s == 0 || to->recorded_s == 0)
        return runtime_failed(cudaErrorInvalidResourceHandle);
    *ms = (float)(1e3 * (to->recorded_s - from->recorded_s));
    return runtime_state();
}

/* --- launches --- */

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value)
{
    (void)kernel;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > SHARED_MOST)
        return runtime_failed(cudaErrorInvalidValue);
    if ((size_t)value > shared_allowed)
        shared_allowed = (size_t)value; /* of every kernel: a looser rule than the device's */
    return cudaSuccess;
}

/* A launch in a recorded graph: its arguments lie behind it. */
static void launch_again(const void *data)
{
    struct emulation_launch l = *(const struct emulation_launch *)data;
    l.arguments = (const char *)data + (sizeof l + 15) / 16 * 16;
    if (!emulation_fault())
        emulation_run(&l);
}

/* RINGSIDE_EMULATION_LAUNCH: the number of the error that every launch has, as on a GPU that the code was not compiled for. */
void emulation_launch(const struct emulation_launch *l)
{
    const struct emulation_index g = l->grid, b = l->block;
    const char *refused = getenv("RINGSIDE_EMULATION_LAUNCH");
    if (emulation_fault())
        return;
    if (refused && atoi(refused) > 0) {
        runtime_failed((cudaError_t)atoi(refused));
        return;
    }
    uint64_t threads = (uint64_t)b.x * b.y * b.z;
    if (g.x == 0 || g.y == 0 || g.z == 0 || g.y > 65535 || g.z > 65535 || threads == 0 ||
        threads > EMULATION_MAX_THREADS || b.z > 64) {
        runtime_failed(cudaErrorInvalidConfiguration);
        return;
    }
    if (l->shared_bytes > shared_allowed) {
        runtime_failed(cudaErrorInvalidValue);
        return;
    }
    if (l->stream && graph_records(l->stream))
        graph_take(launch_again, l, sizeof *l, l->arguments, l->argument_bytes);
    else
        emulation_run(l);
}
