/*
 * learning_rate.h - how the learning rate moves over a run.
 *
 * constant  the peak throughout.
 * step      the peak, multiplied by gamma after every step_size epochs (PyTorch's StepLR).
 * cosine    from the peak down to 0 by half a cosine (I. Loshchilov and F. Hutter, SGDR: stochastic gradient
 *           descent with warm restarts, 2017, without restarts; PyTorch's CosineAnnealingLR).
 * onecycle  from peak/25 up to peak over the first 30 % of the steps and down to peak/250 000 over the rest,
 *           both by half a cosine (L. Smith and N. Topin, Super-convergence: very fast training of neural
 *           networks using large learning rates, 2018; PyTorch's OneCycleLR, its momentum left alone).
 *
 * A warm-up comes before: the rate rises along a straight line, and the schedule has the steps that are left
 * (the epochs of `step` count from the run's beginning). With a rate that was scaled to a large batch it
 * rises from what it was scaled from (P. Goyal et al., Accurate, large minibatch SGD: training ImageNet in 1
 * hour, 2017, sections 2.1 and 2.2), else from as if it had come from 0.
 */
#ifndef RINGSIDE_NN_LEARNING_RATE_H
#define RINGSIDE_NN_LEARNING_RATE_H

#include "engine/base/error.h"

enum learning_rate_kind {
    LEARNING_RATE_CONSTANT,
    LEARNING_RATE_STEP,
    LEARNING_RATE_COSINE,
    LEARNING_RATE_ONECYCLE
};

struct learning_rate {
    enum learning_rate_kind kind;
    double peak;
    double steps;            /* of the whole run */
    double warm_steps;       /* of them, the warm-up; 0: none */
    double start;            /* of the warm-up, as a share of the peak */
    double step_size, gamma; /* step; the size in epochs */
};

/* name: "constant", "step", "cosine" or "onecycle". Without warm-up. */
bool learning_rate_init(struct learning_rate *l, const char *name, double peak, double steps,
                        struct error *e);
/* base: the batch that the peak was meant for, or 0: it becomes that for `batch`. */
void learning_rate_scale(struct learning_rate *l, double base, double batch);
/* share: of the steps. After learning_rate_scale. */
void learning_rate_warm_up(struct learning_rate *l, double share);

/* step from 0; may be a fraction, where a run is bounded by time. epoch: how many are over, parts too. */
double learning_rate_at(const struct learning_rate *l, double step, double epoch);

#endif
