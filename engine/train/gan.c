#include "engine/train/gan.h"

#include "engine/base/random.h"
#include "engine/train/trainer_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_NOISE = 3, STREAM_FIXED_NOISE = 4, STREAM_GENERATOR = 5, WORDS = 4 };
#define BETA1 0.5

bool gan_described(const json_t *description)
{
    return json_object_get(description, "generator") != NULL;
}

/* --- setting up --- */

static bool check_job(const struct job_train *t, struct error *e)
{
    const char *what = t->accumulate > 1 ? "--accumulate" : t->reproducible ? "--reproducible" : NULL;
    bool compress = strcmp(t->compress, "none") != 0;
    if (t->bucket > 0 || t->autotune || compress)
        return error_set(
            e, ERROR_INPUT,
            "--%s is not there for a gan, each of whose networks has one allreduce: leave it out",
            t->autotune ? "autotune"
            : compress  ? "compress"
                        : "bucket");
    what = *t->shares ? "--shares" : what;
    if (what)
        return error_set(e, ERROR_INPUT,
                         "%s is not there for a gan, whose step has two parts already: leave it out", what);
    return true;
}

static bool check_models(const struct trainer *tr, struct error *e)
{
    const struct gan *g = tr->gan;
    const struct model_spec *d = &tr->model;
    char text[64], other[64];
    if (tr->train.vocabulary > 0 || model_shape_elements(d->input) != dataset_sample_elements(&tr->train))
        return error_set(e, ERROR_INPUT,
                         "the gan's discriminator takes %s, a sample of \"%s\" is %s; take data with "
                         "as many numbers a sample (mnist has 784)",
                         model_shape_describe(d->input, text), tr->t->data,
                         tr->train.vocabulary > 0 ? "text" : model_shape_describe(tr->train.shape, other));
    if (d->loss.kind != LOSS_BCE || model_shape_elements(model_output(d)) != 1)
        return error_set(
            e, ERROR_INPUT,
            "the gan's discriminator must end with dense{1} and have loss = \"bce\": it says how sure it "
            "is that an image is real; it has the loss %s and puts out %s",
            loss_kind_name(d->loss.kind), model_shape_describe(model_output(d), text));
    if (g->model.input.kind == SHAPE_TOKENS)
        return error_set(e, ERROR_INPUT,
                         "the gan's generator takes tokens, but noise is numbers: input = {100}");
    return true;
}

static bool read_models(struct trainer *tr, struct error *e)
{
    const json_t *both = tr->t->layers;
    return (model_check(both, e) && model_from_json(json_object_get(both, "generator"), &tr->gan->model, e) &&
            model_from_json(json_object_get(both, "discriminator"), &tr->model, e) && check_models(tr, e));
}

static bool make_networks(struct trainer *tr, struct error *e)
{
    struct gan *g = tr->gan;
    int batch = tr->t->batch;
    g->judge_gradients = tr->backend->ops->memory_new(tr->backend, tr->model.parameters, e);
    if (!g->judge_gradients ||
        !gradients_new(&tr->gradients, tr->comm, tr->backend, tr->model.parameters, WORDS, e) ||
        !gradients_new(&g->gradients, tr->comm, tr->backend, g->model.parameters, 1, e))
        return false;
    tr->network = network_new(&tr->model, tr->backend, 2 * batch, tr->gradients.computed, NETWORK_PLAIN, e);
    g->generator = network_new(&g->model, tr->backend, batch, g->gradients.computed, NETWORK_PLAIN, e);
    g->judge = network_new(&tr->model, tr->backend, batch, g->judge_gradients, NETWORK_INPUT_GRADIENT, e);
    if (!tr->network || !g->generator || !g->judge)
        return false;
    tr->network->context.seed = g->generator->context.seed = g->judge->context.seed = tr->t->seed;
    tr->network->context.all_ranks = g->generator->context.all_ranks = g->judge->context.all_ranks =
        comm_size(tr->comm) > 1 ? &tr->all_ranks : NULL;
    return network_init(tr->network, tr->t->seed, e) &&
           network_init(g->generator, tr->t->seed + STREAM_GENERATOR, e);
}

static bool make_rooms(struct trainer *tr, struct error *e)
{
    struct gan *g = tr->gan;
    size_t batch = (size_t)tr->t->batch;
    g->images = calloc(batch * model_shape_elements(tr->model.input), sizeof *g->images);
    g->answers = calloc(2 * batch, sizeof *g->answers);
    g->targets = calloc(2 * batch, sizeof *g->targets);
    g->pixels = malloc(dataset_sample_elements(&tr->train));
    for (size_t i = 0; g->targets && i < batch; i++)
        g->targets[i] = 1;
    return (g->images && g->answers && g->targets && g->pixels) ||
           error_set(e, ERROR_FAILED, "not enough memory for a gan's images");
}

