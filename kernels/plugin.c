/*
 * plugin.c - the one symbol of ringside-cuda.so, and of its emulation: the table of engine/nn/plugin.h.
 */
#include "engine/nn/plugin.h"
#include "kernels/cuda_backend.h"
#include "kernels/device.h"
#include "kernels/ladder/ladder.h"
#include "kernels/nccl_comm.h"
#include "kernels/nvml.h"

#ifdef KERNELS_EMULATED
#define NAME "cuda (emulation)"
#define BUILD "emulated on the host, no measure of a GPU"
#else
#define NAME "cuda"
#ifndef KERNELS_BUILD /* given by the Makefile */
#define KERNELS_BUILD "CUDA"
#endif
#define BUILD KERNELS_BUILD
#endif

static bool info(int device, struct gpu_device *d, struct error *e)
{
    if (!device_info(device, d, e))
        return false;
#ifdef KERNELS_EMULATED
    d->major = d->minor = 0; /* it has none */
#endif
    return true;
}

extern const struct gpu_plugin ringside_cuda_plugin __attribute__((visibility("default")));
const struct gpu_plugin ringside_cuda_plugin = {
    .version = GPU_PLUGIN_VERSION,
    .name = NAME,
    .build = BUILD,
#ifdef KERNELS_EMULATED
    .emulation = true,
#endif
    .device_count = device_count,
    .device_info = info,
    .backend_open = cuda_backend_open,
    .meter_open = nvml_open,
    .meter_read = nvml_read,
    .meter_close = nvml_close,
    .comm_version = nccl_comm_version,
    .comm_id = nccl_comm_id,
    .comm_open = nccl_comm_open,
    .rungs = gpu_rungs,
    .rung_count = GPU_RUNGS,
    .rung_run = gpu_rung_run,
    .roof_measure = gpu_roof_measure,
};
