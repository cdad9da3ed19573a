/*
 * lua_host_job.c - the arguments of train{}, allreduce{} and rank_script{} as jobs.
 *
 * Names and types were checked where the script's line is known (engine/base/lua_api.c); here the values are.
 */
#include "engine/launch/lua_host.h"

#include "engine/base/event.h"
#include "engine/launch/resume.h"
#include "engine/spec/job.h"
#include "engine/spec/model_lua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Out of int's range stays out of every range that job_validate accepts. */
static void take_int(const json_t *args, const char *key, int *value)
{
    long long n = event_integer(args, key, *value);
    *value = n > INT_MAX ? INT_MAX : n < INT_MIN ? INT_MIN : (int)n;
}

/* Whole numbers may come as 2.0. */
static long long whole(const json_t *value)
{
    return json_is_real(value) ? (long long)json_real_value(value) : (long long)json_integer_value(value);
}

static bool take_text(const json_t *args, const char *key, char *text, size_t size, struct error *e)
{
    const char *value = event_text(args, key, text);
    if (value == text)
        return true;
    if (strlen(value) >= size)
        return error_set(e, ERROR_INPUT, "%s: \"%.40s...\" is too long", key, value);
    snprintf(text, size, "%s", value);
    return true;
}

static void take_flag(const json_t *args, const char *key, bool *value)
{
    json_t *flag = json_object_get(args, key);
    if (json_is_boolean(flag))
        *value = json_is_true(flag);
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
        return take_text(args, "model", job->train.model, sizeof job->train.model, e);
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
    json_t *optimizer = json_object_get(args, "optimizer");
    struct job_train *t = &job->train;
    if (!json_is_object(optimizer)) {
        if (!take_text(args, "optimizer", t->optimizer, sizeof t->optimizer, e))
            return false;
    } else if (!json_is_string(json_object_get(optimizer, "name"))) {
        return error_set(e, ERROR_INPUT,
                         "optimizer: expected a name such as \"adam\", or adam{...}, adamw{...}, "
                         "sgd{...}, lars{...} or lamb{...}");
    } else if (!take_text(optimizer, "name", t->optimizer, sizeof t->optimizer, e)) {
        return false;
    }
    bool same = *t->resume && !optimizer; /* the recipe of the run that this one goes on with */
    double standard = same                                ? t->lr
                      : model_is_gan(t->model, t->layers) ? MODEL_GAN_LR
                                                          : job_default_lr(t->optimizer, t->schedule);
    t->lr = event_number(args, "lr", event_number(optimizer, "lr", standard));
    t->momentum = event_number(optimizer, "momentum", t->momentum);
    take_flag(optimizer, "nesterov", &t->nesterov);
    t->weight_decay = event_number(optimizer, "weight_decay",
                                   same ? t->weight_decay : job_default_weight_decay(t->optimizer));
    t->clip = event_number(args, "clip", t->clip);
    return true;
}

static bool take_schedule(const json_t *args, struct job_train *t, struct error *e)
{
    t->warmup = event_number(args, "warmup", t->warmup);
    t->step_size = event_number(args, "step_size", t->step_size);
    t->gamma = event_number(args, "gamma", t->gamma);
    take_int(args, "scale_lr", &t->scale_lr);
    if (!*t->resume && model_is_gan(t->model, t->layers))
        snprintf(t->schedule, sizeof t->schedule, "constant");
    return take_text(args, "schedule", t->schedule, sizeof t->schedule, e);
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
    if (*eval)
        job->ranks = 1;
    int before = job->ranks;
    take_int(args, "ranks", &job->ranks);
    return *eval || json_object_get(args, "batch") || resume_keep_global_batch(job, before, e);
}

