/* nvml.c - stands for NVIDIA's libnvidia-ml.so.1: one GPU, 93 % busy, 12 of 141 GB taken; its power is not told. */
#include <stddef.h>
#include <string.h>

struct utilization {
    unsigned gpu, memory;
};
struct memory {
    unsigned long long total, free, used;
};

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device);
int nvmlDeviceGetUtilizationRates(void *device, struct utilization *u);
int nvmlDeviceGetMemoryInfo(void *device, struct memory *m);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
const char *nvmlErrorString(int code);

static int device_there;

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **device)
{
    *device = &device_there;
    return strchr(address, ':') ? 0 : 2;
}

int nvmlDeviceGetUtilizationRates(void *device, struct utilization *u)
{
    *u = (struct utilization){93, 40};
    return device == &device_there ? 0 : 2;
}

int nvmlDeviceGetMemoryInfo(void *device, struct memory *m)
{
    *m = (struct memory){141000000000, 129000000000, 12000000000};
    return device == &device_there ? 0 : 2;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    *milliwatts = 0;
    return device == &device_there ? 3 : 2; /* not supported */
}

const char *nvmlErrorString(int code)
{
    return code == 2 ? "Invalid Argument" : "Not Supported";
}
