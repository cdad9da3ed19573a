/*
 * emulation.h - the emulated device, as tests and the plugin see it: what can be set, and what it has found wrong.
 *
 * The emulation runs the kernels of kernels/ on the host, compiled by the host's C++ compiler, and is there to find
 * faults, not to be fast. It never counts as a GPU. Blocks run one after another, their threads in an order drawn from a seed;
 * shared and device memory begin as NaN. The first fault (a thread that leaves others at a barrier, an address that is no
 * memory of the device, two threads at the same place without a barrier between them) ends the kernel: it and all calls
 * behind it return cudaErrorLaunchFailure, whose text names the kernel, the block and the thread.
 *
 * The state is the process's, as a device's is. Calls from several threads are served one after another.
 * RINGSIDE_EMULATION_SEED, _DEVICES, _MEMORY (bytes), _DRIVER (13000: good for CUDA 13.0) and _LAUNCH (the error that every
 * launch ends with) are what a process begins with.
 */
#ifndef RINGSIDE_KERNELS_EMULATION_EMULATION_H
#define RINGSIDE_KERNELS_EMULATION_EMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void emulation_seed(uint64_t seed); /* of the order of blocks and threads from now on */
/* What was found wrong: NULL, or a sentence, which stays until emulation_clear. */
const char *emulation_fault(void);
void emulation_clear(void);
/* Whether kernels were compiled so that every access to memory is looked at (not under AddressSanitizer, which does it). */
bool emulation_checks_accesses(void);
void emulation_memory_limit(size_t bytes); /* of each device; 0: the default, 1 GiB */
size_t emulation_memory_in_use(void);      /* of all devices */

struct emulation_counts {
    long launches, blocks, threads, switches;
};
struct emulation_counts emulation_counts(void); /* since the process began */

#ifdef __cplusplus
}
#endif

#endif
