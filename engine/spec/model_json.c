/*
 * model_json.c - a model from JSON, where residual{} and branches{} are nested, to the flat list of layers.
 *
 * Strict, so that a misspelt field is an error and not a silent default.
 */
#include "engine/spec/model.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below this residual{} inside of branches{} inside of ...: more has no use, and would be a way to exhaust the stack. */
enum { MAX_DEPTH = 4 };

enum field_type { FIELD_INT, FIELD_PAIR, FIELD_REAL, FIELD_BOOL, FIELD_SHAPE };

struct field {
    const char *name;
    enum field_type type;
    size_t offset; /* in struct layer_spec */
    bool needed;
};

#define FIELD(name, type, member)                                                                            \
    {                                                                                                        \
        name, type, offsetof(struct layer_spec, member), false                                               \
    }
#define NEEDED(name, type, member)                                                                           \
    {                                                                                                        \
        name, type, offsetof(struct layer_spec, member), true                                                \
    }

enum { MAX_FIELDS = 8 };
static const struct field layer_fields[LAYER_KINDS][MAX_FIELDS] = {
    [LAYER_CONV2D] = {NEEDED("channels", FIELD_INT, channels), NEEDED("kernel", FIELD_PAIR, kernel),
                      FIELD("stride", FIELD_PAIR, stride), FIELD("padding", FIELD_PAIR, padding),
                      FIELD("dilation", FIELD_PAIR, dilation), FIELD("groups", FIELD_INT, groups),
                      FIELD("bias", FIELD_BOOL, bias)},
    [LAYER_MAXPOOL] = {NEEDED("size", FIELD_PAIR, kernel), FIELD("stride", FIELD_PAIR, stride),
                       FIELD("padding", FIELD_PAIR, padding)},
    [LAYER_AVGPOOL] = {NEEDED("size", FIELD_PAIR, kernel), FIELD("stride", FIELD_PAIR, stride),
                       FIELD("padding", FIELD_PAIR, padding)},
    [LAYER_BATCHNORM] = {FIELD("epsilon", FIELD_REAL, epsilon), FIELD("momentum", FIELD_REAL, momentum),
                         FIELD("sync", FIELD_BOOL, sync)},
    [LAYER_LAYERNORM] = {FIELD("epsilon", FIELD_REAL, epsilon)},
    [LAYER_DROPOUT] = {NEEDED("rate", FIELD_REAL, rate)},
    [LAYER_LEAKY_RELU] = {FIELD("slope", FIELD_REAL, slope)},
    [LAYER_DENSE] = {NEEDED("units", FIELD_INT, units), FIELD("bias", FIELD_BOOL, bias)},
    [LAYER_EMBEDDING] = {NEEDED("vocabulary", FIELD_INT, vocabulary), NEEDED("units", FIELD_INT, units)},
    [LAYER_SIMPLE_RNN] = {NEEDED("units", FIELD_INT, units), FIELD("last", FIELD_BOOL, last)},
    [LAYER_LSTM] = {NEEDED("units", FIELD_INT, units), FIELD("last", FIELD_BOOL, last)},
    [LAYER_RESHAPE] = {NEEDED("shape", FIELD_SHAPE, target)},
};

/* What is being read. */
struct reader {
    struct model_spec *model;
    struct error *e;
    int depth, room; /* room: layers that model->layers can hold */
    int line;        /* of the layer that is being read, in its Lua file; 0: not said */
};

/* --- values ------------------------------------------------------------------------------------------------ */

/* Whole numbers may come as 2.0: Lua makes them by division. */
static bool read_int(const json_t *value, int *number)
{
    double n = json_number_value(value);
    if (!json_is_number(value) || !(n >= INT_MIN && n <= INT_MAX) || n != (double)(int)n)
        return false;
    *number = (int)n;
    return true;
}

static bool read_pair(const json_t *value, int pair[2])
{
    if (json_is_array(value))
        return json_array_size(value) == 2 && read_int(json_array_get(value, 0), &pair[0]) &&
               read_int(json_array_get(value, 1), &pair[1]);
    bool ok = read_int(value, &pair[0]);
    pair[1] = pair[0];
    return ok;
}

