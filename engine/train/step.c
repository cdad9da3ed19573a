/*
 * step.c - one step of data-parallel training: the gradients of this rank's batches, their sum over all
 * ranks, and what the optimiser makes of it; and what stops a run whose numbers are no numbers any more.
 */
#include "engine/train/trainer_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- gradients of this rank --- */

/* Behind the gradients travel the loss and rank 0's word. */
static void put_word(const struct trainer *tr, double loss)
{
    float *word = gradients_words(&tr->gradients);
    word[0] = (float)loss;
    word[1] = trainer_word(tr, tr->wants);
}

/* After the step's last backward pass, and beside it, the gradients are summed over the ranks. */
static bool is_last(const struct trainer *tr, int part)
{
    return part == tr->t->accumulate - 1;
}

/*
 * While the GPU computes: the batch of the next step, where one comes for certain and no test before it, which would want the
 * network's input.
 */
static bool fetch_ahead(struct trainer *tr, struct error *e)
{
    long next = tr->step + 1;
    double hidden_s = 0;
    if (next % tr->order.steps_per_epoch == 0 || next == tr->total_steps)
        return true;
    tr->fetched = loader_next(tr->loader, network_input(tr->network), tr->next_classes, &hidden_s, e) &&
                  network_input_complete(tr->network, e);
    return tr->fetched;
}

/*
 * All of a step's passes in one go. Where the loss is no number, forward alone is done again, with the batch that is at hand, and
 * looked at.
 */
static bool recorded_batch(struct trainer *tr, const struct targets *targets, double *loss, struct error *e)
{
    struct network *n = tr->network;
    struct loss_sum sum;
    activity_enter(tr->activity, ACTIVITY_BACKWARD, tr->step + 1);
    int64_t began = trace_now(tr->lane);
    if (!network_gradients_start(n, targets, 1 / tr->global_rows, e) || !fetch_ahead(tr, e) ||
        !network_gradients_finish(n, &sum, e))
        return false;
    trace_span(tr->lane, began, TRACE_COMPUTE, tr->recorded_name);
    *loss = sum.loss;
    put_word(tr, *loss / tr->global_rows);
    if (isfinite(sum.loss))
        return true;
    if (!network_forward(n, true, e))
        return false;
    tr->bad_layer = network_first_not_finite(n, e);
    return true;
}

/*
 * Forward and backward on one batch, number `part` of the step. Between the two the outputs are looked at
 * where the loss is no number: backward may write over them.
 */
static bool one_batch(struct trainer *tr, int part, double *loss, struct error *e)
{
    struct network *n = tr->network;
    struct targets targets = {.classes = tr->classes, .samples = tr->t->batch};
    struct loss_sum sum;
    n->context.step = tr->step; /* dropout's masks hang on these */
    int before = order_readers(&tr->order, tr->step, comm_rank(tr->comm));
    n->context.first_row = (long)before * tr->samples + (long)part * tr->t->batch;
    n->hook = (struct gradient_hook){0};
    if (tr->records && !reducer_overlaps(tr->reducer))
        return recorded_batch(tr, &targets, loss, e);
    activity_enter(tr->activity, ACTIVITY_FORWARD, tr->step + 1);
    if (!network_forward(n, true, e))
        return false;
    int64_t began = trace_now(tr->lane);
    if (!tr->backend->ops->loss(network_output(n), &n->model.loss, &targets, 1 / tr->global_rows, &sum, NULL,
                                e))
        return false;
    trace_span(tr->lane, began, TRACE_COMPUTE, tr->loss_name);
    *loss += sum.loss;
    if (!isfinite(sum.loss) && tr->bad_layer < 0)
        tr->bad_layer = network_first_not_finite(n, e);
    if (is_last(tr, part)) {
        put_word(tr, *loss / tr->global_rows);
        if (reducer_overlaps(tr->reducer))
            n->hook = (struct gradient_hook){.ready = reducer_ready, .self = tr->reducer};
    }
    activity_enter(tr->activity, ACTIVITY_BACKWARD, tr->step + 1);
    return network_backward(n, e);
}

