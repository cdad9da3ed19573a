#include "engine/spec/model.h"

#include <stdio.h>
#include <string.h>

/* Far above anything a CPU trains in a lesson, and far below where sizes would overflow. */
enum { MODEL_MAX_EXTENT = 4096, MODEL_MAX_UNITS = 1 << 20 };
#define MODEL_MAX_ELEMENTS ((size_t)1 << 28)

static const char *const kind_names[LAYER_KINDS] = {"conv2d", "relu", "maxpool", "flatten", "dense"};

const char *layer_kind_name(enum layer_kind kind)
{
    return kind_names[kind];
}

const char *layer_describe(const struct layer_spec *layer, char text[64])
{
    const char *kind = kind_names[layer->kind];
    if (layer->kind == LAYER_CONV2D)
        snprintf(text, 64, "%s %d, %d×%d", kind, layer->channels, layer->kernel, layer->kernel);
    else if (layer->kind == LAYER_MAXPOOL)
        snprintf(text, 64, "%s %d", kind, layer->size);
    else if (layer->kind == LAYER_DENSE)
        snprintf(text, 64, "%s %d", kind, layer->units);
    else
        snprintf(text, 64, "%s", kind);
    return text;
}

size_t model_shape_elements(struct model_shape shape)
{
    return (size_t)shape.channels * (size_t)shape.height * (size_t)shape.width;
}

static bool shape_is_flat(struct model_shape shape)
{
    return shape.height == 1 && shape.width == 1;
}

static bool in_range(int value, int low, int high)
{
    return value >= low && value <= high;
}

/* "layer 3 (conv2d 64, 3×3)" in front of what is wrong with it. */
static bool layer_error(const struct model_spec *model, int index, struct error *e, const char *what)
{
    char text[64];
    return error_set(e, ERROR_INPUT, "model \"%s\", layer %d (%s): %s", model->name, index + 1,
                     layer_describe(&model->layers[index], text), what);
}

static bool resolve_conv2d(const struct model_spec *model, int i, struct layer_spec *layer, struct error *e)
{
    if (!in_range(layer->channels, 1, MODEL_MAX_EXTENT) || !in_range(layer->kernel, 1, MODEL_MAX_EXTENT) ||
        !in_range(layer->stride, 1, MODEL_MAX_EXTENT))
        return layer_error(model, i, e, "channels, kernel and stride must be whole numbers from 1 to 4096");
    if (layer->padding < 0 || layer->padding >= layer->kernel)
        return layer_error(model, i, e, "the padding must be at least 0 and smaller than the kernel");
    int height = layer->in.height + 2 * layer->padding, width = layer->in.width + 2 * layer->padding;
    if (layer->kernel > height || layer->kernel > width) {
        char what[200];
        snprintf(what, sizeof what,
                 "its %d×%d kernel does not fit on an input of %d×%d; use fewer maxpool layers or a smaller "
                 "kernel",
                 layer->kernel, layer->kernel, height, width);
        return layer_error(model, i, e, what);
    }
    layer->out = (struct model_shape){layer->channels, (height - layer->kernel) / layer->stride + 1,
                                      (width - layer->kernel) / layer->stride + 1};
    size_t window = (size_t)layer->in.channels * (size_t)layer->kernel * (size_t)layer->kernel;
    layer->weights = window * (size_t)layer->channels;
    layer->biases = (size_t)layer->channels;
    layer->flops = (2.0 * (double)window + 1) * (double)model_shape_elements(layer->out);
    return true;
}

static bool resolve_maxpool(const struct model_spec *model, int i, struct layer_spec *layer, struct error *e)
{
    if (!in_range(layer->size, 1, MODEL_MAX_EXTENT))
        return layer_error(model, i, e, "the size must be a whole number from 1 to 4096");
    if (layer->size > layer->in.height || layer->size > layer->in.width) {
        char what[200];
        snprintf(what, sizeof what, "its %d×%d window does not fit on an input of %d×%d", layer->size,
                 layer->size, layer->in.height, layer->in.width);
        return layer_error(model, i, e, what);
    }
    layer->out = (struct model_shape){layer->in.channels, layer->in.height / layer->size,
                                      layer->in.width / layer->size};
    layer->flops = (double)model_shape_elements(layer->out) * (layer->size * layer->size - 1);
    return true;
}

static bool resolve_dense(const struct model_spec *model, int i, struct layer_spec *layer, struct error *e)
{
    if (!in_range(layer->units, 1, MODEL_MAX_UNITS))
        return layer_error(model, i, e, "units must be a whole number from 1 to 1048576");
    if (!shape_is_flat(layer->in)) {
        char what[200];
        snprintf(what, sizeof what, "it takes a flat input and gets %d×%d×%d; put flatten{} in front of it",
                 layer->in.channels, layer->in.height, layer->in.width);
        return layer_error(model, i, e, what);
    }
    size_t inputs = model_shape_elements(layer->in);
    layer->out = (struct model_shape){layer->units, 1, 1};
    layer->weights = inputs * (size_t)layer->units;
    layer->biases = (size_t)layer->units;
    layer->flops = (2.0 * (double)inputs + 1) * layer->units;
    return true;
}