/* [channels, height, width], [steps, features] of a sequence, or [n], flat. */
static bool read_shape(const json_t *value, struct model_shape *shape)
{
    int n[3] = {1, 1, 1};
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count < 1 || count > 3)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_int(json_array_get(value, i), &n[i]))
            return false;
    *shape = count == 2 ? (struct model_shape){n[0], 1, n[1], SHAPE_SEQUENCE}
                        : (struct model_shape){n[0], n[1], n[2], SHAPE_IMAGE};
    return true;
}

static bool read_value(const json_t *value, enum field_type type, void *to)
{
    switch (type) {
    case FIELD_INT: return read_int(value, to);
    case FIELD_PAIR: return read_pair(value, to);
    case FIELD_SHAPE: return read_shape(value, to);
    case FIELD_REAL: *(double *)to = json_number_value(value); return json_is_number(value);
    case FIELD_BOOL: *(bool *)to = json_is_true(value); return json_is_boolean(value);
    }
    return false;
}

static const char *expected(enum field_type type)
{
    static const char *const words[] = {
        [FIELD_INT] = "a whole number of at most 2147483647",
        [FIELD_PAIR] = "a whole number of at most 2147483647 or two, {height, width}",
        [FIELD_REAL] = "a number",
        [FIELD_BOOL] = "true or false",
        [FIELD_SHAPE] = "whole numbers, {channels, height, width} or {steps, features}",
    };
    return words[type];
}

/* --- one layer --------------------------------------------------------------------------------------------- */

static bool refuse(const struct reader *r, const char *place, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* "model "mine", layer 3 (conv2d): what": place is the layer's name. */
static bool refuse(const struct reader *r, const char *place, const char *kind, const char *format, ...)
{
    char shown[96], what[400], line[32] = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (r->line > 0)
        snprintf(line, sizeof line, " in line %d", r->line);
    return error_set(r->e, ERROR_INPUT, "model \"%s\", %s%s%s%s%s%s", r->model->name,
                     layer_place(place, shown), kind ? " (" : "", kind ? kind : "", kind ? ")" : "", line,
                     what);
}

static bool read_fields(struct reader *r, const json_t *object, const struct field *fields,
                        struct layer_spec *layer)
{
    const char *key, *kind = layer_kind_name(layer->kind);
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        const struct field *field = fields;
        while (field->name && strcmp(field->name, key) != 0)
            field++;
        if (strcmp(key, "kind") == 0 || strcmp(key, "line") == 0)
            continue;
        if (!field->name)
            return refuse(r, layer->name, kind, " has no field \"%s\"", key);
        if (!read_value(value, field->type, (char *)layer + field->offset))
            return refuse(r, layer->name, kind, ": \"%s\" must be %s", key, expected(field->type));
    }
    for (; fields->name; fields++)
        if (fields->needed && !json_object_get(object, fields->name))
            return refuse(r, layer->name, kind, ": \"%s\" is missing", fields->name);
    return true;
}

static void set_defaults(struct layer_spec *l)
{
    bool conv = l->kind == LAYER_CONV2D, pool = l->kind == LAYER_MAXPOOL || l->kind == LAYER_AVGPOOL;
    bool norm = l->kind == LAYER_BATCHNORM || l->kind == LAYER_LAYERNORM;
    if (conv || pool)
        l->stride[0] = l->stride[1] = 1;
    if (conv)
        l->dilation[0] = l->dilation[1] = l->groups = 1;
    l->bias = conv || l->kind == LAYER_DENSE;
    l->epsilon = norm ? 1e-5 : 0;
    l->momentum = l->kind == LAYER_BATCHNORM ? 0.1 : 0;
    l->slope = l->kind == LAYER_LEAKY_RELU ? 0.01 : 0;
}

