/*
 * network.h - a model made ready to train: a chain of stages on a backend, over one buffer of parameters.
 *
 * Layers that can be done in one go become one stage: a relu joins the convolution or dense layer before it, and
 * conv2d, relu, maxpool become conv2d and a maxpool with relu (the same values: both are monotone and the
 * maximum of the relus is the relu of the maximum; a quarter of the work). The network owns its parameters
 * and borrows backend and gradients, which must outlive it.
 */
#ifndef RINGSIDE_NN_NETWORK_H
#define RINGSIDE_NN_NETWORK_H

#include "engine/nn/backend.h"
#include "engine/nn/tensor.h"

struct network {
    struct model_spec model;
    struct backend *backend;
    int batch;
    float *parameters; /* model.parameters, 64-byte aligned, owned */
    float *gradients;  /* as many, given by the caller; NULL: forward only */
    struct stage *stages[MODEL_MAX_LAYERS + 1];
    int stage_count; /* the first is the input */
};

/* batch samples at a time. gradients may be NULL for a network that only predicts. */
struct network *network_new(const struct model_spec *model, struct backend *backend, int batch,
                            float *gradients, struct error *e);
void network_free(struct network *n);

/*
 * Draws all parameters: weights and biases of a layer uniform in ±1/sqrt(inputs of one of its units), PyTorch's
 * default (He et al., Delving deep into rectifiers, ICCV 2015, with a = sqrt 5). The same seed gives the same
 * parameters everywhere.
 */
void network_init(struct network *n, uint64_t seed);

/* Where the caller puts a batch: batch × channels × height × width. */
float *network_input(struct network *n);

/* Forward and loss of the first `rows` samples; predicted (batch long) may be NULL. */
bool network_evaluate(struct network *n, const uint8_t *labels, int rows, struct loss_sum *sum,
                      uint8_t *predicted, struct error *e);

/* Forward, loss, backward: gradients holds that of scale × (sum of the losses of the rows). */
bool network_gradients(struct network *n, const uint8_t *labels, int rows, double scale, struct loss_sum *sum,
                       struct error *e);

/* Views of layer i's weights and biases in a buffer of the model's layout; false where it has none. */
bool network_layer_views(const struct model_spec *model, int i, float *buffer, struct tensor *weights,
                         struct tensor *biases);

/* FNV-1a of the bits: ranks that trained alike have the same. */
uint64_t network_hash(const struct network *n);

#endif
