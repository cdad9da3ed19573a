/*
 * model_shapes.c - what each kind of layer makes of its input: shape, parameters, FLOPs.
 *
 * Output sizes are PyTorch's: floor((in + 2·padding - dilation·(kernel - 1) - 1) / stride) + 1 along each axis.
 * FLOPs are of one sample's forward pass; a multiply and an add are two, and an elementwise function (relu, tanh ...)
 * is one, however many instructions it takes.
 */
#include "engine/spec/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Far above anything that is trained here, and far below where sizes would overflow. */
enum { MAX_EXTENT = 4096, MAX_UNITS = 1 << 20, MAX_VOCABULARY = 1 << 24 };
#define MAX_ELEMENTS ((double)(1 << 30))

/* A layer that is being resolved. */
struct rule_context {
    const struct model_spec *model;
    struct layer_spec *layer;
    struct model_shape inputs[LAYER_MAX_INPUTS];
    struct error *e;
};

/* "layer 3 (conv2d 64, 3×3)" in front of what is wrong with it. */
__attribute__((format(printf, 2, 3))) static bool fail(const struct rule_context *r, const char *format, ...)
{
    char place[96], text[64], what[400], line[32] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (r->layer->line > 0)
        snprintf(line, sizeof line, " in line %d", r->layer->line);
    return error_set(r->e, ERROR_INPUT, "model \"%s\", %s (%s)%s: %s", r->model->name,
                     layer_place(r->layer->name, place), layer_describe(r->layer, text), line, what);
}

static bool in_range(int value, int low, int high)
{
    return value >= low && value <= high;
}

static bool is_flat(struct model_shape shape)
{
    return shape.kind == SHAPE_IMAGE && shape.height == 1 && shape.width == 1;
}

static double elements(struct model_shape shape)
{
    return (double)shape.channels * shape.height * shape.width;
}

static struct model_shape flat(int n)
{
    return (struct model_shape){n, 1, 1, SHAPE_IMAGE};
}

static struct model_shape sequence(int steps, int features)
{
    return (struct model_shape){steps, 1, features, SHAPE_SEQUENCE};
}

/* Adds a tensor of up to four extents (0 ends them) at the end of the buffer that is `used` long. */
static bool add_tensor(const struct rule_context *r, struct layer_tensor *list, int *count, const char *name,
                       const int extent[4])
{
    struct layer_tensor *t = &list[(*count)++];
    double n = 1;
    *t = (struct layer_tensor){.name = name};
    for (; t->rank < 4 && extent[t->rank] > 0; t->rank++) {
        t->extent[t->rank] = (size_t)extent[t->rank];
        n *= extent[t->rank];
    }
    if (n > MAX_ELEMENTS)
        return fail(r, "it alone has more than 2^30 parameters; make it smaller");
    t->elements = (size_t)n;
    return true;
}

static bool learn(const struct rule_context *r, const char *name, const int extent[4])
{
    return add_tensor(r, r->layer->tensors, &r->layer->tensor_count, name, extent);
}

static bool keep(const struct rule_context *r, const char *name, const int extent[4])
{
    return add_tensor(r, r->layer->state, &r->layer->state_count, name, extent);
}

#define EXTENT(...) ((const int[4]){__VA_ARGS__})

/* --- images ------------------------------------------------------------------------------------------------ */

static bool check_windows(const struct rule_context *r)
{
    const struct layer_spec *l = r->layer;
    bool conv = l->kind == LAYER_CONV2D;
    for (int i = 0; i < 2; i++) {
        if (!in_range(l->kernel[i], 1, MAX_EXTENT) || !in_range(l->stride[i], 1, MAX_EXTENT) ||
            (conv && !in_range(l->dilation[i], 1, MAX_EXTENT)))
            return fail(r, "%s must be whole numbers from 1 to %d",
                        conv ? "channels, kernel, stride and dilation" : "size and stride", MAX_EXTENT);
        int most = conv ? l->dilation[i] * (l->kernel[i] - 1) : l->kernel[i] / 2;
        if (!in_range(l->padding[i], 0, most))
            return fail(r, "the padding must be from 0 to %d: %s", most,
                        conv ? "more, and a window would lie in the padding alone" : "half the window");
    }
    return true;
}

