/*
 * cpu_optimizer.c - a step of an optimiser: loops over the pieces of the parameters, shared out among
 * threads.
 *
 * sgd and adam read and write each number once. A norm that the step itself depends on takes a pass of its
 * own before it: clip and lars one over the gradients, lamb one over everything. The factors of a loop are
 * worked out in double: in floats 1 - 0.999 is wrong in its fifth digit.
 */
#include "engine/nn/cpu.h"
#include "engine/nn/optimizer.h"

#include <math.h>
#include <string.h>

/* Below this many pieces a second thread costs more than it saves. */
enum { PARALLEL_PIECES = 16, WIDE = 4, SUMS = 4 };

typedef double wide __attribute__((vector_size(WIDE * sizeof(double))));
typedef float narrow __attribute__((vector_size(WIDE * sizeof(float))));

/*
 * The square of a float is exact in a double and the order of the sum is fixed, so every machine finds the
 * same bits:
 * ranks on different ones must clip alike.
 */
CPU_KERNEL static double squares(const float *x, int n)
{
    wide sum[SUMS] = {{0}};
    int i = 0;
    for (; i + SUMS * WIDE <= n; i += SUMS * WIDE)
        for (int k = 0; k < SUMS; k++) {
            narrow some;
            memcpy(&some, x + i + k * WIDE, sizeof some);
            wide values = __builtin_convertvector(some, wide);
            sum[k] += values * values;
        }
    double rest = 0;
    for (; i < n; i++)
        rest += (double)x[i] * x[i];
    wide all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return rest + ((all[0] + all[1]) + (all[2] + all[3]));
}

/* gi = scale · g + decay · w; v = momentum · v + gi; w -= rate · (ahead · gi + behind · v): sgd and lars. */
struct momentum_factors {
    float scale, decay, momentum, rate, ahead, behind;
};

CPU_KERNEL static void momentum_piece(const struct momentum_factors *f, float *restrict w,
                                      const float *restrict g, float *restrict v, int n)
{
    float scale = f->scale, decay = f->decay, momentum = f->momentum, rate = f->rate, ahead = f->ahead,
          behind = f->behind;
    for (int i = 0; i < n; i++) {
        float gi = scale * g[i] + decay * w[i];
        v[i] = momentum * v[i] + gi;
        w[i] -= rate * (ahead * gi + behind * v[i]);
    }
}

CPU_KERNEL static void plain_piece(const struct momentum_factors *f, float *restrict w,
                                   const float *restrict g, int n)
{
    float scale = f->scale, decay = f->decay, rate = f->rate;
    for (int i = 0; i < n; i++)
        w[i] -= rate * (scale * g[i] + decay * w[i]);
}

/*
 * As PyTorch computes it: w -= η / (1 - β1^t) · m / (√v / √(1 - β2^t) + ε). decay · w is added to the
 * gradient (adam); keep shrinks w (adamw). For lamb size is 1 / (1 - β1^t), and pull · w is added to its
 * direction.
 */
struct adam_factors {
    float scale, decay, keep, beta1, rest1, beta2, rest2, size, second_scale, epsilon, pull;
};

CPU_KERNEL static void adam_piece(const struct adam_factors *f, float *restrict w, const float *restrict g,
                                  float *restrict m, float *restrict v, int n)
{
    float scale = f->scale, decay = f->decay, keep = f->keep, b1 = f->beta1, r1 = f->rest1, b2 = f->beta2,
          r2 = f->rest2, size = f->size, second_scale = f->second_scale, epsilon = f->epsilon;
    for (int i = 0; i < n; i++) {
        float gi = scale * g[i] + decay * w[i];
        m[i] = b1 * m[i] + r1 * gi;
        v[i] = b2 * v[i] + r2 * gi * gi;
        w[i] = keep * w[i] - size * m[i] / (sqrtf(v[i]) * second_scale + epsilon);
    }
}

CPU_KERNEL static void lamb_moments(const struct adam_factors *f, const float *restrict g, float *restrict m,
                                    float *restrict v, int n)
{
    float scale = f->scale, b1 = f->beta1, r1 = f->rest1, b2 = f->beta2, r2 = f->rest2;
    for (int i = 0; i < n; i++) {
        float gi = scale * g[i];
        m[i] = b1 * m[i] + r1 * gi;
        v[i] = b2 * v[i] + r2 * gi * gi;
    }
}

