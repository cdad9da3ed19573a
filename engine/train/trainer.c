/*
 * trainer.c - the loop over the steps of a run, and what happens between them: reports, tests, the end.
 */
#include "engine/train/trainer_internal.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/train/agree.h"
#include "engine/train/evaluate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVERY_STEP_UNTIL = 100 }; /* each of the first steps has an event of its own */
#define STEP_EVENTS_S 0.1
#define RANK_EVENTS_S 1.0
#define HOP_EVENTS_S 2.0
#define COMPRESS_LOST 0.1 /* share of the gradients that compression makes 0: worth a word */
#define LOOK_S 0.25       /* at what a watcher may ask for, but that the run stops: that at each step */

/* What rank 0 asks for in this step; the others ask for nothing. */
static int wants(struct trainer *tr)
{
    double now = sink_clock();
    int want = 0;
    if (comm_rank(tr->comm) != 0)
        return 0;
    if (rundir_stop_requested(tr->rundir))
        want |= WANT_STOP;
    if (tr->t->seconds > 0 && now - tr->began >= tr->t->seconds)
        want |= WANT_END;
    if (now >= tr->next_rank_event) {
        want |= WANT_RANKS;
        tr->next_rank_event = now + RANK_EVENTS_S;
    }
    if (now >= tr->next_hops) {
        want |= WANT_HOPS;
        tr->next_hops = now + HOP_EVENTS_S;
    }
    if (now >= tr->next_look) {
        long bucket = rundir_bucket_requested(tr->rundir);
        if (bucket != tr->bucket_asked)
            want |= WANT_BUCKET;
        tr->bucket_asked = bucket;
        tr->next_look = now + LOOK_S;
    }
    return want;
}

/* --- between steps --- */

/* Once: numbers that the type has no room for. */
static bool warn_of_lost(struct trainer *tr, const struct compression_figures *f, struct error *e)
{
    char text[200];
    if (tr->lost_told || f->lost < COMPRESS_LOST)
        return true;
    tr->lost_told = true;
    snprintf(text, sizeof text,
             "%.0f %% of the gradients are too small for %s and became 0 on their way (step %ld)%s",
             100 * f->lost, tr->t->compress, tr->step,
             strcmp(tr->t->compress, "fp16") ? "" : ": --compress bf16 keeps them");
    return sink_note(tr->sink, "warn", text, e);
}

static bool emit_step(struct trainer *tr, struct error *e)
{
    struct compression_figures figures;
    bool measured = tr->reducer && reducer_compression(tr->reducer, &figures);
    const struct fusion fusion = {.sent_bytes = tr->reducer ? reducer_sent_bytes(tr->reducer) : NAN,
                                  .compression = measured ? &figures : NULL,
                                  .algo = tr->t->autotune ? tr->algo : NULL,
                                  .bucket = tr->reducer ? reducer_bucket(tr->reducer) : 0,
                                  .buckets = tr->reducer ? reducer_buckets(tr->reducer) : 1,
                                  .joined = comm_size(tr->comm) - tr->readers};
    return telemetry_step(tr->sink, &tr->step_meter, tr->step, trainer_epoch(tr), tr->global_batch, tr->lr,
                          tr->grad_norm, &fusion, e) &&
           (!measured || warn_of_lost(tr, &figures, e));
}

static bool report(struct trainer *tr, int want, struct error *e)
{
    bool first = comm_rank(tr->comm) == 0;
    double now = sink_clock();
    if (first && (tr->step <= EVERY_STEP_UNTIL || tr->tuning || now >= tr->next_step_event)) {
        if (!emit_step(tr, e))
            return false;
        tr->next_step_event = now + STEP_EVENTS_S;
        meter_reset(&tr->step_meter);
    }
    for (int i = 0; tr->sample_hops && i < REDUCER_LOGS && i < tr->logged; i++)
        if (!hop_log_emit(tr->comm, tr->hops[i], tr->ops++, tr->algo, tr->sink, e))
            return false;
    tr->sample_hops = want & WANT_HOPS;
    if (want & WANT_RANKS) {
        if (!telemetry_ranks(tr->comm, tr->sink, &tr->rank_meter, &tr->device, tr->samples, tr->step,
                             &tr->stragglers, e))
            return false;
        meter_reset(&tr->rank_meter);
    }
    return true;
}

