/*
 * network.h - a model made ready to train: its stages on a backend, over one buffer of parameters.
 *
 * Layers that can be done in one go become one stage: a relu joins the convolution, dense layer, batchnorm or add before
 * it, and conv2d, relu, maxpool become conv2d and a maxpool with relu (the same values: both are monotone and the
 * maximum of the relus is the relu of the maximum; a quarter of the work). The network owns its parameters and
 * state and borrows backend and gradients, which must outlive it. All three lie in the backend's memory; where that is
 * not the host's, the host has copies of the first two, which are as new as the last network_to_host.
 */
#ifndef RINGSIDE_NN_NETWORK_H
#define RINGSIDE_NN_NETWORK_H

#include "engine/base/trace.h"
#include "engine/nn/backend.h"
#include "engine/nn/tensor.h"

/*
 * Told, as backward goes from the last layer to the first, that the gradients from `from` to their end are
 * final, while those before are still to come. False ends the pass.
 */
struct gradient_hook {
    bool (*ready)(void *self, size_t from, struct error *e); /* NULL: nobody listens */
    void *self;
};

struct network {
    struct model_spec model; /* a copy */
    struct backend *backend;
    int batch;
    float *parameters; /* model.parameters, in the backend's memory, owned */
    float *state;      /* model.states, the same */
    float *gradients;  /* as many as parameters, the same, given by the caller; NULL: forward only */
    float *host_parameters,
        *host_state;       /* the two where the host reads and writes them; often the same pointers */
    void *input;           /* the batch that forward goes by: what network_input gave last */
    struct stage **stages; /* the first is the input */
    int stage_count;
    int *stage_of; /* by layer: the stage that puts out what the layer does, or the fused layers up to it */
    size_t *first_parameter; /* by stage: where its parameters begin; model.parameters where it has none */
    /* What a pass goes by beside the buffers: set before a step where it matters (dropout, synchronised batchnorm). */
    struct pass_context context;
    struct gradient_hook hook; /* set by the caller, as the context is */
    struct trace_lane *lane;   /* where passes are recorded; NULL: nowhere */
    int *span_names;           /* by stage, of that lane's trace */
};

/* Where the gradient of the model's own input is wanted too (a generator learns through its discriminator). */
enum network_option { NETWORK_PLAIN = 0, NETWORK_INPUT_GRADIENT = 1 };

/* batch samples at a time. gradients may be NULL for a network that only predicts. */
struct network *network_new(const struct model_spec *model, struct backend *backend, int batch,
                            float *gradients, unsigned options, struct error *e);
void network_free(struct network *n);

/*
 * Draws all parameters as PyTorch does by default: weights and biases of conv2d and dense uniform in ±1/sqrt(inputs of
 * one of its units) (He et al., Delving deep into rectifiers, ICCV 2015, with a = sqrt 5), of simple_rnn and lstm in
 * ±1/sqrt(units), embeddings normal, norms 1 and 0. The same seed gives the same parameters everywhere. State: means 0,
 * variances 1.
 */
bool network_init(struct network *n, uint64_t seed, struct error *e);

/* The host's copies of parameters and state become what the backend has, or the other way round. */
bool network_to_host(struct network *n, struct error *e);
bool network_to_backend(struct network *n, struct error *e);
/* Parameters and state of another network of the same model and backend. The host's copies stay as they are. */
bool network_take(struct network *n, const struct network *from, struct error *e);

/*
 * Forward and backward, and each stage in them, are spans of that lane from now on, called by the layers' names and
 * `whose` before them ("" for one network). Nothing where lane is NULL.
 */
bool network_trace(struct network *n, struct trace *trace, struct trace_lane *lane, const char *whose,
                   struct error *e);

/*
 * Where the caller puts the next batch, plain: float, or int32_t where the model takes tokens. To be asked for once for
 * each batch; what is written there stays until the next is asked for.
 */
void *network_input(struct network *n);
/* The last stage, and the stage that puts out layer i's result. */
struct stage *network_output(const struct network *n);
struct stage *network_stage(const struct network *n, int layer);

/* Forward alone; training decides what dropout and batchnorm do. */
bool network_forward(struct network *n, bool training, struct error *e);
/* Forward (not training) and loss; predicted (a number a row) may be NULL. */
bool network_evaluate(struct network *n, const struct targets *targets, struct loss_sum *sum,
                      int32_t *predicted, struct error *e);
/* Forward, loss, backward: gradients holds that of scale × (sum of the losses of the rows). */
bool network_gradients(struct network *n, const struct targets *targets, double scale, struct loss_sum *sum,
                       struct error *e);
/*
 * The same in two parts, recorded by the backend at the first call and started as a whole at each later one, where it has record_begin:
 * with the same scale and no hook, and no layer that looks across ranks. In between the host may fill in the next batch, but not
 * the targets.
 */
bool network_gradients_start(struct network *n, const struct targets *targets, double scale, struct error *e);
bool network_gradients_finish(struct network *n, struct loss_sum *sum, struct error *e);
/* Of the batch that network_input gave: it is complete, and may travel to where it is computed with. */
bool network_input_complete(struct network *n, struct error *e);
/* Backward alone, after a forward pass in training and write_gradient or loss on the last stage. */
bool network_backward(struct network *n, struct error *e);

/* The first layer whose parameters or output hold a NaN or an infinity, -1: none. After forward: backward may overwrite outputs. */
int network_first_not_finite(struct network *n, struct error *e);
/* The same of gradients in the parameters' layout; the first as backward goes, which is the last of them. */
int network_gradient_not_finite(const struct network *n, const float *gradients);

/* A layer's learned tensor t in a buffer of the model's layout. */
struct tensor network_tensor(const struct layer_spec *layer, int t, float *buffer);

/* FNV-1a of the bits of the parameters in the host's copy: ranks that trained alike have the same. */
uint64_t network_hash(const struct network *n);

#endif
