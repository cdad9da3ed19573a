#include "engine/nn/network.h"

#include "engine/base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What random_stream's purpose is for parameters; data order has another. */
enum { STREAM_PARAMETERS = 1 };

/* A stage as planned: the layers first ... last in one, taking what the stages `inputs` put out. */
struct plan {
    struct stage_spec spec;
    int first, last;
    int inputs[LAYER_MAX_INPUTS];
};

/* How many layers take the output of layer i; of the last one also the loss does. */
static int consumers(const struct model_spec *m, int i)
{
    int count = i == m->layer_count - 1;
    for (int k = i + 1; k < m->layer_count; k++)
        for (int n = 0; n < m->layers[k].input_count; n++)
            count += m->layers[k].inputs[n] == i;
    return count;
}

/* Whether layer i + 1 is of that kind and alone takes what layer i puts out. */
static bool alone_follows(const struct model_spec *m, int i, enum layer_kind kind)
{
    return i + 1 < m->layer_count && m->layers[i + 1].kind == kind && m->layers[i + 1].inputs[0] == i &&
           consumers(m, i) == 1;
}

/* Plans the stage that begins with layer i, for as many layers as go in one. */
static struct plan plan_stage(const struct network *n, int i, const struct plan *plans)
{
    const struct model_spec *m = &n->model;
    const struct layer_spec *layer = &m->layers[i];
    const struct backend_ops *ops = n->backend->ops;
    struct plan p = {.first = i, .last = i};
    p.spec = (struct stage_spec){.layer = layer,
                                 .batch = n->batch,
                                 .in = layer->in,
                                 .out = layer->out,
                                 .backward = n->gradients != NULL};
    for (int k = 0; k < layer->input_count; k++) {
        p.inputs[k] = layer->inputs[k] == MODEL_INPUT ? 0 : n->stage_of[layer->inputs[k]];
        /* `backward` of a planned stage says whether there is anything to learn up to its output. */
        p.spec.input_gradient[k] = n->gradients && plans[p.inputs[k]].spec.backward;
    }
    bool relu = alone_follows(m, i, LAYER_RELU);
    if (relu && layer->kind == LAYER_CONV2D && alone_follows(m, i + 1, LAYER_MAXPOOL) &&
        ops->fuses_pool(&p.spec, &m->layers[i + 2])) {
        p.spec.relu = true;
        p.spec.pool = m->layers[i + 2].kernel[0];
        p.last = i + 2;
    } else if (relu && ops->fuses_relu(layer)) {
        p.spec.relu = true;
        p.last = i + 1;
    }
    p.spec.out = m->layers[p.last].out;
    return p;
}

/*
 * conv2d, relu, maxpool where the three do not go in one: the pool does the relu, on a quarter of the values. Moves the
 * relu from the convolution planned last to the pool behind it.
 */
static void move_relu_to_pool(const struct network *n, struct plan *conv, struct plan *pool)
{
    const struct model_spec *m = &n->model;
    if (conv->spec.layer && conv->spec.layer->kind == LAYER_CONV2D && conv->spec.relu && !conv->spec.pool &&
        pool->spec.layer->kind == LAYER_MAXPOOL && alone_follows(m, conv->last, LAYER_MAXPOOL) &&
        pool->first == conv->last + 1 && n->backend->ops->fuses_relu(pool->spec.layer)) {
        conv->spec.relu = false;
        pool->spec.relu = true;
    }
}

static int plan_all(struct network *n, struct plan *plans, unsigned options)
{
    plans[0] = (struct plan){.first = MODEL_INPUT, .last = MODEL_INPUT};
    plans[0].spec = (struct stage_spec){.batch = n->batch, .in = n->model.input, .out = n->model.input};
    plans[0].spec.backward = options & NETWORK_INPUT_GRADIENT;
    int count = 1;
    for (int i = 0; i < n->model.layer_count; count++) {
        struct plan *p = &plans[count];
        *p = plan_stage(n, i, plans);
        move_relu_to_pool(n, p - 1, p);
        bool learns = false;
        for (int k = p->first; k <= p->last; k++) {
            n->stage_of[k] = count;
            learns = learns || n->model.layers[k].tensor_count > 0;
        }
        for (int k = 0; k < p->spec.layer->input_count; k++)
            learns = learns || p->spec.input_gradient[k];
        p->spec.backward = n->gradients && learns;
        i = p->last + 1;
    }
    return count;
}

