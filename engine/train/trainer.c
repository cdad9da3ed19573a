#include "engine/train/trainer.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/data/dataset.h"
#include "engine/data/order.h"
#include "engine/nn/learning_rate.h"
#include "engine/nn/network.h"
#include "engine/train/evaluate.h"
#include "engine/train/telemetry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    EVERY_STEP_UNTIL = 100, /* each of the first steps has an event of its own */
    EXTRAS = 2,             /* numbers behind the gradients, at least */
    STAMPS = 1000,          /* steps of the learning rate's schedule in a run bounded by time */
};
#define STEP_EVENTS_S 0.1
#define RANK_EVENTS_S 1.0
#define HOP_EVENTS_S 2.0

/* What rank 0 wants, as one small number that only it puts into the sum. */
enum { WANT_STOP = 1, WANT_RANKS = 2, WANT_HOPS = 4, WANT_END = 8 };

static const struct adam_step adam_defaults = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};

struct trainer {
    const struct job *job;
    const struct job_train *t;
    const char *rundir;
    struct comm *comm;
    struct event_sink *sink;
    struct dataset train, test;
    struct model_spec model;
    struct backend *backend;
    struct network *network;
    struct evaluator evaluator;
    struct order order;
    struct learning_rate rate;
    struct hop_log *hops;
    float *gradients, *first, *second; /* moments of adam; first is also sgd's velocity */
    int32_t *classes;
    long global_batch, total_steps; /* total 0: bounded by time */
    bool adam;

    long step; /* done so far */
    double began, evaluating_s;
    double next_step_event, next_rank_event, next_hops,
        share;        /* share of the time that is over, as rank 0 sees it */
    bool sample_hops; /* in the coming step, on every rank */
    long ops;
    double lr, grad_norm;
    double loss, accuracy; /* of the last evaluation */
    bool evaluated;        /* since the last step */
    struct meter step_meter, rank_meter;
};

/* --- setting up --- */

static bool choose_model(struct trainer *tr, struct model_spec *model, struct error *e)
{
    const struct job_train *t = tr->t;
    if (!t->layers)
        return error_set(e, ERROR_INPUT, "the job has no description of its model \"%s\"", t->model);
    if (!model_from_json(t->layers, model, e))
        return false;
    struct model_shape out = model_output(model), has = tr->train.shape;
    if (model->input.channels != has.channels || model->input.height != has.height ||
        model->input.width != has.width)
        return error_set(e, ERROR_INPUT,
                         "model \"%s\" takes images of %d × %d × %d, dataset \"%s\" has %d × %d × %d",
                         model->name, model->input.channels, model->input.height, model->input.width, t->data,
                         has.channels, has.height, has.width);
    if ((int)model_shape_elements(out) != tr->train.classes)
        return error_set(
            e, ERROR_INPUT,
            "model \"%s\" puts out %zu numbers, dataset \"%s\" has %d classes: end it with dense{%d}",
            model->name, model_shape_elements(out), t->data, tr->train.classes, tr->train.classes);
    return true;
}

/* Cores of this host shared out among its ranks, at least one each. */
static int default_threads(int ranks)
{
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    long here = local ? strtol(local, NULL, 10) : ranks;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return here > 0 && cores / here > 1 ? (int)(cores / here) : 1;
}

static float *moments(size_t n)
{
    size_t bytes = (n * sizeof(float) + 63) / 64 * 64;
    float *m = aligned_alloc(64, bytes);
    if (m)
        memset(m, 0, bytes);
    return m;
}

