/*
 * presets.h - figures of GPUs and networks by name, each with its source beside it in presets.c.
 */
#ifndef RINGSIDE_SIM_PRESETS_H
#define RINGSIDE_SIM_PRESETS_H

#include "cluster-sim/platform.h"

struct preset_gpu {
    struct sim_gpu gpu;
    double nvlink_bytes_per_s; /* a direction, all its links together; 0: has none */
};

struct preset_network {
    const char *name;
    double bandwidth; /* bytes a second of a link, each way */
    double latency;   /* seconds of a link: half a path through one switch */
};

/* ERROR_INPUT lists the names there are. */
const struct preset_gpu *preset_gpu(const char *name, struct error *e);
const struct preset_network *preset_network(const char *name, struct error *e);
/* "gen3": bytes a second of x16, one direction; 0: no such name. */
double preset_pcie(const char *name);

#endif