/* Backward runs from the last stage to the first: whoever comes later to an input's gradient adds to it. */
static void plan_fan_out(struct plan *plans, int count, int *takers, bool *written)
{
    for (int i = 1; i < count; i++)
        for (int k = 0; k < plans[i].spec.layer->input_count; k++)
            takers[plans[i].inputs[k]]++;
    for (int i = count - 1; i > 0; i--)
        for (int k = 0; k < plans[i].spec.layer->input_count; k++) {
            int from = plans[i].inputs[k];
            plans[i].spec.sole[k] = takers[from] == 1;
            if (!plans[i].spec.input_gradient[k])
                continue;
            plans[i].spec.accumulate[k] = written[from];
            written[from] = true;
        }
}

static bool add_stages(struct network *n, const struct plan *plans, int count, struct error *e)
{
    for (int i = 0; i < count; i++) {
        struct stage *inputs[LAYER_MAX_INPUTS];
        int input_count = plans[i].spec.layer ? plans[i].spec.layer->input_count : 0;
        for (int k = 0; k < input_count; k++)
            inputs[k] = n->stages[plans[i].inputs[k]];
        if (!n->backend->ops->stage_new(n->backend, &plans[i].spec, inputs, &n->stages[i], e))
            return i == 0 ? error_wrap(e, "the input of model \"%s\"", n->model.name)
                          : error_wrap(e, "layer %d of model \"%s\"", plans[i].first + 1, n->model.name);
        n->first_parameter[i] = n->model.parameters;
        for (int k = plans[i].first; i > 0 && k <= plans[i].last; k++)
            if (n->model.layers[k].tensor_count > 0 &&
                n->model.layers[k].tensors[0].offset < n->first_parameter[i])
                n->first_parameter[i] = n->model.layers[k].tensors[0].offset;
        n->stage_count++;
    }
    return true;
}

static bool add_all_stages(struct network *n, unsigned options, struct error *e)
{
    size_t most = (size_t)n->model.layer_count + 1;
    struct plan *plans = calloc(most, sizeof *plans);
    int *takers = calloc(most, sizeof *takers);
    bool *written = calloc(most, sizeof *written);
    n->stages = calloc(most, sizeof(struct stage *));
    n->stage_of = calloc(most, sizeof *n->stage_of);
    n->first_parameter = calloc(most, sizeof *n->first_parameter);
    bool ok = plans && takers && written && n->stages && n->stage_of && n->first_parameter;
    if (!ok)
        error_set(e, ERROR_FAILED, "there is not enough memory for a model of %d layers",
                  n->model.layer_count);
    if (ok) {
        int count = plan_all(n, plans, options);
        plan_fan_out(plans, count, takers, written);
        ok = add_stages(n, plans, count, e);
    }
    free(plans);
    free(takers);
    free(written);
    return ok;
}

static float *floats(size_t count)
{
    size_t bytes = (count * sizeof(float) / 64 + 1) * 64;
    float *f = aligned_alloc(64, bytes);
    if (f)
        memset(f, 0, bytes);
    return f;
}

static void state_init(struct network *n)
{
    for (int i = 0; i < n->model.layer_count; i++)
        for (int t = 0; t < n->model.layers[i].state_count; t++) {
            const struct layer_tensor *state = &n->model.layers[i].state[t];
            for (size_t k = 0; k < state->elements; k++)
                n->host_state[state->offset + k] = strcmp(state->name, "running_var") == 0 ? 1 : 0;
        }
}

static bool copy_states_in(struct network *n, struct error *e)
{
    return n->backend->ops->copy_in(n->backend, n->state, n->host_state, n->model.states, e);
}

bool network_to_host(struct network *n, struct error *e)
{
    const struct backend_ops *ops = n->backend->ops;
    return ops->copy_out(n->backend, n->host_parameters, n->parameters, n->model.parameters, e) &&
           ops->copy_out(n->backend, n->host_state, n->state, n->model.states, e);
}

bool network_to_backend(struct network *n, struct error *e)
{
    return n->backend->ops->copy_in(n->backend, n->parameters, n->host_parameters, n->model.parameters, e) &&
           copy_states_in(n, e);
}

bool network_take(struct network *n, const struct network *from, struct error *e)
{
    const struct backend_ops *ops = n->backend->ops;
    return ops->copy(n->backend, n->parameters, from->parameters, n->model.parameters, e) &&
           ops->copy(n->backend, n->state, from->state, n->model.states, e);
}

/* Room in the backend's memory, and where the host sees it. */
static bool make_memory(struct network *n, size_t elements, float **memory, float **host, struct error *e)
{
    const struct backend_ops *ops = n->backend->ops;
    if (!(*memory = ops->memory_new(n->backend, elements, e)))
        return false;
    *host = ops->host_memory ? *memory : floats(elements);
    return *host || error_set(e, ERROR_FAILED, "there is not enough memory for the model's %zu parameters",
                              n->model.parameters);
}