static bool set_up(struct trainer *tr, struct error *e)
{
    const struct job_train *t = tr->t;
    int ranks = comm_size(tr->comm);
    if (!dataset_read(t->data, DATASET_TRAIN, &tr->train, e) ||
        !dataset_read(t->data, DATASET_TEST, &tr->test, e) || !choose_model(tr, &tr->model, e) ||
        !order_init(&tr->order, tr->train.rows, ranks, t->batch, t->seed, e))
        return false;
    tr->global_batch = (long)ranks * t->batch;
    /* Where both bound the run, the epochs are the plan that the learning rate follows, the steps where it ends. */
    tr->total_steps = t->epochs > 0 ? t->epochs * tr->order.steps_per_epoch : t->steps;
    double stamps = tr->total_steps > 0 ? (double)tr->total_steps : STAMPS;
    if (t->steps > 0 && t->steps < tr->total_steps)
        tr->total_steps = t->steps;
    if (!learning_rate_init(&tr->rate, t->schedule, t->lr, stamps, e) || !comm_algo_check(t->algo, e))
        return false;
    tr->adam = !strcmp(t->optimizer, "adam");
    if (!tr->adam && strcmp(t->optimizer, "sgd") != 0)
        return error_set(e, ERROR_INPUT, "--optimizer: expected adam or sgd, got '%s'", t->optimizer);

    tr->backend = backend_cpu_open(t->threads > 0 ? t->threads : default_threads(ranks), e);
    if (!tr->backend)
        return false;
    tr->gradients = comm_buffer(tr->comm, tr->model.parameters + EXTRAS, e);
    if (!tr->gradients)
        return false;
    tr->network = network_new(&tr->model, tr->backend, t->batch, tr->gradients, NETWORK_PLAIN, e);
    tr->hops = hop_log_new(e);
    if (!tr->network || !tr->hops || !evaluator_init(&tr->evaluator, &tr->model, tr->backend, &tr->test, e))
        return false;
    tr->classes = malloc((size_t)t->batch * sizeof *tr->classes);
    tr->first = moments(tr->model.parameters);
    tr->second = moments(tr->model.parameters);
    if (!tr->classes || !tr->first || !tr->second)
        return error_set(e, ERROR_FAILED, "not enough memory for the optimiser's state");
    network_init(tr->network, t->seed);
    return true;
}

static void tear_down(struct trainer *tr)
{
    evaluator_free(&tr->evaluator);
    network_free(tr->network);
    model_free(&tr->model);
    backend_close(tr->backend);
    comm_buffer_free(tr->comm, tr->gradients);
    hop_log_free(tr->hops);
    order_free(&tr->order);
    dataset_free(&tr->train);
    dataset_free(&tr->test);
    free(tr->classes);
    free(tr->first);
    free(tr->second);
}

static bool emit_run(struct trainer *tr, struct error *e)
{
    const struct job_train *t = tr->t;
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    json_t *event = sink_event(tr->sink, "run");
    event_set_text(event, "origin", "real");
    event_set_text(event, "job", "train");
    event_set_text(event, "model", tr->network->model.name);
    event_set_text(event, "data", t->data);
    event_set_integer(event, "ranks", comm_size(tr->comm));
    json_object_set_new(event, "hosts", json_pack("[s]", host));
    event_set_text(event, "device", "cpu");
    event_set_integer(event, "threads", tr->backend->threads);
    event_set_integer(event, "parameters", (long long)tr->network->model.parameters);
    event_set_integer(event, "batch", t->batch);
    event_set_integer(event, "global_batch", tr->global_batch);
    event_set_integer(event, "train_samples", tr->train.rows);
    event_set_integer(event, "test_samples", tr->test.rows);
    if (tr->total_steps > 0)
        event_set_integer(event, "total_steps", tr->total_steps);
    event_set_text(event, "optimizer", t->optimizer);
    event_set_text(event, "schedule", t->schedule);
    event_set_text(event, "algo", t->algo);
    return sink_emit(tr->sink, event, e);
}

/* --- a step --- */

/* What rank 0 asks for in this step; the others ask for nothing. */
static int wants(struct trainer *tr, double now)
{
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
    return want;
}

static double rate_now(const struct trainer *tr)
{
    return learning_rate_at(&tr->rate, tr->total_steps > 0 ? (double)tr->step : tr->share * (STAMPS - 1));
}

static bool take_step(struct trainer *tr, double *grad_squares, struct error *e)
{
    const struct backend_ops *ops = tr->backend->ops;
    size_t n = tr->network->model.parameters;
    if (tr->adam) {
        struct adam_step s = adam_defaults;
        s.lr = tr->lr;
        s.step = tr->step + 1;
        return ops->adam(tr->backend, &s, tr->network->parameters, tr->gradients, tr->first, tr->second, n,
                         grad_squares, e);
    }
    return ops->sgd(tr->backend, tr->lr, tr->t->momentum, tr->network->parameters, tr->gradients, tr->first,
                    n, grad_squares, e);
}

