/*
 * lua_host_job.c - the arguments of train{}, allreduce{} and rank_script{} as jobs.
 *
 * Names and types were checked where the script's line is known (engine/base/lua_api.c); here the values are.
 */
#include "engine/launch/lua_host.h"

#include "engine/base/event.h"
#include "engine/launch/resume.h"
#include "engine/spec/collective.h"
#include "engine/spec/job.h"
#include "engine/spec/model_lua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sets a field of the job from the argument `key`, where there is one. */
static bool take_as(const json_t *args, const char *key, struct job *job, const char *field, struct error *e)
{
    json_t *value = json_object_get(args, key);
    return !value || job_set(job, field, value, e);
}

/* The same with each of the fields that are called as their arguments are; NULL ends the list. */
static bool take_all(const json_t *args, const char *const *keys, struct job *job, struct error *e)
{
    for (; *keys; keys++)
        if (!take_as(args, *keys, job, *keys, e))
            return false;
    return true;
}

/* A model{} or gan{} as it is; a name or a file is looked up where the job is started. */
static bool take_model(const json_t *args, struct job *job, struct error *e)
{
    json_t *model = json_object_get(args, "model");
    if (!json_is_object(model)) {
        if (model && job->train.layers) { /* of the run that this one goes on with */
            json_decref(job->train.layers);
            job->train.layers = NULL;
        }
        if (model && !json_is_string(model))
            return error_set(e, ERROR_INPUT,
                             "model: expected a name such as \"cnn\", a file or model{ ... }, got a list; "
                             "write model = model{ ... }");
        return take_as(args, "model", job, "model", e);
    }
    if (!model_check(model, e))
        return false;
    snprintf(job->train.model, sizeof job->train.model, "%s", event_text(model, "name", "model"));
    json_decref(job->train.layers);
    job->train.layers = json_incref(model);
    return true;
}

static bool take_optimizer(const json_t *args, struct job *job, struct error *e)
{
    static const char *const keys[] = {"lr", "momentum", "nesterov", "weight_decay", NULL};
    json_t *optimizer = json_object_get(args, "optimizer");
    struct job_train *t = &job->train;
    if (optimizer && !json_is_string(optimizer) && !json_is_string(json_object_get(optimizer, "name")))
        return error_set(e, ERROR_INPUT,
                         "optimizer: expected a name such as \"adam\", or adam{...}, adamw{...}, "
                         "sgd{...}, lars{...} or lamb{...}");
    if (!(json_is_object(optimizer) ? take_as(optimizer, "name", job, "optimizer", e)
                                    : take_as(args, "optimizer", job, "optimizer", e)))
        return false;
    bool same = *t->resume && !optimizer; /* the recipe of the run that this one goes on with */
    if (!same) {
        t->lr = model_is_gan(t->model, t->layers) ? MODEL_GAN_LR : job_default_lr(t->optimizer, t->schedule);
        t->weight_decay = job_default_weight_decay(t->optimizer);
    }
    return take_all(optimizer, keys, job, e) && take_as(args, "lr", job, "lr", e) &&
           take_as(args, "clip", job, "clip", e);
}

static bool take_schedule(const json_t *args, struct job *job, struct error *e)
{
    static const char *const keys[] = {"warmup", "step_size", "gamma", "scale_lr", "schedule", NULL};
    struct job_train *t = &job->train;
    if (!*t->resume && model_is_gan(t->model, t->layers))
        snprintf(t->schedule, sizeof t->schedule, "constant");
    return take_all(args, keys, job, e);
}

/* What is not said: as the run has it that this one goes on with or tests, else the defaults. */
static bool begin_with(const json_t *args, struct job *job, struct error *e)
{
    const char *resume = event_text(args, "resume", ""), *eval = event_text(args, "eval", "");
    char dir[PATH_MAX];
    if (*resume && *eval)
        return error_set(e, ERROR_INPUT, "resume goes on training, eval only tests: give one of them");
    if (!*resume && !*eval) {
        job_defaults(job, JOB_TRAIN);
        return true;
    }
    if (!resume_job(*resume ? resume : eval, job, dir, e))
        return error_wrap(e, *resume ? "resume" : "eval");
    memcpy(*resume ? job->train.resume : job->train.eval, dir, strlen(dir) + 1);
    if (*eval) {
        job->ranks = 1;
        *job->train.shares = 0;
    }
    int before = job->ranks;
    if (!take_as(args, "ranks", job, "ranks", e))
        return false;
    return *eval || json_object_get(args, "batch") || resume_keep_global_batch(job, before, e);
}

