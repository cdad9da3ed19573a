/*
 * machine.h - between the parts of the emulation: what kernels call (through device.h) and what looks at their accesses.
 *
 *     block.c    runs a launch: its blocks one after another, the threads of each in an order drawn from the seed
 *     warp.c     what the lanes of a warp do together: shuffles, votes, __syncwarp
 *     memory.c   the device's memory and shared memory: filled with NaN, known to the byte
 *     access.c   looks at every access of an instrumented kernel: no memory, or a race
 *
 * A thread of a block runs on the stack of whichever fiber is at hand, and only becomes a fiber of its own when it waits:
 * then another fiber goes on with the threads that have not begun. So a kernel without barriers runs as a plain loop, and
 * one with barriers switches once for each thread that waits.
 */
#ifndef RINGSIDE_KERNELS_EMULATION_MACHINE_H
#define RINGSIDE_KERNELS_EMULATION_MACHINE_H

#include "kernels/emulation/emulation.h"

#ifdef __cplusplus
extern "C" {
#endif

struct emulation_index {
    unsigned x, y, z;
};

/* threadIdx, blockIdx, blockDim and gridDim of the thread that runs. */
struct emulation_here {
    struct emulation_index thread, block, block_dim, grid_dim;
};
extern struct emulation_here emulation_here;

struct emulation_launch {
    const char *kernel;
    struct emulation_index grid, block;
    size_t shared_bytes;
    void (*call)(const void *arguments); /* runs one thread */
    const void *arguments;
    size_t argument_bytes;
    struct CUstream_st *stream;
};
/*
 * Returns when the kernel is through. emulation_launch (runtime.c) looks at the configuration first, as the runtime does,
 * and tells what is wrong through cudaGetLastError; emulation_run (block.c) runs it.
 */
void emulation_launch(const struct emulation_launch *l);
void emulation_run(const struct emulation_launch *l);

/* --- called by kernels --- */

/* Where it is called, for messages. */
struct emulation_site {
    const char *what, *file;
    int line;
};
/* All threads of the block. `values`: how many of them, and whether any or all, came with `value` other than 0. */
enum barrier_result { BARRIER_COUNT, BARRIER_AND, BARRIER_OR };
int emulation_barrier(struct emulation_site at, int value, enum barrier_result result);

/* Lanes of a warp together. Each hands over a value, and gets what comes of all of them. */
enum warp_operation {
    WARP_SYNC,
    WARP_TAKE,   /* the value of lane `lane`; of one that is not in the mask: NaN */
    WARP_BALLOT, /* a bit for each lane whose value is not 0 */
    WARP_ADD,
    WARP_MIN,
    WARP_MAX, /* of unsigned 64 bit */
    WARP_SIGNED_MIN,
    WARP_SIGNED_MAX
};
uint64_t emulation_warp(struct emulation_site at, enum warp_operation operation, unsigned mask,
                        uint64_t value, int lane);
unsigned emulation_warp_here(void); /* the lanes of this warp that have not left the kernel */

void *emulation_shared(const void *tag, size_t bytes, size_t align);
void *emulation_shared_dynamic(void);

/* Before an atomic operation. */
void emulation_atomic(void *address, size_t bytes);

#ifdef __cplusplus
}
#endif

/* --- between block.c, warp.c, memory.c and access.c --- */

enum { EMULATION_MAX_THREADS = 1024, EMULATION_LANES = 32, EMULATION_MAX_WARPS = 32 };

/* Who runs, for the one that looks at accesses. Epochs only ever grow. */
struct machine_view {
    bool running;          /* a kernel's thread, not the host */
    unsigned thread;       /* in its block, from 0 */
    uint32_t epoch;        /* moved on by every barrier of the block, and by every new block */
    uint32_t warp_epoch;   /* of the thread's warp: moved on by __syncwarp */
    uint32_t block_epoch;  /* epochs below this are another block's ... */
    uint32_t launch_epoch; /* ... and below this another launch's */
    bool atomics; /* this block has made an atomic operation: it may be ordered behind other blocks */
    const void *arguments;
    size_t argument_bytes;
    uintptr_t stack; /* the thread's own */
    size_t stack_bytes;
};
extern struct machine_view machine_view;
/* Ends the kernel with this sentence, to which kernel, block and thread are put. Returns only where no kernel runs. */
void machine_fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
void machine_host_fault(const char *sentence); /* by a call of the host */

/*
 * Memory. Filled with NaN (all bits set). Under AddressSanitizer from malloc; else from one range of addresses that is used
 * once, with a gap behind each piece, and a map that knows for each four bytes how many of them are a piece's.
 */
enum memory_kind { MEMORY_SHARED, MEMORY_DEVICE, MEMORY_PINNED };
void *memory_take(size_t bytes, enum memory_kind kind); /* NULL: there is no more */
bool memory_give(void *start);                          /* false: that is no piece's start */
void memory_poison(void *start, size_t bytes);
/* Whether all of it is within one piece, and what kind that is. */
bool memory_within(const void *start, size_t bytes, enum memory_kind *kind);

size_t memory_of_device(void); /* the limit of each */

enum { MEMORY_IS_SHARED = 0x80 }; /* in the map, beside the number of valid bytes */
struct memory_map {
    uintptr_t start;
    size_t bytes; /* 0: nothing taken yet, or AddressSanitizer has it */
    uint8_t *valid;
};
extern struct memory_map memory_map;

#endif