bool gan_set_up(struct trainer *tr, struct error *e)
{
    struct gan *g = tr->gan = calloc(1, sizeof *tr->gan);
    if (!g)
        return error_set(e, ERROR_FAILED, "not enough memory for a gan");
    if (!check_job(tr->t, e) || !read_models(tr, e) || !trainer_open_backend(tr, e) ||
        !make_networks(tr, e) || !make_rooms(tr, e))
        return false;
    struct optimizer_spec spec;
    if (!trainer_optimizer_spec(tr, &spec, e))
        return false;
    spec.beta1 = BETA1;
    tr->optimizer = optimizer_new(&spec, &tr->model, tr->backend, e);
    g->optimizer = optimizer_new(&spec, &g->model, tr->backend, e);
    return tr->optimizer && g->optimizer;
}

void gan_tear_down(struct trainer *tr)
{
    struct gan *g = tr->gan;
    if (!g)
        return;
    optimizer_free(g->optimizer);
    network_free(g->generator);
    network_free(g->judge);
    model_free(&g->model);
    gradients_free(&g->gradients);
    if (g->judge_gradients)
        tr->backend->ops->memory_free(tr->backend, g->judge_gradients);
    free(g->images);
    free(g->answers);
    free(g->targets);
    free(g->pixels);
    free(g);
    tr->gan = NULL;
}

/* --- batches --- */

/* Images of the dataset, numbered by which, on a scale from -1 to 1. */
bool gan_real(const struct trainer *tr, const struct dataset *d, const uint32_t *which, int count, float *out,
              struct error *e)
{
    size_t elements = dataset_sample_elements(d);
    for (int i = 0; i < count; i++) {
        if (!dataset_pixels(d, which[i], tr->gan->pixels, e))
            return false;
        for (size_t k = 0; k < elements; k++)
            *out++ = (float)tr->gan->pixels[k] / 127.5f - 1;
    }
    return true;
}

/* Noise for `count` samples, the first of that number in its stream, into the generator's input. */
static void make_noise(const struct trainer *tr, uint64_t purpose, uint64_t first, int count)
{
    float *z = network_input(tr->gan->generator);
    size_t elements = model_shape_elements(tr->gan->model.input);
    for (int i = 0; i < count; i++) {
        struct random r = random_stream(tr->t->seed, purpose, first + (uint64_t)i);
        for (size_t k = 0; k < elements; k++)
            *z++ = random_normal(&r);
    }
}

bool gan_generate(struct trainer *tr, long first, int count, float *images, struct error *e)
{
    struct network *n = tr->gan->generator;
    make_noise(tr, STREAM_FIXED_NOISE, (uint64_t)first, count);
    return network_forward(n, false, e) && tr->backend->ops->read(network_output(n), images, e);
}

double gan_probability(float answer)
{
    return 1 / (1 + exp(-(double)answer));
}

static double mean_probability(const float *answers, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += gan_probability(answers[i]);
    return sum;
}

/* --- the step --- */

static bool make_batches(struct trainer *tr, struct error *e)
{
    int batch = tr->t->batch, rank = comm_rank(tr->comm);
    long first = (long)rank * batch;
    struct network *nets[] = {tr->network, tr->gan->generator, tr->gan->judge};
    for (int i = 0; i < 3; i++) {
        nets[i]->context.step = tr->step;
        nets[i]->context.first_row = i ? first : 2 * first;
    }
    int64_t began = trace_now(tr->lane);
    make_noise(tr, STREAM_NOISE, (uint64_t)(tr->step * tr->global_batch + first), batch);
    bool ok = gan_real(tr, &tr->train, order_rows(&tr->order, tr->step, rank), batch,
                       network_input(tr->network), e);
    trace_span(tr->lane, began, TRACE_DATA, -1);
    return ok;
}

/* D's gradient, and behind it what travels with it: its loss, room for a word, the two probabilities. */
static bool discriminate(struct trainer *tr, struct error *e)
{
    struct gan *g = tr->gan;
    const struct backend_ops *ops = tr->backend->ops;
    size_t half = (size_t)tr->t->batch * model_shape_elements(tr->model.input);
    double all = (double)tr->global_batch;
    struct targets targets = {.values = g->targets, .samples = 2 * tr->t->batch};
    struct loss_sum sum;
    float *word = gradients_words(&tr->gradients);
    activity_enter(tr->activity, ACTIVITY_FORWARD, tr->step + 1);
    if (!network_forward(g->generator, true, e) || !ops->read(network_output(g->generator), g->images, e))
        return false;
    memcpy((float *)tr->network->input + half, g->images, half * sizeof(float));
    if (!network_forward(tr->network, true, e) ||
        !ops->loss(network_output(tr->network), &tr->model.loss, &targets, 1 / all, &sum, NULL, e) ||
        !ops->read(network_output(tr->network), g->answers, e) || !network_backward(tr->network, e))
        return false;
    word[0] = (float)(sum.loss / all);
    word[2] = (float)(mean_probability(g->answers, tr->t->batch) / all);
    word[3] = (float)(mean_probability(g->answers + tr->t->batch, tr->t->batch) / all);
    return true;
}

