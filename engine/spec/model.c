#include "engine/spec/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[LAYER_KINDS] = {
    [LAYER_CONV2D] = "conv2d",
    [LAYER_MAXPOOL] = "maxpool",
    [LAYER_AVGPOOL] = "avgpool",
    [LAYER_GLOBAL_AVGPOOL] = "global_avgpool",
    [LAYER_BATCHNORM] = "batchnorm",
    [LAYER_LAYERNORM] = "layernorm",
    [LAYER_DROPOUT] = "dropout",
    [LAYER_RELU] = "relu",
    [LAYER_LEAKY_RELU] = "leaky_relu",
    [LAYER_GELU] = "gelu",
    [LAYER_TANH] = "tanh",
    [LAYER_SIGMOID] = "sigmoid",
    [LAYER_DENSE] = "dense",
    [LAYER_EMBEDDING] = "embedding",
    [LAYER_SIMPLE_RNN] = "simple_rnn",
    [LAYER_LSTM] = "lstm",
    [LAYER_FLATTEN] = "flatten",
    [LAYER_RESHAPE] = "reshape",
    [LAYER_ADD] = "add",
    [LAYER_CONCAT] = "concat",
};

static const char *const loss_names[] = {
    [LOSS_CROSS_ENTROPY] = "cross_entropy", [LOSS_BCE] = "bce", [LOSS_MSE] = "mse"};

const char *layer_kind_name(enum layer_kind kind)
{
    return (unsigned)kind < LAYER_KINDS ? kind_names[kind] : "unknown";
}

const char *loss_kind_name(enum loss_kind kind)
{
    return loss_names[kind];
}

/* "3" or "1×7". */
static const char *pair_text(const int pair[2], char text[32])
{
    if (pair[0] == pair[1])
        snprintf(text, 32, "%d", pair[0]);
    else
        snprintf(text, 32, "%d×%d", pair[0], pair[1]);
    return text;
}

/* ", stride 2" where it is not what is expected. */
static const char *stride_text(const int stride[2], const int standard[2], char text[48])
{
    char pair[32];
    bool plain = stride[0] == standard[0] && stride[1] == standard[1];
    snprintf(text, 48, "%s%s", plain ? "" : ", stride ", plain ? "" : pair_text(stride, pair));
    return text;
}

const char *layer_describe(const struct layer_spec *layer, char text[64])
{
    static const int one[2] = {1, 1};
    const char *kind = layer_kind_name(layer->kind);
    char pair[32], stride[48], shape[64];
    switch (layer->kind) {
    case LAYER_CONV2D:
        snprintf(text, 64, "%s %d, %d×%d%.20s", kind, layer->channels, layer->kernel[0], layer->kernel[1],
                 stride_text(layer->stride, one, stride));
        break;
    case LAYER_MAXPOOL:
    case LAYER_AVGPOOL:
        snprintf(text, 64, "%s %s%.20s", kind, pair_text(layer->kernel, pair),
                 stride_text(layer->stride, layer->kernel, stride));
        break;
    case LAYER_DENSE: snprintf(text, 64, "%s %d", kind, layer->units); break;
    case LAYER_SIMPLE_RNN:
    case LAYER_LSTM: snprintf(text, 64, "%s %d%s", kind, layer->units, layer->last ? ", last" : ""); break;
    case LAYER_EMBEDDING: snprintf(text, 64, "%s %d, %d", kind, layer->vocabulary, layer->units); break;
    case LAYER_DROPOUT: snprintf(text, 64, "%s %g", kind, layer->rate); break;
    case LAYER_RESHAPE:
        snprintf(text, 64, "%s %.50s", kind, model_shape_describe(layer->target, shape));
        break;
    default: snprintf(text, 64, "%s", kind);
    }
    return text;
}

const char *model_shape_describe(struct model_shape shape, char text[64])
{
    if (shape.kind == SHAPE_TOKENS)
        snprintf(text, 64, "%d tokens", shape.channels);
    else if (shape.kind == SHAPE_SEQUENCE)
        snprintf(text, 64, "%d steps × %d", shape.channels, shape.width);
    else if (shape.height == 1 && shape.width == 1)
        snprintf(text, 64, "%d", shape.channels);
    else
        snprintf(text, 64, "%d×%d×%d", shape.channels, shape.height, shape.width);
    return text;
}

size_t model_shape_elements(struct model_shape shape)
{
    return (size_t)shape.channels * (size_t)shape.height * (size_t)shape.width;
}

struct model_shape model_output(const struct model_spec *model)
{
    return model->layer_count > 0 ? model->layers[model->layer_count - 1].out : model->input;
}

const char *layer_place(const char *name, char text[96])
{
    static const struct {
        const char *word, *shown;
    } words[] = {{"layers", ", "}, {"shortcut", ", shortcut, "}, {"branches", ", branch "}};
    bool layer = true; /* a number is of a layer, but after "branches" */
    size_t used = 0;
    *text = 0;
    for (const char *p = name; *p && used < 96; p += *p == '.') {
        size_t n = strcspn(p, ".");
        int number;
        if (sscanf(p, "%d", &number) == 1) {
            used += (size_t)snprintf(text + used, 96 - used, layer ? "layer %d" : "%d, ", number + 1);
            layer = true;
        } else {
            for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strlen(words[i].word) == n && !strncmp(p, words[i].word, n))
                    used += (size_t)snprintf(text + used, 96 - used, "%s", words[i].shown);
            layer = *p != 'b';
        }
        p += n;
    }
    return text;
}

const struct layer_tensor *layer_tensor(const struct layer_spec *layer, const char *name)
{
    for (int i = 0; i < layer->tensor_count; i++)
        if (strcmp(layer->tensors[i].name, name) == 0)
            return &layer->tensors[i];
    return NULL;
}

size_t layer_parameters(const struct layer_spec *layer)
{
    size_t elements = 0;
    for (int i = 0; i < layer->tensor_count; i++)
        elements += layer->tensors[i].elements;
    return elements;
}

bool model_copy(const struct model_spec *from, struct model_spec *to, struct error *e)
{
    size_t bytes = (size_t)from->layer_count * sizeof *from->layers;
    *to = *from;
    to->layers = malloc(bytes ? bytes : 1);
    if (!to->layers)
        return error_set(e, ERROR_FAILED, "out of memory for the model \"%s\"", from->name);
    if (bytes)
        memcpy(to->layers, from->layers, bytes);
    return true;
}

void model_free(struct model_spec *model)
{
    if (!model)
        return;
    free(model->layers);
    model->layers = NULL;
    model->layer_count = 0;
}