static void end_tuning(struct trainer *tr)
{
    autotune_free(tr->tuning);
    tr->tuning = NULL;
}

/*
 * What somebody who watches has asked for, if it can be had: between two steps all ranks go over to another size of
 * bucket.
 */
static bool change_bucket(struct trainer *tr, struct error *e)
{
    char text[200];
    long bytes = tr->bucket_asked;
    if (!comm_broadcast(tr->comm, &bytes, sizeof bytes, 0, e))
        return false;
    if (bytes < 0)
        return true;
    bool whole = !tr->reducer || tr->reproducible;
    /* What was measured with another size is told before. */
    if (!whole && comm_rank(tr->comm) == 0 && tr->step_meter.steps > 0 && !emit_step(tr, e))
        return false;
    meter_reset(&tr->step_meter);
    meter_reset(&tr->rank_meter);
    end_tuning(tr); /* who asks knows better */
    if (!whole && !reducer_set(tr->reducer, tr->algo, (size_t)bytes, e))
        return false;
    if (whole)
        snprintf(text, sizeof text, "a bucket of %ld bytes was asked for, but %s", bytes,
                 tr->gan ? "a gan's two networks have one allreduce each"
                         : "--reproducible sums along one tree");
    else if (reducer_overlaps(tr->reducer))
        snprintf(text, sizeof text,
                 "from step %ld on buckets of %ld bytes: %d allreduces a step, beside backward", tr->step + 1,
                 bytes, reducer_buckets(tr->reducer));
    else
        snprintf(text, sizeof text, "from step %ld on one allreduce a step, after backward", tr->step + 1);
    return comm_rank(tr->comm) != 0 || sink_note(tr->sink, whole ? "warn" : "info", text, e);
}

/* Of the parameters, as the host has them: what trained alike, bit by bit, has the same. */
static uint64_t hash(const struct trainer *tr)
{
    uint64_t one = network_hash(tr->network);
    return tr->gan ? one * 31 + network_hash(tr->gan->generator) : one;
}

static bool fetch_networks(struct trainer *tr, struct error *e)
{
    return network_to_host(tr->network, e) && (!tr->gan || network_to_host(tr->gan->generator, e));
}

/* Else the ranks train different models. */
static bool compare_parameters(struct trainer *tr, struct error *e)
{
    tr->compared_step = tr->step;
    return fetch_networks(tr, e) && agree_check(tr->comm, hash(tr), tr->step, tr->sink, e);
}

/* This rank's samples of an epoch, beside those of the mean rank: 1 where all have as many. */
static float sample_weight(const struct trainer *tr)
{
    double mean = 0;
    for (int r = 0; r < tr->order.ranks; r++)
        mean += (double)tr->order.batches[r] / tr->order.ranks;
    long mine = tr->order.batches[comm_rank(tr->comm)];
    return *tr->t->shares ? (float)((double)mine / mean) : 1;
}

/*
 * Each rank's batchnorm keeps running statistics of the samples it saw (all the same where it is
 * synchronised): what the model is tested and saved with is their mean over the ranks,
 * by the samples they have.
 */
static bool share_state(struct trainer *tr, struct network *network, struct error *e)
{
    size_t n = network->model.states;
    int ranks = comm_size(tr->comm);
    if (n == 0 || ranks == 1 || tr->reproducible)
        return true;
    const struct backend_ops *ops = tr->backend->ops;
    float weight = sample_weight(tr), *state = network->host_state;
    if (!ops->copy_out(tr->backend, state, network->state, n, e))
        return false;
    for (size_t i = 0; weight != 1 && i < n; i++)
        state[i] *= weight;
    if (!comm_allreduce(tr->comm, trainer_host_algo(tr), state, n, NULL, e))
        return false;
    for (size_t i = 0; i < n; i++)
        state[i] /= (float)ranks;
    return ops->copy_in(tr->backend, network->state, state, n, e);
}

