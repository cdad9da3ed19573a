/*
 * nvml.h - what a GPU does at the moment, from NVIDIA's management library.
 *
 * libnvidia-ml.so.1 comes with the driver and is loaded when somebody asks; its few functions are declared here, since toolkits
 * do not always have its header. A GPU is found by its PCI address, because NVML knows nothing of CUDA_VISIBLE_DEVICES.
 */
#ifndef RINGSIDE_KERNELS_NVML_H
#define RINGSIDE_KERNELS_NVML_H

#include "engine/nn/plugin.h"

/* As meter_open, meter_read, meter_close of struct gpu_plugin. */
struct gpu_meter *nvml_open(int device, struct error *e);
void nvml_read(struct gpu_meter *m, struct gpu_readings *r);
void nvml_close(struct gpu_meter *m);

#endif
