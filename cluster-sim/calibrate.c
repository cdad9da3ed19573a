/*
 * calibrate.c - real runs taken in, and training runs of several ranks predicted from those of one.
 */
#include "cluster-sim/calibrate.h"

#include "cluster-sim/training.h"
#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/base/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MOST = 100000 };

/* --- collectives ------------------------------------------------------------------------------------------- */

static struct calibration_curve *curve_of(struct calibration *c, const json_t *event)
{
    const char *op = event_text(event, "op", "allreduce"), *algo = event_text(event, "algo", "?");
    const char *chosen = event_text(event, "chosen", ""), *buffer = event_text(event, "buffer", "engine");
    int ranks = (int)event_integer(event, "ranks", 0);
    bool inplace = !json_is_false(json_object_get(event, "inplace"));
    if (*chosen)
        algo = chosen;
    for (int i = 0; i < c->curves; i++) {
        struct calibration_curve *k = &c->curve[i];
        if (k->ranks == ranks && k->inplace == inplace && !strcmp(k->op, op) && !strcmp(k->algo, algo) &&
            !strcmp(k->buffer, buffer))
            return k;
    }
    if (c->curves == CALIBRATION_CURVES)
        return NULL;
    struct calibration_curve *k = &c->curve[c->curves++];
    *k = (struct calibration_curve){.ranks = ranks, .inplace = inplace};
    snprintf(k->op, sizeof k->op, "%s", op);
    snprintf(k->algo, sizeof k->algo, "%s", algo);
    snprintf(k->buffer, sizeof k->buffer, "%s", buffer);
    snprintf(k->name, sizeof k->name, "%.20s by %.36s, %d ranks, %.12s buffers%s", op, algo, ranks, buffer,
             inplace ? "" : ", out of place");
    return k;
}

static bool add_collective(struct calibration *c, const json_t *event, struct error *e)
{
    double bytes = event_number(event, "bytes", 0), seconds = event_number(event, "time_s", 0);
    struct calibration_curve *k = bytes > 0 && seconds > 0 ? curve_of(c, event) : NULL;
    if (!k)
        return true;
    if ((k->count & (k->count - 1)) == 0) { /* full at each power of two */
        size_t room = k->count ? 2 * (size_t)k->count : 1;
        struct curve_point *grown = realloc(k->points, room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "out of memory for measured sizes");
        k->points = grown;
    }
    k->points[k->count++] = (struct curve_point){bytes, seconds};
    return true;
}

/* --- training runs ----------------------------------------------------------------------------------------- */

/* Figures of steps, one list for each. */
enum figure { STEP, DATA, COMPUTE, COMM, EXPOSED, FIGURES };
struct steps {
    double *figure[FIGURES];
    long count;
};

static bool add_step(struct steps *s, const json_t *event, int global_batch, struct error *e)
{
    double values[FIGURES] = {
        [STEP] = global_batch / event_number(event, "samples_per_s", NAN),
        [DATA] = event_number(event, "data_s", NAN),
        [COMPUTE] = event_number(event, "compute_s", NAN),
        [COMM] = event_number(event, "comm_s", 0),
        [EXPOSED] = event_number(event, "exposed_comm_s", event_number(event, "comm_s", 0)),
    };
    for (int i = 0; i < FIGURES; i++)
        if (!isfinite(values[i]))
            return true;
    if (s->count == STEPS_MOST)
        return true;
    for (int i = 0; i < FIGURES && (s->count & (s->count - 1)) == 0; i++) {
        size_t room = s->count ? 2 * (size_t)s->count : 1;
        double *grown = realloc(s->figure[i], room * sizeof *grown);
        if (!grown)
            return error_set(e, ERROR_FAILED, "out of memory for steps");
        s->figure[i] = grown;
    }
    for (int i = 0; i < FIGURES; i++)
        s->figure[i][s->count] = values[i];
    s->count++;
    return true;
}

/* The first tenth warms up. */
static double middle_of(const struct steps *s, enum figure figure)
{
    long skip = s->count / 10;
    return timing_median(s->figure[figure] + skip, (int)(s->count - skip));
}