bool trainer_share_state(struct trainer *tr, struct error *e)
{
    return share_state(tr, tr->network, e) && (!tr->gan || share_state(tr, tr->gan->generator, e));
}

static void set_hash(const struct trainer *tr, json_t *event)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, hash(tr));
    event_set_text(event, "hash", text);
}

void trainer_leave_out(struct trainer *tr, double seconds)
{
    tr->left_out_s += seconds;
    tr->step_meter.began += seconds;
    tr->rank_meter.began += seconds;
}

/* One model's loss and accuracy on the test set, and what it shows of itself. */
static bool test_one(struct trainer *tr, struct error *e)
{
    struct samples samples = {.sink = tr->sink, .step = tr->step, .seed = tr->t->seed};
    bool first = comm_rank(tr->comm) == 0;
    return evaluate(tr->network, &tr->test, tr->comm, first ? &samples : NULL, &tr->loss, &tr->accuracy, e) &&
           (!first || samples_written(&samples, tr->network, &tr->test, e));
}

bool trainer_test(struct trainer *tr, struct error *e)
{
    double before = sink_clock();
    struct gan_figures figures;
    activity_enter(tr->activity, ACTIVITY_TEST, tr->step);
    if (!compare_parameters(tr, e) || !trainer_share_state(tr, e) ||
        !(tr->gan ? gan_test(tr, &figures, e) : test_one(tr, e)))
        return false;
    if (!isfinite(tr->loss)) /* the last step broke what no other has used yet */
        tr->bad_layer = network_first_not_finite(tr->network, e);
    if (!trainer_loss_is_finite(tr, "the loss on the test set", tr->loss, tr->step, e))
        return false;
    tr->evaluated = true;
    if (comm_rank(tr->comm) == 0) {
        json_t *event = sink_event(tr->sink, "eval");
        event_set_integer(event, "step", tr->step);
        event_set_number(event, "epoch", trainer_epoch(tr));
        event_set_number(event, "loss", tr->loss);
        event_set_number(event, "accuracy", tr->accuracy);
        if (tr->gan)
            telemetry_gan(event, &figures, 1);
        set_hash(tr, event);
        if (!sink_emit(tr->sink, event, e))
            return false;
    }
    trainer_leave_out(tr, sink_clock() - before);
    return true;
}

/* Between this step and the next: a test at the end of an epoch, and a checkpoint then or where it is due. */
static bool between_steps(struct trainer *tr, struct error *e)
{
    long every = tr->t->checkpoint_every;
    bool epoch_ends = tr->step % tr->order.steps_per_epoch == 0;
    if ((epoch_ends || (tr->gan && gan_shows(tr->step))) && !trainer_test(tr, e))
        return false;
    long compare = tr->t->hash_every;
    if (compare > 0 && tr->step % compare == 0 && tr->compared_step != tr->step && !compare_parameters(tr, e))
        return false;
    return !(epoch_ends || (every > 0 && tr->step % every == 0)) || trainer_save(tr, e);
}

static void pause_between_steps(struct trainer *tr)
{
    double s = tr->t->pause_s;
    if (s <= 0)
        return;
    struct timespec nap = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - floor(s)) * 1e9)};
    nanosleep(&nap, NULL);
}

/* After a step of the first: sets the allreduce and the buckets of the next. */
static bool tune(struct trainer *tr, struct error *e)
{
    const struct phases *p = &tr->phases;
    bool done;
    if (!autotune_step(tr->tuning, tr->step, p->data + p->compute + p->exposed, p->exposed, &done, e))
        return false;
    tr->algo = reducer_algo(tr->reducer);
    if (done)
        end_tuning(tr);
    return true;
}

/* One step, and what comes between it and the next. */
static bool go_on(struct trainer *tr, int *want, struct error *e)
{
    struct trace *trace = tracing_trace(tr->tracing);
    if (!trainer_trace_step(tr, e))
        return false;
    int64_t began = trace_now(tr->lane);
    if (!(tr->gan ? gan_step : trainer_step)(tr, wants(tr), want, e))
        return false;
    began = trace_span(tr->lane, began, TRACE_STEP, -1);
    trainer_trace_hops(tr);
    long open = trace_pause(trace); /* a test has many passes, which are no step's */
    tr->evaluated = false;
    bool ok = report(tr, *want, e) && (!tr->tuning || tune(tr, e)) &&
              (!(*want & WANT_BUCKET) || change_bucket(tr, e)) && (*want & WANT_STOP || between_steps(tr, e));
    trace_resume(trace, open);
    trace_span(tr->lane, began, TRACE_BETWEEN, -1);
    return ok;
}

