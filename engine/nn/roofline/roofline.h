/*
 * roofline.h - what this machine can do at most: multiply-adds a second, and bytes a second to and from memory.
 *
 * A kernel that does x floating-point operations for each byte it moves reaches at most min(peak, x × bandwidth): the
 * roofline (S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual performance model for
 * multicore architectures, CACM 52, 2009). Left of the ridge, peak / bandwidth, it is bound by memory, right of it by
 * arithmetic. Both are measured here, on as many threads as are asked for, never taken from a data sheet: clocks
 * depend on the temperature, the neighbours and the instructions.
 */
#ifndef RINGSIDE_NN_ROOFLINE_ROOFLINE_H
#define RINGSIDE_NN_ROOFLINE_ROOFLINE_H

#include "engine/base/error.h"

#include <stddef.h>

/* Floating-point operations a second, single precision: independent chains of multiply-adds in registers. */
double roofline_peak(int threads, double seconds);

struct roofline_bandwidth {
    double triad, copy; /* bytes a second, as STREAM counts them: 12 an element for triad, 8 for copy */
    size_t array_bytes; /* of each of the three arrays */
    bool
        beyond_cache; /* they are four times the last cache, as STREAM asks; false: memory was too short for that */
};

/* J. McCalpin, Memory bandwidth and machine balance in current high performance computers, 1995. */
bool roofline_bandwidth(int threads, double seconds, struct roofline_bandwidth *result, struct error *e);

/* The roof: what a kernel of that many operations a byte can reach. */
double roofline_at(double peak, double bandwidth, double flops_per_byte);

/* Bytes of the last cache that this processor's cores share; 0: unknown. */
size_t roofline_cache_bytes(void);

#endif
