/*
 * bench_layers.c - each layer of a model on the roofline: what it computes, what it must move, how fast it goes.
 *
 * The bytes are those that cannot be avoided: each input, the parameters and the output, once, in float32. A layer
 * that moves more lies below the roof; one whose operands a cache still holds may lie above its slanted part. Layers
 * that the backend does in one go (a convolution and its relu) are one point.
 */
#include "engine/base/event.h"
#include "engine/base/timing.h"
#include "engine/nn/network.h"
#include "engine/nn/roofline/roofline.h"
#include "engine/train/bench_internal.h"
#include "engine/train/bench_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 31, LEAST_ROUNDS = 3 };

/* Of the job's seconds. */
#define LAYERS_SHARE 0.1

/* A stage's work as the description has it: layers first ... last in one. */
struct work {
    int first, last;
    double flops, bytes;
};

static struct work work_of(const struct network *n, int first)
{
    const struct model_spec *m = &n->model;
    struct work w = {.first = first, .last = first};
    while (w.last + 1 < m->layer_count && n->stage_of[w.last + 1] == n->stage_of[first])
        w.last++;
    double elements = (double)model_shape_elements(m->layers[w.last].out), parameters = 0;
    for (int k = 0; k < m->layers[first].input_count; k++) {
        int from = m->layers[first].inputs[k];
        elements += (double)model_shape_elements(from == MODEL_INPUT ? m->input : m->layers[from].out);
    }
    for (int i = first; i <= w.last; i++) {
        w.flops += n->batch * m->layers[i].flops;
        parameters += (double)layer_parameters(&m->layers[i]);
    }
    w.bytes = sizeof(float) * (n->batch * elements + parameters);
    return w;
}

static bool tell_layer(struct bench *b, const struct network *n, const struct work *w, double time,
                       double peak, double bandwidth, struct error *e)
{
    char name[64], label[128];
    const struct layer_spec *layer = &n->model.layers[w->first];
    snprintf(label, sizeof label, "%s %s%s", layer->name, layer_describe(layer, name),
             w->last > w->first ? " +" : "");
    for (int i = w->first + 1; i <= w->last; i++) {
        size_t used = strlen(label);
        snprintf(label + used, sizeof label - used, " %s", layer_kind_name(n->model.layers[i].kind));
    }
    double intensity = w->flops / w->bytes, roof = roofline_at(peak, bandwidth, intensity);
    json_t *point = bench_point(b, "Roofline", "layers", intensity, w->flops / time, label);
    event_set_text(point, "model", n->model.name);
    event_set_integer(point, "threads", b->threads);
    event_set_integer(point, "batch", n->batch);
    event_set_number(point, "flops", w->flops);
    event_set_number(point, "bytes", w->bytes);
    event_set_number(point, "time_s", time);
    event_set_number(point, "share", w->flops / time / roof);
    event_set_text(point, "bound", intensity < peak / bandwidth ? "memory" : "compute");
    return sink_emit(b->sink, point, e);
}

/* The median time of each stage's forward pass; the stages take their turns as in a whole pass. */
static bool time_stages(struct network *n, double seconds, double *times, struct error *e)
{
    double *taken = calloc((size_t)n->stage_count * MOST_ROUNDS, sizeof *taken);
    if (!taken)
        return error_set(e, ERROR_FAILED, "out of memory");
    bool ok = network_forward(n, true, e); /* warms up, and fills in the context */
    double begin = timing_now();
    int rounds = 0;
    for (; ok && rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || timing_now() - begin < seconds); rounds++)
        for (int s = 1; ok && s < n->stage_count; s++) {
            double start = timing_now();
            ok = n->backend->ops->forward(n->stages[s], &n->context, e);
            taken[s * MOST_ROUNDS + rounds] = timing_now() - start;
        }
    for (int s = 1; ok && s < n->stage_count; s++)
        times[s] = timing_median(taken + s * MOST_ROUNDS, rounds);
    free(taken);
    return ok;
}

static bool measure(struct bench *b, struct network *n, double peak, double bandwidth, struct error *e)
{
    double *times = calloc((size_t)n->stage_count, sizeof *times);
    if (!times)
        return error_set(e, ERROR_FAILED, "out of memory");
    bench_made_up(&n->model, (size_t)n->batch, network_input(n));
    bool ok = time_stages(n, LAYERS_SHARE * b->job->seconds, times, e);
    for (int i = 0; ok && i < n->model.layer_count;) {
        struct work w = work_of(n, i);
        if (w.flops > 0) /* flatten and reshape do nothing that a roof could bound */
            ok = tell_layer(b, n, &w, times[n->stage_of[i]], peak, bandwidth, e);
        i = w.last + 1;
    }
    free(times);
    return ok;
}

bool bench_layers(struct bench *b, double peak, double bandwidth, struct error *e)
{
    struct model_spec model;
    if (!model_from_json(b->job->layers, &model, e))
        return false;
    struct backend *backend = backend_cpu_open(b->threads, e);
    struct network *n = backend ? network_new(&model, backend, b->job->batch, NULL, NETWORK_PLAIN, e) : NULL;
    bool ok = n && network_init(n, 1, e) && measure(b, n, peak, bandwidth, e);
    network_free(n);
    backend_close(backend);
    model_free(&model);
    return ok;
}
