/*
 * pipeline.h - a model cut into stages that work on micro-batches one after another, in the order 1F1B (D. Narayanan et
 * al., Efficient large-scale language model training on GPU clusters using Megatron-LM, SC 2021): stage i of p begins
 * with p - 1 - i forward passes, then does one forward and one backward in turn, and ends with what is left backward.
 *
 * So stage i holds the activations of at most p - i micro-batches. With equal stages and no time for messages the step
 * takes (m + p - 1)(f + b), of which (p - 1) / (m + p - 1) is idle: the bubble.
 */
#ifndef RINGSIDE_SIM_PIPELINE_H
#define RINGSIDE_SIM_PIPELINE_H

#include "engine/base/error.h"

enum { PIPELINE_MAX_STAGES = 1024, PIPELINE_MAX_MICROBATCHES = 8192 };

struct pipeline_stage {
    double forward_s, backward_s; /* of one micro-batch */
    double send_s;                /* its output to the next stage, or that one's gradient back */
    /* filled in by pipeline_run */
    double end_s;  /* when its last backward pass ends */
    double busy_s; /* computing */
    int in_flight; /* micro-batches whose activations it holds at the same time, at most */
};

/* The whole step; *idle: the share of all stages' time in which nothing is computed. Negative and *e: no memory. */
double pipeline_run(struct pipeline_stage *stages, int count, int microbatches, double *idle,
                    struct error *e);

/*
 * Cuts `count` items of these weights, in their order, into `parts` runs whose heaviest is as light as can be: first[k]
 * is where run k begins. parts <= count. Bisection on the heaviest, then greedy (as for the linear partition problem).
 */
void pipeline_cut(const double *weights, int count, int parts, int *first);

#endif
