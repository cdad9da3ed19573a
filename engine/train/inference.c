/*
 * inference.c - `--eval RUN`: the last checkpoint of a run on the test set, and how fast it answers at each
 * batch size.
 *
 * A small batch answers soon, a large one many at once: latency and throughput are both told, each the median
 * over repeated forward passes on samples of the test set, already in memory. Rank 0 alone is timed.
 */
#include "engine/train/trainer_internal.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/base/timing.h"
#include "engine/train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int batches[] = {1, 8, 32, 128, 512};
enum { BATCHES = sizeof batches / sizeof *batches, LEAST_PASSES = 5, MOST_PASSES = 1000 };
#define MEASURE_S 0.4  /* for each size, or LEAST_PASSES where they take longer */
#define PATIENCE_S 5.0 /* a single pass that would take longer is left out */

bool trainer_load_tested(struct trainer *tr, struct error *e)
{
    struct checkpoint c = {0};
    if (!trainer_add_networks(tr, &c, false, e) ||
        !checkpoint_share(tr->comm, tr->t->eval, &c, tr->resume_note, sizeof tr->resume_note, e) ||
        !trainer_install_networks(tr, false, e))
        return false;
    tr->step = tr->first_step = c.step;
    if (c.epoch > 0) /* as that run counted them, with its ranks and its batch */
        tr->order.steps_per_epoch = lround((double)c.step / c.epoch);
    return true;
}

static bool fill_input(struct network *n, const struct dataset *d, struct error *e)
{
    size_t batch = (size_t)n->batch;
    uint32_t *which = calloc(batch, sizeof *which);
    int32_t *classes = calloc(batch * (size_t)d->targets, sizeof *classes);
    bool ok = which && classes;
    for (size_t i = 0; ok && i < batch; i++)
        which[i] = (uint32_t)(i % d->rows);
    ok = ok ? dataset_batch(d, which, n->batch, network_input(n), classes, e)
            : error_set(e, ERROR_FAILED, "not enough memory for a batch of %d", n->batch);
    free(which);
    free(classes);
    return ok;
}

/* The median time of a forward pass. */
static bool time_passes(struct network *n, double *latency, struct error *e)
{
    double times[MOST_PASSES], began = timing_now();
    int count = 0;
    if (!network_forward(n, false, e)) /* the first one makes what it needs */
        return false;
    while (count < MOST_PASSES && (count < LEAST_PASSES || timing_now() - began < MEASURE_S)) {
        double before = timing_now();
        if (!network_forward(n, false, e))
            return false;
        times[count++] = timing_now() - before;
    }
    *latency = timing_median(times, count);
    return true;
}

/* Of a gan the generator answers; to what noise makes no difference to the time. */
static bool measure(struct trainer *tr, int batch, double *latency, struct error *e)
{
    const struct network *trained = tr->gan ? tr->gan->generator : tr->network;
    struct network *n = network_new(&trained->model, tr->backend, batch, NULL, NETWORK_PLAIN, e);
    if (!n)
        return false;
    bool ok =
        network_take(n, trained, e) && (tr->gan || fill_input(n, &tr->test, e)) && time_passes(n, latency, e);
    network_free(n);
    return ok;
}

/* Why a batch of that size is not tried; "" where it is. per_sample_s: of the size before. */
static void too_much(const struct trainer *tr, int batch, double per_sample_s, char *why, size_t size)
{
    /* Two layers' worth of scratch memory and layouts, roughly, come on top of the outputs of all layers. */
    double bytes = 1.5 * batch * tr->model.activation_bytes, there = comm_memory_available();
    *why = 0;
    if (there >= 0 && bytes > there)
        snprintf(why, size, "batch %d is left out: it needs about %.3g GB, this host has %.3g GB left", batch,
                 1e-9 * bytes, 1e-9 * there);
    else if (per_sample_s * batch > PATIENCE_S)
        snprintf(why, size, "batch %d is left out: one pass would take about %.0f s", batch,
                 per_sample_s * batch);
}

static bool emit_point(struct trainer *tr, int batch, double latency, struct error *e)
{
    json_t *event = sink_event(tr->sink, "point");
    event_set_text(event, "title", "Inference");
    event_set_text(event, "series", "inference");
    event_set_integer(event, "x", batch);
    event_set_number(event, "y", batch / latency);
    event_set_text(event, "xlabel", "batch");
    event_set_text(event, "ylabel", "samples/s");
    event_set_number(event, "latency_s", latency);
    return sink_emit(tr->sink, event, e);
}

/* A GPU tells what does not fit when it is asked: what did so far has been told. */
static bool leave_out(struct trainer *tr, int batch, const struct error *why, struct error *e)
{
    char text[400];
    snprintf(text, sizeof text, "batch %d is left out: %.350s", batch, why->text);
    return sink_note(tr->sink, "info", text, e);
}

static bool measure_all(struct trainer *tr, struct error *e)
{
    double per_sample_s = 0;
    for (int i = 0; i < BATCHES && !rundir_stop_requested(tr->rundir); i++) {
        char why[200];
        double latency;
        struct error error = {0};
        too_much(tr, batches[i], per_sample_s, why, sizeof why);
        if (*why)
            return sink_note(tr->sink, "info", why, e);
        if (!measure(tr, batches[i], &latency, &error)) {
            if (tr->device.plugin && i > 0)
                return leave_out(tr, batches[i], &error, e);
            if (e)
                *e = error;
            return false;
        }
        if (!emit_point(tr, batches[i], latency, e))
            return false;
        per_sample_s = latency / batches[i];
    }
    return true;
}

bool trainer_inference(struct trainer *tr, struct train_result *result, struct error *e)
{
    tr->began = sink_clock();
    if (!trainer_test(tr, e) || (comm_rank(tr->comm) == 0 && !measure_all(tr, e)))
        return false;
    result->steps = tr->step;
    result->samples_per_s = NAN;
    return comm_barrier(tr->comm, e);
}
