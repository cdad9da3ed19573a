/*
 * learning_rate.h - how the learning rate moves over a run.
 *
 * onecycle: from peak/25 up to peak over the first 30 % of the steps and down to peak/250 000 over the rest, both by
 * half a cosine (L. Smith and N. Topin, Super-convergence: very fast training of neural networks using large learning
 * rates, 2018; the form and constants of PyTorch's OneCycleLR, without its cycling of momentum).
 */
#ifndef RINGSIDE_NN_LEARNING_RATE_H
#define RINGSIDE_NN_LEARNING_RATE_H

#include "engine/base/error.h"

enum learning_rate_kind { LEARNING_RATE_CONSTANT, LEARNING_RATE_ONECYCLE };

struct learning_rate {
    enum learning_rate_kind kind;
    double peak;
    double steps; /* of the whole run */
};

/* name: "constant" or "onecycle". */
bool learning_rate_init(struct learning_rate *l, const char *name, double peak, double steps,
                        struct error *e);
/* step from 0; may be a fraction, where a run is bounded by time. */
double learning_rate_at(const struct learning_rate *l, double step);

#endif
