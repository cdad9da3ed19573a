/*
 * setup.c - makes a trainer ready: data, model, device, network, optimiser, learning rate.
 */
#include "engine/train/trainer_internal.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/spec/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_data(struct trainer *tr, struct error *e)
{
    const struct job_train *t = tr->t;
    if (!dataset_read(t->data, DATASET_TRAIN, &tr->train, e) ||
        !dataset_read(t->data, DATASET_TEST, &tr->test, e))
        return false;
    long samples = (long)t->batch * t->accumulate;
    int ranks = comm_size(tr->comm);
    bool even = !*t->shares;
    if (even && samples * ranks > tr->train.rows)
        return error_set(
            e, ERROR_INPUT,
            "the global batch of %ld samples (batch %d x accumulate %d x ranks %d) is larger than the "
            "training set of %u",
            samples * ranks, t->batch, t->accumulate, ranks, tr->train.rows);
    tr->samples = (int)samples;
    tr->global_batch = samples * ranks;
    tr->readers = ranks;
    tr->global_rows = (double)tr->global_batch * tr->train.targets;
    if (even)
        return order_init(&tr->order, tr->train.rows, ranks, tr->samples, t->seed, e);
    int *shares = calloc((size_t)ranks, sizeof *shares);
    bool ok = shares
                  ? shares_parse(t->shares, ranks, shares, e) &&
                        order_init_shares(&tr->order, tr->train.rows, ranks, tr->samples, shares, t->seed, e)
                  : error_set(e, ERROR_FAILED, "not enough memory for %d shares", ranks);
    free(shares);
    return ok;
}

/* Layers whose statistics are over all ranks would wait for those that have no samples any more. */
static bool check_joins(const struct trainer *tr, struct error *e)
{
    for (int i = 0; *tr->t->shares && i < tr->model.layer_count; i++)
        if (tr->model.layers[i].sync)
            return error_set(
                e, ERROR_INPUT,
                "shares: layer %d of model \"%s\" takes its statistics over all ranks, which a rank "
                "without samples could not join; leave out sync or shares",
                i + 1, tr->model.name);
    return true;
}

static bool choose_model(struct trainer *tr, struct error *e)
{
    const struct job_train *t = tr->t;
    return model_from_json(t->layers, &tr->model, e) &&
           trainer_check_fit(&tr->model, &tr->train, t->data, e) && check_joins(tr, e);
}

