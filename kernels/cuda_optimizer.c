/*
 * A step of an optimiser, as kernels/optimizer.cu takes it: the list of pieces goes to the GPU once, the factors of a
 * formula are worked out here in double (in floats 1 - 0.999 is wrong in its fifth digit), and the square of the
 * gradient's norm comes back.
 */
#include "kernels/cuda.h"

#include "engine/nn/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The pieces of one optimiser. Another one's are recognised by what they are: addresses may be used again. */
struct cuda_optimizer {
    struct optimizer_piece *known; /* on the host, as they were sent */
    bool *adapts;
    int piece_count, tensor_count;
    struct kernel_piece *pieces; /* on the device, as the following */
    struct kernel_tensor *tensors;
    double *sums, *totals, *squares;
    struct cuda_pinned result;
    struct cuda_optimizer *next;
};

static void plan_free(struct cuda_optimizer *o)
{
    free(o->known);
    free(o->adapts);
    cuda_memory_free(o->pieces);
    cuda_memory_free(o->tensors);
    cuda_memory_free(o->sums);
    cuda_memory_free(o->totals);
    cuda_memory_free(o->squares);
    cuda_pinned_free(&o->result);
    free(o);
}

void cuda_optimizer_free(struct cuda *cuda)
{
    while (cuda->optimizer) {
        struct cuda_optimizer *next = cuda->optimizer->next;
        plan_free(cuda->optimizer);
        cuda->optimizer = next;
    }
}

/* The plan as kernels take it. */
static void describe_plan(const struct cuda_optimizer *o, struct kernel_piece *pieces,
                          struct kernel_tensor *tensors)
{
    for (int i = 0; i < o->piece_count; i++) {
        const struct optimizer_piece *from = &o->known[i];
        pieces[i] =
            (struct kernel_piece){.offset = from->offset, .elements = from->elements, .tensor = from->tensor};
        if (tensors[from->tensor].pieces++ == 0)
            tensors[from->tensor].first_piece = i;
    }
    for (int t = 0; t < o->tensor_count; t++)
        tensors[t].adapts = o->adapts[t];
}

/* Copies the plan to the GPU. */
static bool send_plan(struct cuda *cuda, const struct cuda_optimizer *o, struct error *e)
{
    struct kernel_piece *pieces = calloc((size_t)o->piece_count, sizeof *pieces);
    struct kernel_tensor *tensors = calloc((size_t)o->tensor_count, sizeof *tensors);
    if (!pieces || !tensors) {
        free(pieces);
        free(tensors);
        return error_set(e, ERROR_FAILED, "there is not enough memory for the optimiser");
    }
    describe_plan(o, pieces, tensors);
    bool ok = cuda_ok(cudaMemcpyAsync(o->pieces, pieces, (size_t)o->piece_count * sizeof *pieces,
                                      cudaMemcpyHostToDevice, cuda->stream),
                      "copying the optimiser's plan", e) &&
              cuda_ok(cudaMemcpyAsync(o->tensors, tensors, (size_t)o->tensor_count * sizeof *tensors,
                                      cudaMemcpyHostToDevice, cuda->stream),
                      "copying the optimiser's plan", e) &&
              cuda_wait(cuda, "copying the optimiser's plan", e);
    free(pieces);
    free(tensors);
    return ok;
}

static bool plan_fill(struct cuda *cuda, struct cuda_optimizer *o, const struct optimizer_step *s,
                      struct error *e)
{
    const char *what = "the optimiser";
    size_t pieces = (size_t)s->piece_count, tensors = (size_t)s->tensor_count;
    o->piece_count = s->piece_count;
    o->tensor_count = s->tensor_count;
    o->known = calloc(pieces, sizeof *o->known);
    o->adapts = calloc(tensors, sizeof *o->adapts);
    if (!o->known || !o->adapts)
        return error_set(e, ERROR_FAILED, "there is not enough memory for the optimiser");
    memcpy(o->known, s->pieces, pieces * sizeof *o->known);
    memcpy(o->adapts, s->adapts, tensors * sizeof *o->adapts);
    return (o->pieces = cuda_memory_new(cuda, pieces * sizeof *o->pieces, what, e)) &&
           (o->tensors = cuda_memory_new(cuda, tensors * sizeof *o->tensors, what, e)) &&
           (o->sums = cuda_memory_new(cuda, KERNEL_SQUARES * pieces * sizeof *o->sums, what, e)) &&
           (o->totals = cuda_memory_new(cuda, KERNEL_SQUARES * tensors * sizeof *o->totals, what, e)) &&
           (o->squares = cuda_memory_new(cuda, (1 + KERNEL_PARTS(pieces)) * sizeof *o->squares, what, e)) &&
           cuda_pinned_room(&o->result, sizeof(double), e) && send_plan(cuda, o, e);
}

