/*
 * setup_fit.c - whether a model and a dataset fit together; where they do not, the sentence names what would.
 */
#include "engine/train/trainer_internal.h"

#include "engine/data/text.h"

#include <stdio.h>
#include <string.h>

static bool same_shape(struct model_shape a, struct model_shape b)
{
    return a.kind == b.kind && a.channels == b.channels && a.height == b.height && a.width == b.width;
}

/* The cure: data of the model's shape, by the names that --data takes. */
static void suggest_data(const struct model_spec *m, char text[128])
{
    static const struct {
        const char *name;
        struct model_shape shape;
        int classes; /* 0: one a step */
    } known[] = {
        {"mnist", {1, 28, 28, SHAPE_IMAGE}, 10},
        {"cifar10", {3, 32, 32, SHAPE_IMAGE}, 10},
        {"text-classes", {TEXT_CLASSES_LENGTH, 1, 1, SHAPE_TOKENS}, 2},
        {"text-words", {TEXT_WORDS_LENGTH, 1, 1, SHAPE_TOKENS}, TEXT_VOCABULARY},
        {"text-chars", {TEXT_CHARS_LENGTH, 1, 1, SHAPE_TOKENS}, 0},
    };
    struct model_shape in = m->input, out = model_output(m);
    int vocabulary = 0, classes = m->loss.kind == LOSS_BCE ? 2 : (int)model_shape_elements(out);
    char shape[64], number[16] = "next";
    if (in.kind == SHAPE_SEQUENCE) {
        snprintf(text, 128, "no dataset has such samples");
        return;
    }
    for (int i = 0; i < m->layer_count && !vocabulary; i++)
        if (m->layers[i].kind == LAYER_EMBEDDING)
            vocabulary = m->layers[i].vocabulary;
    if (in.kind == SHAPE_TOKENS && out.kind == SHAPE_SEQUENCE)
        classes = 0;
    else
        snprintf(number, sizeof number, "%d", classes);
    if (in.kind == SHAPE_TOKENS)
        snprintf(shape, sizeof shape, "%d@%d", in.channels, vocabulary);
    else if (in.height == 1 && in.width == 1)
        snprintf(shape, sizeof shape, "%d", in.channels);
    else
        snprintf(shape, sizeof shape, "%dx%dx%d", in.channels, in.height, in.width);
    snprintf(text, 128, "take --data ");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (same_shape(known[i].shape, in) && known[i].classes == classes)
            snprintf(text, 128, "take --data %s or ", known[i].name);
    size_t used = strlen(text);
    snprintf(text + used, 128 - used, "synthetic:%s:%s:2000", shape, number);
}

static bool check_input(const struct model_spec *m, const struct dataset *d, const char *data,
                        struct error *e)
{
    char takes[64], has[64], other[128];
    if (!same_shape(m->input, d->shape)) {
        suggest_data(m, other);
        return error_set(e, ERROR_INPUT, "model \"%s\" takes samples of %s, dataset \"%s\" has %s; %s",
                         m->name, model_shape_describe(m->input, takes), data,
                         model_shape_describe(d->shape, has), other);
    }
    for (int i = 0; i < m->layer_count; i++) {
        const struct layer_spec *layer = &m->layers[i];
        if (layer->kind == LAYER_EMBEDDING && layer->vocabulary < d->vocabulary)
            return error_set(
                e, ERROR_INPUT,
                "layer %d of model \"%s\" embeds %d different tokens, dataset \"%s\" has %d: make it "
                "embedding{%d, %d}",
                i + 1, m->name, layer->vocabulary, data, d->vocabulary, d->vocabulary, layer->units);
    }
    return true;
}

static bool check_output(const struct model_spec *m, const struct dataset *d, const char *data,
                         struct error *e)
{
    char puts_out[64];
    struct model_shape out = model_output(m);
    bool steps = out.kind == SHAPE_SEQUENCE;
    int classes = steps ? out.width : (int)model_shape_elements(out), rows = steps ? out.channels : 1;
    model_shape_describe(out, puts_out);
    switch (m->loss.kind) {
    case LOSS_CROSS_ENTROPY:
    case LOSS_MSE: /* of 1 for the class, 0 for the others */
        if (rows != d->targets && d->targets == 1)
            return error_set(e, ERROR_INPUT,
                             "model \"%s\" puts out %s, but a sample of \"%s\" has one class: let the last "
                             "recurrent layer put out its last step only",
                             m->name, puts_out, data);
        if (rows != d->targets)
            return error_set(e, ERROR_INPUT,
                             "model \"%s\" puts out %s, but a sample of \"%s\" has %d classes, one a step",
                             m->name, puts_out, data, d->targets);
        if (classes != d->classes)
            return error_set(e, ERROR_INPUT,
                             "model \"%s\" puts out %d numbers, dataset \"%s\" has %d classes: end it with "
                             "dense{%d}",
                             m->name, classes, data, d->classes, d->classes);
        return true;
    case LOSS_BCE:
        if (classes != 1 || rows != 1 || d->classes != 2 || d->targets != 1)
            return error_set(
                e, ERROR_INPUT,
                "model \"%s\" has the loss bce, which takes one number and two classes; it puts out "
                "%s, and dataset \"%s\" has %d classes",
                m->name, puts_out, data, d->classes);
        return true;
    }
    return true;
}

bool trainer_check_fit(const struct model_spec *m, const struct dataset *d, const char *data, struct error *e)
{
    return check_input(m, d, data, e) && check_output(m, d, data, e);
}
