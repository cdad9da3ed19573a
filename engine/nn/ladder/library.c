/*
 * library.c - the top of the ladder: what oneDNN's authors, who know each processor's pipes and caches, get out of it.
 * Their code is made while the program runs, for the very instruction set and sizes at hand.
 */
#include "engine/nn/cpu.h"
#include "engine/nn/ladder/ladder.h"

bool ladder_library(struct ladder_sizes s, const float *a, const float *b, float *c, struct error *e)
{
    return cpu_check(dnnl_sgemm('N', 'N', s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n),
                     "multiplying matrices", e);
}
