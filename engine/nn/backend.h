/*
 * backend.h - the operations a network is computed with, as a table of functions.
 *
 * A backend (cpu over oneDNN, cuda over cuBLAS and the kernels of kernels/) prepares one *stage* per step of the computation, once, for its shapes and
 * its batch, and then runs it forward and backward any number of times. How a stage lays out what it puts out is the
 * backend's own affair; its neighbours are stages of the same backend and know. Parameters, gradients, state and an
 * optimiser's moments are given from outside, in the plain layout of engine/spec/model.h and in the backend's memory
 * (memory_new); everything else that is handed over lies in the host's. Networks know only this table.
 *
 * A backend and its stages belong to one thread. Functions fail only where the machine does (memory, a device).
 */
#ifndef RINGSIDE_NN_BACKEND_H
#define RINGSIDE_NN_BACKEND_H

#include "engine/base/error.h"
#include "engine/spec/model.h"

#include <stddef.h>
#include <stdint.h>

enum pass { PASS_FORWARD, PASS_BACKWARD_DATA, PASS_BACKWARD_WEIGHTS, PASSES };

struct stage_spec {
    const struct layer_spec *layer; /* NULL: the input stage; else outlives the stage */
    int batch; /* samples; a short batch is filled up and the rest of it ignored by the loss */
    struct model_shape in, out;
    bool relu;     /* conv2d, pools, dense, batchnorm, add: a relu follows and is done at once */
    int pool;      /* conv2d: a maxpool of this size follows the relu and is done at once; else 0 */
    bool backward; /* it will be run backward too */
    bool input_gradient[LAYER_MAX_INPUTS]; /* backward also computes the gradient of that input */
    /* That gradient is added to what is there: another stage that takes the same input came first in backward. */
    bool accumulate[LAYER_MAX_INPUTS];
    bool sole[LAYER_MAX_INPUTS]; /* no other stage takes that input: its memory may be written over */
};

struct backend;
struct stage;

/* Sums over all ranks, in place: what layers that look across ranks (synchronised batchnorm) are handed. */
struct rank_sum {
    bool (*sum)(void *self, float *values, size_t n, struct error *e);
    void *self;
    int ranks;
};

/* What a forward or backward pass goes by. The three buffers are of memory_new. */
struct pass_context {
    const float *parameters;
    float *gradients; /* backward: each stage overwrites its part */
    float *state;     /* running statistics: read in evaluation, moved in training */
    bool training;
    /* Dropout's mask depends on these alone, so that ranks × batch drop what one rank with all of them would. */
    uint64_t seed;
    long step;
    long first_row;                   /* place of the batch's first sample in the global batch */
    const struct rank_sum *all_ranks; /* NULL: this rank alone */
};

/*
 * What the last stage's output is held against. A row is what one target belongs to: a sample or, of a sequence
 * of logits, one step of one sample; samples in order, the steps of each in order.
 */
struct targets {
    const int32_t
        *classes;        /* cross_entropy, and mse without values: one a row; bce: 0 or 1, one an element */
    const float *values; /* mse, and bce where not NULL: one an element, plain */
    int samples;         /* of the batch that count; the others have no loss and no gradient */
};

/* What the loss of a batch comes to: sums over its rows, for the caller to add up over ranks. */
struct loss_sum {
    double loss;  /* cross-entropy in nats; bce and mse: a row's mean over its elements */
    long correct; /* mse of values: 0 */
    long rows;
};

struct optimizer_step; /* engine/nn/optimizer.h */

struct backend_ops {
    const char *name; /* "cpu": shown to the learner */