static void add_run(struct calibration *c, const char *dir, struct job *job, const json_t *run,
                    struct steps *s)
{
    struct calibration_run *r = &c->run[c->runs];
    *r = (struct calibration_run){.ranks = (int)event_integer(run, "ranks", job->ranks),
                                  .batch = job->train.batch,
                                  .threads = (int)event_integer(run, "threads", job->train.threads),
                                  .parameters = event_number(run, "parameters", 0),
                                  .step_s = middle_of(s, STEP),
                                  .data_s = middle_of(s, DATA),
                                  .compute_s = middle_of(s, COMPUTE),
                                  .comm_s = middle_of(s, COMM),
                                  .exposed_s = middle_of(s, EXPOSED),
                                  .steps = s->count,
                                  .bucket = (long)event_integer(run, "bucket", 0)};
    snprintf(r->id, sizeof r->id, "%s", rundir_id(dir));
    snprintf(r->model, sizeof r->model, "%s", event_text(run, "model", "?"));
    snprintf(r->algo, sizeof r->algo, "%s", event_text(run, "algo", job->train.algo));
    r->job = malloc(sizeof *r->job);
    if (!r->job) {
        job_clear(job);
        return;
    }
    *r->job = *job; /* with what it owns */
    c->runs++;
}

static bool read_events(struct calibration *c, const char *dir, const struct job *job, json_t **run,
                        struct steps *s, struct error *e)
{
    struct run_reader *reader = run_reader_open(dir, e);
    bool ok = reader != NULL;
    int global = job->train.batch * job->train.accumulate * job->ranks;
    for (json_t *event; ok && (event = run_reader_next(reader)); json_decref(event)) {
        if (event_is(event, "run")) {
            const char *origin = event_text(event, "origin", "real");
            if (strcmp(origin, "real") != 0)
                ok = error_set(e, ERROR_INPUT,
                               "%s is no real run (its origin is %s): only what was measured calibrates",
                               rundir_id(dir), origin);
            json_decref(*run);
            *run = json_incref(event);
            global = (int)event_integer(event, "global_batch", global);
        } else if (event_is(event, "collective")) {
            ok = add_collective(c, event, e);
        } else if (event_is(event, "step")) {
            ok = add_step(s, event, global, e);
        }
    }
    run_reader_free(reader);
    return ok;
}

bool calibration_add(struct calibration *c, const char *dir, struct error *e)
{
    struct job job = {0};
    struct steps steps = {0};
    json_t *run = NULL;
    if (c->runs == CALIBRATION_RUNS)
        return error_set(e, ERROR_INPUT, "more than %d runs at once", CALIBRATION_RUNS);
    bool ok = job_load(&job, dir, e) && read_events(c, dir, &job, &run, &steps, e);
    if (ok && job.kind != JOB_TRAIN && job.kind != JOB_ALLREDUCE)
        ok = error_set(e, ERROR_INPUT, "%s is neither an allreduce nor a training run, but a %s",
                       rundir_id(dir), job_kind_name(job.kind));
    if (ok && job.kind == JOB_TRAIN && steps.count < 10)
        ok = error_set(e, ERROR_INPUT, "%s has only %ld steps with all figures; calibration needs 10",
                       rundir_id(dir), steps.count);
    if (ok && job.kind == JOB_TRAIN)
        add_run(c, dir, &job, run, &steps);
    else
        job_clear(&job);
    for (int i = 0; i < FIGURES; i++)
        free(steps.figure[i]);
    json_decref(run);
    return ok;
}

void calibration_free(struct calibration *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->curves; i++)
        free(c->curve[i].points);
    for (int i = 0; i < c->runs; i++) {
        job_clear(c->run[i].job);
        free(c->run[i].job);
    }
    *c = (struct calibration){0};
}

/* --- prediction -------------------------------------------------------------------------------------------- */

/* The allreduce's curve as the network of a step. */
struct curve_network {
    struct training_network network;
    const struct curve *curve;
};

