/*
 * backend.h - the operations a network is computed with, as a table of functions.
 *
 * A backend (cpu over oneDNN, later cuda) prepares one *stage* per step of the computation, once, for its
 * shapes and its batch, and then runs it forward and backward any number of times. How a stage lays out what
 * it puts out is the backend's own affair; its neighbours are stages of the same backend and know. Parameters and
 * gradients are given from outside, in the plain layout of engine/spec/model.h. Networks know only this table.
 *
 * A backend and its stages belong to one thread. Functions fail only where the machine does (memory, a device).
 */
#ifndef RINGSIDE_NN_BACKEND_H
#define RINGSIDE_NN_BACKEND_H

#include "engine/base/error.h"
#include "engine/spec/model.h"

#include <stddef.h>
#include <stdint.h>

enum stage_kind { STAGE_INPUT, STAGE_CONV2D, STAGE_MAXPOOL, STAGE_RELU, STAGE_FLATTEN, STAGE_DENSE };
enum pass { PASS_FORWARD, PASS_BACKWARD_DATA, PASS_BACKWARD_WEIGHTS, PASSES };

struct stage_spec {
    enum stage_kind kind;
    int batch; /* samples; a short batch is filled up and the rest of it ignored by the loss */
    struct model_shape in, out;
    int kernel, stride, padding; /* conv2d; maxpool: kernel and stride are its size */
    bool relu;                   /* conv2d, maxpool, dense: a relu follows and is done at once */
    int pool;            /* conv2d: a maxpool of this size follows the relu and is done at once; else 0 */
    bool backward;       /* it will be run backward too */
    bool input_gradient; /* backward also computes the gradient of the stage's input */
    size_t weight_offset, weights, bias_offset, biases;
};

struct backend;
struct stage;

/* What the loss of a batch comes to: sums over its rows, for the caller to add up over ranks. */
struct loss_sum {
    double loss; /* cross-entropy in nats */
    long correct;
    long rows;
};

/* One step of Adam (D. Kingma and J. Ba, Adam: a method for stochastic optimization, ICLR 2015). */
struct adam_step {
    double lr, beta1, beta2, epsilon;
    long step; /* from 1: corrects the bias of the moments */
};

struct backend_ops {
    const char *name; /* "cpu": shown to the learner */

    /* Whether this convolution can do the relu and the maxpool behind it in one go; out is the convolution's own. */
    bool (*fuses_pool)(const struct stage_spec *conv, int size);

    /* previous is NULL for the input stage, which is filled through input_data. */
    bool (*stage_new)(struct backend *b, const struct stage_spec *spec, struct stage *previous,
                      struct stage **stage, struct error *e);
    void (*stage_free)(struct stage *s);

    /* Where the host puts the batch: batch × channels × height × width, owned by the stage. */
    float *(*input_data)(struct stage *input);

    bool (*forward)(struct stage *s, const float *parameters, struct error *e);
    /* Overwrites the stage's part of gradients. The gradient of its output is there already. */
    bool (*backward)(struct stage *s, const float *parameters, float *gradients, struct error *e);

    /*
     * Softmax and cross-entropy of the last stage's output (flat: one logit a class). scale > 0 also leaves the
     * gradient of scale × loss there for backward. predicted (batch long) may be NULL.
     */
    bool (*loss)(struct stage *last, const uint8_t *labels, int rows, double scale, struct loss_sum *sum,
                 uint8_t *predicted, struct error *e);

    /* The last stage's output or any flat stage's, read back: batch × elements. */
    bool (*read)(struct stage *s, float *out, struct error *e);

    /* One pass over the parameters; the sum of the squared gradients comes back with it. */
    bool (*adam)(struct backend *b, const struct adam_step *step, float *parameters, const float *gradients,
                 float *first, float *second, size_t n, double *gradient_squares, struct error *e);
    bool (*sgd)(struct backend *b, double lr, double momentum, float *parameters, const float *gradients,
                float *velocity, size_t n, double *gradient_squares, struct error *e);

    /* The library's name of the implementation that does the pass, "" where there is none. */
    const char *(*implementation)(const struct stage *s, enum pass pass);

    void (*close)(struct backend *b);
};

struct backend {
    const struct backend_ops *ops;
    void *self;
    int threads;
};

/* threads: at least 1. Close with backend_close; NULL is fine. */
struct backend *backend_cpu_open(int threads, struct error *e);
void backend_close(struct backend *b);

#endif