static bool train(struct trainer *tr, struct train_result *result, struct error *e)
{
    if (tr->t->autotune && !tr->tuning && comm_rank(tr->comm) == 0 &&
        !sink_note(tr->sink, "info", "one rank sums nothing: there is nothing to tune", e))
        return false;
    tr->began = sink_clock();
    tr->sample_hops = true; /* the first operation is always drawn */
    tr->next_hops = tr->began + HOP_EVENTS_S;
    tr->next_rank_event = tr->began;
    meter_reset(&tr->step_meter);
    meter_reset(&tr->rank_meter);
    for (int want = 0;
         !(want & (WANT_STOP | WANT_END)) && (tr->total_steps == 0 || tr->step < tr->total_steps);) {
        if (!go_on(tr, &want, e))
            return false;
        result->stopped = want & WANT_STOP;
        if (!result->stopped)
            pause_between_steps(tr);
    }
    if (tr->tuning && comm_rank(tr->comm) == 0) {
        char text[160];
        snprintf(text, sizeof text,
                 "the training ended before the %d steps that --autotune takes: nothing was chosen",
                 autotune_steps(tr->tuning));
        sink_note(tr->sink, "warn", text, e);
    }
    double wall = sink_clock() - tr->began - tr->left_out_s;
    result->samples_per_s = tr->trained * (double)tr->global_batch / wall;
    result->steps = tr->step;
    if (!tracing_finish(tr->tracing, e))
        return false;
    if (comm_rank(tr->comm) == 0 && tr->step_meter.steps > 0 && !emit_step(tr, e))
        return false;
    /* A short run would be told of by its first steps alone, the slowest. */
    if (tr->rank_meter.steps > 0 && !telemetry_ranks(tr->comm, tr->sink, &tr->rank_meter, &tr->device,
                                                     tr->samples, tr->step, &tr->stragglers, e))
        return false;
    return (result->stopped || tr->evaluated || trainer_test(tr, e)) &&
           (tr->saved_step == tr->step || trainer_save(tr, e));
}

static bool emit_done(struct trainer *tr, const struct train_result *result, struct error *e)
{
    if (!fetch_networks(tr, e))
        return false;
    json_t *event = sink_event(tr->sink, "done");
    json_object_set_new(event, "ok", json_true());
    event_set_integer(event, "steps", result->steps);
    event_set_number(event, "samples_per_s", result->samples_per_s);
    event_set_number(event, "accuracy", result->accuracy);
    event_set_number(event, "loss", result->loss);
    set_hash(tr, event);
    return sink_emit(tr->sink, event, e);
}

bool train_run(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
               struct train_result *result, struct error *e)
{
    struct trainer *tr = calloc(1, sizeof *tr);
    if (!tr)
        return error_set(e, ERROR_FAILED, "not enough memory to train");
    tr->job = job;
    tr->t = &job->train;
    tr->rundir = rundir;
    tr->comm = comm;
    tr->activity = comm_activity(comm);
    tr->sink = sink;
    tr->loss = tr->accuracy = NAN;
    tr->saved_step = -1;
    tr->bucket_asked = -1;
    *result = (struct train_result){.loss = NAN, .accuracy = NAN};
    bool first = comm_rank(comm) == 0;
    bool ok = trainer_set_up(tr, e) && (!first || trainer_emit_run(tr, e)) &&
              (*tr->t->eval ? trainer_inference : train)(tr, result, e);
    result->loss = tr->loss;
    result->accuracy = tr->accuracy;
    ok = ok && (!first || emit_done(tr, result, e));
    if (!ok)
        device_blame(&tr->device, comm, e);
    trainer_tear_down(tr);
    free(tr);
    return ok;
}
