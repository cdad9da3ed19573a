#include "engine/nn/optimizer.h"

#include <stdlib.h>
#include <string.h>

bool optimizer_named(const char *name, struct optimizer_spec *spec, struct error *e)
{
    static const struct {
        const char *name;
        struct optimizer_spec spec;
    } known[] = {
        {"sgd", {.kind = OPTIMIZER_SGD, .momentum = 0.9}},
        {"adam", {.kind = OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
        {"adamw",
         {.kind = OPTIMIZER_ADAMW, .weight_decay = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8}},
        {"lars", {.kind = OPTIMIZER_LARS, .momentum = 0.9, .weight_decay = 1e-4, .trust = 0.001}},
        {"lamb",
         {.kind = OPTIMIZER_LAMB, .weight_decay = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-6}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) {
            *spec = known[i].spec;
            return true;
        }
    return error_set(e, ERROR_INPUT, "optimizer: expected sgd, adam, adamw, lars or lamb, got '%s'", name);
}

static bool has_first(const struct optimizer_spec *spec)
{
    return spec->kind != OPTIMIZER_SGD || spec->momentum > 0;
}

static bool has_second(const struct optimizer_spec *spec)
{
    return spec->kind == OPTIMIZER_ADAM || spec->kind == OPTIMIZER_ADAMW || spec->kind == OPTIMIZER_LAMB;
}

static bool moments_new(struct optimizer *o, float **moments, float **host, struct error *e)
{
    const struct backend_ops *ops = o->backend->ops;
    if (!(*moments = ops->memory_new(o->backend, o->parameters, e)))
        return false;
    if (ops->host_memory)
        *host = *moments;
    return true;
}

static void moments_free(struct optimizer *o, float *moments, float *host)
{
    if (host != moments)
        free(host);
    o->backend->ops->memory_free(o->backend, moments);
}

static int pieces_of(const struct layer_tensor *t)
{
    return (int)((t->elements + OPTIMIZER_PIECE - 1) / OPTIMIZER_PIECE);
}

static bool cut(struct optimizer *o, const struct model_spec *model, struct error *e)
{
    for (int i = 0; i < model->layer_count; i++)
        for (int t = 0; t < model->layers[i].tensor_count; t++, o->tensor_count++)
            o->piece_count += pieces_of(&model->layers[i].tensors[t]);
    /* One more of each, so that a model that learns nothing asks for no empty block. */
    o->pieces = calloc((size_t)o->piece_count + 1, sizeof *o->pieces);
    o->sums = calloc((size_t)o->piece_count + 1, sizeof *o->sums);
    o->adapts = calloc((size_t)o->tensor_count + 1, sizeof *o->adapts);
    o->totals = calloc((size_t)o->tensor_count + 1, sizeof *o->totals);
    if (!o->pieces || !o->sums || !o->adapts || !o->totals)
        return error_set(e, ERROR_FAILED, "not enough memory for the optimiser");
    struct optimizer_piece *piece = o->pieces;
    int tensor = 0;
    for (int i = 0; i < model->layer_count; i++)
        for (int t = 0; t < model->layers[i].tensor_count; t++, tensor++) {
            const struct layer_tensor *from = &model->layers[i].tensors[t];
            o->adapts[tensor] = from->rank > 1;
            for (size_t begin = 0; begin < from->elements; begin += OPTIMIZER_PIECE) {
                size_t left = from->elements - begin;
                *piece++ = (struct optimizer_piece){
                    .offset = from->offset + begin,
                    .elements = left < OPTIMIZER_PIECE ? (int)left : OPTIMIZER_PIECE,
                    .tensor = tensor,
                };
            }
        }
    return true;
}

struct optimizer *optimizer_new(const struct optimizer_spec *spec, const struct model_spec *model,
                                struct backend *backend, struct error *e)
{
    struct optimizer *o = calloc(1, sizeof *o);
    if (!o) {
        error_set(e, ERROR_FAILED, "not enough memory for the optimiser");
        return NULL;
    }
    o->spec = *spec;
    o->backend = backend;
    o->parameters = model->parameters;
    if (!cut(o, model, e) || (has_first(spec) && !moments_new(o, &o->first, &o->host_first, e)) ||
        (has_second(spec) && !moments_new(o, &o->second, &o->host_second, e))) {
        optimizer_free(o);
        return NULL;
    }
    return o;
}

void optimizer_free(struct optimizer *o)
{
    if (!o)
        return;
    moments_free(o, o->first, o->host_first);
    moments_free(o, o->second, o->host_second);
    free(o->pieces);
    free(o->adapts);
    free(o->sums);
    free(o->totals);
    free(o);
}

bool optimizer_take_step(struct optimizer *o, double lr, float *parameters, const float *gradients,
                         double *gradient_squares, struct error *e)
{
    struct optimizer_step step = {
        .spec = &o->spec,
        .lr = lr,
        .number = o->steps + 1,
        .parameters = parameters,
        .gradients = gradients,
        .first = o->first,
        .second = o->second,
        .pieces = o->pieces,
        .piece_count = o->piece_count,
        .tensor_count = o->tensor_count,
        .adapts = o->adapts,
        .sums = o->sums,
        .totals = o->totals,
        .kept = &o->kept,
    };
    if (!o->backend->ops->optimize(o->backend, &step, gradient_squares, e))
        return false;
    o->steps++;
    return true;
}

static bool to_host(struct optimizer *o, const float *moments, float **host, struct error *e)
{
    size_t bytes = (o->parameters * sizeof(float) / 64 + 1) * 64;
    if (!moments)
        return true;
    if (!*host && !(*host = aligned_alloc(64, bytes)))
        return error_set(e, ERROR_FAILED, "not enough memory for a copy of the optimiser's state (%zu bytes)",
                         bytes);
    return o->backend->ops->copy_out(o->backend, *host, moments, o->parameters, e);
}

bool optimizer_to_host(struct optimizer *o, struct error *e)
{
    return to_host(o, o->first, &o->host_first, e) && to_host(o, o->second, &o->host_second, e);
}

bool optimizer_to_backend(struct optimizer *o, struct error *e)
{
    const struct backend_ops *ops = o->backend->ops;
    return (!o->host_first || ops->copy_in(o->backend, o->first, o->host_first, o->parameters, e)) &&
           (!o->host_second || ops->copy_in(o->backend, o->second, o->host_second, o->parameters, e));
}

int optimizer_state(const struct optimizer *o, struct optimizer_state state[2])
{
    int n = 0;
    if (o->first)
        state[n++] = (struct optimizer_state){o->second ? "exp_avg" : "momentum_buffer", o->host_first};
    if (o->second)
        state[n++] = (struct optimizer_state){"exp_avg_sq", o->host_second};
    return n;
}
