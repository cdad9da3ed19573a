/*
 * device.h - what the tests of kernels/ compute on: the emulation, or, compiled for `make gpu-tests`, the GPU of this machine, where
 * thread orders, limits and faults are what they are.
 */
#ifndef RINGSIDE_TESTS_KERNELS_DEVICE_H
#define RINGSIDE_TESTS_KERNELS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef KERNELS_EMULATED

#include "kernels/emulation/emulation.h"

static inline bool device_emulated(void)
{
    return true;
}

#else

static inline bool device_emulated(void)
{
    return false;
}

static inline void emulation_seed(uint64_t seed)
{
    (void)seed;
}

static inline const char *emulation_fault(void)
{
    return NULL;
}

static inline void emulation_memory_limit(size_t bytes)
{
    (void)bytes;
}

static inline size_t emulation_memory_in_use(void)
{
    return 0;
}

#endif

#endif
