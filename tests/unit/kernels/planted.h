/*
 * planted.h - kernels with a fault planted in each (and, without it, right ones), which the emulation must find.
 */
#ifndef RINGSIDE_TESTS_UNIT_KERNELS_PLANTED_H
#define RINGSIDE_TESTS_UNIT_KERNELS_PLANTED_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

void planted_block_sum(bool fault, const float *in, float *out, int n);
void planted_leave_early(bool fault, float *out, int n);
void planted_two_barriers(float *out, int n);
void planted_half_shuffle(float *out);
void planted_unwritten(float *out);
void planted_fill(bool fault, float *out, int n);
void planted_over_shared(float *out, int n);
void planted_count(bool fault, float *out, int n);
void planted_pass_on(bool fault, const float *in, float *out);
void planted_last_come(int *ticket, float *out, int n);
void planted_warp_functions(float *out);
void planted_tree_sum(const float *in, float *parts, unsigned *done, float *out, int n);

#ifdef __cplusplus
}
#endif

#endif