static bool resolve_layer(const struct model_spec *model, int i, struct layer_spec *layer, struct error *e)
{
    size_t elements = model_shape_elements(layer->in);
    layer->weights = layer->biases = 0;
    layer->out = layer->in;
    layer->flops = 0;
    switch (layer->kind) {
    case LAYER_CONV2D: return resolve_conv2d(model, i, layer, e);
    case LAYER_MAXPOOL: return resolve_maxpool(model, i, layer, e);
    case LAYER_DENSE: return resolve_dense(model, i, layer, e);
    case LAYER_RELU: layer->flops = (double)elements; return true;
    case LAYER_FLATTEN: layer->out = (struct model_shape){(int)elements, 1, 1}; return true;
    case LAYER_KINDS: break;
    }
    return error_set(e, ERROR_INPUT, "model \"%s\": layer %d has no known kind", model->name, i + 1);
}

bool model_resolve(struct model_spec *model, struct error *e)
{
    const struct model_shape *input = &model->input;
    if (!in_range(input->channels, 1, MODEL_MAX_EXTENT) || !in_range(input->height, 1, MODEL_MAX_EXTENT) ||
        !in_range(input->width, 1, MODEL_MAX_EXTENT))
        return error_set(e, ERROR_INPUT,
                         "model \"%s\": its input must be {channels, height, width}, each from 1 to 4096, "
                         "for example {1, 28, 28}",
                         model->name);
    if (!in_range(model->layer_count, 1, MODEL_MAX_LAYERS))
        return error_set(e, ERROR_INPUT, "model \"%s\" has %d layers; it needs 1 to %d", model->name,
                         model->layer_count, MODEL_MAX_LAYERS);
    model->parameters = 0;
    model->flops = model->train_flops = model->activation_bytes = 0;
    struct model_shape shape = *input;
    bool learned_before = false; /* a layer whose input depends on no parameter needs no gradient of it */
    for (int i = 0; i < model->layer_count; i++) {
        struct layer_spec *layer = &model->layers[i];
        layer->in = shape;
        if (!resolve_layer(model, i, layer, e))
            return false;
        shape = layer->out;
        layer->weight_offset = model->parameters;
        layer->bias_offset = layer->weight_offset + layer->weights;
        model->parameters = layer->bias_offset + layer->biases;
        if (model_shape_elements(shape) > MODEL_MAX_ELEMENTS || model->parameters > MODEL_MAX_ELEMENTS)
            return layer_error(model, i, e,
                               "the model grows beyond 2^28 parameters or activations; make it smaller");
        model->flops += layer->flops;
        bool learns = layer->weights > 0;
        model->train_flops += layer->flops * (1 + (learns ? 1 : 0) + (learned_before ? 1 : 0));
        learned_before = learned_before || learns;
        if (layer->kind != LAYER_FLATTEN)
            model->activation_bytes += (double)sizeof(float) * (double)model_shape_elements(shape);
    }
    return true;
}

#define CONV2D(n, k)                                                                                         \
    {                                                                                                        \
        .kind = LAYER_CONV2D, .channels = (n), .kernel = (k), .stride = 1                                    \
    }
#define RELU                                                                                                 \
    {                                                                                                        \
        .kind = LAYER_RELU                                                                                   \
    }
#define MAXPOOL(n)                                                                                           \
    {                                                                                                        \
        .kind = LAYER_MAXPOOL, .size = (n)                                                                   \
    }
#define FLATTEN                                                                                              \
    {                                                                                                        \
        .kind = LAYER_FLATTEN                                                                                \
    }
#define DENSE(n)                                                                                             \
    {                                                                                                        \
        .kind = LAYER_DENSE, .units = (n)                                                                    \
    }

static const struct model_spec known[] = {
    {.name = "cnn",
     .input = {1, 28, 28},
     .layers = {CONV2D(32, 3), RELU, MAXPOOL(2), CONV2D(64, 3), RELU, MAXPOOL(2), CONV2D(64, 3), RELU,
                FLATTEN, DENSE(64), RELU, DENSE(10)},
     .layer_count = 12},
    {.name = "mlp", .input = {1, 28, 28}, .layers = {FLATTEN, DENSE(128), RELU, DENSE(10)}, .layer_count = 4},
};

const char *const *model_names(void)
{
    static const char *const names[] = {"cnn", "mlp", NULL};
    return names;
}

bool model_named(const char *name, struct model_spec *model, struct error *e)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) {
            *model = known[i];
            return model_resolve(model, e);
        }
    return error_set(e, ERROR_INPUT, "there is no model \"%s\"; the models are cnn and mlp", name);
}