struct network *network_new(const struct model_spec *model, struct backend *backend, int batch,
                            float *gradients, unsigned options, struct error *e)
{
    struct network *n = calloc(1, sizeof *n);
    if (!n || !model_copy(model, &n->model, e)) {
        free(n);
        return NULL;
    }
    n->backend = backend;
    n->batch = batch;
    n->gradients = gradients;
    bool ok = make_memory(n, model->parameters, &n->parameters, &n->host_parameters, e) &&
              make_memory(n, model->states, &n->state, &n->host_state, e) && add_all_stages(n, options, e);
    if (ok) {
        state_init(n);
        ok = copy_states_in(n, e);
    }
    if (ok)
        return n;
    network_free(n);
    return NULL;
}

void network_free(struct network *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->stage_count; i++)
        n->backend->ops->stage_free(n->stages[i]);
    free(n->stages);
    free(n->stage_of);
    free(n->first_parameter);
    free(n->span_names);
    if (n->host_parameters != n->parameters)
        free(n->host_parameters);
    if (n->host_state != n->state)
        free(n->host_state);
    n->backend->ops->memory_free(n->backend, n->parameters);
    n->backend->ops->memory_free(n->backend, n->state);
    model_free(&n->model);
    free(n);
}

/* Weights and biases of a layer with weights over `inputs` inputs, or of `units` recurrent units. */
static double uniform_bound(const struct layer_spec *layer)
{
    const struct layer_tensor *w = &layer->tensors[0];
    if (layer->kind == LAYER_SIMPLE_RNN || layer->kind == LAYER_LSTM)
        return 1 / sqrt((double)layer->units);
    return 1 / sqrt((double)w->elements / (double)w->extent[0]);
}

bool network_init(struct network *n, uint64_t seed, struct error *e)
{
    for (int i = 0; i < n->model.layer_count; i++) {
        const struct layer_spec *layer = &n->model.layers[i];
        struct random r = random_stream(seed, STREAM_PARAMETERS, (uint64_t)i);
        for (int t = 0; t < layer->tensor_count; t++) {
            struct tensor tensor = network_tensor(layer, t, n->host_parameters);
            size_t count = tensor_elements(&tensor);
            bool norm = layer->kind == LAYER_BATCHNORM || layer->kind == LAYER_LAYERNORM;
            float bound = norm ? 0 : (float)uniform_bound(layer);
            for (size_t k = 0; k < count; k++)
                tensor.data[k] = norm                             ? (t == 0 ? 1 : 0)
                                 : layer->kind == LAYER_EMBEDDING ? random_normal(&r)
                                                                  : random_uniform(&r, -bound, bound);
        }
    }
    state_init(n);
    return network_to_backend(n, e);
}

void *network_input(struct network *n)
{
    n->input = n->backend->ops->input_data(n->stages[0]);
    return n->input;
}

bool network_input_complete(struct network *n, struct error *e)
{
    const struct backend_ops *ops = n->backend->ops;
    return !ops->input_complete || ops->input_complete(n->stages[0], e);
}

struct stage *network_output(const struct network *n)
{
    return n->stages[n->stage_count - 1];
}

struct stage *network_stage(const struct network *n, int layer)
{
    return n->stages[n->stage_of[layer]];
}

static struct pass_context *context(struct network *n, bool training)
{
    n->context.parameters = n->parameters;
    n->context.gradients = n->gradients;
    n->context.state = n->state;
    n->context.training = training;
    return &n->context;
}

bool network_trace(struct network *n, struct trace *trace, struct trace_lane *lane, const char *whose,
                   struct error *e)
{
    const struct model_spec *m = &n->model;
    if (!lane)
        return true;
    if (!n->span_names && !(n->span_names = calloc((size_t)n->stage_count, sizeof *n->span_names)))
        return error_set(e, ERROR_FAILED, "not enough memory for the names of %d layers", m->layer_count);
    for (int i = 0; i < m->layer_count;) {
        int stage = n->stage_of[i];
        char layer[64], text[192];
        snprintf(text, sizeof text, "%s%s %s", whose, m->layers[i].name,
                 layer_describe(&m->layers[i], layer));
        for (i++; i < m->layer_count && n->stage_of[i] == stage; i++) {
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, " + %s", layer_kind_name(m->layers[i].kind));
        }
        n->span_names[stage] = trace_name(trace, text);
    }
    n->lane = lane;
    return true;
}

