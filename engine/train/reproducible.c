#include "engine/train/reproducible.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shard {
    struct backend *backend; /* of one thread */
    struct network *network;
    float *sums; /* gradients, extras, states; of the first shard spec.gradients */
    int32_t *classes;
    int bad_layer; /* whose output was not finite, from 0; -1: none */
};

/*
 * A thread that makes, computes and frees its shards itself: oneDNN keeps scratch memory by thread, so what
 * one thread made another must not run.
 */
struct worker {
    struct reproducible *r;
    pthread_t thread;
    int index;
    bool failed;
    struct error error;
};

typedef bool (*task)(struct worker *w);

struct reproducible {
    struct reproducible_spec spec;
    struct shard shards[REPRODUCIBLE_SHARDS];
    int count, batch; /* shards of this rank, samples of each */
    size_t length;
    struct worker workers[REPRODUCIBLE_SHARDS];
    int worker_count;
    /* Of the step under way: */
    const struct network *trained;
    double scale;
    /* Workers wait for the next turn, whoever gave it waits until none is busy. */
    pthread_mutex_t lock;
    pthread_cond_t turn_begins, turn_ends;
    task work; /* NULL: end */
    long turn;
    int busy;
};

/* --- turns --- */

static void *worker_main(void *argument)
{
    struct worker *w = argument;
    struct reproducible *r = w->r;
    long turn = 0;
    for (bool more = true; more;) {
        pthread_mutex_lock(&r->lock);
        while (r->turn == turn)
            pthread_cond_wait(&r->turn_begins, &r->lock);
        turn = r->turn;
        task work = r->work;
        pthread_mutex_unlock(&r->lock);
        w->failed = work && !work(w);
        more = work != NULL;
        pthread_mutex_lock(&r->lock);
        if (--r->busy == 0)
            pthread_cond_signal(&r->turn_ends);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

/* Every worker does it; true where all of them could. */
static bool take_turn(struct reproducible *r, task work, struct error *e)
{
    pthread_mutex_lock(&r->lock);
    r->work = work;
    r->busy = r->worker_count;
    r->turn++;
    pthread_cond_broadcast(&r->turn_begins);
    while (r->busy > 0)
        pthread_cond_wait(&r->turn_ends, &r->lock);
    pthread_mutex_unlock(&r->lock);
    for (int i = 0; i < r->worker_count; i++)
        if (r->workers[i].failed) {
            if (e)
                *e = r->workers[i].error;
            return false;
        }
    return true;
}

/* --- what workers do --- */

static float *floats(size_t n)
{
    size_t bytes = (n * sizeof(float) / 64 + 1) * 64;
    float *f = aligned_alloc(64, bytes);
    if (f)
        memset(f, 0, bytes);
    return f;
}

static bool make_shards(struct worker *w)
{
    struct reproducible *r = w->r;
    for (int i = w->index; i < r->count; i += r->worker_count) {
        struct shard *s = &r->shards[i];
        s->sums = i == 0 ? r->spec.gradients : floats(r->length);
        s->classes = calloc((size_t)r->batch * (size_t)r->spec.targets, sizeof *s->classes);
        if (!s->sums || !s->classes)
            return error_set(&w->error, ERROR_FAILED, "not enough memory for %d shards of the batch",
                             r->count);
        s->backend = backend_cpu_open(1, &w->error);
        if (s->backend && r->spec.bf16 && !backend_cpu_use_bf16(s->backend, &w->error))
            return false;
        s->network = s->backend
                         ? network_new(r->spec.model, s->backend, r->batch, s->sums, NETWORK_PLAIN, &w->error)
                         : NULL;
        if (!s->network)
            return false;
    }
    return true;
}

static bool free_shards(struct worker *w)
{
    struct reproducible *r = w->r;
    for (int i = w->index; i < r->count; i += r->worker_count) {
        struct shard *s = &r->shards[i];
        network_free(s->network);
        backend_close(s->backend);
        free(s->classes);
        if (i > 0)
            free(s->sums);
    }
    return true;
}

static bool compute_shards(struct worker *w)
{
    struct reproducible *r = w->r;
    size_t n = r->spec.model->parameters, states = r->spec.model->states;
    for (int i = w->index; i < r->count; i += r->worker_count) {
        struct shard *s = &r->shards[i];
        memcpy(s->network->parameters, r->trained->parameters, n * sizeof *s->sums);
        memcpy(s->network->state, r->trained->state, states * sizeof *s->sums);
        struct pass_context *context = &s->network->context;
        context->seed = r->trained->context.seed;
        context->step = r->trained->context.step;
        context->first_row = (long)(r->spec.rank * r->count + i) * r->batch;
        struct targets targets = {.classes = s->classes, .samples = r->batch};
        struct loss_sum sum;
        if (!network_forward(s->network, true, &w->error) ||
            !s->backend->ops->loss(network_output(s->network), &r->spec.model->loss, &targets, r->scale, &sum,
                                   NULL, &w->error))
            return false;
        s->bad_layer = isfinite(sum.loss) ? -1 : network_first_not_finite(s->network, &w->error);
        if (!network_backward(s->network, &w->error))
            return false;
        float *extras = s->sums + n, *state = extras + r->spec.extras;
        memset(extras, 0, (size_t)r->spec.extras * sizeof *extras);
        extras[0] = (float)(sum.loss * r->scale);
        for (size_t k = 0; k < states; k++)
            state[k] = s->network->state[k] / REPRODUCIBLE_SHARDS; /* exact, but for the tiniest */
    }
    return true;
}

/* A slice of the elements, along the whole tree: every element's sum is one thread's. */
static bool sum_shards(struct worker *w)
{
    struct reproducible *r = w->r;
    size_t begin = r->length * (size_t)w->index / (size_t)r->worker_count;
    size_t end = r->length * (size_t)(w->index + 1) / (size_t)r->worker_count;
    for (int distance = 1; distance < r->count; distance *= 2)
        for (int i = 0; i + distance < r->count; i += 2 * distance) {
            float *restrict to = r->shards[i].sums;
            const float *restrict from = r->shards[i + distance].sums;
            for (size_t k = begin; k < end; k++)
                to[k] += from[k];
        }
    return true;
}

/* --- the whole --- */

static bool check(const struct reproducible_spec *spec, struct error *e)
{
    long global = (long)spec->batch * spec->ranks;
    if (REPRODUCIBLE_SHARDS % spec->ranks != 0)
        return error_set(
            e, ERROR_INPUT,
            "--reproducible: the batch is cut into 8 shards, which %d ranks cannot share evenly: "
            "choose 1, 2, 4 or 8 ranks",
            spec->ranks);
    if (global % REPRODUCIBLE_SHARDS != 0)
        return error_set(
            e, ERROR_INPUT,
            "--reproducible: the global batch of %ld (%d on each of %d ranks) cannot be cut into "
            "8 equal shards: choose a multiple of 8",
            global, spec->batch, spec->ranks);
    for (int i = 0; i < spec->model->layer_count; i++)
        if (spec->model->layers[i].sync)
            return error_set(
                e, ERROR_INPUT,
                "--reproducible: layer %d of model \"%s\" takes its statistics over all ranks, but "
                "here a shard has its own: leave out sync",
                i + 1, spec->model->name);
    return true;
}

static void stop_workers(struct reproducible *r, int started)
{
    r->worker_count = started; /* the others never were */
    take_turn(r, NULL, NULL);
    for (int i = 0; i < started; i++)
        pthread_join(r->workers[i].thread, NULL);
}

static bool start_workers(struct reproducible *r, struct error *e)
{
    for (int i = 0; i < r->worker_count; i++) {
        r->workers[i] = (struct worker){.r = r, .index = i};
        if (pthread_create(&r->workers[i].thread, NULL, worker_main, &r->workers[i]) != 0) {
            stop_workers(r, i);
            r->worker_count = 0;
            return error_set(e, ERROR_FAILED, "the thread for a shard of the batch could not be started");
        }
    }
    return true;
}

struct reproducible *reproducible_new(const struct reproducible_spec *spec, struct error *e)
{
    struct reproducible *r = check(spec, e) ? calloc(1, sizeof *r) : NULL;
    if (!r)
        return NULL;
    r->spec = *spec;
    r->count = REPRODUCIBLE_SHARDS / spec->ranks;
    r->batch = spec->batch / r->count;
    r->length = spec->model->parameters + (size_t)spec->extras + spec->model->states;
    r->worker_count = spec->threads < 1 ? 1 : spec->threads < r->count ? spec->threads : r->count;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->turn_begins, NULL);
    pthread_cond_init(&r->turn_ends, NULL);
    if (start_workers(r, e) && take_turn(r, make_shards, e))
        return r;
    reproducible_free(r);
    return NULL;
}

bool reproducible_trace(struct reproducible *r, struct trace *trace, struct error *e)
{
    for (int i = 0; i < r->count; i++) {
        char name[32];
        int worker = i % r->worker_count;
        snprintf(name, sizeof name, "thread %d", worker + 1);
        struct trace_lane *lane = trace_lane(trace, TRACE_LANE_COMM + 1 + worker, name);
        if (!network_trace(r->shards[i].network, trace, lane, "", e))
            return false;
    }
    return true;
}

void reproducible_free(struct reproducible *r)
{
    if (!r)
        return;
    if (r->worker_count > 0) {
        take_turn(r, free_shards, NULL);
        stop_workers(r, r->worker_count);
    }
    pthread_cond_destroy(&r->turn_ends);
    pthread_cond_destroy(&r->turn_begins);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

int reproducible_shards(const struct reproducible *r)
{
    return r->count;
}

int reproducible_shard_batch(const struct reproducible *r)
{
    return r->batch;
}

void *reproducible_input(const struct reproducible *r, int i)
{
    return network_input(r->shards[i].network);
}

int32_t *reproducible_classes(const struct reproducible *r, int i)
{
    return r->shards[i].classes;
}

bool reproducible_gradients(struct reproducible *r, const struct network *trained, double scale,
                            struct error *e)
{
    r->trained = trained;
    r->scale = scale;
    return take_turn(r, compute_shards, e) && take_turn(r, sum_shards, e);
}

size_t reproducible_length(const struct reproducible *r)
{
    return r->length;
}

int reproducible_bad_layer(const struct reproducible *r)
{
    int first = -1;
    for (int i = 0; i < r->count; i++)
        if (r->shards[i].bad_layer >= 0 && (first < 0 || r->shards[i].bad_layer < first))
            first = r->shards[i].bad_layer;
    return first;
}

void reproducible_take_state(const struct reproducible *r, struct network *trained)
{
    const float *state = r->spec.gradients + r->spec.model->parameters + r->spec.extras;
    memcpy(trained->state, state, r->spec.model->states * sizeof *state);
}
