/*
 * ladder.h - the ladders' rungs in order, and the roofs, as struct gpu_plugin offers them (engine/nn/plugin.h).
 */
#ifndef RINGSIDE_KERNELS_LADDER_LADDER_H
#define RINGSIDE_KERNELS_LADDER_LADDER_H

#include "engine/nn/plugin.h"

enum { GPU_RUNGS = 14 };
extern const struct gpu_rung gpu_rungs[GPU_RUNGS];

/* ERROR_INPUT: sizes that the ladder is not written for. ERROR_MISSING: a rung that is not emulated, or no cuBLAS. */
bool gpu_rung_run(int device, int rung, struct gpu_ladder_sizes sizes, const float *a, const float *b,
                  float *c, double seconds, double *time_s, int *times, struct error *e);
bool gpu_roof_measure(int device, double seconds, struct gpu_roof *roof, struct error *e);

#endif
