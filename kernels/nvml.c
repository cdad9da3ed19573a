#include "kernels/nvml.h"

#include "kernels/device.h"
#include "kernels/library.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

/* Of NVML's reference manual (NVIDIA, version 2 of the entry points); 0 is success. */
struct nvml_utilization {
    unsigned gpu, memory; /* per cent of the last sampling period */
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_pci)(const char *address, void **device);
    int (*utilization)(void *device, struct nvml_utilization *u);
    int (*memory)(void *device, struct nvml_memory *m);
    int (*power)(void *device, unsigned *milliwatts);
    const char *(*error)(int code);
};

struct gpu_meter {
    struct nvml nvml;
    void *library, *device;
    bool begun;
};

static const char file[] = "libnvidia-ml.so.1";
static const struct library_symbol symbols[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init)},
    {"nvmlShutdown", offsetof(struct nvml, shutdown)},
    {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(struct nvml, by_pci)},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, utilization)},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory)},
    {"nvmlDeviceGetPowerUsage", offsetof(struct nvml, power)},
    {"nvmlErrorString", offsetof(struct nvml, error)},
    {NULL, 0},
};

static bool begin(struct gpu_meter *m, int device, struct error *e)
{
    char address[32] = "";
    if (!(m->library = dlopen(file, RTLD_NOW | RTLD_LOCAL)))
        return error_set(e, ERROR_MISSING, "%s, which comes with NVIDIA's driver, cannot be loaded", file);
    if (!library_find(m->library, file, symbols, &m->nvml, e) ||
        !cuda_ok(cudaDeviceGetPCIBusId(address, sizeof address, device), "asking for its PCI address", e))
        return false;
    int code = m->nvml.init();
    m->begun = code == 0;
    if (m->begun)
        code = m->nvml.by_pci(address, &m->device);
    return code == 0 ||
           error_set(e, ERROR_MISSING, "NVML does not tell of GPU %d: %s", device, m->nvml.error(code));
}

struct gpu_meter *nvml_open(int device, struct error *e)
{
    struct gpu_meter *m = calloc(1, sizeof *m);
    if (!m) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    if (begin(m, device, e))
        return m;
    nvml_close(m);
    return NULL;
}

void nvml_read(struct gpu_meter *m, struct gpu_readings *r)
{
    struct nvml_utilization u;
    struct nvml_memory memory;
    unsigned milliwatts;
    *r = (struct gpu_readings){NAN, NAN, NAN, NAN};
    if (m->nvml.utilization(m->device, &u) == 0)
        r->util = u.gpu / 100.0;
    if (m->nvml.memory(m->device, &memory) == 0) {
        r->used_bytes = (double)memory.used;
        r->total_bytes = (double)memory.total;
    }
    if (m->nvml.power(m->device, &milliwatts) == 0)
        r->power_w = milliwatts / 1e3;
}

void nvml_close(struct gpu_meter *m)
{
    if (!m)
        return;
    if (m->begun)
        m->nvml.shutdown();
    if (m->library)
        dlclose(m->library);
    free(m);
}