static void meter_add(struct meter *m, double data_s, double compute_s, double comm_s, double loss)
{
    m->steps++;
    m->data_s += data_s;
    m->compute_s += compute_s;
    m->comm_s += comm_s;
    m->loss += loss;
}

/* One step on every rank; *want: what rank 0 asked for. */
static bool one_step(struct trainer *tr, int *want, struct error *e)
{
    size_t n = tr->network->model.parameters;
    int rank = comm_rank(tr->comm), batch = tr->t->batch;
    double t0 = sink_clock();
    const uint32_t *rows = order_rows(&tr->order, tr->step, rank);
    if (!dataset_batch(&tr->train, rows, batch, network_input(tr->network), tr->classes, e))
        return false;
    double t1 = sink_clock();
    struct loss_sum sum;
    double scale = 1 / (double)tr->global_batch;
    struct targets targets = {.classes = tr->classes, .samples = batch};
    if (!network_gradients(tr->network, &targets, scale, &sum, e))
        return false;
    double t2 = sink_clock();
    /* Whole numbers below 2^24 and their sum with zeros are exact in a float, so every rank reads what rank 0 said:
     * the low four bits are its wishes, the rest is how much of the time is over. */
    tr->gradients[n] = (float)(sum.loss * scale);
    tr->gradients[n + 1] = 0;
    if (rank == 0) {
        double share = tr->t->seconds > 0 ? fmin(1, (t2 - tr->began) / tr->t->seconds) : 0;
        tr->gradients[n + 1] = (float)(wants(tr, t2) + 16 * (int)(share * 1e5));
    }
    if (!comm_allreduce(tr->comm, tr->t->algo, tr->gradients, n + EXTRAS, tr->sample_hops ? tr->hops : NULL,
                        e))
        return false;
    double t3 = sink_clock();
    double loss = tr->gradients[n], squares = 0;
    int said = (int)tr->gradients[n + 1];
    *want = said & 15;
    int parts = said / 16;
    tr->share = parts / 1e5;
    if (!isfinite(loss))
        return error_set(
            e, ERROR_FAILED,
            "the loss became %s in step %ld: the training has diverged; a smaller learning rate than %g "
            "usually helps",
            isnan(loss) ? "not a number (NaN)" : "infinite", tr->step + 1, tr->t->lr);
    tr->lr = rate_now(tr);
    if (!take_step(tr, &squares, e))
        return false;
    double t4 = sink_clock();
    tr->step++;
    tr->evaluated = false;
    tr->grad_norm = sqrt(squares);
    meter_add(&tr->step_meter, t1 - t0, t2 - t1 + t4 - t3, t3 - t2, loss);
    meter_add(&tr->rank_meter, t1 - t0, t2 - t1 + t4 - t3, t3 - t2, loss);
    return true;
}

/* --- between steps --- */

static bool report(struct trainer *tr, int want, struct error *e)
{
    bool first = comm_rank(tr->comm) == 0;
    double now = sink_clock();
    if (first && (tr->step <= EVERY_STEP_UNTIL || now >= tr->next_step_event)) {
        double epoch = (double)tr->step / (double)tr->order.steps_per_epoch;
        if (!telemetry_step(tr->sink, &tr->step_meter, tr->step, epoch, tr->global_batch, tr->lr,
                            tr->grad_norm, e))
            return false;
        tr->next_step_event = now + STEP_EVENTS_S;
        meter_reset(&tr->step_meter);
    }
    if (tr->sample_hops && !hop_log_emit(tr->comm, tr->hops, tr->ops++, tr->t->algo, tr->sink, e))
        return false;
    tr->sample_hops = want & WANT_HOPS;
    if (want & WANT_RANKS) {
        if (!telemetry_ranks(tr->comm, tr->sink, &tr->rank_meter, tr->t->batch, e))
            return false;
        meter_reset(&tr->rank_meter);
    }
    return true;
}

