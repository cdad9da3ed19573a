#include "engine/train/bench_step.h"

#include "engine/base/random.h"
#include "engine/base/timing.h"
#include "engine/nn/optimizer.h"
#include "engine/train/bench_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    POOL = 8 /* batches of samples in memory */,
    STREAM_SAMPLES = 2,
    STREAM_TARGETS = 3,
    STREAM_ORDER = 4
};

struct bench_step {
    struct model_spec model;
    struct backend *backend;
    struct network *network;
    struct optimizer *optimizer;
    float *gradients;
    int batch;
    size_t sample, target; /* elements of one sample, 4 bytes each, and targets */
    char *samples;         /* POOL batches */
    int32_t *classes;
    float *values; /* mse */
    uint32_t *order;
    uint32_t at;
    int32_t *batch_classes;
    float *batch_values;
};

void bench_made_up(const struct model_spec *model, size_t samples, void *inputs)
{
    struct random values = random_stream(1, STREAM_SAMPLES, 0);
    size_t elements = samples * model_shape_elements(model->input);
    int32_t *tokens = inputs;
    float *floats = inputs;
    uint64_t vocabulary = model->layers[0].vocabulary > 0 ? (uint64_t)model->layers[0].vocabulary : 1;
    for (size_t i = 0; i < elements; i++)
        if (model->input.kind == SHAPE_TOKENS)
            tokens[i] = (int32_t)random_below(&values, vocabulary);
        else
            floats[i] = random_uniform(&values, -1, 1);
}

/* Targets of one sample: a class, or one a step; bce and mse have one an element. */
static size_t targets_of(const struct model_spec *model)
{
    struct model_shape out = model_output(model);
    if (model->loss.kind != LOSS_CROSS_ENTROPY)
        return model_shape_elements(out);
    return out.kind == SHAPE_SEQUENCE ? (size_t)out.channels : 1;
}

static uint64_t classes_of(const struct model_spec *model)
{
    struct model_shape out = model_output(model);
    if (model->loss.kind == LOSS_BCE)
        return 2;
    return (uint64_t)(out.kind == SHAPE_SEQUENCE ? out.width : out.channels);
}

static bool make_samples(struct bench_step *s, struct error *e)
{
    uint32_t rows = (uint32_t)(POOL * s->batch);
    size_t targets = rows * s->target;
    size_t bytes = rows * s->sample * sizeof(float); /* or int32_t */
    s->samples = malloc(bytes);
    s->classes = malloc(targets * sizeof *s->classes);
    s->values = malloc(targets * sizeof *s->values);
    s->order = malloc(rows * sizeof *s->order);
    s->batch_classes = malloc((size_t)s->batch * s->target * sizeof *s->batch_classes);
    s->batch_values = malloc((size_t)s->batch * s->target * sizeof *s->batch_values);
    if (!s->samples || !s->classes || !s->values || !s->order || !s->batch_classes || !s->batch_values)
        return error_set(e, ERROR_FAILED, "not enough memory for %u samples", rows);
    bench_made_up(&s->model, rows, s->samples);
    struct random r = random_stream(1, STREAM_TARGETS, 0), order = random_stream(1, STREAM_ORDER, 0);
    for (size_t i = 0; i < targets; i++) {
        s->classes[i] = (int32_t)random_below(&r, classes_of(&s->model));
        s->values[i] = random_uniform(&r, 0, 1);
    }
    random_permutation(&order, s->order, rows);
    return true;
}

static bool take_step(struct bench_step *s, struct error *e)
{
    char *input = network_input(s->network);
    size_t bytes = s->sample * sizeof(float);
    for (int i = 0; i < s->batch; i++, s->at = (s->at + 1) % (uint32_t)(POOL * s->batch)) {
        size_t row = s->order[s->at], from = row * s->target, to = (size_t)i * s->target;
        memcpy(input + (size_t)i * bytes, s->samples + row * bytes, bytes);
        memcpy(s->batch_classes + to, s->classes + from, s->target * sizeof *s->classes);
        memcpy(s->batch_values + to, s->values + from, s->target * sizeof *s->values);
    }
    struct targets targets = {.classes = s->batch_classes,
                              .values = s->model.loss.kind == LOSS_MSE ? s->batch_values : NULL,
                              .samples = s->batch};
    bool rows_are_steps = s->model.loss.kind == LOSS_CROSS_ENTROPY;
    double rows = (double)s->batch * (double)(rows_are_steps ? s->target : 1), squares;
    struct loss_sum sum;
    s->network->context.step++;
    return network_gradients(s->network, &targets, 1 / rows, &sum, e) &&
           optimizer_take_step(s->optimizer, 1e-3, s->network->parameters, s->gradients, &squares, e);
}

static bool set_up(struct bench_step *s, int threads, struct error *e)
{
    struct optimizer_spec adam;
    s->sample = model_shape_elements(s->model.input);
    s->target = targets_of(&s->model);
    s->gradients = aligned_alloc(64, (s->model.parameters * sizeof(float) / 64 + 1) * 64);
    if (!s->gradients)
        return error_set(e, ERROR_FAILED, "not enough memory for the gradients");
    if (!make_samples(s, e) || !(s->backend = backend_cpu_open(threads, e)) ||
        !(s->network = network_new(&s->model, s->backend, s->batch, s->gradients, NETWORK_PLAIN, e)) ||
        !optimizer_named("adam", &adam, e) ||
        !(s->optimizer = optimizer_new(&adam, &s->model, s->backend, e)))
        return false;
    return network_init(s->network, 1, e) && take_step(s, e);
}

struct bench_step *bench_step_new(const json_t *description, int threads, int batch, struct error *e)
{
    struct bench_step *s = calloc(1, sizeof *s);
    if (!s) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    s->batch = batch;
    if (!model_from_json(description, &s->model, e)) {
        free(s);
        return NULL;
    }
    if (!set_up(s, threads, e)) {
        bench_step_free(s);
        return NULL;
    }
    return s;
}

void bench_step_free(struct bench_step *s)
{
    if (!s)
        return;
    optimizer_free(s->optimizer);
    network_free(s->network);
    backend_close(s->backend);
    model_free(&s->model);
    free(s->gradients);
    free(s->samples);
    free(s->classes);
    free(s->values);
    free(s->order);
    free(s->batch_classes);
    free(s->batch_values);
    free(s);
}

size_t bench_step_parameters(const struct bench_step *s)
{
    return s->model.parameters;
}

bool bench_step_run(struct bench_step *s, double seconds, long *samples, double *taken, struct error *e)
{
    double begin = timing_now();
    *samples = 0;
    do {
        if (!take_step(s, e))
            return false;
        *samples += s->batch;
        *taken = timing_now() - begin;
    } while (*taken < seconds);
    return true;
}
