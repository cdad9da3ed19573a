/* A model as JSON: what a learner's model{...} becomes on its way to the ranks. Strict, so that a misspelt
 * field is an error and not a silent default. */
#include "engine/spec/model.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct field {
    const char *name;
    int *value;
    bool needed;
};

/* Reads the whole numbers listed in fields (name NULL after the last) and refuses any field but those and "kind". */
static bool read_fields(const json_t *object, const struct field *fields, const char *where, struct error *e)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        const struct field *field = fields;
        while (field->name && strcmp(field->name, key) != 0)
            field++;
        if (strcmp(key, "kind") == 0)
            continue;
        if (!field->name)
            return error_set(e, ERROR_INPUT, "%s has no field \"%s\"", where, key);
        double number = json_number_value(value);
        if (!json_is_number(value) || number < INT_MIN || number > INT_MAX || number != (double)(int)number)
            return error_set(e, ERROR_INPUT, "%s: \"%s\" must be a whole number", where, key);
        *field->value = (int)number;
    }
    for (; fields->name; fields++)
        if (fields->needed && !json_object_get(object, fields->name))
            return error_set(e, ERROR_INPUT, "%s: \"%s\" is missing", where, fields->name);
    return true;
}

static bool layer_from_json(const json_t *object, struct layer_spec *layer, const char *model, int number,
                            struct error *e)
{
    char where[160];
    const char *kind = json_string_value(json_object_get(object, "kind"));
    snprintf(where, sizeof where, "model \"%s\", layer %d", model, number);
    if (!kind)
        return error_set(e, ERROR_INPUT,
                         "%s is not a layer; the layers are conv2d, relu, maxpool, flatten and dense", where);
    *layer = (struct layer_spec){.kind = LAYER_KINDS, .stride = 1};
    for (int i = 0; i < LAYER_KINDS; i++)
        if (strcmp(layer_kind_name((enum layer_kind)i), kind) == 0)
            layer->kind = (enum layer_kind)i;
    if (layer->kind == LAYER_KINDS)
        return error_set(
            e, ERROR_INPUT,
            "%s: there is no layer \"%s\"; the layers are conv2d, relu, maxpool, flatten and dense", where,
            kind);
    snprintf(where, sizeof where, "model \"%s\", layer %d (%s)", model, number, layer_kind_name(layer->kind));
    const struct field conv2d[] = {{"channels", &layer->channels, true},
                                   {"kernel", &layer->kernel, true},
                                   {"stride", &layer->stride, false},
                                   {"padding", &layer->padding, false},
                                   {0}};
    const struct field maxpool[] = {{"size", &layer->size, true}, {0}};
    const struct field dense[] = {{"units", &layer->units, true}, {0}};
    const struct field none[] = {{0}};
    const struct field *fields = layer->kind == LAYER_CONV2D    ? conv2d
                                 : layer->kind == LAYER_MAXPOOL ? maxpool
                                 : layer->kind == LAYER_DENSE   ? dense
                                                                : none;
    return read_fields(object, fields, where, e);
}

static bool input_from_json(const json_t *array, struct model_spec *model, struct error *e)
{
    int extents[3];
    bool good = json_is_array(array) && json_array_size(array) == 3;
    for (size_t i = 0; good && i < 3; i++) {
        const json_t *value = json_array_get(array, i);
        double number = json_number_value(value);
        good = json_is_number(value) && number >= 1 && number <= INT_MAX && number == (double)(int)number;
        extents[i] = good ? (int)number : 0;
    }
    if (!good)
        return error_set(e, ERROR_INPUT,
                         "model \"%s\": its input must be three whole numbers, {channels, height, width}, "
                         "for example {1, 28, 28}",
                         model->name);
    model->input = (struct model_shape){extents[0], extents[1], extents[2]};
    return true;
}

bool model_from_json(const json_t *object, struct model_spec *model, struct error *e)
{
    if (!json_is_object(object))
        return error_set(e, ERROR_INPUT, "a model must be a JSON object with \"layers\"");
    *model = (struct model_spec){.name = "model", .input = {1, 28, 28}};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        if (strcmp(key, "name") != 0 && strcmp(key, "input") != 0 && strcmp(key, "layers") != 0)
            return error_set(e, ERROR_INPUT, "a model has no field \"%s\"; it has name, input and layers",
                             key);
    }
    const json_t *name = json_object_get(object, "name");
    if (name && (!json_is_string(name) || json_string_length(name) == 0 ||
                 json_string_length(name) >= sizeof model->name))
        return error_set(e, ERROR_INPUT, "a model's name must be a text of 1 to %zu bytes",
                         sizeof model->name - 1);
    if (name)
        snprintf(model->name, sizeof model->name, "%s", json_string_value(name));
    if (json_object_get(object, "input") && !input_from_json(json_object_get(object, "input"), model, e))
        return false;
    const json_t *layers = json_object_get(object, "layers");
    if (!json_is_array(layers))
        return error_set(e, ERROR_INPUT, "model \"%s\": \"layers\" must be a list of layers", model->name);
    size_t count = json_array_size(layers);
    if (count > MODEL_MAX_LAYERS)
        return error_set(e, ERROR_INPUT, "model \"%s\" has %zu layers; it may have at most %d", model->name,
                         count, MODEL_MAX_LAYERS);
    for (size_t i = 0; i < count; i++)
        if (!layer_from_json(json_array_get(layers, i), &model->layers[i], model->name, (int)i + 1, e))
            return false;
    model->layer_count = (int)count;
    return model_resolve(model, e);
}

json_t *model_to_json(const struct model_spec *model)
{
    json_t *layers = json_array();
    for (int i = 0; i < model->layer_count; i++) {
        const struct layer_spec *layer = &model->layers[i];
        json_t *object = json_pack("{s:s}", "kind", layer_kind_name(layer->kind));
        if (layer->kind == LAYER_CONV2D) {
            json_object_set_new(object, "channels", json_integer(layer->channels));
            json_object_set_new(object, "kernel", json_integer(layer->kernel));
            json_object_set_new(object, "stride", json_integer(layer->stride));
            json_object_set_new(object, "padding", json_integer(layer->padding));
        } else if (layer->kind == LAYER_MAXPOOL)
            json_object_set_new(object, "size", json_integer(layer->size));
        else if (layer->kind == LAYER_DENSE)
            json_object_set_new(object, "units", json_integer(layer->units));
        json_array_append_new(layers, object);
    }
    return json_pack("{s:s, s:[i,i,i], s:o}", "name", model->name, "input", model->input.channels,
                     model->input.height, model->input.width, "layers", layers);
}
