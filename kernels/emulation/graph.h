/*
 * graph.h - work that is recorded instead of done: CUDA's graphs in the emulation. Private to kernels/emulation.
 *
 * While a stream records, whoever would do something for it hands over a function and a copy of what it needs, and does
 * nothing. A graph is that list; a launch goes through it from the first to the last. Waiting for a stream that records is an error,
 * as with a GPU.
 */
#ifndef RINGSIDE_KERNELS_EMULATION_GRAPH_H
#define RINGSIDE_KERNELS_EMULATION_GRAPH_H

#include <cuda_runtime_api.h>

#include <stdbool.h>
#include <stddef.h>

/* Whether that stream records; NULL: whether any does. */
bool graph_records(cudaStream_t stream);
/* Takes the work down: run(data), data being a copy of `bytes` and `more_bytes` behind it. False: memory is short. */
bool graph_take(void (*run)(const void *data), const void *data, size_t bytes, const void *more,
                size_t more_bytes);

#endif