/* Appends a layer; NULL: there are too many, or memory is short. */
static struct layer_spec *add_layer(struct reader *r, enum layer_kind kind, const char *name)
{
    struct model_spec *m = r->model;
    if (m->layer_count == MODEL_MAX_LAYERS) {
        error_set(r->e, ERROR_INPUT, "model \"%s\" has more than %d layers", m->name, MODEL_MAX_LAYERS);
        return NULL;
    }
    if (m->layer_count == r->room) {
        int room = r->room ? 2 * r->room : 16;
        struct layer_spec *larger = realloc(m->layers, (size_t)room * sizeof *larger);
        if (!larger) {
            error_set(r->e, ERROR_FAILED, "out of memory for the model \"%s\"", m->name);
            return NULL;
        }
        m->layers = larger;
        r->room = room;
    }
    struct layer_spec *layer = &m->layers[m->layer_count++];
    *layer = (struct layer_spec){.kind = kind};
    layer->line = r->line;
    snprintf(layer->name, sizeof layer->name, "%s", name);
    set_defaults(layer);
    return layer;
}

static bool read_plain_layer(struct reader *r, const json_t *object, enum layer_kind kind, const char *name,
                             int *at)
{
    struct layer_spec *layer = add_layer(r, kind, name);
    if (!layer)
        return false;
    layer->inputs[0] = *at;
    layer->input_count = 1;
    *at = r->model->layer_count - 1;
    if (!read_fields(r, object, layer_fields[kind], layer))
        return false;
    if ((kind == LAYER_MAXPOOL || kind == LAYER_AVGPOOL) && !json_object_get(object, "stride"))
        memcpy(layer->stride, layer->kernel, sizeof layer->stride);
    return true;
}

/* --- lists of layers, residuals and branches --------------------------------------------------------------- */

static bool read_list(struct reader *r, const json_t *list, const char *prefix, int *at);

/* "7" and "layers" make "7.layers", "7.branches" and 1 make "7.branches.1". */
static bool join_name(const struct reader *r, const char *name, const char *part,
                      char joined[LAYER_NAME_LENGTH])
{
    int n = snprintf(joined, LAYER_NAME_LENGTH, "%s%s%s", name, *name ? "." : "", part);
    return n < LAYER_NAME_LENGTH || refuse(r, name, NULL, " is nested too deeply");
}

static bool read_path(struct reader *r, const json_t *list, const char *name, const char *part, int *at)
{
    char prefix[LAYER_NAME_LENGTH];
    if (!json_is_array(list))
        return refuse(r, name, NULL, ": \"%s\" must be a list of layers", part);
    return join_name(r, name, part, prefix) && read_list(r, list, prefix, at);
}

/* A layer of several inputs at the end of paths that all begin at `at`. */
static bool join_paths(struct reader *r, enum layer_kind kind, const char *name, const int *ends, int count,
                       int *at)
{
    struct layer_spec *layer = add_layer(r, kind, name);
    if (!layer)
        return false;
    memcpy(layer->inputs, ends, (size_t)count * sizeof *ends);
    layer->input_count = count;
    *at = r->model->layer_count - 1;
    return true;
}

/* Refuses fields beside these two (and those that every layer has). */
static bool only_fields(const struct reader *r, const json_t *object, const char *name, const char *one,
                        const char *other)
{
    const char *key, *kind = json_string_value(json_object_get(object, "kind"));
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (strcmp(key, "kind") != 0 && strcmp(key, "line") != 0 && strcmp(key, one) != 0 &&
            strcmp(key, other) != 0)
            return refuse(r, name, kind, " has no field \"%s\"", key);
    }
    return true;
}

/* y = layers(x) + shortcut(x); without a shortcut + x (K. He et al., Deep residual learning, CVPR 2016). */
static bool read_residual(struct reader *r, const json_t *object, const char *name, int *at)
{
    int ends[2] = {*at, *at};
    const json_t *layers = json_object_get(object, "layers"), *shortcut = json_object_get(object, "shortcut");
    if (json_array_size(layers) == 0)
        return refuse(r, name, "residual", ": \"layers\" must be a list of at least one layer");
    if (!only_fields(r, object, name, "layers", "shortcut"))
        return false;
    int line = r->line;
    if (!read_path(r, layers, name, "layers", &ends[0]) ||
        (shortcut && !read_path(r, shortcut, name, "shortcut", &ends[1])))
        return false;
    r->line = line;
    return join_paths(r, LAYER_ADD, name, ends, 2, at);
}