CPU_KERNEL static void lamb_direction(const struct adam_factors *f, const float *restrict w,
                                      const float *restrict m, const float *restrict v, float *restrict r,
                                      int n)
{
    float size = f->size, second_scale = f->second_scale, epsilon = f->epsilon, pull = f->pull;
    for (int i = 0; i < n; i++)
        r[i] = size * m[i] / (sqrtf(v[i]) * second_scale + epsilon) + pull * w[i];
}

CPU_KERNEL static void subtract(float *restrict w, float rate, const float *restrict r, int n)
{
    for (int i = 0; i < n; i++)
        w[i] -= rate * r[i];
}

/* --- the passes --- */

struct work {
    const struct optimizer_step *step;
    double scale;    /* of the gradient: below 1 where it is clipped */
    bool first_pass; /* the sums of the gradient are there already */
    struct adam_factors adam;
};

typedef void piece_function(const struct work *k, const struct optimizer_piece *p,
                            struct optimizer_sums *sums);

static void over_pieces(struct backend *b, const struct work *k, piece_function *f)
{
    const struct optimizer_step *s = k->step;
    int threads = b->threads;
#pragma omp parallel for schedule(static)                                                                    \
    num_threads(threads) if (threads > 1 && s->piece_count >= PARALLEL_PIECES)
    for (int i = 0; i < s->piece_count; i++)
        f(k, &s->pieces[i], &s->sums[i]);
}

static void norms(const struct work *k, const struct optimizer_piece *p, struct optimizer_sums *sums)
{
    sums->gradient = squares(k->step->gradients + p->offset, p->elements);
    if (k->step->spec->kind == OPTIMIZER_LARS)
        sums->parameter = squares(k->step->parameters + p->offset, p->elements);
}

static struct momentum_factors momentum_factors(const struct work *k, int tensor)
{
    const struct optimizer_spec *spec = k->step->spec;
    struct momentum_factors f = {.scale = (float)k->scale,
                                 .decay = (float)spec->weight_decay,
                                 .momentum = (float)spec->momentum,
                                 .rate = (float)k->step->lr,
                                 .behind = 1};
    if (spec->nesterov) {
        f.ahead = 1;
        f.behind = (float)spec->momentum;
    }
    if (spec->kind != OPTIMIZER_LARS)
        return f;
    /* The rate is inside the momentum: what was gathered keeps the rate of its time. */
    double rate = k->step->lr, decay = 0;
    if (k->step->adapts[tensor]) {
        const struct optimizer_sums *sums = &k->step->totals[tensor];
        double w = sqrt(sums->parameter), g = k->scale * sqrt(sums->gradient);
        decay = spec->weight_decay;
        rate *= w > 0 && g > 0 ? spec->trust * w / (g + decay * w) : 1;
    }
    f.scale = (float)(rate * k->scale);
    f.decay = (float)(rate * decay);
    f.rate = 1;
    return f;
}

static void momentum_step(const struct work *k, const struct optimizer_piece *p, struct optimizer_sums *sums)
{
    const struct optimizer_step *s = k->step;
    struct momentum_factors f = momentum_factors(k, p->tensor);
    if (!k->first_pass)
        sums->gradient = squares(s->gradients + p->offset, p->elements);
    if (s->first)
        momentum_piece(&f, s->parameters + p->offset, s->gradients + p->offset, s->first + p->offset,
                       p->elements);
    else
        plain_piece(&f, s->parameters + p->offset, s->gradients + p->offset, p->elements);
}

static void adam_step(const struct work *k, const struct optimizer_piece *p, struct optimizer_sums *sums)
{
    const struct optimizer_step *s = k->step;
    if (!k->first_pass)
        sums->gradient = squares(s->gradients + p->offset, p->elements);
    adam_piece(&k->adam, s->parameters + p->offset, s->gradients + p->offset, s->first + p->offset,
               s->second + p->offset, p->elements);
}

static struct adam_factors lamb_factors(const struct work *k, int tensor)
{
    struct adam_factors f = k->adam;
    f.pull = k->step->adapts[tensor] ? (float)k->step->spec->weight_decay : 0;
    return f;
}