static bool allreduce_by_curve(struct training_network *n, enum mesh_axis axis, double bytes, double *seconds,
                               struct error *e)
{
    (void)axis, (void)e;
    *seconds = curve_seconds(((struct curve_network *)n)->curve, bytes);
    return true;
}

static const struct calibration_curve *find_curve(const struct calibration *c,
                                                  const struct calibration_run *run)
{
    for (int i = 0; i < c->curves; i++) {
        const struct calibration_curve *k = &c->curve[i];
        if (k->ranks == run->ranks && k->inplace && !strcmp(k->op, "allreduce") &&
            !strcmp(k->buffer, "engine") && !strcmp(k->algo, run->algo))
            return k;
    }
    return NULL;
}

static int alone(const struct calibration *c, const struct calibration_run *run, double *step_s)
{
    double steps[CALIBRATION_RUNS];
    int n = 0;
    for (int i = 0; i < c->runs; i++) {
        const struct calibration_run *r = &c->run[i];
        if (r->ranks == 1 && r->batch == run->batch && r->threads == run->threads &&
            !strcmp(r->model, run->model))
            steps[n++] = r->step_s;
    }
    if (n > 0)
        *step_s = timing_median(steps, n);
    return n;
}

/* What there is in place of a run of one rank that would do. */
static bool tell_alone(const struct calibration *c, const struct calibration_run *run, struct error *e)
{
    char had[400] = "";
    for (int i = 0; i < c->runs; i++) {
        const struct calibration_run *r = &c->run[i];
        size_t used = strlen(had);
        if (r->ranks == 1)
            snprintf(had + used, sizeof had - used, "%s%.60s has %.40s, batch %d, threads %d",
                     used ? "; " : "", r->id, r->model, r->batch, r->threads);
    }
    return error_set(e, ERROR_INPUT,
                     "%s: no run of one rank has the same model (%s), batch (%d) and threads (%d); %s",
                     run->id, run->model, run->batch, run->threads, *had ? had : "give one");
}

bool calibration_predict(const struct calibration *c, const struct calibration_run *run, int cores,
                         struct calibration_prediction *p, struct error *e)
{
    *p = (struct calibration_prediction){0};
    const struct calibration_curve *k = find_curve(c, run);
    p->alone_runs = alone(c, run, &p->alone_s);
    if (p->alone_runs == 0)
        return tell_alone(c, run, e);
    if (!k)
        return error_set(e, ERROR_INPUT,
                         "%s: no allreduce run has the algorithm %s on %d ranks in engine buffers; give one",
                         run->id, run->algo, run->ranks);
    struct curve curve;
    struct model_spec model;
    if (!curve_fit(&curve, k->points, k->count, e) || !model_from_json(run->job->train.layers, &model, e))
        return false;
    /* What layers take in relation to each other; the measured rate sets how long that is. */
    p->overlap = run->bucket > 0 && cores > run->ranks * run->threads;
    struct curve_network network = {.network = {.allreduce = allreduce_by_curve}, .curve = &curve};
    struct training t = {.model = &model,
                         .device = roofline_of(50e9, 10e9, false),
                         .data = run->ranks,
                         .tensor = 1,
                         .pipeline = 1,
                         .batch = run->batch,
                         .microbatches = 1,
                         .overlap = p->overlap,
                         .bucket_bytes = (double)run->bucket,
                         .first_bucket_bytes = fmin((double)run->bucket, 1 << 20),
                         .width = 4,
                         .optimizer = run->job->train.optimizer,
                         .samples_per_s = run->batch / p->alone_s};
    struct training_plan plan;
    bool ok = training_plan_make(&plan, &t, &network.network, e);
    if (ok) {
        p->comm_s = plan.expected.comm_s;
        p->step_s = plan.expected.step_s;
        p->samples_per_s = plan.expected.samples_per_s;
        p->measured_samples_per_s = run->batch * run->ranks / run->step_s;
        p->error = p->samples_per_s / p->measured_samples_per_s - 1;
        training_plan_free(&plan);
    }
    model_free(&model);
    return ok;
}
