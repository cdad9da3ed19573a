/*
 * device.h - what a job computes on: the CPU, or the GPUs that the ranks find on their hosts.
 *
 * All ranks compute on the same kind. A rank takes the GPU that has its number among the ranks of its host, modulo how many
 * there are; where each has one to itself, NCCL sums the gradients. "auto" takes GPUs where every rank finds one.
 */
#ifndef RINGSIDE_TRAIN_DEVICE_H
#define RINGSIDE_TRAIN_DEVICE_H

#include "engine/comm/comm.h"
#include "engine/nn/plugin.h"

#include <jansson.h>

struct device {
    const struct gpu_plugin *plugin; /* NULL: the CPU */
    int number;                      /* of the GPU on this host */
    struct gpu_device gpu;
    bool own;        /* no two ranks share a GPU */
    char name[64];   /* "cpu", "NVIDIA H200", "cuda (emulation)" */
    char notes[600]; /* why not the GPU, where auto looked for one, or why not NCCL; "": nothing to say */
    struct device_comm *comm; /* NCCL's; NULL: not opened */
    bool metered;             /* whether it was looked for */
    struct gpu_meter *meter;  /* NULL: not opened, or there is no NVML */
};

/*
 * wanted: "cpu", "cuda", "auto". Collective; the same answer on all ranks. ERROR_MISSING: cuda is wanted and a rank, which is named,
 * has none.
 */
bool device_choose(struct device *d, const char *wanted, struct comm *comm, struct error *e);

/* What it does at the moment; on the CPU, or where it does not tell, NAN. The meter is opened when this is called first. */
void device_read(struct device *d, struct gpu_readings *r);
void device_close(struct device *d);
/* Puts rank and host before what a GPU has said. On rank 0: of the others comm_fail tells. */
void device_blame(const struct device *d, struct comm *comm, struct error *e);

/* dtype: "fp32", "bf16", "tf32". threads: of the CPU. Close with backend_close. */
struct backend *device_open(const struct device *d, const char *dtype, int threads, struct error *e);

/* ERROR_INPUT where NCCL cannot be: known, and alike on all ranks, before a backend is open. */
bool device_may_connect(const struct device *d, struct error *e);
/*
 * Connects the ranks' GPUs, so that comm has "nccl" (comm_set_device). Collective; false with ERROR_MISSING where NCCL is missing, and
 * ERROR_INPUT where two ranks share a GPU. device_disconnect before the backend is closed.
 */
bool device_connect(struct device *d, struct comm *comm, struct backend *b, struct error *e);
void device_disconnect(struct device *d, struct comm *comm);

/*
 * For the gradients of a job: connects them where algo is "nccl", or "auto" and they can be. *algo is then "nccl"; else "auto" goes
 * by the host's memory, and d->notes says why. compress: they are to travel in 16 bits, which NCCL is not given.
 */
bool device_choose_algo(struct device *d, struct comm *comm, struct backend *b, bool compress,
                        const char **algo, struct error *e);

/*
 * device_report.c. What there is on this host: {"plugin", "build", "gpus": [{"name", "text", "free_bytes"}], "nccl" or
 * "nccl_missing"; "missing": why there is none, and what to do}. A new reference.
 */
json_t *device_report(void);

#endif
