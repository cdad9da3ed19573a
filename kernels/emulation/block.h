/*
 * block.h - the threads of the block that runs, and how one waits: between block.c and warp.c.
 */
#ifndef RINGSIDE_KERNELS_EMULATION_BLOCK_H
#define RINGSIDE_KERNELS_EMULATION_BLOCK_H

#include "kernels/emulation/machine.h"

enum thread_state { THREAD_READY, THREAD_AT_BARRIER, THREAD_IN_WARP, THREAD_GONE };

struct block_thread {
    struct emulation_index index;
    unsigned linear;
    enum thread_state state;
    struct fiber *fiber;      /* NULL: has not begun, or is through */
    struct emulation_site at; /* where it waits, or has waited last */
    int barrier_value;
    enum warp_operation operation;
    unsigned mask;
    uint64_t value; /* handed over, then what came of it */
    int lane;       /* asked for */
};

struct block_warp {
    unsigned present, waiting, gone; /* lanes */
    uint32_t epoch;
};

struct block_thread *block_current(void);
struct block_thread *block_thread(unsigned linear);
struct block_warp *block_warp_of(const struct block_thread *t);
void block_ready(struct block_thread *t); /* it may go on, whenever its turn comes */
void block_wait(struct block_thread *t);  /* lets others run until it is made ready */

/* Of these lanes, which wait, lets those go on whom no other keeps any longer; and those that came with them. */
void warp_release(struct block_warp *w, unsigned first_thread, unsigned lanes);

#endif