static void lamb_first(const struct work *k, const struct optimizer_piece *p, struct optimizer_sums *sums)
{
    const struct optimizer_step *s = k->step;
    struct adam_factors f = lamb_factors(k, p->tensor);
    float direction[OPTIMIZER_PIECE], *w = s->parameters + p->offset, *m = s->first + p->offset,
                                      *v = s->second + p->offset;
    if (!k->first_pass)
        sums->gradient = squares(s->gradients + p->offset, p->elements);
    lamb_moments(&f, s->gradients + p->offset, m, v, p->elements);
    lamb_direction(&f, w, m, v, direction, p->elements);
    sums->parameter = squares(w, p->elements);
    sums->direction = squares(direction, p->elements);
}

static void lamb_second(const struct work *k, const struct optimizer_piece *p, struct optimizer_sums *sums)
{
    const struct optimizer_step *s = k->step;
    struct adam_factors f = lamb_factors(k, p->tensor);
    const struct optimizer_sums *whole = &s->totals[p->tensor];
    float direction[OPTIMIZER_PIECE], *w = s->parameters + p->offset;
    bool adapts = s->adapts[p->tensor] && whole->parameter > 0 && whole->direction > 0;
    double ratio = adapts ? sqrt(whole->parameter) / sqrt(whole->direction) : 1;
    (void)sums;
    lamb_direction(&f, w, s->first + p->offset, s->second + p->offset, direction, p->elements);
    subtract(w, (float)(s->lr * ratio), direction, p->elements);
}

/* Adds up the pieces, tensor by tensor; returns the square of the gradient's norm. */
static double add_up(const struct optimizer_step *s)
{
    double total = 0;
    for (int t = 0; t < s->tensor_count; t++)
        s->totals[t] = (struct optimizer_sums){0};
    for (int i = 0; i < s->piece_count; i++) {
        struct optimizer_sums *whole = &s->totals[s->pieces[i].tensor];
        whole->gradient += s->sums[i].gradient;
        whole->parameter += s->sums[i].parameter;
        whole->direction += s->sums[i].direction;
    }
    for (int t = 0; t < s->tensor_count; t++)
        total += s->totals[t].gradient;
    return total;
}

static struct adam_factors adam_factors(const struct work *k)
{
    const struct optimizer_spec *spec = k->step->spec;
    double t = (double)k->step->number, lr = spec->kind == OPTIMIZER_LAMB ? 1 : k->step->lr;
    return (struct adam_factors){
        .scale = (float)k->scale,
        .decay = spec->kind == OPTIMIZER_ADAM ? (float)spec->weight_decay : 0,
        .keep = spec->kind == OPTIMIZER_ADAMW ? (float)(1 - lr * spec->weight_decay) : 1,
        .beta1 = (float)spec->beta1,
        .rest1 = (float)(1 - spec->beta1),
        .beta2 = (float)spec->beta2,
        .rest2 = (float)(1 - spec->beta2),
        .size = (float)(lr / (1 - pow(spec->beta1, t))),
        .second_scale = (float)(1 / sqrt(1 - pow(spec->beta2, t))),
        .epsilon = (float)spec->epsilon,
    };
}

bool cpu_optimize(struct backend *b, const struct optimizer_step *step, double *gradient_squares,
                  struct error *e)
{
    (void)e;
    const struct optimizer_spec *spec = step->spec;
    struct work k = {.step = step, .scale = 1};
    if (spec->clip > 0 || spec->kind == OPTIMIZER_LARS) {
        over_pieces(b, &k, norms);
        double norm = sqrt(add_up(step));
        if (spec->clip > 0)
            k.scale = fmin(1, spec->clip / (norm + 1e-6)); /* PyTorch's clip_grad_norm_ */
        k.first_pass = true;
    }
    switch (spec->kind) {
    case OPTIMIZER_SGD:
    case OPTIMIZER_LARS: over_pieces(b, &k, momentum_step); break;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW:
        k.adam = adam_factors(&k);
        over_pieces(b, &k, adam_step);
        break;
    case OPTIMIZER_LAMB:
        k.adam = adam_factors(&k);
        over_pieces(b, &k, lamb_first);
        add_up(step);
        over_pieces(b, &k, lamb_second);
        break;
    }
    *gradient_squares = add_up(step);
    return true;
}
