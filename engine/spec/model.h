/*
 * model.h - what a network is, without computing it: layers, shapes, parameters, FLOPs, bytes.
 *
 * A model is a list of layers in an order in which they can be computed. A layer takes the output of the one before it
 * or of layers further back (`inputs`): residual{...} and branches{...} of a description become an add or a
 * concat layer with several inputs. A model comes from a Lua file (model_lua.h: "resnet20", "mine.lua") or from JSON:
 *     {"name": "mine", "input": [1, 28, 28], "layers": [
 *         {"kind": "conv2d", "channels": 32, "kernel": 3}, {"kind": "relu"}, {"kind": "maxpool", "size": 2},
 *         {"kind": "residual", "layers": [...], "shortcut": [...]},
 *         {"kind": "flatten"}, {"kind": "dense", "units": 10}]}
 * Of a sequence the input is {"steps": 28, "features": 28}, of tokens {"tokens": 100}; "loss" is "cross_entropy" (the
 * default), "bce" or "mse", "label_smoothing" a share. Two networks against each other are {"name": ..., "generator":
 * MODEL, "discriminator": MODEL}: two models, each made by model_from_json.
 * A layer may carry "line", its line in a Lua file. Unknown fields are errors. Errors are ERROR_INPUT and name the layer
 * by its number, from 1, and what it gets and needs.
 *
 * Parameters lie in one buffer in layer order, each layer's tensors in the order of `tensors`: the layout of checkpoints
 * and of PyTorch's state_dict. What a layer keeps but does not learn (the running statistics of batchnorm) lies in
 * a second buffer, the state.
 */
#ifndef RINGSIDE_SPEC_MODEL_H
#define RINGSIDE_SPEC_MODEL_H

#include "engine/base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    MODEL_MAX_LAYERS = 1024,
    MODEL_NAME_LENGTH = 64,
    LAYER_MAX_INPUTS = 8,
    LAYER_MAX_TENSORS = 4,
    LAYER_NAME_LENGTH = 48
};

enum layer_kind {
    LAYER_CONV2D,
    LAYER_MAXPOOL,
    LAYER_AVGPOOL,
    LAYER_GLOBAL_AVGPOOL,
    LAYER_BATCHNORM,
    LAYER_LAYERNORM,
    LAYER_DROPOUT,
    LAYER_RELU,
    LAYER_LEAKY_RELU,
    LAYER_GELU,
    LAYER_TANH,
    LAYER_SIGMOID,
    LAYER_DENSE,
    LAYER_EMBEDDING,
    LAYER_SIMPLE_RNN,
    LAYER_LSTM,
    LAYER_FLATTEN,
    LAYER_RESHAPE,
    LAYER_ADD,
    LAYER_CONCAT,
    LAYER_KINDS
};

/*
 * Of one sample. An image is channels × height × width, plain; a flat one of n elements is {n, 1, 1}. A sequence is
 * {steps, 1, features}: plain again, a step's features side by side. Tokens are {steps, 1, 1}, whole numbers.
 */
enum shape_kind { SHAPE_IMAGE, SHAPE_SEQUENCE, SHAPE_TOKENS };
struct model_shape {
    int channels, height, width;
    enum shape_kind kind;
};

/* One learned tensor, or one of the state. */
struct layer_tensor {
    const char *name;        /* "weight", "bias", "weight_ih", "running_mean" ... as PyTorch calls it */
    size_t offset, elements; /* in the buffer of parameters, or of the state */
    int rank;
    size_t extent[4];
};

enum { MODEL_INPUT = -1 }; /* among a layer's inputs: what the model is given */

struct layer_spec {
    enum layer_kind kind;
    char name[LAYER_NAME_LENGTH]; /* where it stands in the description: "4", "7.layers.0", "7.shortcut.0" */
    int line;                     /* of the Lua file it is described in, for messages; 0: not said */
    int inputs[LAYER_MAX_INPUTS]; /* numbers of earlier layers, from 0, or MODEL_INPUT */
    int input_count;              /* 1, but for add and concat */

