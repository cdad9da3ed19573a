/*
 * training.c - works out a step: times of layers, stages, buckets, and what adds up to the step.
 */
#include "cluster-sim/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gradients are summed and kept in float32, whatever layers compute in. */
#define GRADIENT_BYTES 4.0

/* --- layers ------------------------------------------------------------------------------------------------ */

static double shape_bytes(struct model_shape shape, int batch, double width)
{
    return width * batch * (double)model_shape_elements(shape);
}

/* The messages of tensor parallelism: forward after the second layer of a pair, backward before its first. */
static bool tensor_messages(struct training_plan *p, struct training_network *network, int micro,
                            struct error *e)
{
    const struct training *t = &p->t;
    bool second = false;
    int last = -1;
    if (t->tensor == 1)
        return true;
    for (int i = 0; i < t->model->layer_count; i++)
        if (roofline_has_weights(&t->model->layers[i]))
            last = i;
    for (int i = 0; i <= last; i++) {
        const struct layer_spec *l = &t->model->layers[i];
        if (!roofline_has_weights(l))
            continue;
        if ((second || i == last) &&
            !network->allreduce(network, MESH_TENSOR, shape_bytes(l->out, micro, t->width),
                                &p->layer_sums_forward_s[i], e))
            return false;
        if (!second && !network->allreduce(network, MESH_TENSOR, shape_bytes(l->in, micro, t->width),
                                           &p->layer_sums_backward_s[i], e))
            return false;
        second = !second;
    }
    return true;
}

static double optimizer_seconds(const struct training *t, double parameters)
{
    const struct roofline *r = &t->device;
    return parameters > 0
               ? parameters * optimizer_moved_bytes(t->optimizer) / (r->bytes_per_s * r->memory_share) +
                     r->launch_s
               : 0;
}

/* What one rank with the whole model would take, and the factor that makes that the measured rate. */
static void whole_model(struct training_plan *p)
{
    const struct training *t = &p->t;
    double longest = -1;
    for (int i = 0; i < t->model->layer_count; i++) {
        struct roofline_time time = roofline_layer(&t->device, &t->model->layers[i], t->batch, t->width, 1);
        p->forward_s += time.forward_s;
        p->backward_s += time.backward_s;
        if (time.forward_s + time.backward_s > longest) {
            longest = time.forward_s + time.backward_s;
            p->longest_layer = i;
            p->longest_memory_bound = time.memory_bound;
        }
    }
    p->optimizer_s = optimizer_seconds(t, (double)t->model->parameters);
    double step = p->forward_s + p->backward_s + p->optimizer_s;
    p->scale = t->samples_per_s > 0 ? t->batch / t->samples_per_s / step : 1;
    p->forward_s *= p->scale;
    p->backward_s *= p->scale;
    p->optimizer_s *= p->scale;
}

static bool time_layers(struct training_plan *p, struct training_network *network, struct error *e)
{
    const struct training *t = &p->t;
    int micro = t->batch / t->microbatches;
    whole_model(p);
    if (!tensor_messages(p, network, micro, e))
        return false;
    for (int i = 0; i < t->model->layer_count; i++) {
        struct roofline_time time =
            roofline_layer(&t->device, &t->model->layers[i], micro, t->width, t->tensor);
        p->layer_forward_s[i] = p->scale * time.forward_s + p->layer_sums_forward_s[i];
        p->layer_backward_s[i] = p->scale * time.backward_s + p->layer_sums_backward_s[i];
    }
    return true;
}

/* --- stages ------------------------------------------------------------------------------------------------ */

/* Parameters of a layer that one rank has. */
static double rank_parameters(const struct training *t, int layer)
{
    const struct layer_spec *l = &t->model->layers[layer];
    return (double)layer_parameters(l) / (roofline_has_weights(l) ? t->tensor : 1);
}

static bool make_stages(struct training_plan *p, struct training_network *network, struct error *e)
{
    const struct training *t = &p->t;
    int layers = t->model->layer_count, micro = t->batch / t->microbatches;
    double *weights = malloc((size_t)layers * sizeof *weights);
    if (!weights)
        return error_set(e, ERROR_FAILED, "out of memory for %d layers", layers);
    for (int i = 0; i < layers; i++)
        weights[i] = p->layer_forward_s[i] + p->layer_backward_s[i];
    pipeline_cut(weights, layers, t->pipeline, p->stage_first);
    p->stage_first[t->pipeline] = layers;
    free(weights);
    for (int s = 0; s < t->pipeline; s++) {
        struct pipeline_stage *stage = &p->stages[s];
        double parameters = 0;
        for (int i = p->stage_first[s]; i < p->stage_first[s + 1]; i++) {
            stage->forward_s += p->layer_forward_s[i];
            stage->backward_s += p->layer_backward_s[i];
            parameters += rank_parameters(t, i);
        }
        p->stage_optimizer_s[s] = p->scale * optimizer_seconds(t, parameters);
        const struct layer_spec *end = &t->model->layers[p->stage_first[s + 1] - 1];
        if (s + 1 < t->pipeline &&
            !network->send(network, shape_bytes(end->out, micro, t->width), &stage->send_s, e))
            return false;
    }
    return true;
}