static bool take_fetched(struct trainer *tr)
{
    int32_t *classes = tr->classes;
    tr->classes = tr->next_classes;
    tr->next_classes = classes;
    tr->fetched = false;
    return true;
}

static bool next_batch(struct trainer *tr, void *input, int32_t *classes, double *data_s, struct error *e)
{
    int64_t began = trace_now(tr->lane);
    activity_enter(tr->activity, ACTIVITY_DATA, tr->step + 1);
    bool ok = loader_next(tr->loader, input, classes, data_s, e);
    trace_span(tr->lane, began, TRACE_DATA, -1);
    return ok;
}

static bool shard_gradients(struct trainer *tr, double *data_s, struct error *e)
{
    struct reproducible *r = tr->reproducible;
    for (int i = 0; i < reproducible_shards(r); i++)
        if (!next_batch(tr, reproducible_input(r, i), reproducible_classes(r, i), data_s, e))
            return false;
    tr->network->context.step = tr->step;
    int64_t began = trace_now(tr->lane);
    activity_enter(tr->activity, ACTIVITY_BACKWARD, tr->step + 1);
    if (!reproducible_gradients(r, tr->network, 1 / tr->global_rows, e))
        return false;
    trace_span(tr->lane, began, TRACE_COMPUTE, tr->shards_name);
    tr->bad_layer = reproducible_bad_layer(r);
    put_word(tr, gradients_words(&tr->gradients)[0]);
    return true;
}

/*
 * Leaves the sum over this rank's batches in tr->gradients, with their part of the mean loss over all ranks behind
 * it; or has given some of it to the reducer already, which then adds the last batch's as they get ready.
 */
static bool local_gradients(struct trainer *tr, double *data_s, struct error *e)
{
    const struct backend_ops *ops = tr->backend->ops;
    size_t n = tr->model.parameters;
    double loss = 0;
    tr->bad_layer = -1;
    if (!order_reads(&tr->order, tr->step, comm_rank(tr->comm))) {
        /* It joins: the mean is over the samples of the others, but they wait for its part of each sum. */
        put_word(tr, 0);
        return gradients_zero(&tr->gradients, e);
    }
    if (tr->reproducible)
        return shard_gradients(tr, data_s, e);
    for (int part = 0; part < tr->t->accumulate; part++) {
        bool there = tr->fetched ? take_fetched(tr)
                                 : next_batch(tr, network_input(tr->network), tr->classes, data_s, e);
        if (!there || !one_batch(tr, part, &loss, e))
            return false;
        int64_t began = trace_now(tr->lane);
        if (!tr->part)
            continue;
        bool first = part == 0, left = is_last(tr, part) && reducer_overlaps(tr->reducer);
        if ((first || !left) &&
            !(first ? ops->copy : ops->add)(tr->backend, tr->gradients.computed, tr->part, n, e))
            return false;
        trace_span(tr->lane, began, TRACE_COMPUTE, tr->sum_name);
    }
    return true;
}

/* --- numbers that are none --- */

/* "the loss", NaN, 17, "output", 3 -> the sentence that ends the run. */
static bool diverged(const struct trainer *tr, const char *what, double value, long step, const char *of,
                     int layer, struct error *e)
{
    char name[64], where[160] = "";
    if (layer >= 0)
        snprintf(where, sizeof where, ", and the first layer whose %s is not finite is number %d (%s)", of,
                 layer + 1, layer_describe(&tr->model.layers[layer], name));
    return error_set(
        e, ERROR_FAILED,
        "%s became %s in step %ld%s: the training has diverged; a smaller learning rate than %g, a "
        "warm-up or clipping usually helps",
        what, isnan(value) ? "not a number (NaN)" : "infinite", step, where, tr->lr);
}