/* The windows of a convolution or a pool along both axes. */
static bool windows(const struct rule_context *r, int channels)
{
    struct layer_spec *l = r->layer;
    const int in[2] = {l->in.height, l->in.width};
    int out[2];
    if (!check_windows(r))
        return false;
    for (int i = 0; i < 2; i++) {
        int reach = (l->dilation[i] ? l->dilation[i] : 1) * (l->kernel[i] - 1) + 1;
        if (reach > in[i] + 2 * l->padding[i])
            return fail(r, "its %d×%d %s does not fit on an input of %d×%d; use fewer pools or a smaller %s",
                        l->kernel[0], l->kernel[1], l->kind == LAYER_CONV2D ? "kernel" : "window",
                        in[0] + 2 * l->padding[0], in[1] + 2 * l->padding[1],
                        l->kind == LAYER_CONV2D ? "kernel" : "window");
        out[i] = (in[i] + 2 * l->padding[i] - reach) / l->stride[i] + 1;
    }
    l->out = (struct model_shape){channels, out[0], out[1], SHAPE_IMAGE};
    return true;
}

/* Of each output: a multiply and an add for each element of its window of in/groups channels, and the bias. */
static bool resolve_conv2d(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    if (!in_range(l->channels, 1, MAX_UNITS))
        return fail(r, "channels must be a whole number from 1 to %d", MAX_UNITS);
    if (!windows(r, l->channels))
        return false;
    if (l->groups < 1 || l->in.channels % l->groups || l->channels % l->groups)
        return fail(r, "groups must divide both its %d channels in and its %d out, and %d does not",
                    l->in.channels, l->channels, l->groups);
    int depth = l->in.channels / l->groups;
    l->flops = (2.0 * depth * l->kernel[0] * l->kernel[1] + l->bias) * elements(l->out);
    return learn(r, "weight", EXTENT(l->channels, depth, l->kernel[0], l->kernel[1])) &&
           (!l->bias || learn(r, "bias", EXTENT(l->channels)));
}

/* Of each output: all but one of its window's elements are compared with the largest so far. */
static bool resolve_maxpool(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    if (!windows(r, l->in.channels))
        return false;
    l->flops = elements(l->out) * (l->kernel[0] * l->kernel[1] - 1);
    return true;
}

/* Of each output: all but one of its window's elements are added to the sum, which is divided. */
static bool resolve_avgpool(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    if (!windows(r, l->in.channels))
        return false;
    l->flops = elements(l->out) * l->kernel[0] * l->kernel[1];
    return true;
}

static bool resolve_global_avgpool(const struct rule_context *r)
{
    r->layer->out = flat(r->layer->in.channels);
    r->layer->flops = elements(r->layer->in);
    return true;
}

/* --- norms and functions of each element ------------------------------------------------------------------- */

/*
 * Of each element, as in training: mean (1 add), variance (subtract, square, add), and the result (times 1/σ, times
 * weight, plus bias).
 */
enum { NORM_FLOPS = 7 };

static bool check_norm(const struct rule_context *r)
{
    if (!(r->layer->epsilon > 0 && r->layer->epsilon < 1))
        return fail(r, "epsilon must be between 0 and 1");
    if (!(r->layer->momentum >= 0 && r->layer->momentum <= 1))
        return fail(r, "momentum must be from 0 to 1");
    r->layer->flops = NORM_FLOPS * elements(r->layer->in);
    return true;
}

static bool resolve_batchnorm(const struct rule_context *r)
{
    const int *extent = EXTENT(r->layer->in.channels);
    return check_norm(r) && learn(r, "weight", extent) && learn(r, "bias", extent) &&
           keep(r, "running_mean", extent) && keep(r, "running_var", extent);
}

/* Over the features of each step, or over all of an image. */
static bool resolve_layernorm(const struct rule_context *r)
{
    struct model_shape in = r->layer->in;
    const int steps[4] = {in.width}, elements_of[4] = {in.channels},
              image[4] = {in.channels, in.height, in.width};
    const int *extent = in.kind == SHAPE_SEQUENCE ? steps : is_flat(in) ? elements_of : image;
    return check_norm(r) && learn(r, "weight", extent) && learn(r, "bias", extent);
}

static bool resolve_elementwise(const struct rule_context *r)
{
    r->layer->flops = elements(r->layer->in);
    return true;
}