static bool read_branches(struct reader *r, const json_t *object, const char *name, int *at)
{
    int ends[LAYER_MAX_INPUTS];
    const json_t *branches = json_object_get(object, "branches");
    size_t count = json_array_size(branches);
    if (count < 2 || count > LAYER_MAX_INPUTS)
        return refuse(r, name, "branches", ": there must be from 2 to %d of them, each a list of layers",
                      LAYER_MAX_INPUTS);
    if (!only_fields(r, object, name, "branches", "branches"))
        return false;
    int line = r->line;
    for (size_t i = 0; i < count; i++) {
        char part[24];
        snprintf(part, sizeof part, "branches.%zu", i);
        ends[i] = *at;
        if (!read_path(r, json_array_get(branches, i), name, part, &ends[i]))
            return false;
    }
    r->line = line;
    return join_paths(r, LAYER_CONCAT, name, ends, (int)count, at);
}

static bool unknown_kind(struct reader *r, const char *name, const char *kind)
{
    char list[400];
    size_t used = 0;
    for (int i = 0; i < LAYER_ADD; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s, ", layer_kind_name((enum layer_kind)i));
    snprintf(list + used, sizeof list - used, "residual and branches");
    if (!kind)
        return refuse(r, name, NULL, " is not a layer; the layers are %s", list);
    return refuse(r, name, NULL, ": there is no layer \"%.40s\"; the layers are %s", kind, list);
}

/* One element of a list: *at is the layer whose output it takes, and becomes the one that puts its own out. */
static bool read_layer(struct reader *r, const json_t *object, const char *name, int *at)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    r->line = 0;
    read_int(json_object_get(object, "line"), &r->line);
    if (!kind)
        return unknown_kind(r, name, NULL);
    if (!strcmp(kind, "residual"))
        return read_residual(r, object, name, at);
    if (!strcmp(kind, "branches"))
        return read_branches(r, object, name, at);
    for (int i = 0; i < LAYER_ADD; i++)
        if (!strcmp(layer_kind_name((enum layer_kind)i), kind))
            return read_plain_layer(r, object, (enum layer_kind)i, name, at);
    return unknown_kind(r, name, kind);
}

static bool read_list(struct reader *r, const json_t *list, const char *prefix, int *at)
{
    size_t i;
    const json_t *object;
    if (++r->depth > MAX_DEPTH)
        return refuse(r, prefix, NULL, " is nested too deeply: at most %d levels", MAX_DEPTH);
    json_array_foreach((json_t *)list, i, object)
    {
        char number[24], name[LAYER_NAME_LENGTH];
        snprintf(number, sizeof number, "%zu", i);
        if (!join_name(r, prefix, number, name) || !read_layer(r, object, name, at))
            return false;
    }
    r->depth--;
    return true;
}

/* --- the model --------------------------------------------------------------------------------------------- */

static bool read_input(const json_t *value, struct model_spec *model, struct error *e)
{
    int n[2];
    const json_t *tokens = json_object_get(value, "tokens"), *steps = json_object_get(value, "steps"),
                 *features = json_object_get(value, "features");
    if (json_object_size(value) == 1 && tokens && read_int(tokens, n))
        model->input = (struct model_shape){n[0], 1, 1, SHAPE_TOKENS};
    else if (json_object_size(value) == 2 && read_int(steps, &n[0]) && read_int(features, &n[1]))
        model->input = (struct model_shape){n[0], 1, n[1], SHAPE_SEQUENCE};
    else if (json_array_size(value) == 2 || !read_shape(value, &model->input))
        return error_set(e, ERROR_INPUT,
                         "model \"%s\": its input must be three whole numbers, {channels, height, width}, "
                         "for example {1, 28, 28}; {n}; {tokens = 100}; or {steps = 28, features = 28}",
                         model->name);
    return true;
}