static bool plan_rate(struct trainer *tr, struct error *e)
{
    const struct job_train *t = tr->t;
    /* Where both bound the run, the learning rate follows the epochs, and the steps say where it ends. */
    tr->total_steps = t->epochs > 0 ? t->epochs * tr->order.steps_per_epoch : t->steps;
    double steps = tr->total_steps > 0 ? (double)tr->total_steps : STAMPS;
    if (t->steps > 0 && t->steps < tr->total_steps)
        tr->total_steps = t->steps;
    if (!learning_rate_init(&tr->rate, t->schedule, t->lr, steps, e))
        return false;
    tr->rate.step_size = t->step_size;
    tr->rate.gamma = t->gamma;
    learning_rate_scale(&tr->rate, t->scale_lr, (double)tr->global_batch);
    learning_rate_warm_up(&tr->rate, t->warmup);
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

const char *trainer_host_algo(const struct trainer *tr)
{
    return gradients_host_algo(tr->algo);
}

static bool sum_over_ranks(void *self, float *values, size_t n, struct error *e)
{
    struct trainer *tr = self;
    if (tr->reducer)
        return reducer_sum(tr->reducer, values, n, e);
    double before = sink_clock();
    int64_t began = trace_now(tr->lane);
    bool ok = comm_allreduce(tr->comm, trainer_host_algo(tr), values, n, NULL, e);
    trace_reduce(tr->lane, began, TRACE_ALLREDUCE, -1, (int64_t)(n * sizeof *values), -1);
    tr->layers_s += sink_clock() - before;
    return ok;
}

static int threads_of(const struct trainer *tr)
{
    return tr->t->threads > 0 ? tr->t->threads : default_threads(comm_size(tr->comm));
}

static bool mixed_precision(const struct trainer *tr)
{
    return strcmp(tr->t->dtype, "bf16") == 0;
}

/* What it computes on, and with what algorithm ranks sum what they have computed there. */
static bool open_backend(struct trainer *tr, int threads, struct error *e)
{
    tr->backend = device_open(&tr->device, tr->t->dtype, threads, e);
    bool compress = strcmp(tr->t->compress, "none") != 0, sums = !*tr->t->eval && !tr->t->reproducible;
    return tr->backend &&
           (!sums || device_choose_algo(&tr->device, tr->comm, tr->backend, compress, &tr->algo, e)) &&
           (strcmp(tr->algo, "auto") != 0 || comm_auto(tr->comm, &tr->about_auto, e));
}

/*
 * The gradients come from shards of the batch; the network itself is left with the optimiser's step and the
 * tests, on one thread and with a shard's batch, so that these do not depend on ranks and threads either.
 */
static bool make_shards(struct trainer *tr, struct error *e)
{
    struct reproducible_spec spec = {.model = &tr->model,
                                     .rank = comm_rank(tr->comm),
                                     .ranks = comm_size(tr->comm),
                                     .batch = tr->samples,
                                     .targets = tr->train.targets,
                                     .threads = threads_of(tr),
                                     .bf16 = mixed_precision(tr),
                                     .extras = EXTRAS};
    if (!open_backend(tr, 1, e) || !gradients_new(&tr->gradients, tr->comm, tr->backend, tr->model.parameters,
                                                  EXTRAS + tr->model.states, e))
        return false;
    spec.gradients = tr->gradients.host;
    if (!(tr->reproducible = reproducible_new(&spec, e)))
        return false;
    tr->network = network_new(&tr->model, tr->backend, reproducible_shard_batch(tr->reproducible), NULL,
                              NETWORK_PLAIN, e);
    if (!tr->network)
        return false;
    tr->network->context.seed = tr->t->seed;
    return network_init(tr->network, tr->t->seed, e);
}

bool trainer_open_backend(struct trainer *tr, struct error *e)
{
    tr->all_ranks = (struct rank_sum){.sum = sum_over_ranks, .self = tr, .ranks = comm_size(tr->comm)};
    return open_backend(tr, threads_of(tr), e);
}

/* What a step computes is the same each time, but for the batch, and nothing has to happen in its midst. */
static bool can_record(const struct trainer *tr)
{
    bool across_ranks = false;
    for (int i = 0; i < tr->model.layer_count; i++)
        across_ranks = across_ranks || tr->model.layers[i].sync;
    return tr->backend->ops->record_begin && tr->t->accumulate == 1 && !*tr->t->shares &&
           !(across_ranks && comm_size(tr->comm) > 1);
}

static bool make_network(struct trainer *tr, struct error *e)
{
    const struct job_train *t = tr->t;
    int ranks = comm_size(tr->comm);
    if (t->reproducible)
        return make_shards(tr, e);
    if (!trainer_open_backend(tr, e))
        return false;
    if (!gradients_new(&tr->gradients, tr->comm, tr->backend, tr->model.parameters, EXTRAS, e))
        return false;
    if (t->accumulate > 1 && !(tr->part = tr->backend->ops->memory_new(tr->backend, tr->model.parameters, e)))
        return false;
    tr->network = network_new(&tr->model, tr->backend, t->batch, tr->part ? tr->part : tr->gradients.computed,
                              NETWORK_PLAIN, e);
    if (!tr->network)
        return false;
    tr->records = can_record(tr);
    tr->network->context.seed = t->seed;
    tr->network->context.all_ranks = ranks > 1 ? &tr->all_ranks : NULL;
    return network_init(tr->network, t->seed, e);
}

bool trainer_optimizer_spec(const struct trainer *tr, struct optimizer_spec *spec, struct error *e)
{
    const struct job_train *t = tr->t;
    if (!optimizer_named(t->optimizer, spec, e))
        return false;
    spec->momentum = t->momentum;
    spec->nesterov = t->nesterov;
    spec->weight_decay = t->weight_decay;
    spec->clip = t->clip;
    return true;
}

static bool make_optimizer(struct trainer *tr, struct error *e)
{
    struct optimizer_spec spec;
    if (!trainer_optimizer_spec(tr, &spec, e))
        return false;
    tr->optimizer = optimizer_new(&spec, &tr->model, tr->backend, e);
    return tr->optimizer != NULL;
}

static bool make_loader(struct trainer *tr, struct error *e)
{
    const struct loader_spec spec = {.data = &tr->train,
                                     .order = &tr->order,
                                     .rank = comm_rank(tr->comm),
                                     .part = tr->network->batch,
                                     .first_step = tr->step,
                                     /* A step takes a GPU less time than making its batch takes the host. */
                                     .ahead = loader_ahead_pays(&tr->train) || tr->device.plugin};
    int targets = tr->train.targets > tr->test.targets ? tr->train.targets : tr->test.targets;
    tr->classes = calloc((size_t)tr->network->batch * (size_t)targets, sizeof *tr->classes);
    tr->next_classes = calloc((size_t)tr->network->batch * (size_t)targets, sizeof *tr->next_classes);
    if (!tr->classes || !tr->next_classes)
        return error_set(e, ERROR_FAILED, "not enough memory for the classes of a batch");
    tr->loader = loader_new(&spec, e);
    return tr->loader != NULL;
}

/* What was asked for; else several buckets where it is not the cores of this host that move the gradients. */
static size_t bucket_of(const struct trainer *tr)
{
    if (tr->t->bucket >= 0)
        return (size_t)tr->t->bucket;
    bool by_cores = comm_one_host(tr->comm) && !comm_is_slowed(tr->comm);
    return by_cores || tr->reproducible ? 0 : BUCKET_DEFAULT;
}

static bool make_reducer(struct trainer *tr, struct error *e)
{
    const struct reducer_spec spec = {.comm = tr->comm,
                                      .model = &tr->model,
                                      .gradients = &tr->gradients,
                                      .part = tr->part,
                                      .trace = tracing_trace(tr->tracing),
                                      .whole = tr->reproducible,
                                      .compress = !strcmp(tr->t->compress, "fp16")   ? &element_f16
                                                  : !strcmp(tr->t->compress, "bf16") ? &element_bf16
                                                                                     : NULL};
    tr->reducer = reducer_new(&spec, e);
    return tr->reducer && reducer_set(tr->reducer, tr->algo, bucket_of(tr), e);
}

/* The allreduce and the buckets are found in the first steps. */
static bool start_tuning(struct trainer *tr, struct error *e)
{
    const struct autotune_spec spec = {
        .comm = tr->comm, .reducer = tr->reducer, .model = &tr->model, .sink = tr->sink};
    if (!tr->t->autotune || comm_size(tr->comm) == 1)
        return true;
    tr->tuning = autotune_new(&spec, e);
    long steps = tr->total_steps - tr->first_step;
    if (tr->tuning && tr->total_steps > 0 && steps < autotune_steps(tr->tuning))
        return error_set(
            e, ERROR_INPUT,
            "autotune: it needs %d steps to try every algorithm and size of bucket with this model, "
            "but this training has %ld: give it %ld steps or more, or leave autotune out",
            autotune_steps(tr->tuning), steps, tr->first_step + autotune_steps(tr->tuning));
    return tr->tuning != NULL;
}

/* The records that hold the hops of a step's allreduces. */
static bool make_logs(struct trainer *tr, struct error *e)
{
    for (int i = 0; i < REDUCER_LOGS; i++)
        if (!(tr->hops[i] = hop_log_new(e)))
            return false;
    return true;
}

/* A network that only predicts. */
static bool make_tested(struct trainer *tr, struct error *e)
{
    if (open_backend(tr, threads_of(tr), e))
        tr->network = network_new(&tr->model, tr->backend, tr->t->batch, NULL, NETWORK_PLAIN, e);
    return tr->network && trainer_load_tested(tr, e);
}

/* The shards of --reproducible are computed on threads of the CPU, whose bits are those that are promised. */
static bool choose_device(struct trainer *tr, struct error *e)
{
    bool automatic = strcmp(tr->t->device, "auto") == 0;
    if (!device_choose(&tr->device, tr->t->reproducible ? "cpu" : tr->t->device, tr->comm, e))
        return false;
    if (strcmp(tr->algo, "nccl") == 0 && !*tr->t->eval && !device_may_connect(&tr->device, e))
        return false;
    if (tr->t->reproducible && automatic)
        snprintf(tr->device.notes, sizeof tr->device.notes,
                 "device auto takes the CPU: --reproducible computes there");
    return true;
}

bool trainer_set_up(struct trainer *tr, struct error *e)
{
    if (!tr->t->layers)
        return error_set(e, ERROR_INPUT, "the job has no description of its model \"%s\"", tr->t->model);
    bool gan = gan_described(tr->t->layers);
    tr->algo = tr->t->reproducible ? "tree" : tr->t->algo;
    if (!allreduce_algo_check(tr->algo, comm_size(tr->comm), e) || !read_data(tr, e) ||
        !(gan || choose_model(tr, e)) || !choose_device(tr, e))
        return false;
    if (*tr->t->eval)
        return gan ? gan_set_up(tr, e) && trainer_load_tested(tr, e) : make_tested(tr, e);
    if (!plan_rate(tr, e) || !(gan ? gan_set_up(tr, e) : make_network(tr, e) && make_optimizer(tr, e)) ||
        !trainer_resume(tr, e) || !trainer_open_trace(tr, e) ||
        !(gan || (make_loader(tr, e) && make_reducer(tr, e))))
        return false;
    return make_logs(tr, e) && start_tuning(tr, e);
}

void trainer_tear_down(struct trainer *tr)
{
    autotune_free(tr->tuning);
    reducer_free(tr->reducer);    /* first: its thread may be at the gradients */
    tracing_abandon(tr->tracing); /* where it has not been finished */
    loader_free(tr->loader);
    gan_tear_down(tr);
    optimizer_free(tr->optimizer);
    reproducible_free(tr->reproducible);
    network_free(tr->network);
    model_free(&tr->model);
    gradients_free(&tr->gradients);
    if (tr->part)
        tr->backend->ops->memory_free(tr->backend, tr->part);
    device_disconnect(&tr->device, tr->comm);
    device_close(&tr->device);
    backend_close(tr->backend);
    for (int i = 0; i < REDUCER_LOGS; i++)
        hop_log_free(tr->hops[i]);
    tracing_free(tr->tracing);
    order_free(&tr->order);
    dataset_free(&tr->train);
    dataset_free(&tr->test);
    free(tr->classes);
    free(tr->next_classes);
}

/* Where the training begins and ends, and its recipe as far as it is not the plainest. */
static void set_recipe(const struct trainer *tr, json_t *event)
{
    const struct job_train *t = tr->t;
    const struct optimizer_spec *spec = &tr->optimizer->spec;
    if (tr->total_steps > 0)
        event_set_integer(event, "total_steps", tr->total_steps);
    if (*t->resume) {
        event_set_text(event, "resumed", rundir_id(t->resume));
        event_set_integer(event, "first_step", tr->first_step);
    }
    event_set_text(event, "optimizer", t->optimizer);
    if (spec->kind == OPTIMIZER_SGD || spec->kind == OPTIMIZER_LARS)
        event_set_number(event, "momentum", spec->momentum);
    if (spec->nesterov)
        json_object_set_new(event, "nesterov", json_true());
    if (spec->weight_decay > 0)
        event_set_number(event, "weight_decay", spec->weight_decay);
    if (spec->clip > 0)
        event_set_number(event, "clip", spec->clip);
    event_set_text(event, "schedule", t->schedule);
    event_set_number(event, "lr", tr->rate.peak);
    if (tr->rate.warm_steps > 0)
        event_set_number(event, "warmup_steps", tr->rate.warm_steps);
    if (t->accumulate > 1)
        event_set_integer(event, "accumulate", t->accumulate);
    event_set_text(event, "loss_function", loss_kind_name(tr->model.loss.kind));
    event_set_text(event, "dtype", t->dtype);
    event_set_text(event, "algo", tr->algo);
    if (strcmp(t->compress, "none") != 0)
        event_set_text(event, "compress", t->compress);
    if (tr->reducer && reducer_overlaps(tr->reducer)) {
        event_set_integer(event, "bucket", (long long)reducer_bucket(tr->reducer));
        event_set_integer(event, "buckets", reducer_buckets(tr->reducer));
    }
    if (*t->shares)
        event_set_text(event, "shares", t->shares);
    if (t->reproducible)
        json_object_set_new(event, "reproducible", json_true());
}

bool trainer_emit_run(struct trainer *tr, struct error *e)
{
    const struct job_train *t = tr->t;
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    json_t *event = sink_event(tr->sink, "run");
    event_set_text(event, "origin", "real");
    event_set_text(event, "job", "train");
    event_set_text(event, "model", tr->gan ? event_text(t->layers, "name", "gan") : tr->model.name);
    event_set_text(event, "data", t->data);
    event_set_integer(event, "ranks", comm_size(tr->comm));
    json_object_set_new(event, "hosts", json_pack("[s]", host));
    event_set_text(event, "device", tr->device.name);
    event_set_integer(event, "threads", threads_of(tr));
    event_set_integer(event, "parameters",
                      (long long)tr->model.parameters + (tr->gan ? (long long)tr->gan->model.parameters : 0));
    event_set_integer(event, "batch", t->batch);
    event_set_integer(event, "global_batch", tr->global_batch);
    event_set_integer(event, "train_samples", tr->train.rows);
    event_set_integer(event, "test_samples", tr->test.rows);
    if (*t->eval)
        event_set_text(event, "tested", rundir_id(t->eval));
    else
        set_recipe(tr, event);
    return sink_emit(tr->sink, event, e) &&
           (!tr->device.plugin || !tr->device.plugin->emulation ||
            sink_note(tr->sink, "warn", "the GPU is emulated on the host: slow, and no measure of one", e)) &&
           (!*tr->device.notes || sink_note(tr->sink, "info", tr->device.notes, e)) &&
           (!tr->about_auto || sink_note(tr->sink, "info", tr->about_auto, e)) &&
           (!*tr->resume_note || sink_note(tr->sink, "warn", tr->resume_note, e));
}
