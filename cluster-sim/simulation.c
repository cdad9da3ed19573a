#include "cluster-sim/simulation.h"

#include "cluster-sim/platform_lua.h"
#include "cluster-sim/storage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of a node about whose memory nothing is said: what a page cache is read at. */
#define MEMORY_RATE 10e9

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

/* Samples/s that the cluster's storage yields to the job's nodes, once every file has been read: shuffled anew, each epoch. */
static bool make_input(struct simulation *s, struct training *t, struct error *e)
{
    const struct job_sim *job = s->job;
    t->input_samples_per_s = job->input_samples_per_s;
    if (job->input_samples_per_s > 0 || !(job->samples > 0))
        return true;
    struct storage_system system;
    struct storage_result r;
    struct storage_load load = {.files = ceil(job->samples / job->samples_per_file),
                                .file_bytes = job->sample_bytes * job->samples_per_file,
                                .readers = job->readers * s->platform.per_node,
                                .memory_bytes_per_s = MEMORY_RATE,
                                .cache_bytes = job->cache_bytes,
                                .order = STORAGE_SHUFFLED,
                                .share = STORAGE_NEW_PART,
                                .epochs = 1,
                                .prefetch = true};
    if (!storage_of_platform(&s->platform, &system, &load, e))
        return error_wrap(e, "data");
    load.clients = (s->ranks + s->platform.per_node - 1) / s->platform.per_node;
    if (!storage_simulate(&system, &load, &r, e))
        return error_wrap(e, "data");
    t->input_samples_per_s = r.later.files_per_s * job->samples_per_file;
    snprintf(s->storage, sizeof s->storage,
             "%d nodes with %d reads in flight each get %.4g files/s of %.4g MB (%.3g GB/s), bounded by: %s",
             load.clients, load.readers, r.later.files_per_s, 1e-6 * load.file_bytes,
             1e-9 * r.later.bytes_per_s, storage_station_name(r.later.bottleneck));
    return true;
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
    t->straggler = (struct straggler){
        .spread = job->spread, .slow_ranks = job->slow_ranks, .slow_factor = job->slow_factor};
    if (!straggler_named(job->straggler, &t->straggler.kind, e) || !make_input(s, t, e) ||
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