static bool read_loss(const json_t *object, struct model_spec *model, struct error *e)
{
    static const enum loss_kind kinds[] = {LOSS_CROSS_ENTROPY, LOSS_BCE, LOSS_MSE};
    const json_t *loss = json_object_get(object, "loss"),
                 *smoothing = json_object_get(object, "label_smoothing");
    bool known = !loss;
    for (size_t i = 0; json_is_string(loss) && i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(loss_kind_name(kinds[i]), json_string_value(loss))) {
            model->loss.kind = kinds[i];
            known = true;
        }
    if (!known)
        return error_set(e, ERROR_INPUT,
                         "model \"%s\": its loss must be \"cross_entropy\", \"bce\" or \"mse\"", model->name);
    if (smoothing && (!json_is_number(smoothing) || model->loss.kind != LOSS_CROSS_ENTROPY))
        return error_set(e, ERROR_INPUT,
                         "model \"%s\": label_smoothing must be a number, of the loss cross_entropy",
                         model->name);
    model->loss.label_smoothing = json_number_value(smoothing);
    return true;
}

static bool read_name(const json_t *name, struct model_spec *model, struct error *e)
{
    if (!name)
        return true;
    if (!json_is_string(name) || json_string_length(name) == 0 ||
        json_string_length(name) >= sizeof model->name || strchr(json_string_value(name), '/'))
        return error_set(e, ERROR_INPUT, "a model's name must be a text of 1 to %zu bytes without slashes",
                         sizeof model->name - 1);
    snprintf(model->name, sizeof model->name, "%s", json_string_value(name));
    return true;
}

static bool check_keys(const json_t *object, struct error *e)
{
    static const char *const known[] = {"name", "input", "layers", "loss", "label_smoothing"};
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return error_set(e, ERROR_INPUT, "a model must be a JSON object with \"layers\"");
    if (json_object_get(object, "generator"))
        return error_set(e, ERROR_INPUT, "this describes a gan, two models, where one model was expected");
    json_object_foreach((json_t *)object, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found = found || !strcmp(known[i], key);
        if (!found)
            return error_set(e, ERROR_INPUT,
                             "a model has no field \"%.40s\"; it has name, input, layers, loss and "
                             "label_smoothing",
                             key);
    }
    return true;
}

bool model_from_json(const json_t *object, struct model_spec *model, struct error *e)
{
    struct reader r = {.model = model, .e = e};
    int at = MODEL_INPUT;
    *model = (struct model_spec){.name = "model", .input = {1, 28, 28, SHAPE_IMAGE}};
    if (!check_keys(object, e) || !read_name(json_object_get(object, "name"), model, e) ||
        !read_loss(object, model, e))
        return false;
    const json_t *input = json_object_get(object, "input"), *layers = json_object_get(object, "layers");
    if (input && !read_input(input, model, e))
        return false;
    if (!json_is_array(layers))
        return error_set(e, ERROR_INPUT, "model \"%s\": \"layers\" must be a list of layers", model->name);
    if (!read_list(&r, layers, "", &at) || !model_resolve(model, e)) {
        model_free(model);
        return false;
    }
    return true;
}

bool model_check(const json_t *object, struct error *e)
{
    static const char *const parts[] = {"generator", "discriminator"};
    struct model_spec model[2];
    const char *key;
    json_t *value;
    if (!json_object_get(object, "generator")) {
        bool ok = model_from_json(object, &model[0], e);
        if (ok)
            model_free(&model[0]);
        return ok;
    }
    json_object_foreach((json_t *)object, key, value)
    {
        if (strcmp(key, "name") != 0 && strcmp(key, parts[0]) != 0 && strcmp(key, parts[1]) != 0)
            return error_set(e, ERROR_INPUT,
                             "a gan has no field \"%.40s\"; it has name, generator and discriminator", key);
    }
    *model = (struct model_spec){0};
    if (!read_name(json_object_get(object, "name"), model, e))
        return false;
    for (int i = 0; i < 2; i++)
        if (!model_from_json(json_object_get(object, parts[i]), &model[i], e)) {
            if (i)
                model_free(&model[0]);
            return error_wrap(e, "the gan's %s", parts[i]);
        }
    char out[64], in[64];
    model_shape_describe(model_output(&model[0]), out);
    model_shape_describe(model[1].input, in);
    bool fit = model_shape_elements(model_output(&model[0])) == model_shape_elements(model[1].input) &&
               model[1].input.kind != SHAPE_TOKENS;
    model_free(&model[0]);
    model_free(&model[1]);
    return fit || error_set(e, ERROR_INPUT,
                            "the gan's generator puts out %s and its discriminator takes %s: they must have "
                            "as many elements",
                            out, in);
}
