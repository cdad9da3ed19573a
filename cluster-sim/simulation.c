#include "cluster-sim/simulation.h"

#include "cluster-sim/platform_lua.h"

#include <stdio.h>
#include <string.h>

static bool make_platform(const struct job_sim *job, struct platform *p, struct error *e)
{
    if (json_is_string(job->cluster))
        return platform_named(json_string_value(job->cluster), p, e);
    return platform_from_json(job->cluster, p, e);
}

bool simulation_device(const struct platform *p, const char *dtype, struct roofline *r, char device[64],
                       double *memory_bytes, struct error *e)
{
    const struct sim_node *node = &p->node;
    bool half = !strcmp(dtype, "bf16");
    if (node->gpus > 0) {
        const struct sim_gpu *g = &node->gpu;
        double flops = !half ? g->f32_flops : g->bf16_flops > 0 ? g->bf16_flops : g->f16_flops;
        if (flops <= 0 || g->memory_bytes_per_s <= 0)
            return error_set(
                e, ERROR_INPUT,
                "cluster \"%s\": the GPU %s has no rate for %s, or none for its memory; give both, or "
                "a job with rate =",
                p->name, g->name, dtype);
        /* More ranks than GPUs share them. */
        double share = p->per_node > node->gpus ? (double)node->gpus / p->per_node : 1;
        *r = roofline_of(flops * share, g->memory_bytes_per_s * share, true);
        *memory_bytes = g->memory_bytes * share;
        snprintf(device, 64, "%s", g->name);
        return true;
    }
    double flops = node->core_flops * node->cores / p->per_node;
    if (flops <= 0 || node->memory_bytes_per_s <= 0)
        return error_set(
            e, ERROR_INPUT,
            "cluster \"%s\": its nodes have no rate to compute at; give gpu =, or core_flops = and the "
            "memory's rate",
            p->name);
    *r = roofline_of(flops, node->memory_bytes_per_s / p->per_node, false);
    *memory_bytes = node->memory_bytes / p->per_node;
    snprintf(device, 64, "%d core%s", node->cores / p->per_node, node->cores / p->per_node == 1 ? "" : "s");
    return true;
}

/* The platform and the mesh that its ranks, or so many as are asked for, make. */
static bool make_mesh(struct simulation *s, struct training *t, struct error *e)
{
    const struct job_sim *job = s->job;
    int mesh = job->tensor * job->pipeline;
    s->ranks = job->world_size > 0 ? job->world_size : platform_ranks(&s->platform);
    if (s->ranks % mesh)
        return error_set(e, ERROR_INPUT, "ranks: %d cannot be a mesh of %d tensor x %d pipeline ranks",
                         s->ranks, job->tensor, job->pipeline);
    t->tensor = job->tensor;
    t->pipeline = job->pipeline;
    t->data = s->ranks / mesh;
    return sim_tier_named(job->tier, &s->tier, e) &&
           platform_network_make(&s->network, &s->platform, job->algo, s->tier, t->data, t->tensor,
                                 t->pipeline, e);
}

static bool make_step(struct simulation *s, struct training *t, struct error *e)
{
    const struct job_sim *job = s->job;
    t->model = &s->model;
    t->batch = job->batch;
    t->microbatches = job->microbatches;
    t->overlap = job->overlap;
    t->bucket_bytes = job->bucket_bytes;
    t->first_bucket_bytes = job->first_bucket_bytes;
    t->width = !strcmp(job->dtype, "bf16") ? 2 : 4;
    t->optimizer = job->optimizer;
    t->samples_per_s = job->rate;
    t->input_samples_per_s = job->input_samples_per_s;
    t->straggler = (struct straggler){
        .spread = job->spread, .slow_ranks = job->slow_ranks, .slow_factor = job->slow_factor};
    if (!straggler_named(job->straggler, &t->straggler.kind, e) ||
        !simulation_device(&s->platform, job->dtype, &t->device, s->device, &t->memory_bytes, e) ||
        !training_plan_make(&s->plan, t, &s->network.network, e))
        return false;
    const struct sim_result *largest = platform_network_largest(&s->network);
    s->tier = largest ? largest->tier : s->tier == SIM_AUTO ? SIM_CLOSED : s->tier;
    s->exact = !largest || largest->exact;
    s->fits = !(t->memory_bytes > 0) || s->plan.memory.total <= t->memory_bytes;
    return true;
}

bool simulation_make_on(struct simulation *s, const struct job_sim *job, struct platform *platform,
                        struct error *e)
{
    struct training t = {0};
    *s = (struct simulation){.job = job, .platform = *platform};
    if (model_from_json(job->layers, &s->model, e) && make_mesh(s, &t, e) && make_step(s, &t, e))
        return true;
    simulation_free(s);
    return false;
}

bool simulation_make(struct simulation *s, const struct job_sim *job, struct error *e)
{
    struct platform platform;
    *s = (struct simulation){0};
    return make_platform(job, &platform, e) && simulation_make_on(s, job, &platform, e);
}

void simulation_free(struct simulation *s)
{
    if (!s)
        return;
    training_plan_free(&s->plan);
    platform_network_free(&s->network);
    model_free(&s->model);
    platform_free(&s->platform);
    *s = (struct simulation){0};
}
