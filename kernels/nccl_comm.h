/*
 * nccl_comm.h - the table of engine/base/device_comm.h by NCCL, NVIDIA's collective communication library.
 *
 * It is loaded when somebody wants it, and the plugin is complete without it, at build time and at run time. Sums go to a stream
 * of their own: each waits for an event in the backend's stream, and join makes the backend's stream wait for the last.
 */
#ifndef RINGSIDE_KERNELS_NCCL_COMM_H
#define RINGSIDE_KERNELS_NCCL_COMM_H

#include "engine/nn/plugin.h"

/* As comm_version, comm_id, comm_open of struct gpu_plugin. */
bool nccl_comm_version(char text[32], struct error *e);
bool nccl_comm_id(struct device_comm_id *id, struct error *e);
struct device_comm *nccl_comm_open(struct backend *b, const struct device_comm_id *id, int rank, int ranks,
                                   struct error *e);

#endif