/* --- buckets ----------------------------------------------------------------------------------------------- */

/* In the order in which gradients are ready: each stage's last layer first. */
static bool make_buckets(struct training_plan *p, struct training_network *network, struct error *e)
{
    const struct training *t = &p->t;
    if (t->data == 1)
        return true;
    for (int s = 0; s < t->pipeline; s++) {
        struct training_bucket b = {.stage = s, .last = -1};
        bool first = true;
        for (int i = p->stage_first[s + 1] - 1; i >= p->stage_first[s]; i--) {
            double bytes = GRADIENT_BYTES * rank_parameters(t, i);
            if (bytes > 0) {
                b.last = b.last < 0 ? i : b.last;
                b.first = i;
                b.bytes += bytes;
            }
            double limit = first && t->first_bucket_bytes > 0 ? t->first_bucket_bytes : t->bucket_bytes;
            bool full = t->bucket_bytes > 0 && b.bytes >= limit;
            if (b.bytes > 0 && (full || i == p->stage_first[s])) {
                if (!network->allreduce(network, MESH_DATA, b.bytes, &b.takes_s, e))
                    return false;
                p->buckets[p->bucket_count++] = b;
                b = (struct training_bucket){.stage = s, .last = -1};
                first = false;
            }
        }
    }
    return true;
}

/*
 * Sums the buckets of one stage whose last backward pass ends at end_s, `slow` times as long as usual; when the last one
 * is done. *comm: seconds of summing. Times are noted in `note`, which may be NULL.
 */
static double sum_buckets(const struct training_plan *p, int stage, double end_s, double slow, double *comm,
                          struct training_bucket *note)
{
    const struct training *t = &p->t;
    double stream = 0, left = 0;
    int from = p->stage_first[stage];
    *comm = 0;
    for (int i = from; i < p->stage_first[stage + 1]; i++)
        left += p->layer_backward_s[i]; /* of the last pass: from its start to its end */
    int layer = p->stage_first[stage + 1];
    for (int k = 0; k < p->bucket_count; k++) {
        const struct training_bucket *b = &p->buckets[k];
        if (b->stage != stage)
            continue;
        while (layer > b->first)
            left -= p->layer_backward_s[--layer];
        double ready = t->overlap ? end_s - slow * fmax(0, left) : end_s;
        double start = fmax(ready, stream);
        stream = start + b->takes_s;
        *comm += b->takes_s;
        if (note)
            note[k].ready_s = ready, note[k].start_s = start, note[k].end_s = stream;
    }
    return stream;
}

/* --- the step ---------------------------------------------------------------------------------------------- */

/* With every pass `slow` times as long. note: buckets and stages take down their times there; may be NULL. */
struct timeline {
    double compute_end, comm_end, end; /* of the stage that ends last, end: with its optimiser */
    double busy, comm;                 /* of that stage */
    int stage;
};

static bool run_timeline(const struct training_plan *p, double slow, struct timeline *line, double *idle,
                         struct training_bucket *note, struct error *e)
{
    const struct training *t = &p->t;
    struct pipeline_stage *stages = malloc((size_t)t->pipeline * sizeof *stages);
    if (!stages)
        return error_set(e, ERROR_FAILED, "out of memory for %d stages", t->pipeline);
    memcpy(stages, p->stages, (size_t)t->pipeline * sizeof *stages);
    for (int s = 0; s < t->pipeline; s++)
        stages[s].forward_s *= slow, stages[s].backward_s *= slow;
    bool ok = pipeline_run(stages, t->pipeline, t->microbatches, idle, e) >= 0;
    *line = (struct timeline){0};
    for (int s = 0; ok && s < t->pipeline; s++) {
        double comm, end = sum_buckets(p, s, stages[s].end_s, slow, &comm, note);
        double done = fmax(stages[s].end_s, end) + slow * p->stage_optimizer_s[s];
        if (done > line->end)
            *line = (struct timeline){
                stages[s].end_s, end, done, stages[s].busy_s + slow * p->stage_optimizer_s[s], comm, s};
        if (note) {
            p->stages[s].end_s = stages[s].end_s;
            p->stages[s].busy_s = stages[s].busy_s;
            p->stages[s].in_flight = stages[s].in_flight;
        }
    }
    free(stages);
    return ok;
}

