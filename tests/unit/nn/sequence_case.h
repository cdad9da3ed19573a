/*
 * sequence_case.h - one of the small networks of tests/golden/make_sequence.py, with its parameters, input
 * and targets, all drawn as that script draws them.
 */
#ifndef RINGSIDE_TESTS_SEQUENCE_CASE_H
#define RINGSIDE_TESTS_SEQUENCE_CASE_H

#include "engine/base/random.h"
#include "engine/nn/network.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCE_BATCH = 5, SEQUENCE_SEED = 11 };

struct sequence_case {
    struct model_spec model;
    size_t inputs, outputs, rows; /* elements of the batch, and rows of its loss */
    struct targets targets;       /* its arrays belong to the case */
};

static inline struct sequence_case sequence_case(const json_t *one)
{
    struct sequence_case c = {.targets.samples = SEQUENCE_BATCH};
    struct error e = {0};
    if (!model_from_json(json_object_get(one, "model"), &c.model, &e))
        fail_msg("%s", e.text);
    struct model_shape out = model_output(&c.model);
    c.inputs = SEQUENCE_BATCH * model_shape_elements(c.model.input);
    c.outputs = SEQUENCE_BATCH * model_shape_elements(out);
    c.rows = SEQUENCE_BATCH * (out.kind == SHAPE_SEQUENCE ? (size_t)out.channels : 1);
    struct random r = random_stream(3, 9, 1);
    enum loss_kind loss = c.model.loss.kind;
    if (loss == LOSS_MSE || json_is_true(json_object_get(one, "values"))) {
        float *values = calloc(c.outputs, sizeof *values);
        for (size_t i = 0; i < c.outputs; i++)
            values[i] = random_uniform(&r, loss == LOSS_BCE ? 0 : -1, 1);
        c.targets.values = values;
    } else {
        size_t count = loss == LOSS_BCE ? c.outputs : c.rows,
               range = loss == LOSS_BCE ? 2 : c.outputs / c.rows;
        int32_t *classes = calloc(count, sizeof *classes);
        for (size_t i = 0; i < count; i++)
            classes[i] = (int32_t)random_below(&r, range);
        c.targets.classes = classes;
    }
    return c;
}

static inline void sequence_case_free(struct sequence_case *c)
{
    model_free(&c->model);
    free((void *)c->targets.classes);
    free((void *)c->targets.values);
}

static inline void sequence_case_fill(const struct sequence_case *c, struct network *n)
{
    struct random r = random_stream(3, 9, 0);
    if (c->model.input.kind == SHAPE_TOKENS) {
        int32_t *tokens = network_input(n);
        for (size_t i = 0; i < c->inputs; i++)
            tokens[i] = (int32_t)random_below(&r, (uint64_t)c->model.layers[0].vocabulary);
    } else {
        float *values = network_input(n);
        for (size_t i = 0; i < c->inputs; i++)
            values[i] = random_uniform(&r, -1, 1);
    }
    for (int i = 0; i < n->model.layer_count; i++) {
        const struct layer_spec *layer = &n->model.layers[i];
        struct random p = random_stream(SEQUENCE_SEED, 7, (uint64_t)i);
        for (int t = 0; t < layer->tensor_count; t++) {
            struct tensor tensor = network_tensor(layer, t, n->parameters);
            float middle = layer->kind == LAYER_LAYERNORM && t == 0 ? 1 : 0;
            for (size_t k = 0; k < tensor_elements(&tensor); k++)
                tensor.data[k] = random_uniform(&p, -0.5f, 0.5f) + middle;
        }
    }
}

#endif