bool trainer_loss_is_finite(struct trainer *tr, const char *what, double loss, long step, struct error *e)
{
    if (isfinite(loss))
        return true;
    /* Of the layers that the ranks found the first. */
    double first = tr->bad_layer >= 0 ? -tr->bad_layer : -HUGE_VAL;
    return comm_max_double(tr->comm, &first, 1, e) &&
           diverged(tr, what, loss, step, "output", isfinite(first) ? (int)-first : -1, e);
}

/* --- the step --- */

/*
 * Whole numbers below 2^24 and their sum with zeros are exact in a float, so every rank reads what rank 0
 * said: the low bits are its wishes, the rest is how much of the time is over.
 */
float trainer_word(const struct trainer *tr, int wants)
{
    double seconds = tr->t->seconds;
    if (comm_rank(tr->comm) != 0)
        return 0;
    double share = seconds > 0 ? fmin(1, (sink_clock() - tr->began) / seconds) : 0;
    return (float)(wants + WANTS * (int)(share * 1e5));
}

void trainer_take_word(struct trainer *tr, float word, int *want)
{
    int said = (int)word, parts = said / WANTS;
    *want = said % WANTS;
    tr->share = parts / 1e5;
}

double trainer_rate(const struct trainer *tr)
{
    double step = tr->total_steps > 0 ? (double)tr->step : tr->share * (STAMPS - 1);
    return learning_rate_at(&tr->rate, step, trainer_epoch(tr));
}

void trainer_count(struct trainer *tr, const struct phases *p, double loss)
{
    bool read = order_reads(&tr->order, tr->step, comm_rank(tr->comm));
    double share = (double)tr->readers / comm_size(tr->comm);
    meter_add(&tr->step_meter, p, loss, share, read);
    meter_add(&tr->rank_meter, p, loss, share, read);
    tr->trained += share;
}

bool trainer_step(struct trainer *tr, int wants, int *want, struct error *e)
{
    struct reducer *r = tr->reducer;
    const float *word = gradients_words(&tr->gradients);
    double squares = 0, began = sink_clock();
    struct phases *p = &tr->phases;
    *p = (struct phases){0};
    tr->wants = wants;
    tr->readers = order_readers(&tr->order, tr->step, comm_size(tr->comm));
    tr->global_rows = (double)tr->readers * tr->samples * tr->train.targets;
    reducer_begin(r, tr->sample_hops ? tr->hops : NULL);
    tr->logged = reducer_buckets(r);
    if (!local_gradients(tr, &p->data, e) || !reducer_finish(r, e))
        return false;
    if (tr->reproducible)
        reproducible_take_state(tr->reproducible, tr->network);
    double loss = word[0];
    trainer_take_word(tr, word[1], want);
    tr->lr = trainer_rate(tr);
    int64_t optimizer_began = trace_now(tr->lane);
    activity_enter(tr->activity, ACTIVITY_UPDATE, tr->step + 1);
    if (!trainer_loss_is_finite(tr, "the loss", loss, tr->step + 1, e) ||
        !optimizer_take_step(tr->optimizer, tr->lr, tr->network->parameters, tr->gradients.computed, &squares,
                             e))
        return false;
    if (!isfinite(squares))
        return gradients_to_host(&tr->gradients, 0, tr->model.parameters, e) &&
               diverged(tr, "the gradient", squares, tr->step + 1, "gradient",
                        network_gradient_not_finite(tr->network, tr->gradients.host), e);
    trace_span(tr->lane, optimizer_began, TRACE_OPTIMIZER, -1);
    p->comm = reducer_comm_s(r);
    p->exposed = reducer_exposed_s(r);
    p->compute = sink_clock() - began - p->data - p->exposed;
    trainer_count(tr, p, loss);
    tr->step++;
    tr->grad_norm = sqrt(squares);
    return true;
}