/* {3, 1} as "3,1". */
static bool take_shares(const json_t *args, struct job *job, struct error *e)
{
    const json_t *list = json_object_get(args, "shares");
    char *text = job->train.shares;
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(list) && used < SHARES_TEXT; i++)
        used += (size_t)snprintf(text + used, SHARES_TEXT - used, "%s%.12g", i ? "," : "",
                                 json_number_value(json_array_get(list, i)));
    if (used >= SHARES_TEXT)
        return error_set(e, ERROR_INPUT, "shares: they are longer than %d letters; take smaller numbers",
                         SHARES_TEXT - 1);
    return !list || json_array_size(list) > 0 ||
           error_set(e, ERROR_INPUT, "shares: expected a list of one number for each rank, such as {3, 1}");
}

bool lua_host_train_job(const json_t *args, struct job *job, struct error *e)
{
    static const char *const keys[] = {"ranks",      "batch",        "epochs",
                                       "steps",      "seconds",      "accumulate",
                                       "threads",    "reproducible", "checkpoint_every",
                                       "hash_every", "seed",         "data",
                                       "device",     "dtype",        "label",
                                       "bucket",     "autotune",     "compress",
                                       "link",       "link_latency", NULL};
    struct job_train *t = &job->train;
    bool bounded = json_object_get(args, "steps") || json_object_get(args, "seconds");
    *job = (struct job){0};
    if (!begin_with(args, job, e))
        return false;
    bool from = *t->resume || *t->eval;
    if (bounded && !from)
        t->epochs = 0;
    if (from && json_object_get(args, "epochs"))
        t->steps = 0;
    if (!take_all(args, keys, job, e))
        return false;
    if (!from)
        snprintf(t->algo, sizeof t->algo, "%s", job_default_algo(t->device));
    return take_as(args, "pause", job, "pause_s", e) && take_as(args, "trace", job, "trace", e) &&
           take_as(args, "allreduce", job, "algo", e) && take_shares(args, job, e) &&
           take_model(args, job, e) && take_schedule(args, job, e) && take_optimizer(args, job, e) &&
           job_validate(job, e);
}

bool lua_host_allreduce_job(const json_t *args, struct job *job, struct error *e)
{
    static const char *const keys[] = {"ranks", "iters", "check", "buffer", "collective",   "dtype",
                                       "place", "label", "trace", "link",   "link_latency", NULL};
    json_t *bytes = json_object_get(args, "bytes");
    job_defaults(job, JOB_ALLREDUCE);
    if (bytes) {
        json_t *list = json_is_array(bytes) ? json_incref(bytes) : json_pack("[O]", bytes);
        bool ok = job_set(job, "bytes", list, e);
        json_decref(list);
        if (!ok)
            return false;
    }
    if (!take_all(args, keys, job, e))
        return false;
    const char *ours = collective_algo(collective_named(job->allreduce.collective));
    if (ours) /* the allreduces' names would not do */
        snprintf(job->allreduce.algos, sizeof job->allreduce.algos, "mpi,%s", ours);
    return take_as(args, "algo", job, "algos", e) && job_validate(job, e);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

bool lua_host_ranks_job(const json_t *args, struct job *job, struct error *e)
{
    static const char *const keys[] = {"counts", "lengths", "entry", NULL};
    struct job_ranks *r = &job->rank_script;
    job_defaults(job, JOB_RANKS);
    if (!take_all(args, keys, job, e))
        return false;
    if (r->count_total < 1 || r->length_total < 1)
        return error_set(e, ERROR_INPUT, "rank_script{...} needs 1 to %d counts and 1 to %d lengths",
                         JOB_MAX_COUNTS, JOB_MAX_SIZES);
    qsort(r->counts, (size_t)r->count_total, sizeof *r->counts, ascending);
    job->ranks = r->counts[r->count_total - 1];
    return true;
}
