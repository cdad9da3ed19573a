/*
 * embedding: a row of the table for each token.
 *
 * The gradient is as large as the table, zeros where no token points, since the allreduce and the optimisers
 * are each one pass over all gradients (and after an allreduce other ranks' rows are in it, so all of it has
 * to be cleared). Each thread clears and sums up a range of columns, whatever rows are popular, so that sums
 * come out alike for any number of threads.
 */
#include "engine/nn/cpu.h"

#include <string.h>

enum { COLUMNS = 16 }; /* of a cache line: what threads split must not share one */

struct table {
    const int32_t *tokens;
    long rows;
    size_t units, vocabulary;
};

static struct table table_of(const struct stage *s)
{
    return (struct table){.tokens = (const int32_t *)(const void *)s->inputs[0]->value,
                          .rows = (long)s->spec.batch * s->spec.in.channels,
                          .units = (size_t)s->layer->units,
                          .vocabulary = (size_t)s->layer->vocabulary};
}

static bool embedding_create(struct stage *s, struct error *e)
{
    return cpu_layout_plain(s->spec.batch, s->spec.out, &s->layout, e);
}

static bool embedding_forward(struct stage *s, const struct pass_context *c, struct error *e)
{
    const struct table t = table_of(s);
    const float *weights = c->parameters + s->layer->tensors[0].offset;
    for (long r = 0; r < t.rows; r++) {
        if (t.tokens[r] < 0 || (size_t)t.tokens[r] >= t.vocabulary)
            return error_set(e, ERROR_INPUT,
                             "token %d is not in the embedding's vocabulary of %zu; give the layer the "
                             "vocabulary of the data",
                             (int)t.tokens[r], t.vocabulary);
        memcpy(s->value + (size_t)r * t.units, weights + (size_t)t.tokens[r] * t.units,
               t.units * sizeof(float));
    }
    return true;
}

CPU_KERNEL static void sum_columns(const struct table *t, const float *grad, float *sums, size_t first,
                                   size_t count)
{
    for (size_t v = 0; v < t->vocabulary; v++)
        memset(sums + v * t->units + first, 0, count * sizeof(float));
    for (long r = 0; r < t->rows; r++) {
        const float *from = grad + (size_t)r * t->units + first;
        float *to = sums + (size_t)t->tokens[r] * t->units + first;
#pragma omp simd
        for (size_t i = 0; i < count; i++)
            to[i] += from[i];
    }
}

static bool embedding_backward(struct stage *s, const struct pass_context *c, struct error *e)
{
    (void)e;
    const struct table t = table_of(s);
    float *sums = c->gradients + s->layer->tensors[0].offset;
    size_t lines = (t.units + COLUMNS - 1) / COLUMNS;
    int threads = s->backend->threads;
    if ((size_t)threads > lines)
        threads = (int)lines;
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int k = 0; k < threads; k++) {
        size_t first = lines * (size_t)k / (size_t)threads * COLUMNS,
               end = lines * (size_t)(k + 1) / (size_t)threads * COLUMNS;
        sum_columns(&t, s->grad, sums, first, (end < t.units ? end : t.units) - first);
    }
    return true;
}

const struct cpu_op cpu_op_embedding = {.create = embedding_create,
                                        .forward = embedding_forward,
                                        .backward = embedding_backward,
                                        .keeps_gradient = true};