/* G's gradient, through the D that has just learnt; its loss behind it. */
static bool generate(struct trainer *tr, struct error *e)
{
    struct gan *g = tr->gan;
    const struct backend_ops *ops = tr->backend->ops;
    size_t elements = (size_t)tr->t->batch * model_shape_elements(tr->model.input);
    double all = (double)tr->global_batch;
    struct targets targets = {.values = g->targets, .samples = tr->t->batch}; /* the half that is all ones */
    struct loss_sum sum;
    if (!network_take(g->judge, tr->network, e))
        return false;
    memcpy(network_input(g->judge), g->images, elements * sizeof(float));
    if (!network_gradients(g->judge, &targets, 1 / all, &sum, e) ||
        !ops->read_gradient(g->judge->stages[0], g->images, e) ||
        !ops->write_gradient(network_output(g->generator), g->images, e) ||
        !network_backward(g->generator, e))
        return false;
    gradients_words(&g->gradients)[0] = (float)(sum.loss / all);
    return true;
}

static bool finite_or_diverged(const struct trainer *tr, double value, const char *whose, struct error *e)
{
    return isfinite(value) ||
           error_set(
               e, ERROR_FAILED,
               "the %s became %s in step %ld: the training has diverged; a smaller learning rate than %g or "
               "clipping usually helps",
               whose, isnan(value) ? "not a number (NaN)" : "infinite", tr->step + 1, tr->lr);
}

static bool sum_up(struct trainer *tr, const struct gradients *g, struct hop_log *hops, double *comm_s,
                   struct error *e)
{
    double before = sink_clock();
    int64_t began = trace_now(tr->lane);
    bool ok = gradients_sum(g, tr->algo, tr->sample_hops ? hops : NULL, e);
    trace_reduce(tr->lane, began, TRACE_ALLREDUCE, g == &tr->gradients ? 0 : 1,
                 (int64_t)((g->parameters + g->words) * sizeof(float)), -1);
    *comm_s += sink_clock() - before;
    return ok;
}

static bool learn(const struct trainer *tr, struct network *n, struct optimizer *o,
                  const struct gradients *gradients, double *squares, struct error *e)
{
    bool d = n == tr->network;
    int64_t began = trace_now(tr->lane);
    bool ok = finite_or_diverged(tr, gradients_words(gradients)[0],
                                 d ? "discriminator's loss" : "generator's loss", e) &&
              optimizer_take_step(o, tr->lr, n->parameters, gradients->computed, squares, e);
    trace_span(tr->lane, began, TRACE_OPTIMIZER, -1);
    return ok && finite_or_diverged(tr, *squares, d ? "discriminator's gradient" : "generator's gradient", e);
}

bool gan_step(struct trainer *tr, int wants, int *want, struct error *e)
{
    struct gan *g = tr->gan;
    double comm_s = 0, squares[2] = {0}, t0 = sink_clock();
    const float *word = gradients_words(&tr->gradients);
    tr->layers_s = 0;
    if (!make_batches(tr, e))
        return false;
    double data_s = sink_clock() - t0;
    if (!discriminate(tr, e))
        return false;
    gradients_words(&tr->gradients)[1] = trainer_word(tr, wants);
    if (!sum_up(tr, &tr->gradients, tr->hops[0], &comm_s, e))
        return false;
    struct gan_figures now = {.loss_d = word[0], .d_real = word[2], .d_fake = word[3]};
    trainer_take_word(tr, word[1], want);
    tr->lr = trainer_rate(tr);
    if (!learn(tr, tr->network, tr->optimizer, &tr->gradients, &squares[0], e) || !generate(tr, e) ||
        !sum_up(tr, &g->gradients, tr->hops[1], &comm_s, e) ||
        !learn(tr, g->generator, g->optimizer, &g->gradients, &squares[1], e))
        return false;
    now.loss_g = gradients_words(&g->gradients)[0];
    comm_s += tr->layers_s;
    const struct phases phases = {
        .data = data_s, .compute = sink_clock() - t0 - data_s - comm_s, .comm = comm_s, .exposed = comm_s};
    trainer_count(tr, &phases, now.loss_d + now.loss_g);
    tr->logged = 2;
    meter_add_gan(&tr->step_meter, &now);
    tr->step++;
    tr->grad_norm = sqrt(squares[0] + squares[1]);
    return true;
}
