/*
 * roofline.h - how long a layer takes on a device: what it computes over the rate of arithmetic, or what it moves over
 * the rate of memory, whichever is longer (S. Williams, A. Waterman and D. Patterson, Roofline: an insightful visual
 * performance model for multicore architectures, CACM 52 (2009) 65-76), plus what it costs to start a kernel.
 *
 * No program reaches the peak rates of a data sheet. The shares below are the same for every layer and device, and were
 * not fitted to any case they are compared with:
 *   ROOFLINE_COMPUTE 0.5   a P100 (10.6 TFLOP/s, NVIDIA's data sheet) trains 219 images/s of ResNet-50, 24.6 GFLOP each
 *                          (TensorFlow's benchmarks of May 2017): 51 % of the peak
 *   ROOFLINE_MEMORY 0.75   an assumption, of the size of what STREAM (J. McCalpin, 1995) reaches of data sheets
 *   ROOFLINE_LAUNCH 5 us   to start a kernel from the host, an assumption; a CPU's call is taken as 0
 * What is measured (a rank's samples/s) takes precedence: it scales all layers alike.
 */
#ifndef RINGSIDE_SIM_ROOFLINE_H
#define RINGSIDE_SIM_ROOFLINE_H

#include "engine/spec/model.h"

#define ROOFLINE_COMPUTE 0.5
#define ROOFLINE_MEMORY 0.75
#define ROOFLINE_LAUNCH 5e-6

struct roofline {
    double flops_per_s;                 /* peak, of the type of number that layers compute in */
    double bytes_per_s;                 /* peak, of its memory */
    double compute_share, memory_share; /* of the peaks that are reached */
    double launch_s;                    /* of each kernel: one forward; one a gradient backward */
};

/* With the shares above. */
struct roofline roofline_of(double flops_per_s, double bytes_per_s, bool gpu);

struct roofline_time {
    double forward_s, backward_s;
    bool memory_bound; /* of the forward pass */
};

/*
 * One layer on a batch, elements of `width` bytes. split: over how many devices a layer with weights is cut (tensor
 * parallelism); one without is computed whole by each.
 *
 * Backward there are two gradients, of the input and of the weights; each reads what the forward pass read and
 * wrote and takes as many FLOPs. A layer without weights has the first alone, the one next to the data the second.
 */
struct roofline_time roofline_layer(const struct roofline *r, const struct layer_spec *layer, int batch,
                                    double width, int split);

/* Bytes that a layer moves forward on a batch: inputs and output of each sample, the weights once. */
double roofline_bytes(const struct layer_spec *layer, int batch, double width, int split);

/* Whether a layer multiplies by weights, so that tensor parallelism cuts it: conv2d, dense, embedding, rnn, lstm. */
bool roofline_has_weights(const struct layer_spec *layer);

#endif