bool lua_host_train_job(const json_t *args, struct job *job, struct error *e)
{
    struct job_train *t = &job->train;
    bool bounded = json_object_get(args, "steps") || json_object_get(args, "seconds");
    *job = (struct job){0};
    if (!begin_with(args, job, e))
        return false;
    bool from = *t->resume || *t->eval;
    take_int(args, "ranks", &job->ranks);
    take_int(args, "batch", &t->batch);
    if (bounded && !from)
        t->epochs = 0;
    if (from && json_object_get(args, "epochs"))
        t->steps = 0;
    take_int(args, "epochs", &t->epochs);
    t->steps = (long)event_integer(args, "steps", t->steps);
    t->seconds = event_number(args, "seconds", t->seconds);
    take_int(args, "accumulate", &t->accumulate);
    take_int(args, "threads", &t->threads);
    take_flag(args, "reproducible", &t->reproducible);
    t->checkpoint_every = (long)event_integer(args, "checkpoint_every", t->checkpoint_every);
    t->seed = (uint64_t)event_integer(args, "seed", (long long)t->seed);
    t->pause_s = event_number(args, "pause", t->pause_s);
    return take_model(args, job, e) && take_schedule(args, t, e) && take_optimizer(args, job, e) &&
           take_text(args, "data", t->data, sizeof t->data, e) &&
           take_text(args, "allreduce", t->algo, sizeof t->algo, e) &&
           take_text(args, "device", t->device, sizeof t->device, e) &&
           take_text(args, "dtype", t->dtype, sizeof t->dtype, e) &&
           take_text(args, "label", job->label, sizeof job->label, e) && job_validate(job, e);
}

bool lua_host_allreduce_job(const json_t *args, struct job *job, struct error *e)
{
    struct job_allreduce *a = &job->allreduce;
    job_defaults(job, JOB_ALLREDUCE);
    take_int(args, "ranks", &job->ranks);
    take_int(args, "iters", &a->iters);
    json_t *bytes = json_object_get(args, "bytes"), *check = json_object_get(args, "check");
    if (json_is_boolean(check))
        a->check = json_is_true(check);
    if (bytes) {
        size_t n = json_is_array(bytes) ? json_array_size(bytes) : 1;
        if (n < 1 || n > JOB_MAX_SIZES)
            return error_set(e, ERROR_INPUT, "allreduce{ bytes = ... } needs 1 to %d sizes", JOB_MAX_SIZES);
        for (size_t i = 0; i < n; i++) {
            json_t *size = json_is_array(bytes) ? json_array_get(bytes, i) : bytes;
            if (!json_is_number(size) || json_number_value(size) < 4)
                return error_set(e, ERROR_INPUT,
                                 "allreduce{ bytes = ... }: size %zu is no number of at least 4 bytes",
                                 i + 1);
            a->bytes[i] = (size_t)whole(size);
        }
        a->sizes = (int)n;
    }
    return take_text(args, "algo", a->algos, sizeof a->algos, e) &&
           take_text(args, "buffer", a->buffer, sizeof a->buffer, e) &&
           take_text(args, "label", job->label, sizeof job->label, e) && job_validate(job, e);
}

static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

bool lua_host_ranks_job(const json_t *args, struct job *job, struct error *e)
{
    struct job_ranks *r = &job->rank_script;
    json_t *counts = json_object_get(args, "counts"), *lengths = json_object_get(args, "lengths");
    size_t n = json_array_size(counts), m = json_array_size(lengths);
    job_defaults(job, JOB_RANKS);
    if (n < 1 || n > JOB_MAX_COUNTS || m < 1 || m > JOB_MAX_SIZES)
        return error_set(e, ERROR_INPUT, "rank_script{...} needs 1 to %d counts and 1 to %d lengths",
                         JOB_MAX_COUNTS, JOB_MAX_SIZES);
    for (size_t i = 0; i < n; i++) {
        long long value = whole(json_array_get(counts, i));
        if (value < 1 || value > JOB_MAX_RANKS)
            return error_set(e, ERROR_INPUT, "rank_script{ counts = ... }: %lld is no number of ranks",
                             value);
        r->counts[i] = (int)value;
    }
    for (size_t i = 0; i < m; i++)
        r->lengths[i] = (long)whole(json_array_get(lengths, i));
    r->count_total = (int)n;
    r->length_total = (int)m;
    qsort(r->counts, n, sizeof *r->counts, ascending);
    job->ranks = r->counts[n - 1];
    return take_text(args, "entry", r->entry, sizeof r->entry, e);
}