bool network_forward(struct network *n, bool training, struct error *e)
{
    const struct pass_context *c = context(n, training);
    int64_t began = trace_now(n->lane), before = began;
    for (int i = 1; i < n->stage_count; i++) {
        if (!n->backend->ops->forward(n->stages[i], c, e))
            return false;
        if (before)
            before = trace_span(n->lane, before, TRACE_LAYER_FORWARD, n->span_names[i]);
    }
    trace_span(n->lane, began, TRACE_FORWARD, -1);
    return true;
}

bool network_backward(struct network *n, struct error *e)
{
    const struct pass_context *c = context(n, true);
    const struct gradient_hook *hook = &n->hook;
    int64_t began = trace_now(n->lane), before = began;
    for (int i = n->stage_count - 1; i > 0; i--) {
        if (!n->backend->ops->backward(n->stages[i], c, e))
            return false;
        if (before)
            before = trace_span(n->lane, before, TRACE_LAYER_BACKWARD, n->span_names[i]);
        size_t from = n->first_parameter[i];
        if (hook->ready && from < n->model.parameters && !hook->ready(hook->self, from, e))
            return false;
    }
    trace_span(n->lane, began, TRACE_BACKWARD, -1);
    return true;
}

bool network_evaluate(struct network *n, const struct targets *targets, struct loss_sum *sum,
                      int32_t *predicted, struct error *e)
{
    return network_forward(n, false, e) &&
           n->backend->ops->loss(network_output(n), &n->model.loss, targets, 0, sum, predicted, e);
}

bool network_gradients(struct network *n, const struct targets *targets, double scale, struct loss_sum *sum,
                       struct error *e)
{
    return network_forward(n, true, e) &&
           n->backend->ops->loss(network_output(n), &n->model.loss, targets, scale, sum, NULL, e) &&
           network_backward(n, e);
}

bool network_gradients_start(struct network *n, const struct targets *targets, double scale, struct error *e)
{
    struct loss_sum later;
    bool replayed;
    return n->backend->ops->record_begin(n->backend, network_output(n), context(n, true), targets, &replayed,
                                         e) &&
           (replayed || network_gradients(n, targets, scale, &later, e));
}

bool network_gradients_finish(struct network *n, struct loss_sum *sum, struct error *e)
{
    return n->backend->ops->record_end(n->backend, sum, e);
}

static bool all_finite(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

/* Its tensors in a buffer of the parameters' layout. */
static bool layer_is_finite(const struct layer_spec *layer, const float *buffer)
{
    for (int t = 0; t < layer->tensor_count; t++)
        if (!all_finite(buffer + layer->tensors[t].offset, layer->tensors[t].elements))
            return false;
    return true;
}

/*
 * Of a stage of several layers the first one is meant. Parameters are looked at too, since a relu makes 0 of a NaN that
 * they gave rise to.
 */
int network_first_not_finite(struct network *n, struct error *e)
{
    int first = -1, previous = -1;
    if (!network_to_host(n, e))
        return -1;
    for (int i = 0; first < 0 && i < n->model.layer_count; i++) {
        if (n->stage_of[i] == previous)
            continue;
        previous = n->stage_of[i];
        int last = i;
        while (last + 1 < n->model.layer_count && n->stage_of[last + 1] == previous)
            last++;
        size_t count = (size_t)n->batch * model_shape_elements(n->model.layers[last].out);
        float *values = floats(count);
        bool ok = values && n->backend->ops->read(n->stages[previous], values, e);
        if (ok && (!layer_is_finite(&n->model.layers[i], n->host_parameters) || !all_finite(values, count)))
            first = i;
        free(values);
        if (!ok)
            break;
    }
    return first;
}

int network_gradient_not_finite(const struct network *n, const float *gradients)
{
    int i = n->model.layer_count - 1;
    while (i >= 0 && layer_is_finite(&n->model.layers[i], gradients))
        i--;
    return i;
}

struct tensor network_tensor(const struct layer_spec *layer, int t, float *buffer)
{
    const struct layer_tensor *from = &layer->tensors[t];
    struct tensor tensor = {.data = buffer + from->offset, .rank = from->rank};
    for (int i = 0; i < from->rank; i++)
        tensor.extent[i] = from->extent[i];
    return tensor;
}

uint64_t network_hash(const struct network *n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n->model.parameters; i++) {
        uint32_t bits;
        memcpy(&bits, &n->host_parameters[i], sizeof bits);
        hash = (hash ^ bits) * 0x100000001b3u;
    }
    return hash;
}