    /* As described; what a kind does not have is 0. Pairs are height, width. */
    int channels;                         /* conv2d: filters */
    int kernel[2], stride[2], padding[2]; /* conv2d and the pools (avgpool counts its padding as zeros) */
    int dilation[2], groups;              /* conv2d */
    bool bias;                            /* conv2d, dense: has one (the default) */
    int units;                            /* dense, embedding, simple_rnn, lstm: features it puts out */
    int vocabulary;                       /* embedding */
    bool last;                            /* simple_rnn, lstm: puts out its last step only */
    bool sync;                            /* batchnorm: statistics over all ranks' samples */
    double epsilon, momentum;             /* batchnorm (1e-5, 0.1), layernorm (1e-5) */
    double rate;                          /* dropout: share of the elements set to 0 */
    double slope;                         /* leaky_relu (0.01) */
    struct model_shape target;            /* reshape */

    /* filled in by model_resolve */
    struct model_shape in, out;                     /* in: of the first input */
    struct layer_tensor tensors[LAYER_MAX_TENSORS]; /* learned */
    int tensor_count;
    struct layer_tensor state[2];
    int state_count;
    double flops;          /* forward, one sample; a multiply and an add are two */
    double backward_flops; /* of the gradients that training needs */
    /*
     * Moved by the forward pass of one sample, float32: inputs, parameters (of an embedding the rows looked up) and
     * output, each once. flatten and reshape move nothing. flops / bytes is the layer's arithmetic intensity.
     */
    double bytes;
};

enum loss_kind { LOSS_CROSS_ENTROPY, LOSS_BCE, LOSS_MSE };

/* What the last layer's output is held against. */
struct loss_spec {
    enum loss_kind kind;
    double label_smoothing; /* cross_entropy: this share of the label is spread over all classes */
};

struct model_spec {
    char name[MODEL_NAME_LENGTH];
    struct model_shape input;
    struct loss_spec loss;
    struct layer_spec *layers; /* owned */
    int layer_count;

    /* filled in by model_resolve */
    size_t parameters, states; /* elements of the two buffers */
    double flops;              /* forward, one sample */
    double train_flops;      /* forward and backward, one sample: no gradient is needed of the input itself */
    double activation_bytes; /* outputs of all layers, one sample, float32 */
};

/* Makes *model and resolves it; free it. Nothing to free where it fails. */
bool model_from_json(const json_t *object, struct model_spec *model, struct error *e);
/* Whether it is a model, or two that make a gan. */
bool model_check(const json_t *object, struct error *e);
bool model_copy(const struct model_spec *from, struct model_spec *to, struct error *e);
void model_free(struct model_spec *model);

/* Computes shapes, offsets and costs from input and layers; fails where layers do not fit together. */
bool model_resolve(struct model_spec *model, struct error *e);

struct model_shape model_output(const struct model_spec *model);
size_t model_shape_elements(struct model_shape shape);
/* "1×28×28", "128" (flat), "100 steps × 64", "100 tokens". Returns text. */
const char *model_shape_describe(struct model_shape shape, char text[64]);
const char *layer_kind_name(enum layer_kind kind); /* "conv2d", "relu", ... */
const char *loss_kind_name(enum loss_kind kind);   /* "cross_entropy", "bce", "mse" */
/* "conv2d 32, 3×3", "maxpool 2", "dense 10": for messages and the screen. Returns text. */
const char *layer_describe(const struct layer_spec *layer, char text[64]);
/* A layer's name as a learner counts: "7.branches.1.2" is "layer 8, branch 2, layer 3". Returns text. */
const char *layer_place(const char *name, char text[96]);
/* Of the learned tensors: NULL where the layer has none of that name. */
const struct layer_tensor *layer_tensor(const struct layer_spec *layer, const char *name);
size_t layer_parameters(const struct layer_spec *layer);

#endif
