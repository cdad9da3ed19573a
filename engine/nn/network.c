#include "engine/nn/network.h"

#include "engine/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What random_stream's purpose is for parameters; data order has another. */
enum { STREAM_PARAMETERS = 1 };

static struct stage_spec stage_from_layer(const struct network *n, const struct layer_spec *layer,
                                          bool learned_before)
{
    struct stage_spec s = {.batch = n->batch,
                           .in = layer->in,
                           .out = layer->out,
                           .kernel = layer->kernel,
                           .stride = layer->stride,
                           .padding = layer->padding,
                           .backward = n->gradients != NULL,
                           .input_gradient = n->gradients && learned_before,
                           .weight_offset = layer->weight_offset,
                           .weights = layer->weights,
                           .bias_offset = layer->bias_offset,
                           .biases = layer->biases};
    switch (layer->kind) {
    case LAYER_CONV2D: s.kind = STAGE_CONV2D; break;
    case LAYER_MAXPOOL: s.kind = STAGE_MAXPOOL; break;
    case LAYER_FLATTEN: s.kind = STAGE_FLATTEN; break;
    case LAYER_DENSE: s.kind = STAGE_DENSE; break;
    default: s.kind = STAGE_RELU; break;
    }
    if (s.kind == STAGE_MAXPOOL)
        s.kernel = s.stride = layer->size;
    return s;
}

static bool follows(const struct model_spec *m, int i, enum layer_kind kind)
{
    return i < m->layer_count && m->layers[i].kind == kind;
}

/* Makes the stages from layer i on for as many layers as go in one; *i moves behind them. */
static bool add_stages(struct network *n, int *i, bool *learned_before, struct error *e)
{
    const struct model_spec *m = &n->model;
    const struct layer_spec *layer = &m->layers[*i];
    const struct backend_ops *ops = n->backend->ops;
    struct stage_spec spec = stage_from_layer(n, layer, *learned_before);
    struct stage_spec pool;
    bool pooled = false;
    int used = 1;
    if (spec.kind == STAGE_CONV2D && follows(m, *i + 1, LAYER_RELU) && follows(m, *i + 2, LAYER_MAXPOOL)) {
        const struct layer_spec *last = &m->layers[*i + 2];
        if (ops->fuses_pool(&spec, last->size)) {
            spec.relu = true;
            spec.pool = last->size;
            spec.out = last->out;
        } else {
            pool = stage_from_layer(n, last, true);
            pool.relu = pooled = true;
        }
        used = 3;
    } else if ((spec.kind == STAGE_CONV2D || spec.kind == STAGE_MAXPOOL || spec.kind == STAGE_DENSE) &&
               follows(m, *i + 1, LAYER_RELU)) {
        spec.relu = true;
        used = 2;
    }
    *learned_before = *learned_before || spec.weights > 0;
    struct stage **next = &n->stages[n->stage_count];
    if (!ops->stage_new(n->backend, &spec, next[-1], next, e))
        return false;
    n->stage_count++;
    if (pooled) {
        next++;
        if (!ops->stage_new(n->backend, &pool, next[-1], next, e))
            return false;
        n->stage_count++;
    }
    *i += used;
    return true;
}

static bool add_all_stages(struct network *n, struct error *e)
{
    struct stage_spec input = {
        .kind = STAGE_INPUT, .batch = n->batch, .in = n->model.input, .out = n->model.input};
    if (!n->backend->ops->stage_new(n->backend, &input, NULL, &n->stages[0], e))
        return false;
    n->stage_count = 1;
    bool learned_before = false;
    for (int i = 0; i < n->model.layer_count;)
        if (!add_stages(n, &i, &learned_before, e))
            return error_wrap(e, "layer %d of model \"%s\"", i + 1, n->model.name);
    return true;
}

struct network *network_new(const struct model_spec *model, struct backend *backend, int batch,
                            float *gradients, struct error *e)
{
    struct network *n = calloc(1, sizeof *n);
    size_t bytes = (model->parameters * sizeof(float) + 63) / 64 * 64;
    if (n)
        n->parameters = aligned_alloc(64, bytes ? bytes : 64);
    if (!n || !n->parameters) {
        free(n);
        error_set(e, ERROR_FAILED, "there is not enough memory for the model's %zu parameters",
                  model->parameters);
        return NULL;
    }
    memset(n->parameters, 0, bytes ? bytes : 64);
    n->model = *model;
    n->backend = backend;
    n->batch = batch;
    n->gradients = gradients;
    if (!add_all_stages(n, e)) {
        network_free(n);
        return NULL;
    }
    return n;
}

void network_free(struct network *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->stage_count; i++)
        n->backend->ops->stage_free(n->stages[i]);
    free(n->parameters);
    free(n);
}

void network_init(struct network *n, uint64_t seed)
{
    for (int i = 0; i < n->model.layer_count; i++) {
        const struct layer_spec *layer = &n->model.layers[i];
        if (!layer->weights)
            continue;
        struct random r = random_stream(seed, STREAM_PARAMETERS, (uint64_t)i);
        float bound = (float)(1 / sqrt((double)layer->weights / (double)layer->biases));
        for (size_t k = 0; k < layer->weights; k++)
            n->parameters[layer->weight_offset + k] = random_uniform(&r, -bound, bound);
        for (size_t k = 0; k < layer->biases; k++)
            n->parameters[layer->bias_offset + k] = random_uniform(&r, -bound, bound);
    }
}

float *network_input(struct network *n)
{
    return n->backend->ops->input_data(n->stages[0]);
}

static bool forward(struct network *n, struct error *e)
{
    for (int i = 1; i < n->stage_count; i++)
        if (!n->backend->ops->forward(n->stages[i], n->parameters, e))
            return false;
    return true;
}

bool network_evaluate(struct network *n, const uint8_t *labels, int rows, struct loss_sum *sum,
                      uint8_t *predicted, struct error *e)
{
    return forward(n, e) &&
           n->backend->ops->loss(n->stages[n->stage_count - 1], labels, rows, 0, sum, predicted, e);
}

bool network_gradients(struct network *n, const uint8_t *labels, int rows, double scale, struct loss_sum *sum,
                       struct error *e)
{
    const struct backend_ops *ops = n->backend->ops;
    if (!forward(n, e) || !ops->loss(n->stages[n->stage_count - 1], labels, rows, scale, sum, NULL, e))
        return false;
    for (int i = n->stage_count - 1; i > 0; i--)
        if (!ops->backward(n->stages[i], n->parameters, n->gradients, e))
            return false;
    return true;
}

bool network_layer_views(const struct model_spec *model, int i, float *buffer, struct tensor *weights,
                         struct tensor *biases)
{
    const struct layer_spec *layer = &model->layers[i];
    if (!layer->weights)
        return false;
    weights->data = buffer + layer->weight_offset;
    size_t units = layer->biases;
    if (layer->kind == LAYER_CONV2D) {
        weights->rank = 4;
        weights->extent[0] = units;
        weights->extent[1] = (size_t)layer->in.channels;
        weights->extent[2] = weights->extent[3] = (size_t)layer->kernel;
    } else {
        weights->rank = 2;
        weights->extent[0] = units;
        weights->extent[1] = layer->weights / units;
    }
    *biases = (struct tensor){.data = buffer + layer->bias_offset, .rank = 1, .extent = {units}};
    return true;
}

uint64_t network_hash(const struct network *n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n->model.parameters; i++) {
        uint32_t bits;
        memcpy(&bits, &n->parameters[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}
