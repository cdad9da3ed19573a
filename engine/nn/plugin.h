/*
 * plugin.h - GPUs, as the plugin ringside-cuda.so offers them.
 *
 * The programs are built without CUDA and start where there is none. Whatever needs a GPU asks for the plugin, a shared
 * library beside the program that is loaded when it is needed and exports one symbol, a table of functions. The
 * plugin loads anywhere; where its driver or the GPU is missing, device_count says what and how to mend that. The same
 * kernels compiled for the host are a plugin too (kernels/emulation), for tests: slow, and marked as emulation.
 */
#ifndef RINGSIDE_NN_PLUGIN_H
#define RINGSIDE_NN_PLUGIN_H

#include "engine/base/device_comm.h"
#include "engine/nn/backend.h"

/* Raised with every change of this file, backend.h or optimizer.h: a plugin of another version is refused. */
enum { GPU_PLUGIN_VERSION = 3 };
#define GPU_PLUGIN_SYMBOL "ringside_cuda_plugin"

struct gpu_device {
    char name[64];    /* "NVIDIA H200"; of the emulation "cuda (emulation)" */
    char uuid[48];    /* the same from every process: two ranks with one uuid share a GPU */
    int major, minor; /* its compute capability */
    int processors;   /* streaming multiprocessors */
    size_t memory_bytes, free_bytes;
};

/* What a GPU does at the moment; NAN: not told. */
struct gpu_readings {
    double util; /* share of the last moments in which a kernel ran, 0 to 1 */
    double used_bytes, total_bytes;
    double power_w;
};

struct gpu_meter;

enum gpu_option {
    GPU_BF16 = 1, /* operands of matrix products and convolutions in bf16, sums and all else in fp32 */
    GPU_TF32 = 2, /* those operands rounded to TF32: 8 bits of exponent, 10 of mantissa */
};

/*
 * A task written several times, each faster than the time before (kernels/ladder/rungs.h says what is computed): "product",
 * "sum", "softmax". Rungs of one ladder follow each other.
 */
struct gpu_rung {
    const char *ladder, *name;
    const char *why; /* a sentence: why it is faster than the rung before */
    bool half;       /* multiplies by tensor cores, operands rounded to half precision */
    bool real_only;  /* not emulated */
};

struct gpu_ladder_sizes {
    int rows, columns, depth;
};

/* What a GPU does at most, measured. */
struct gpu_roof {
    double flops_per_s;        /* fp32, multiply-adds in registers */
    double tensor_flops_per_s; /* half precision operands, fp32 sums; 0: it has no tensor cores */
    double copy_bytes_per_s;   /* read and written, arrays far larger than its caches */
    size_t array_bytes;        /* of each of the two */
};

struct gpu_plugin {
    int version;      /* GPU_PLUGIN_VERSION; stays first */
    const char *name; /* "cuda", "cuda (emulation)" */
    /* "CUDA 13.0 for sm_90": toolkit and targets that it was built with. */
    const char *build;
    bool emulation;

    /* How many GPUs can be used here, at least 1; else 0 with ERROR_MISSING: what is missing and what to do. */
    int (*device_count)(struct error *e);
    bool (*device_info)(int device, struct gpu_device *info, struct error *e);
    /* options: of gpu_option. The backend's own thread alone uses it. Close with backend_close. */
    struct backend *(*backend_open)(int device, unsigned options, struct error *e);
    /* NVML's readings of a GPU. NULL where there is no NVML, and e says why; what a GPU does not tell is NAN. */
    struct gpu_meter *(*meter_open)(int device, struct error *e);
    void (*meter_read)(struct gpu_meter *m, struct gpu_readings *r);
    void (*meter_close)(struct gpu_meter *m); /* NULL is fine */

    /* NCCL. comm_version: "NCCL 2.28.9", or false where it is missing, and e says what to load. */
    bool (*comm_version)(char text[32], struct error *e);
    bool (*comm_id)(struct device_comm_id *id, struct error *e);
    /* Collective over all ranks, each with the backend of a GPU of its own, which outlives it. */
    struct device_comm *(*comm_open)(struct backend *b, const struct device_comm_id *id, int rank, int ranks,
                                     struct error *e);

    /* The ladders. rung_run: a, b and c are the host's; the median time of *times launches, for about `seconds`. */
    const struct gpu_rung *rungs;
    int rung_count;
    bool (*rung_run)(int device, int rung, struct gpu_ladder_sizes sizes, const float *a, const float *b,
                     float *c, double seconds, double *time_s, int *times, struct error *e);
    bool (*roof_measure)(int device, double seconds, struct gpu_roof *roof, struct error *e);
};

/*
 * The plugin: $RINGSIDE_CUDA_PLUGIN or ringside-cuda.so beside the program. It stays loaded until the process ends.
 * NULL, ERROR_MISSING: it was not built, cannot be loaded or is of another version, and what to do.
 */
const struct gpu_plugin *plugin_load(struct error *e);

/* "NVIDIA H200, 141 GB, compute capability 9.0" */
void gpu_describe(const struct gpu_device *device, char *text, size_t size);

#endif