static bool resolve_dropout(const struct rule_context *r)
{
    if (!(r->layer->rate >= 0 && r->layer->rate < 1))
        return fail(r, "the rate must be from 0 to below 1: the share of elements that is set to 0");
    return resolve_elementwise(r);
}

static bool resolve_leaky_relu(const struct rule_context *r)
{
    if (!(r->layer->slope >= 0 && r->layer->slope <= 1))
        return fail(r, "the slope must be from 0 to 1");
    return resolve_elementwise(r);
}

/* --- dense layers and sequences ---------------------------------------------------------------------------- */

static bool check_units(const struct rule_context *r)
{
    return in_range(r->layer->units, 1, MAX_UNITS) ||
           fail(r, "units must be a whole number from 1 to %d", MAX_UNITS);
}

/* Of each unit (and step): a multiply and an add for each input, and the bias. */
static bool resolve_dense(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    bool steps = l->in.kind == SHAPE_SEQUENCE;
    if (!check_units(r))
        return false;
    if (!steps && !is_flat(l->in))
        return fail(r, "it takes a flat input and gets %d×%d×%d; put flatten{} in front of it",
                    l->in.channels, l->in.height, l->in.width);
    int inputs = steps ? l->in.width : l->in.channels;
    l->out = steps ? sequence(l->in.channels, l->units) : flat(l->units);
    l->flops = (2.0 * inputs + l->bias) * elements(l->out);
    return learn(r, "weight", EXTENT(l->units, inputs)) && (!l->bias || learn(r, "bias", EXTENT(l->units)));
}

/* Rows are looked up, nothing is computed. */
static bool resolve_embedding(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    if (!in_range(l->vocabulary, 1, MAX_VOCABULARY))
        return fail(r, "the vocabulary must be a whole number from 1 to %d", MAX_VOCABULARY);
    if (!check_units(r))
        return false;
    l->out = sequence(l->in.channels, l->units);
    return learn(r, "weight", EXTENT(l->vocabulary, l->units));
}

/*
 * Of each step and row of the gates' matrices: a multiply and an add for each input and each unit of the state, the
 * bias and a function (tanh or sigmoid). The rest of an lstm's unit: c = f·c + i·g (3), tanh(c), and o· that.
 */
static bool resolve_recurrent(const struct rule_context *r, int gates, int rest)
{
    struct layer_spec *l = r->layer;
    if (!check_units(r))
        return false;
    int steps = l->in.channels, inputs = l->in.width;
    double rows = (double)gates * l->units;
    l->out = l->last ? flat(l->units) : sequence(steps, l->units);
    l->flops = steps * (rows * (2.0 * (inputs + l->units) + 2) + (double)rest * l->units);
    return learn(r, "weight_ih", EXTENT(gates * l->units, inputs)) &&
           learn(r, "weight_hh", EXTENT(gates * l->units, l->units)) &&
           learn(r, "bias", EXTENT(gates * l->units));
}

static bool resolve_simple_rnn(const struct rule_context *r)
{
    return resolve_recurrent(r, 1, 0);
}

static bool resolve_lstm(const struct rule_context *r)
{
    return resolve_recurrent(r, 4, 5);
}

/* --- shapes alone, and where paths meet -------------------------------------------------------------------- */

static bool resolve_flatten(const struct rule_context *r)
{
    r->layer->out = flat((int)elements(r->layer->in));
    return true;
}

static bool resolve_reshape(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    char in[64], out[64];
    if (l->target.channels < 1 || l->target.height < 1 || l->target.width < 1)
        return fail(r, "each number of its shape must be at least 1");
    if (elements(l->target) != elements(l->in))
        return fail(r, "%s has %.0f elements, and its input of %s has %.0f",
                    model_shape_describe(l->target, out), elements(l->target),
                    model_shape_describe(l->in, in), elements(l->in));
    l->out = l->target;
    return true;
}

static bool resolve_add(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    char one[64], other[64];
    for (int i = 1; i < l->input_count; i++) {
        struct model_shape s = r->inputs[i];
        if (s.kind != l->in.kind || s.channels != l->in.channels || s.height != l->in.height ||
            s.width != l->in.width)
            return fail(r,
                        "its paths must end in the same shape, and one gives %s, another %s; give the "
                        "shortcut a conv2d of kernel 1 that makes them equal",
                        model_shape_describe(l->in, one), model_shape_describe(s, other));
    }
    l->flops = elements(l->in) * (l->input_count - 1);
    return true;
}

