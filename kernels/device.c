#include "kernels/device.h"

#include "engine/base/units.h"
#include "kernels/cuda_blas.h"
#include "kernels/kernels.h"

#include <stdio.h>
#include <string.h>

/* --- errors --- */

/* What else there is to say of the errors that people meet. */
static const char *advice(cudaError_t code)
{
    switch (code) {
    case cudaErrorMemoryAllocation: return ": choose a smaller --batch";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
        return ": a kernel went wrong, and the GPU's memory cannot be trusted any more; please report the "
               "model "
               "and the command";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
        return ": the GPU itself is faulty; tell those who run this machine, and take another node";
    case cudaErrorDevicesUnavailable:
        return ": another program has the GPU for itself (nvidia-smi shows which)";
    default: return "";
    }
}

bool cuda_ok(cudaError_t code, const char *doing, struct error *e)
{
    if (code == cudaSuccess)
        return true;
    cudaGetLastError(); /* what does not break the context is told once */
    int device = 0;
    cudaGetDevice(&device);
    return error_set(e, ERROR_FAILED, "GPU %d: %s failed: %s%s", device, doing, cudaGetErrorString(code),
                     advice(code));
}

bool cuda_launched(const char *kernel, struct error *e)
{
    return cuda_ok(cudaGetLastError(), kernel, e);
}

/* --- memory --- */

static void too_little(size_t bytes, const char *what, struct error *e)
{
    char asked[32], left[32], all[32], name[64] = "the GPU";
    size_t free_bytes = 0, total = 0;
    int device = 0;
    struct cudaDeviceProp p;
    cudaGetLastError();
    cudaGetDevice(&device);
    if (cudaGetDeviceProperties(&p, device) == cudaSuccess)
        snprintf(name, sizeof name, "%.60s", p.name);
    cudaMemGetInfo(&free_bytes, &total);
    units_show_bytes((double)bytes, asked, sizeof asked);
    units_show_bytes((double)free_bytes, left, sizeof left);
    units_show_bytes((double)total, all, sizeof all);
    error_set(e, ERROR_FAILED,
              "GPU %d (%s) has no room for %s: %s were asked for and %s of its %s are free; choose a smaller "
              "--batch or model, or end what else runs on that GPU (nvidia-smi shows it)",
              device, name, what, asked, left, all);
}

void *device_memory_new(size_t bytes, const char *what, struct error *e)
{
    void *memory = NULL;
    cudaError_t code = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
    if (code == cudaSuccess)
        return memory;
    if (code == cudaErrorMemoryAllocation)
        too_little(bytes, what, e);
    else
        cuda_ok(code, "asking for memory", e);
    return NULL;
}

void *device_pinned_new(size_t bytes, const char *what, struct error *e)
{
    void *memory = NULL;
    cudaError_t code = cudaMallocHost(&memory, bytes > 0 ? bytes : 1);
    if (code == cudaSuccess)
        return memory;
    cudaGetLastError();
    error_set(e, ERROR_FAILED,
              "the host has no memory for %s that a GPU can reach (%zu bytes, pinned): %s; choose a smaller "
              "--batch, "
              "or raise the limit on locked memory (ulimit -l)",
              what, bytes, cudaGetErrorString(code));
    return NULL;
}

/* --- which there are --- */

static void version_text(int version, char text[16])
{
    snprintf(text, 16, "%d.%d", version / 1000, version % 1000 / 10);
}

/* cudaErrorInsufficientDriver is also what one gets where there is no driver at all. */
static void explain_driver(struct error *e)
{
    int driver = 0, runtime = 0;
    char has[16], needs[16];
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    version_text(driver, has);
    version_text(runtime, needs);
    if (driver == 0)
        error_set(
            e, ERROR_MISSING,
            "no GPU: this host has no NVIDIA driver (libcuda.so.1); run on a node with GPUs, or use the CPU");
    else
        error_set(e, ERROR_MISSING,
                  "no GPU: the NVIDIA driver of this host is good for CUDA %s and the plugin was built with "
                  "CUDA %s; "
                  "build it with an older toolkit (module avail cuda), or ask for a newer driver",
                  has, needs);
}

int device_count(struct error *e)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0)
        return count;
    cudaGetLastError();
    if (code == cudaErrorInsufficientDriver)
        explain_driver(e);
    else if (code == cudaErrorNoDevice || code == cudaSuccess)
        error_set(
            e, ERROR_MISSING,
            "no GPU: the NVIDIA driver is here, but it shows this job no GPU; ask the scheduler for one "
            "(--gres=gpu:1) and see that CUDA_VISIBLE_DEVICES does not hide it");
    else
        error_set(e, ERROR_MISSING,
                  "no GPU: CUDA does not start: %s; see `nvidia-smi`, and ask those who run this machine",
                  cudaGetErrorString(code));
    return 0;
}

static void uuid_text(const unsigned char *bytes, char text[48])
{
    int used = snprintf(text, 48, "GPU-");
    for (int i = 0; i < 16; i++)
        used += snprintf(text + used, 48 - (size_t)used, "%s%02x",
                         i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

/* Whether the code, or what the driver makes of its PTX, is for this GPU; the first launch tells. */
static bool is_of_code(cudaError_t code)
{
    return code == cudaErrorInvalidDeviceFunction || code == cudaErrorInvalidKernelImage ||
           code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidPtx ||
           code == cudaErrorJitCompilerNotFound || code == cudaErrorUnsupportedPtxVersion;
}

static bool takes_kernels(int device, const struct cudaDeviceProp *p, struct error *e)
{
    kernel_nothing(NULL);
    cudaError_t code = cudaGetLastError();
    if (code == cudaSuccess)
        code = cudaDeviceSynchronize();
    if (!is_of_code(code))
        return cuda_ok(code, "a first kernel", e);
    return error_set(
        e, ERROR_MISSING,
        "no GPU: GPU %d (%.63s) does not take this plugin's kernels: %s; build the plugin for it "
        "(make CUDA_ARCHS=%d%d)",
        device, p->name, cudaGetErrorString(code), p->major, p->minor);
}

bool device_info(int device, struct gpu_device *info, struct error *e)
{
    struct cudaDeviceProp p;
    *info = (struct gpu_device){0};
    if (!cuda_ok(cudaGetDeviceProperties(&p, device), "asking for its properties", e) ||
        !cuda_ok(cudaSetDevice(device), "choosing it", e) || !takes_kernels(device, &p, e))
        return false;
    snprintf(info->name, sizeof info->name, "%.63s", p.name);
    uuid_text((const unsigned char *)&p.uuid, info->uuid);
    info->major = p.major;
    info->minor = p.minor;
    info->processors = p.multiProcessorCount;
    struct cuda_blas blas;
    if (!cuda_blas_open(&blas, e))
        return error_wrap(e, "no GPU");
    return cuda_ok(cudaMemGetInfo(&info->free_bytes, &info->memory_bytes), "asking for its memory", e);
}
