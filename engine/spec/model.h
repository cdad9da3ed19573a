/*
 * model.h - what a network is, without computing it: layers in order, shapes, parameters, FLOPs, bytes.
 *
 * A model_spec owns nothing and can be copied. It is made by name, or from JSON (a learner's model):
 *     {"name": "mine", "input": [1, 28, 28], "layers": [
 *         {"kind": "conv2d", "channels": 32, "kernel": 3, "stride": 1, "padding": 0}, {"kind": "relu"},
 *         {"kind": "maxpool", "size": 2}, {"kind": "flatten"}, {"kind": "dense", "units": 10}]}
 * "name" ("model"), "input" ([1, 28, 28]), "stride" (1) and "padding" (0) may be left out; unknown fields are errors.
 * Errors are ERROR_INPUT and name the layer by its number, from 1, and what it gets and needs.
 *
 * Parameters lie in one buffer in layer order, per layer first the weights (conv2d [out][in][kernel][kernel],
 * dense [out][in]), then the biases: the layout of checkpoints and of PyTorch's state_dict.
 */
#ifndef RINGSIDE_SPEC_MODEL_H
#define RINGSIDE_SPEC_MODEL_H

#include "engine/base/error.h"

#include <jansson.h>
#include <stddef.h>

enum { MODEL_MAX_LAYERS = 64, MODEL_NAME_LENGTH = 64 };

enum layer_kind { LAYER_CONV2D, LAYER_RELU, LAYER_MAXPOOL, LAYER_FLATTEN, LAYER_DENSE, LAYER_KINDS };

/* Of one sample. A flat one of n elements is {n, 1, 1}. */
struct model_shape {
    int channels, height, width;
};

struct layer_spec {
    enum layer_kind kind;
    int channels, kernel, stride, padding; /* conv2d: filters of kernel × kernel, zero padding on each side */
    int size;  /* maxpool: window and stride; what does not fill one is left out */
    int units; /* dense */

    /* filled in by model_resolve */
    struct model_shape in, out;
    size_t weight_offset, weights; /* in elements of the parameter buffer; 0 weights: no parameters */
    size_t bias_offset, biases;
    double flops; /* forward, one sample; a multiply and an add are two */
};

struct model_spec {
    char name[MODEL_NAME_LENGTH];
    struct model_shape input;
    struct layer_spec layers[MODEL_MAX_LAYERS];
    int layer_count;

    /* filled in by model_resolve */
    size_t parameters;
    double flops;            /* forward, one sample */
    double train_flops;      /* forward and backward, one sample: no gradient is needed of the input itself */
    double activation_bytes; /* outputs of all layers, one sample, float32 */
};

/* "cnn" (93 322 parameters) or "mlp" (784-128-10, 101 770 parameters); both take 1 × 28 × 28 and give 10 logits. */
bool model_named(const char *name, struct model_spec *model, struct error *e);
/* The names model_named knows, NULL after the last. */
const char *const *model_names(void);

bool model_from_json(const json_t *object, struct model_spec *model, struct error *e);
json_t *model_to_json(const struct model_spec *model); /* a new reference */

/* Computes shapes, offsets and costs from input and layers; fails where layers do not fit together. */
bool model_resolve(struct model_spec *model, struct error *e);

size_t model_shape_elements(struct model_shape shape);
const char *layer_kind_name(enum layer_kind kind); /* "conv2d", "relu", ... */
/* "conv2d 32, 3×3", "maxpool 2", "dense 10": for messages and the screen. Returns text. */
const char *layer_describe(const struct layer_spec *layer, char text[64]);

#endif
