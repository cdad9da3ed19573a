/*
 * training_memory.c - what a rank must hold: parameters, gradients, the optimiser's state, activations for backward, and
 * the buffer of a bucket.
 */
#include "cluster-sim/training.h"

#include <string.h>

/* What an optimiser keeps for a parameter beside it, in numbers of float32. */
static int states_of(const char *optimizer)
{
    if (!strcmp(optimizer, "sgd") || !strcmp(optimizer, "lars"))
        return 1; /* momentum */
    return 2;     /* adam, adamw, lamb: two moments */
}

double optimizer_state_bytes(const char *optimizer)
{
    return 4.0 * states_of(optimizer);
}

/* Reads parameter, gradient and state; writes parameter and state. */
double optimizer_moved_bytes(const char *optimizer)
{
    return 4.0 * (3 + 2 * states_of(optimizer));
}

/* Activations of one micro-batch: the outputs of the layers, of the first of a tensor pair the rank's own part. */
static double stage_activations(const struct training_plan *p, int stage)
{
    const struct training *t = &p->t;
    double bytes = 0;
    bool second = false;
    for (int i = 0; i < p->stage_first[stage + 1]; i++) {
        const struct layer_spec *l = &t->model->layers[i];
        bool weights = roofline_has_weights(l), moves = l->kind != LAYER_FLATTEN && l->kind != LAYER_RESHAPE;
        if (moves && i >= p->stage_first[stage])
            bytes += t->width * (double)model_shape_elements(l->out) / (weights && !second ? t->tensor : 1);
        second ^= weights;
    }
    return bytes * t->batch / t->microbatches;
}

static double stage_parameters(const struct training_plan *p, int stage)
{
    double parameters = 0;
    for (int i = p->stage_first[stage]; i < p->stage_first[stage + 1]; i++) {
        const struct layer_spec *l = &p->t.model->layers[i];
        parameters += (double)layer_parameters(l) / (roofline_has_weights(l) ? p->t.tensor : 1);
    }
    return parameters;
}

void training_memory_count(struct training_plan *p)
{
    p->memory = (struct training_memory){.stage = -1};
    for (int s = 0; s < p->t.pipeline; s++) {
        double parameters = stage_parameters(p, s), bucket = 0;
        for (int k = 0; k < p->bucket_count; k++)
            if (p->buckets[k].stage == s && p->buckets[k].bytes > bucket)
                bucket = p->buckets[k].bytes;
        struct training_memory m = {.parameters = 4 * parameters,
                                    .gradients = 4 * parameters,
                                    .optimizer = optimizer_state_bytes(p->t.optimizer) * parameters,
                                    .activations = stage_activations(p, s) * p->stages[s].in_flight,
                                    .buckets = p->bucket_count > p->t.pipeline ? bucket : 0,
                                    .in_flight = p->stages[s].in_flight,
                                    .stage = s};
        m.total = m.parameters + m.gradients + m.optimizer + m.activations + m.buckets;
        if (m.total > p->memory.total || p->memory.stage < 0)
            p->memory = m;
    }
}