/* Tensor parallelism's messages of a stage in a step. */
static double stage_sums(const struct training_plan *p, int stage)
{
    double sums = 0;
    for (int i = p->stage_first[stage]; i < p->stage_first[stage + 1]; i++)
        sums += p->layer_sums_forward_s[i] + p->layer_sums_backward_s[i];
    return p->t.microbatches * sums;
}

static enum training_bottleneck bottleneck_of(const struct training_step *s)
{
    const double parts[] = {s->compute_s, s->exposed_comm_s, s->bubble_s, s->input_s, s->straggler_s};
    int most = 0;
    for (int i = 1; i < 5; i++)
        if (parts[i] > parts[most])
            most = i;
    /* A step that waits for data goes as fast as data come, however much of it is spent computing. */
    return s->input_s > 0 ? BOTTLENECK_INPUT : (enum training_bottleneck)most;
}

bool training_step_at(const struct training_plan *p, double slowest, struct training_step *step,
                      struct error *e)
{
    const struct training *t = &p->t;
    struct timeline usual = {0}, slow = {0};
    double idle;
    *step = (struct training_step){0};
    if (!run_timeline(p, 1, &usual, &idle, NULL, e) || !run_timeline(p, slowest, &slow, &idle, NULL, e))
        return false;
    double sums = stage_sums(p, usual.stage);
    step->compute_s = usual.busy - sums;
    step->comm_s = usual.comm + sums;
    step->bubble_s = fmax(0, usual.compute_end + p->stage_optimizer_s[usual.stage] - usual.busy);
    step->exposed_comm_s = fmax(0, usual.comm_end - usual.compute_end) + sums;
    step->straggler_s = slow.end - usual.end;
    double input = t->input_samples_per_s > 0 ? t->batch * (double)t->data / t->input_samples_per_s : 0;
    step->input_s = fmax(0, input - slow.end);
    step->step_s = slow.end + step->input_s;
    step->samples_per_s = t->batch * (double)t->data / step->step_s;
    double alone = p->forward_s + p->backward_s + p->optimizer_s;
    step->efficiency = alone / (t->tensor * t->pipeline) / step->step_s;
    step->bottleneck = bottleneck_of(step);
    return true;
}

/* --- a plan ------------------------------------------------------------------------------------------------ */

static bool check(const struct training *t, struct error *e)
{
    if (t->batch % t->microbatches)
        return error_set(
            e, ERROR_INPUT,
            "microbatches: a batch of %d cannot be cut into %d equal micro-batches; take a divisor "
            "of the batch",
            t->batch, t->microbatches);
    if (t->pipeline > t->model->layer_count)
        return error_set(e, ERROR_INPUT, "pipeline: %d stages, but the model has only %d layers", t->pipeline,
                         t->model->layer_count);
    return true;
}

static bool allocate(struct training_plan *p, struct error *e)
{
    size_t layers = (size_t)p->t.model->layer_count, stages = (size_t)p->t.pipeline;
    p->layer_forward_s = calloc(layers, sizeof(double));
    p->layer_backward_s = calloc(layers, sizeof(double));
    p->layer_sums_forward_s = calloc(layers, sizeof(double));
    p->layer_sums_backward_s = calloc(layers, sizeof(double));
    p->stages = calloc(stages, sizeof *p->stages);
    p->stage_first = calloc(stages + 1, sizeof *p->stage_first);
    p->stage_optimizer_s = calloc(stages, sizeof(double));
    p->buckets = calloc(layers, sizeof *p->buckets);
    if (p->layer_forward_s && p->layer_backward_s && p->layer_sums_forward_s && p->layer_sums_backward_s &&
        p->stages && p->stage_first && p->stage_optimizer_s && p->buckets)
        return true;
    return error_set(e, ERROR_FAILED, "out of memory for a model of %zu layers", layers);
}

bool training_plan_make(struct training_plan *p, const struct training *t, struct training_network *network,
                        struct error *e)
{
    *p = (struct training_plan){.t = *t, .ranks = t->data * t->tensor * t->pipeline};
    struct timeline line = {0};
    bool ok = check(t, e) && allocate(p, e) && time_layers(p, network, e) && make_stages(p, network, e) &&
              make_buckets(p, network, e) && run_timeline(p, 1, &line, &p->idle, p->buckets, e);
    if (ok) {
        p->pipeline_s = line.compute_end;
        p->critical_stage = line.stage;
        training_memory_count(p);
        ok = training_step_at(p, straggler_expected(&t->straggler, p->ranks), &p->expected, e);
    }
    if (!ok)
        training_plan_free(p);
    return ok;
}

void training_plan_free(struct training_plan *p)
{
    if (!p)
        return;
    free(p->layer_forward_s);
    free(p->layer_backward_s);
    free(p->layer_sums_forward_s);
    free(p->layer_sums_backward_s);
    free(p->stages);
    free(p->stage_first);
    free(p->stage_optimizer_s);
    free(p->buckets);
    *p = (struct training_plan){0};
}