/* What was made for the same pieces, or is made now. */
static struct cuda_optimizer *find_plan(struct cuda *cuda, const struct optimizer_step *s, struct error *e)
{
    for (struct cuda_optimizer *o = cuda->optimizer; o; o = o->next)
        if (o->piece_count == s->piece_count && o->tensor_count == s->tensor_count &&
            !memcmp(o->known, s->pieces, (size_t)s->piece_count * sizeof *s->pieces) &&
            !memcmp(o->adapts, s->adapts, (size_t)s->tensor_count * sizeof *s->adapts))
            return o;
    struct cuda_optimizer *o = calloc(1, sizeof *o);
    if (!o) {
        error_set(e, ERROR_FAILED, "there is not enough memory for the optimiser");
        return NULL;
    }
    if (!plan_fill(cuda, o, s, e)) {
        plan_free(o);
        return NULL;
    }
    o->next = cuda->optimizer;
    cuda->optimizer = o;
    return o;
}

/* The step's plan: after the first step the optimiser has it at hand, however many pieces there are. */
static struct cuda_optimizer *plan_of(struct cuda *cuda, const struct optimizer_step *s, struct error *e)
{
    if (!*s->kept)
        *s->kept = find_plan(cuda, s, e);
    return *s->kept;
}

static enum kernel_optimizer kind_of(enum optimizer_kind kind)
{
    switch (kind) {
    case OPTIMIZER_SGD: return KERNEL_SGD;
    case OPTIMIZER_LARS: return KERNEL_LARS;
    case OPTIMIZER_LAMB: return KERNEL_LAMB;
    default: return KERNEL_ADAM;
    }
}

static struct kernel_optimizer_step kernel_step_of(const struct optimizer_step *s,
                                                   const struct cuda_optimizer *o)
{
    const struct optimizer_spec *spec = s->spec;
    double t = (double)s->number, lr = spec->kind == OPTIMIZER_LAMB ? 1 : s->lr;
    struct kernel_optimizer_step k = {.kind = kind_of(spec->kind),
                                      .parameters = s->parameters,
                                      .gradients = s->gradients,
                                      .first = s->first,
                                      .second = s->second,
                                      .pieces = o->pieces,
                                      .tensors = o->tensors,
                                      .piece_count = o->piece_count,
                                      .tensor_count = o->tensor_count,
                                      .sums = o->sums,
                                      .totals = o->totals,
                                      .gradient_squares = o->squares,
                                      .clip = spec->clip,
                                      .lr = s->lr,
                                      .trust = spec->trust,
                                      .weight_decay = spec->weight_decay,
                                      .momentum = (float)spec->momentum,
                                      .behind = 1};
    if (spec->nesterov) {
        k.ahead = 1;
        k.behind = (float)spec->momentum;
    }
    if (k.kind != KERNEL_ADAM && k.kind != KERNEL_LAMB)
        return k;
    k.decay = spec->kind == OPTIMIZER_ADAM ? (float)spec->weight_decay : 0;
    k.keep = spec->kind == OPTIMIZER_ADAMW ? (float)(1 - lr * spec->weight_decay) : 1;
    k.beta1 = (float)spec->beta1;
    k.rest1 = (float)(1 - spec->beta1);
    k.beta2 = (float)spec->beta2;
    k.rest2 = (float)(1 - spec->beta2);
    k.size = (float)(lr / (1 - pow(spec->beta1, t)));
    k.second_scale = (float)(1 / sqrt(1 - pow(spec->beta2, t)));
    k.epsilon = (float)spec->epsilon;
    return k;
}

bool cuda_optimize(struct backend *b, const struct optimizer_step *step, double *gradient_squares,
                   struct error *e)
{
    struct cuda *cuda = b->self;
    *gradient_squares = 0;
    if (step->piece_count == 0)
        return true;
    struct cuda_optimizer *o = plan_of(cuda, step, e);
    if (!o)
        return false;
    struct kernel_optimizer_step k = kernel_step_of(step, o);
    kernel_optimize(&k, cuda->stream);
    if (!cuda_launched("the optimiser", e) ||
        !cuda_ok(
            cudaMemcpyAsync(o->result.data, o->squares, sizeof(double), cudaMemcpyDeviceToHost, cuda->stream),
            "copying a norm", e) ||
        !cuda_wait(cuda, "a training step", e))
        return false;
    *gradient_squares = *(const double *)o->result.data;
    return true;
}