    /*
     * The memory it computes in: `elements` floats, zeroed, 64-byte aligned. With host_memory the host reads and writes them
     * as they are; else copy_in and copy_out do, behind everything that was asked for before; they wait until it is done.
     */
    bool host_memory;
    float *(*memory_new)(struct backend *b, size_t elements, struct error *e);
    void (*memory_free)(struct backend *b, float *memory);
    bool (*copy_in)(struct backend *b, float *to, const float *from, size_t n, struct error *e);
    bool (*copy_out)(struct backend *b, float *to, const float *from, size_t n, struct error *e);
    /* Both in that memory, which do not overlap: to[0..n) becomes from[0..n), or their sum. They do not wait. */
    bool (*copy)(struct backend *b, float *to, const float *from, size_t n, struct error *e);
    bool (*add)(struct backend *b, float *to, const float *from, size_t n, struct error *e);

    /* Whether a relu behind this layer can be done at once. */
    bool (*fuses_relu)(const struct layer_spec *layer);
    /* Whether this convolution can do the relu and the maxpool behind it in one go; out is the convolution's own. */
    bool (*fuses_pool)(const struct stage_spec *conv, const struct layer_spec *pool);

    /* inputs: as many as the layer has; none for the input stage, which is filled through input_data. */
    bool (*stage_new)(struct backend *b, const struct stage_spec *spec, struct stage *const *inputs,
                      struct stage **stage, struct error *e);
    void (*stage_free)(struct stage *s);

    /*
     * Where the host puts the next batch, plain, owned by the stage: float, or int32_t where the input is tokens. Asked for
     * anew for each batch: a backend may have two of them, and copy one while it computes on the other.
     */
    void *(*input_data)(struct stage *input);
    /* The batch there is complete: it may begin to travel. NULL, or not called: it does with the next forward pass. */
    bool (*input_complete)(struct stage *input, struct error *e);

    bool (*forward)(struct stage *s, const struct pass_context *c, struct error *e);
    /* Overwrites the stage's part of c->gradients. The gradient of its output is there already. */
    bool (*backward)(struct stage *s, const struct pass_context *c, struct error *e);

    /*
     * The loss of the last stage's output. scale > 0 also leaves the gradient of scale × loss there for backward.
     * predicted (one a row: the class, or for bce 0 or 1) may be NULL.
     */
    bool (*loss)(struct stage *last, const struct loss_spec *loss, const struct targets *targets,
                 double scale, struct loss_sum *sum, int32_t *predicted, struct error *e);

    /*
     * A step's passes as one piece of work that is recorded once and then started as a whole (a CUDA graph). NULL: the
     * backend has no such thing. Between the two calls come forward of each stage, loss with a scale above 0 (whose sums are
     * not there yet) and backward of each stage, always with the same buffers; step, first_row and the batch may change. Where
     * *replayed they are left out: all that is on its way already. record_end tells what the loss came to. Before it, the
     * host may ask for the next batch's input_data.
     */
    bool (*record_begin)(struct backend *b, struct stage *last, const struct pass_context *c,
                         const struct targets *targets, bool *replayed, struct error *e);
    bool (*record_end)(struct backend *b, struct loss_sum *sum, struct error *e);

    /* A stage's output or the gradient of it, plain: batch × elements. write_gradient: what backward begins with. */
    bool (*read)(struct stage *s, float *out, struct error *e);
    bool (*read_gradient)(struct stage *s, float *out, struct error *e);
    bool (*write_gradient)(struct stage *s, const float *gradient, struct error *e);
    /*
     * What a stage keeps inside, after forward and before backward. simple_rnn: "h", lstm: the gates "i", "f", "g", "o"
     * and the cell state "c", each of all steps: batch × steps × units.
     */
    bool (*read_internal)(struct stage *s, const char *name, float *out, struct error *e);

    /* One step of an optimiser; the square of the gradient's norm comes back with it. */
    bool (*optimize)(struct backend *b, const struct optimizer_step *step, double *gradient_squares,
                     struct error *e);

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
/*
 * Stages made from now on multiply in bf16 and keep everything else in fp32. ERROR_MISSING where the processor cannot: e
 * names what it lacks.
 */
bool backend_cpu_use_bf16(struct backend *b, struct error *e);
void backend_close(struct backend *b);

#endif