/* Every rank must have the same parameters, bit for bit: else the ranks train different models. */
static bool compare_parameters(struct trainer *tr, struct error *e)
{
    /* 48 bits are exact in a double, and so is the comparison of the largest with the smallest. */
    double mine = (double)(network_hash(tr->network) >> 16), range[2] = {mine, -mine};
    if (!comm_max_double(tr->comm, range, 2, e))
        return false;
    if (range[0] == -range[1])
        return true;
    if (comm_rank(tr->comm) == 0) {
        json_t *event = sink_event(tr->sink, "fault");
        event_set_text(event, "kind", "mismatch");
        event_set_integer(event, "step", tr->step);
        sink_emit(tr->sink, event, NULL);
    }
    return error_set(
        e, ERROR_FAILED,
        "after step %ld the ranks hold different parameters: they no longer train the same model, so the "
        "run ends (a bug or a faulty host; please report it)",
        tr->step);
}

static bool test(struct trainer *tr, struct error *e)
{
    double before = sink_clock();
    if (!compare_parameters(tr, e) ||
        !evaluate(&tr->evaluator, tr->network, tr->comm, tr->sink, &tr->loss, &tr->accuracy, e))
        return false;
    tr->evaluated = true;
    if (comm_rank(tr->comm) == 0) {
        json_t *event = sink_event(tr->sink, "eval");
        event_set_integer(event, "step", tr->step);
        event_set_number(event, "epoch", (double)tr->step / (double)tr->order.steps_per_epoch);
        event_set_number(event, "loss", tr->loss);
        event_set_number(event, "accuracy", tr->accuracy);
        if (!sink_emit(tr->sink, event, e))
            return false;
    }
    double took = sink_clock() - before;
    tr->evaluating_s += took;
    /* The test set's time is not the training's. */
    tr->step_meter.began += took;
    tr->rank_meter.began += took;
    return true;
}

static void pause_between_steps(struct trainer *tr)
{
    double s = tr->t->pause_s;
    if (s <= 0)
        return;
    struct timespec nap = {.tv_sec = (time_t)s, .tv_nsec = (long)((s - floor(s)) * 1e9)};
    nanosleep(&nap, NULL);
}

static bool train(struct trainer *tr, struct train_result *result, struct error *e)
{
    tr->began = sink_clock();
    tr->sample_hops = true; /* the first operation is always drawn */
    tr->next_hops = tr->began + HOP_EVENTS_S;
    tr->next_rank_event = tr->began;
    meter_reset(&tr->step_meter);
    meter_reset(&tr->rank_meter);
    for (int want = 0;
         !(want & (WANT_STOP | WANT_END)) && (tr->total_steps == 0 || tr->step < tr->total_steps);) {
        if (!one_step(tr, &want, e) || !report(tr, want, e))
            return false;
        if (want & WANT_STOP) {
            result->stopped = true;
            break;
        }
        if (tr->step % tr->order.steps_per_epoch == 0 && !test(tr, e))
            return false;
        pause_between_steps(tr);
    }
    double wall = sink_clock() - tr->began - tr->evaluating_s;
    result->samples_per_s = (double)(tr->step * tr->global_batch) / wall;
    result->steps = tr->step;
    if (comm_rank(tr->comm) == 0 && tr->step_meter.steps > 0 &&
        !telemetry_step(tr->sink, &tr->step_meter, tr->step,
                        (double)tr->step / (double)tr->order.steps_per_epoch, tr->global_batch, tr->lr,
                        tr->grad_norm, e))
        return false;
    return result->stopped || tr->evaluated || test(tr, e);
}

static bool emit_done(struct trainer *tr, const struct train_result *result, struct error *e)
{
    json_t *event = sink_event(tr->sink, "done");
    json_object_set_new(event, "ok", json_true());
    event_set_integer(event, "steps", result->steps);
    event_set_number(event, "samples_per_s", result->samples_per_s);
    event_set_number(event, "accuracy", result->accuracy);
    event_set_number(event, "loss", result->loss);
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
    tr->sink = sink;
    tr->loss = tr->accuracy = NAN;
    *result = (struct train_result){.loss = NAN, .accuracy = NAN};
    bool first = comm_rank(comm) == 0;
    bool ok = set_up(tr, e) && (!first || emit_run(tr, e)) && train(tr, result, e);
    result->loss = tr->loss;
    result->accuracy = tr->accuracy;
    ok = ok && (!first || emit_done(tr, result, e));
    tear_down(tr);
    free(tr);
    return ok;
}
