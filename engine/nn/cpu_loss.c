/*
 * Losses of the last stage's output, and their gradients: what backward begins with.
 *
 * Cross-entropy with label smoothing s over C classes (C. Szegedy et al., Rethinking the inception
 * architecture, CVPR 2016, section 7): the label's probability is 1 - s + s/C, that of every other class s/C.
 * Binary cross-entropy takes logits, in the form that never overflows: max(x, 0) - x z + log(1 + exp(-|x|)).
 */
#include "engine/nn/cpu.h"
#include "engine/nn/cpu_math.h"
#include "engine/nn/labels.h"

#include <math.h>
#include <stdlib.h>

/* Below this many elements a second thread costs more than it saves. */
enum { PARALLEL_ELEMENTS = 1 << 14 };

/* Sums of floats are moved into a double after as many lanes as lose no digit that matters. */
enum { BLOCK = 64 * LANES };

/* A row of the output and what it is held against. */
struct loss_row {
    const float *out;
    float *grad;            /* NULL: not wanted */
    size_t n;               /* elements */
    const int32_t *classes; /* cross_entropy: one; bce: n, or NULL */
    const float *values;    /* mse, and bce without classes */
    double scale, smoothing;
};

/* What comes of a row. */
struct row_result {
    double loss;
    int32_t predicted;
    bool correct;
};

LANES_INLINE int lanes_left(size_t n, size_t i)
{
    return n - i < LANES ? (int)(n - i) : LANES;
}

/* --- cross-entropy --- */

LANES_INLINE float row_max(const float *x, size_t n)
{
    lanes best = lanes_all(-INFINITY);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        best = lanes_select(lanes_load(x + i) > best, lanes_load(x + i), best);
    float max = lanes_max(best);
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* The first that is the maximum; 0 where none is, all being no numbers. */
LANES_INLINE size_t first_of(const float *x, size_t n, float max)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        if (lanes_max(lanes_select(lanes_load(x + i) == max, lanes_all(1), lanes_all(0))) > 0)
            break;
    while (i < n && x[i] != max)
        i++;
    return i < n ? i : 0;
}

struct row_sums {
    double powers, plain; /* of exp(x - max), and of x */
};

/* Leaves exp(x - max) in grad where there is one. */
LANES_INLINE struct row_sums exponentials(const float *x, float *grad, size_t n, float max)
{
    struct row_sums sums = {0};
    for (size_t block = 0; block < n; block += BLOCK) {
        size_t end = block + BLOCK < n ? block + BLOCK : n;
        lanes powers = lanes_all(0), plain = lanes_all(0);
        for (size_t i = block; i < end; i += LANES) {
            int count = lanes_left(end, i);
            lanes value = lanes_load_some(x + i, count), power = lanes_exp(value - max);
            if (grad)
                lanes_store_some(grad + i, power, count);
            for (int k = count; k < LANES; k++)
                power[k] = 0;
            powers += power;
            plain += value;
        }
        sums.powers += (double)lanes_sum(powers);
        sums.plain += (double)lanes_sum(plain);
    }
    return sums;
}

/* The logits are moved by their maximum first, so that no exponential overflows. */
CPU_KERNEL static struct row_result cross_entropy(const struct loss_row *r)
{
    float max = row_max(r->out, r->n);
    struct row_sums sums = exponentials(r->out, r->grad, r->n, max);
    double log_total = log(sums.powers) + (double)max;
    size_t label = (size_t)r->classes[0], best = first_of(r->out, r->n, max);
    double other = r->smoothing / (double)r->n;
    if (r->grad) {
        float factor = (float)(r->scale / sums.powers), offset = (float)(r->scale * other);
#pragma omp simd
        for (size_t i = 0; i < r->n; i++)
            r->grad[i] = r->grad[i] * factor - offset;
        r->grad[label] -= (float)(r->scale * (1 - r->smoothing));
    }
    double loss = (1 - r->smoothing) * (log_total - r->out[label]);
    if (r->smoothing > 0)
        loss += other * ((double)r->n * log_total - sums.plain);
    return (struct row_result){loss, (int32_t)best, best == label};
}

/* --- binary cross-entropy --- */

/*
 * log(1 + e) summed as the logarithm of products: of a block of factors from 1 to 2 none overflows a double.
 */
CPU_KERNEL static struct row_result binary_cross_entropy(const struct loss_row *r)
{
    double loss = 0;
    bool correct = true;
    for (size_t block = 0; block < r->n; block += BLOCK) {
        size_t end = block + BLOCK < r->n ? block + BLOCK : r->n;
        double product = 1;
        for (size_t i = block; i < end; i += LANES) {
            int n = lanes_left(end, i);
            lanes x = lanes_load_some(r->out + i, n), size = lanes_select(x < 0, -x, x), e = lanes_exp(-size);
            lanes target = {0}, probability = lanes_select(x < 0, e, lanes_all(1)) / (1 + e);
            for (int k = 0; k < n; k++) {
                target[k] = r->values ? r->values[i + (size_t)k] : (float)r->classes[i + (size_t)k];
                product *= 1.0 + (double)e[k];
                loss += (double)(x[k] > 0 ? x[k] : 0) - (double)x[k] * (double)target[k];
                correct = correct && (x[k] > 0) == (target[k] > 0.5f);
            }
            if (r->grad)
                lanes_store_some(r->grad + i, (float)(r->scale / (double)r->n) * (probability - target), n);
        }
        loss += log(product);
    }
    return (struct row_result){loss / (double)r->n, r->out[0] > 0, correct};
}

