/*
 * lua_host_sim.c - the arguments of simulate{} as a job: a table as train{} takes it, on a cluster.
 *
 * What a simulation does not look at (learning rate, data, epochs) may stand in the table, so that one table serves
 * both. Names and types were checked where the script's line is known (engine/base/lua_api_sim.c).
 */
#include "engine/launch/lua_host.h"

#include "engine/base/event.h"
#include "engine/spec/job.h"
#include "engine/spec/model.h"

#include <stdio.h>
#include <string.h>

/* A field of the job from a key of a table, where it is there. */
struct taken {
    const char *key, *field;
};

static bool take(const json_t *table, const struct taken *list, struct job *job, struct error *e)
{
    for (; list->key; list++) {
        json_t *value = json_object_get(table, list->key);
        if (value && !job_set(job, list->field, value, e))
            return error_wrap(e, "simulate");
    }
    return true;
}

static bool take_model(const json_t *table, struct job_sim *s, struct error *e)
{
    json_t *model = json_object_get(table, "model");
    if (json_is_string(model)) {
        snprintf(s->model, sizeof s->model, "%s", json_string_value(model));
        return true;
    }
    if (!model)
        return true;
    if (!json_is_object(model) || !model_check(model, e))
        return json_is_object(model)
                   ? false
                   : error_set(
                         e, ERROR_INPUT,
                         "model: expected a name such as \"resnet50\", a file or model{ ... }, got a list");
    snprintf(s->model, sizeof s->model, "%s", event_text(model, "name", "model"));
    s->layers = json_incref(model);
    return true;
}

/* "sgd", or sgd{...}. */
static bool take_optimizer(const json_t *table, struct job *job, struct error *e)
{
    json_t *optimizer = json_object_get(table, "optimizer");
    json_t *name = json_is_object(optimizer) ? json_object_get(optimizer, "name") : optimizer;
    if (optimizer && !json_is_string(name))
        return error_set(e, ERROR_INPUT, "optimizer: expected a name such as \"sgd\", or sgd{...}");
    return !name || job_set(job, "optimizer", name, e);
}

/* bucket = false or 0: everything in one. */
static bool take_bucket(const json_t *table, struct job *job, struct error *e)
{
    static const struct taken sizes[] = {
        {"bucket", "bucket_bytes"}, {"first_bucket", "first_bucket_bytes"}, {NULL, NULL}};
    struct job_sim *s = &job->sim;
    if (!take(table, sizes, job, e))
        return false;
    if (!json_object_get(table, "first_bucket") && s->first_bucket_bytes > s->bucket_bytes)
        s->first_bucket_bytes = s->bucket_bytes;
    return true;
}

/* The fields of a table inside the job's; what it does not know is told. */
static bool take_known(const json_t *table, const char *name, const struct taken *parts, struct job *job,
                       struct error *e)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)table, key, value)
    {
        const struct taken *k = parts;
        char known[256] = "";
        for (; k->key && strcmp(k->key, key) != 0; k++)
            snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "", k->key);
        if (!k->key)
            return error_set(e, ERROR_INPUT, "%s: does not know '%.40s'; it knows %s", name, key, known);
    }
    return take(table, parts, job, e);
}

/* data = { samples = 1281167, sample_bytes = 110e3 }: read from the cluster's storage; a name says nothing here. */
static bool take_data(const json_t *table, struct job *job, struct error *e)
{
    static const struct taken parts[] = {
        {"samples", "samples"}, {"sample_bytes", "sample_bytes"}, {"samples_per_file", "samples_per_file"},
        {"readers", "readers"}, {"cache", "cache_bytes"},         {NULL, NULL}};
    const json_t *data = json_object_get(table, "data");
    if (!json_is_object(data))
        return true;
    if (!json_object_get(data, "samples"))
        return error_set(e, ERROR_INPUT, "data: expected samples =, how many the dataset has");
    return take_known(data, "data", parts, job, e);
}

/* straggler = { kind = "normal", spread = 0.02, slow = 1, factor = 1.5 } */
static bool take_straggler(const json_t *table, struct job *job, struct error *e)
{
    static const struct taken parts[] = {{"kind", "straggler"},
                                         {"spread", "spread"},
                                         {"slow", "slow_ranks"},
                                         {"factor", "slow_factor"},
                                         {NULL, NULL}};
    const json_t *straggler = json_object_get(table, "straggler");
    if (json_object_get(straggler, "spread") && !json_object_get(straggler, "kind"))
        snprintf(job->sim.straggler, sizeof job->sim.straggler, "normal");
    if (json_object_get(straggler, "factor") && !json_object_get(straggler, "slow"))
        job->sim.slow_ranks = 1;
    return take_known(straggler, "straggler", parts, job, e);
}

/* What 0 would mean is what the job has without the key; so who writes it means something else. */
static bool check_zeros(const json_t *table, struct error *e)
{
    static const struct {
        const char *key, *without;
    } none[] = {
        {"ranks", "1 or more; without it the whole cluster trains"},
        {"rate", "samples a second above 0; without it the rate follows from the device's data sheet"},
        {"input", "samples a second above 0; without it data holds nobody up"}};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const json_t *value = json_object_get(table, none[i].key);
        if (json_is_number(value) && json_number_value(value) == 0)
            return error_set(e, ERROR_INPUT, "job: %s = 0: expected %s", none[i].key, none[i].without);
    }
    return true;
}

bool lua_host_sim_job(const json_t *args, struct job *job, struct error *e)
{
    static const struct taken whole[] = {
        {"steps", "steps"}, {"tier", "tier"}, {"seed", "seed"}, {"label", "label"}, {NULL, NULL}};
    static const struct taken parts[] = {{"ranks", "world_size"},
                                         {"batch", "batch"},
                                         {"steps", "steps"},
                                         {"seed", "seed"},
                                         {"allreduce", "algo"},
                                         {"algo", "algo"},
                                         {"overlap", "overlap"},
                                         {"tensor", "tensor"},
                                         {"pipeline", "pipeline"},
                                         {"microbatches", "microbatches"},
                                         {"dtype", "dtype"},
                                         {"rate", "rate"},
                                         {"input", "input_samples_per_s"},
                                         {NULL, NULL}};
    const json_t *table = json_object_get(args, "job");
    job_defaults(job, JOB_SIM);
    job->sim.cluster = json_incref(json_object_get(args, "cluster"));
    for (const char *const *ask = (const char *const[]){"storage", "checkpoint", "schedule", NULL}; *ask;
         ask++)
        if (json_object_get(args, *ask)) {
            job->sim.model[0] = '\0';
            job->sim.ask = json_pack("{sO}", *ask, json_object_get(args, *ask));
            return take(args, whole, job, e) && job_validate(job, e);
        }
    return check_zeros(table, e) && take(table, parts, job, e) && take_model(table, &job->sim, e) &&
           take_optimizer(table, job, e) && take_bucket(table, job, e) && take_data(table, job, e) &&
           take_straggler(table, job, e) && take(args, whole, job, e) && job_validate(job, e);
}
