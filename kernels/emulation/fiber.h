/*
 * fiber.h - a stack of its own and where it has got to: what a thread of an emulated block runs on while others wait.
 *
 * Switching saves the registers that a call keeps and nothing else, without a system call: some nanoseconds. On a
 * processor that it is not written for, ucontext does it. AddressSanitizer is told of every switch.
 */
#ifndef RINGSIDE_KERNELS_EMULATION_FIBER_H
#define RINGSIDE_KERNELS_EMULATION_FIBER_H

#include <stddef.h>

struct fiber;

/* run(argument) begins with the first switch to it and must never return. NULL where there is no memory. */
struct fiber *fiber_new(void (*run)(void *argument), void *argument);
/* The caller's own stack, to come back to. */
struct fiber *fiber_of_caller(void);
void fiber_switch(struct fiber *from, struct fiber *to);
/* As after fiber_new: what it was in is forgotten. Not of the fiber that runs. */
void fiber_reset(struct fiber *f);
const void *fiber_stack(const struct fiber *f, size_t *bytes);
void fiber_free(struct fiber *f);

#endif