/* --- mean squared error --- */

/* Against numbers; or, without them, against 1 for the label and 0 for all other classes. */
CPU_KERNEL static struct row_result squared_error(const struct loss_row *r)
{
    double squares = 0;
    float factor = (float)(2 * r->scale / (double)r->n);
    size_t label = r->values ? r->n : (size_t)r->classes[0];
    for (size_t i = 0; i < r->n; i++) {
        float difference = r->out[i] - (r->values ? r->values[i] : i == label ? 1.0F : 0.0F);
        squares += (double)difference * (double)difference;
        if (r->grad)
            r->grad[i] = factor * difference;
    }
    struct row_result result = {.loss = squares / (double)r->n};
    if (!r->values) {
        size_t best = first_of(r->out, r->n, row_max(r->out, r->n));
        result.predicted = (int32_t)best;
        result.correct = best == label;
    }
    return result;
}

/* --- all rows --- */

/* The whole output, plain. */
struct loss_buffers {
    float *out, *grad;
    long rows, all_rows; /* that count, and with those that fill the batch up */
    size_t n;
};

static struct row_result one_row(const struct loss_spec *loss, const struct targets *targets,
                                 const struct loss_buffers *b, double scale, long row)
{
    size_t at = (size_t)row * b->n;
    struct loss_row r = {
        .out = b->out + at, .grad = b->grad ? b->grad + at : NULL, .n = b->n, .scale = scale};
    r.smoothing = loss->label_smoothing;
    switch (loss->kind) {
    case LOSS_CROSS_ENTROPY: r.classes = targets->classes + row; return cross_entropy(&r);
    case LOSS_MSE:
        r.values = targets->values ? targets->values + at : NULL;
        r.classes = targets->values ? NULL : targets->classes + row;
        return squared_error(&r);
    default: break;
    }
    if (targets->values)
        r.values = targets->values + at;
    else
        r.classes = targets->classes + at;
    return binary_cross_entropy(&r);
}

static void all_rows(const struct loss_spec *loss, const struct targets *targets,
                     const struct loss_buffers *b, double scale, int threads, struct loss_sum *sum,
                     int32_t *predicted)
{
    double total = 0;
    long correct = 0;
#pragma omp parallel for schedule(static) reduction(+ : total, correct) num_threads(threads) \
    if (threads > 1 && (size_t)b->rows * b->n >= PARALLEL_ELEMENTS)
    for (long row = 0; row < b->rows; row++) {
        struct row_result result = one_row(loss, targets, b, scale, row);
        total += result.loss;
        correct += result.correct;
        if (predicted)
            predicted[row] = result.predicted;
    }
    *sum = (struct loss_sum){.loss = total, .correct = correct, .rows = b->rows};
    if (b->grad)
        memset(b->grad + (size_t)b->rows * b->n, 0, (size_t)(b->all_rows - b->rows) * b->n * sizeof(float));
}

/* Of an output that lies in blocks: in plain copies. */
static bool loss_of_copies(struct stage *last, const struct loss_spec *loss, const struct targets *targets,
                           struct loss_buffers *b, double scale, struct loss_sum *sum, int32_t *predicted,
                           struct error *e)
{
    const struct backend_ops *ops = last->backend->ops;
    size_t bytes = (size_t)b->all_rows * b->n * sizeof(float);
    b->out = cpu_floats(bytes, e);
    b->grad = scale > 0 ? cpu_floats(bytes, e) : NULL;
    bool ok = b->out && (b->grad || !(scale > 0)) && ops->read(last, b->out, e);
    if (ok)
        all_rows(loss, targets, b, scale, last->backend->threads, sum, predicted);
    ok = ok && (!b->grad || ops->write_gradient(last, b->grad, e));
    free(b->out);
    free(b->grad);
    return ok;
}

bool cpu_loss(struct stage *last, const struct loss_spec *loss, const struct targets *targets, double scale,
              struct loss_sum *sum, int32_t *predicted, struct error *e)
{
    struct model_shape out = last->spec.out;
    long rows_each = out.kind == SHAPE_SEQUENCE ? out.channels : 1;
    struct loss_buffers b = {.out = last->value,
                             .rows = targets->samples * rows_each,
                             .all_rows = last->spec.batch * rows_each,
                             .n = model_shape_elements(out) / (size_t)rows_each};
    *sum = (struct loss_sum){0};
    bool labels = loss->kind == LOSS_CROSS_ENTROPY || (loss->kind == LOSS_MSE && !targets->values);
    if (labels && !labels_check(targets, b.rows, b.n, e))
        return false;
    if (last->layout.block != 1)
        return loss_of_copies(last, loss, targets, &b, scale, sum, predicted, e);
    b.grad = scale > 0 ? last->grad : NULL;
    all_rows(loss, targets, &b, scale, last->backend->threads, sum, predicted);
    return true;
}