static bool resolve_concat(const struct rule_context *r)
{
    struct layer_spec *l = r->layer;
    char one[64], other[64];
    double channels = 0;
    for (int i = 0; i < l->input_count; i++) {
        struct model_shape s = r->inputs[i];
        if (s.kind != SHAPE_IMAGE || s.height != l->in.height || s.width != l->in.width)
            return fail(r,
                        "its branches must end in images of the same height and width, and one gives %s, "
                        "another %s",
                        model_shape_describe(l->in, one), model_shape_describe(s, other));
        channels += s.channels;
    }
    if (channels > MAX_ELEMENTS)
        return fail(r, "its branches have more than 2^30 channels together");
    l->out.channels = (int)channels;
    return true;
}

/* --- the model --------------------------------------------------------------------------------------------- */

enum { IMAGE = 1 << SHAPE_IMAGE, SEQUENCE = 1 << SHAPE_SEQUENCE, TOKENS = 1 << SHAPE_TOKENS };

static const struct {
    int takes; /* kinds of shapes */
    bool (*resolve)(const struct rule_context *r);
} rules[LAYER_KINDS] = {
    [LAYER_CONV2D] = {IMAGE, resolve_conv2d},
    [LAYER_MAXPOOL] = {IMAGE, resolve_maxpool},
    [LAYER_AVGPOOL] = {IMAGE, resolve_avgpool},
    [LAYER_GLOBAL_AVGPOOL] = {IMAGE, resolve_global_avgpool},
    [LAYER_BATCHNORM] = {IMAGE, resolve_batchnorm},
    [LAYER_LAYERNORM] = {IMAGE | SEQUENCE, resolve_layernorm},
    [LAYER_DROPOUT] = {IMAGE | SEQUENCE, resolve_dropout},
    [LAYER_RELU] = {IMAGE | SEQUENCE, resolve_elementwise},
    [LAYER_LEAKY_RELU] = {IMAGE | SEQUENCE, resolve_leaky_relu},
    [LAYER_GELU] = {IMAGE | SEQUENCE, resolve_elementwise},
    [LAYER_TANH] = {IMAGE | SEQUENCE, resolve_elementwise},
    [LAYER_SIGMOID] = {IMAGE | SEQUENCE, resolve_elementwise},
    [LAYER_DENSE] = {IMAGE | SEQUENCE, resolve_dense},
    [LAYER_EMBEDDING] = {TOKENS, resolve_embedding},
    [LAYER_SIMPLE_RNN] = {SEQUENCE, resolve_simple_rnn},
    [LAYER_LSTM] = {SEQUENCE, resolve_lstm},
    [LAYER_FLATTEN] = {IMAGE | SEQUENCE, resolve_flatten},
    [LAYER_RESHAPE] = {IMAGE | SEQUENCE, resolve_reshape},
    [LAYER_ADD] = {IMAGE | SEQUENCE, resolve_add},
    [LAYER_CONCAT] = {IMAGE, resolve_concat},
};

static bool check_kind(const struct rule_context *r, int takes)
{
    char shape[64];
    if (takes & (1 << r->layer->in.kind))
        return true;
    model_shape_describe(r->layer->in, shape);
    if (r->layer->in.kind == SHAPE_TOKENS)
        return fail(r,
                    "it takes numbers to compute with and gets %s; put embedding{vocabulary, units} in "
                    "front of it",
                    shape);
    if (takes == TOKENS)
        return fail(r,
                    "it takes tokens and gets %s; it can only be the first layer of a model with input = "
                    "{tokens = 100}",
                    shape);
    if (takes == SEQUENCE)
        return fail(r,
                    "it takes a sequence and gets %s; put embedding{vocabulary, units} or reshape{steps, "
                    "features} in front of it",
                    shape);
    return fail(r, "it takes an image and gets %s", shape);
}

static bool resolve_layer(struct model_spec *model, int i, struct error *e)
{
    struct layer_spec *l = &model->layers[i];
    struct rule_context r = {.model = model, .layer = l, .e = e};
    l->tensor_count = l->state_count = 0;
    l->flops = 0;
    if ((unsigned)l->kind >= LAYER_KINDS || !in_range(l->input_count, 1, LAYER_MAX_INPUTS))
        return error_set(e, ERROR_INPUT, "model \"%s\": layer %d has no known kind", model->name, i + 1);
    for (int k = 0; k < l->input_count; k++) {
        int from = l->inputs[k];
        if (from < MODEL_INPUT || from >= i)
            return error_set(e, ERROR_INPUT, "model \"%s\": layer %d takes what a later one gives",
                             model->name, i + 1);
        r.inputs[k] = from == MODEL_INPUT ? model->input : model->layers[from].out;
    }
    l->in = l->out = r.inputs[0];
    if (!check_kind(&r, rules[l->kind].takes) || !rules[l->kind].resolve(&r))
        return false;
    if (elements(l->out) > MAX_ELEMENTS)
        return fail(&r, "it puts out more than 2^30 numbers a sample; make it smaller");
    for (int t = 0; t < l->tensor_count; t++) {
        l->tensors[t].offset = model->parameters;
        model->parameters += l->tensors[t].elements;
    }
    for (int t = 0; t < l->state_count; t++) {
        l->state[t].offset = model->states;
        model->states += l->state[t].elements;
    }
    return (double)model->parameters <= MAX_ELEMENTS ||
           fail(&r, "the model grows beyond 2^30 parameters; make it smaller");
}

static bool check_input(const struct model_spec *model, struct error *e)
{
    const struct model_shape *in = &model->input;
    int most = in->kind == SHAPE_IMAGE ? MAX_EXTENT : MAX_UNITS;
    bool flat_one = in->height == 1 && in->width == 1; /* of n elements */
    if (in_range(in->channels, 1, flat_one ? MAX_UNITS : most) && in_range(in->height, 1, most) &&
        in_range(in->width, 1, most) && elements(*in) <= MAX_ELEMENTS)
        return true;
    return error_set(e, ERROR_INPUT,
                     "model \"%s\": its input must be {channels, height, width}, each from 1 to %d, for "
                     "example {1, 28, 28}, or {tokens = 100}",
                     model->name, MAX_EXTENT);
}

/*
 * Backward costs as much as forward for the gradient of the weights, where there are any, and again for that of the
 * input, where that depends on a parameter.
 */
static void add_costs(struct model_spec *model, int i, bool *learned)
{
    struct layer_spec *l = &model->layers[i];
    bool before = false, learns = l->tensor_count > 0;
    bool moves = l->kind != LAYER_FLATTEN && l->kind != LAYER_RESHAPE;
    double numbers = elements(l->out);
    for (int k = 0; k < l->input_count; k++) {
        int from = l->inputs[k];
        before = before || (from != MODEL_INPUT && learned[from]);
        numbers += elements(from == MODEL_INPUT ? model->input : model->layers[from].out);
    }
    numbers += l->kind == LAYER_EMBEDDING ? elements(l->out) : (double)layer_parameters(l);
    l->bytes = moves ? (double)sizeof(float) * numbers : 0;
    l->backward_flops = l->flops * ((learns ? 1 : 0) + (before ? 1 : 0));
    model->flops += l->flops;
    model->train_flops += l->flops + l->backward_flops;
    if (moves)
        model->activation_bytes += (double)sizeof(float) * elements(l->out);
    learned[i] = before || learns;
}

bool model_resolve(struct model_spec *model, struct error *e)
{
    bool learned[MODEL_MAX_LAYERS];
    if (!check_input(model, e))
        return false;
    if (!in_range(model->layer_count, 1, MODEL_MAX_LAYERS))
        return error_set(e, ERROR_INPUT, "model \"%s\" has %d layers; it needs 1 to %d", model->name,
                         model->layer_count, MODEL_MAX_LAYERS);
    if (!(model->loss.label_smoothing >= 0 && model->loss.label_smoothing < 1))
        return error_set(e, ERROR_INPUT, "model \"%s\": label_smoothing must be from 0 to below 1",
                         model->name);
    model->parameters = model->states = 0;
    model->flops = model->train_flops = model->activation_bytes = 0;
    for (int i = 0; i < model->layer_count; i++) {
        if (!resolve_layer(model, i, e))
            return false;
        add_costs(model, i, learned);
    }
    return true;
}
