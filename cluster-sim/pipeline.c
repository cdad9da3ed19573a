#include "cluster-sim/pipeline.h"

#include <math.h>
#include <stdlib.h>

/* What a stage does next, and when it is free to. */
struct place {
    int forward, backward; /* passes done */
    double free_s;
};

/* A pass that has not ended. */
#define NOT_YET (-1.0)

/* Whether the next pass of this stage is a forward one, by the order 1F1B. */
static bool forward_next(const struct place *at, int stage, int stages, int m)
{
    int ahead = stages - 1 - stage; /* forward passes before the first backward one */
    return at->forward < m && at->forward - at->backward <= ahead;
}

/* Does as many passes as what the neighbours have done allows; how many. */
static int advance(struct pipeline_stage *stages, int count, int m, int i, struct place *at, double *forward,
                   double *backward)
{
    int passes = 0;
    struct pipeline_stage *s = &stages[i];
    while (at->backward < m) {
        bool ahead = forward_next(at, i, count, m);
        int j = ahead ? at->forward : at->backward;
        double ready = 0;
        if (ahead && i > 0) {
            double before = forward[(size_t)(i - 1) * (size_t)m + (size_t)j];
            ready = before == NOT_YET ? NOT_YET : before + stages[i - 1].send_s;
        } else if (!ahead && i + 1 < count) {
            double before = backward[(size_t)(i + 1) * (size_t)m + (size_t)j];
            ready = before == NOT_YET ? NOT_YET : before + s->send_s;
        }
        if (ready == NOT_YET)
            break;
        double takes = ahead ? s->forward_s : s->backward_s;
        at->free_s = fmax(at->free_s, ready) + takes;
        s->busy_s += takes;
        (ahead ? forward : backward)[(size_t)i * (size_t)m + (size_t)j] = at->free_s;
        at->forward += ahead;
        at->backward += !ahead;
        if (at->forward - at->backward > s->in_flight)
            s->in_flight = at->forward - at->backward;
        passes++;
    }
    return passes;
}

double pipeline_run(struct pipeline_stage *stages, int count, int microbatches, double *idle, struct error *e)
{
    size_t passes = (size_t)count * (size_t)microbatches;
    double *forward = malloc(2 * passes * sizeof *forward), end = 0, busy = 0;
    struct place *at = calloc((size_t)count, sizeof *at);
    if (!forward || !at) {
        free(forward);
        free(at);
        error_set(e, ERROR_FAILED, "out of memory for %d stages of %d micro-batches", count, microbatches);
        return -1;
    }
    for (size_t i = 0; i < 2 * passes; i++)
        forward[i] = NOT_YET;
    for (int i = 0; i < count; i++)
        stages[i].end_s = stages[i].busy_s = 0, stages[i].in_flight = 0;
    for (size_t done = 0; done < 2 * passes;) {
        for (int i = 0; i < count; i++)
            done += (size_t)advance(stages, count, microbatches, i, &at[i], forward, forward + passes);
        /* Backward passes run the other way. */
        for (int i = count - 1; i >= 0; i--)
            done += (size_t)advance(stages, count, microbatches, i, &at[i], forward, forward + passes);
    }
    for (int i = 0; i < count; i++) {
        stages[i].end_s = at[i].free_s;
        end = fmax(end, at[i].free_s);
        busy += stages[i].busy_s;
    }
    *idle = end > 0 ? 1 - busy / (count * end) : 0;
    free(forward);
    free(at);
    return end;
}

/* Whether runs of at most `most` are enough; first: where they begin. */
static bool fits(const double *weights, int count, int parts, double most, int *first)
{
    double sum = 0;
    int used = 1;
    first[0] = 0;
    for (int i = 0; i < count; i++) {
        /* Each run that is still to come needs an item of its own. */
        bool needed = count - i <= parts - used;
        if (i > first[used - 1] && (sum + weights[i] > most || needed)) {
            if (used == parts)
                return false;
            first[used++] = i;
            sum = 0;
        }
        sum += weights[i];
        if (sum > most)
            return false;
    }
    return used == parts;
}

void pipeline_cut(const double *weights, int count, int parts, int *first)
{
    double low = 0, high = 0;
    for (int i = 0; i < count; i++)
        high += weights[i];
    high += 1e-12;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (fits(weights, count, parts, middle, first))
            high = middle;
        else
            low = middle;
    }
    fits(weights, count, parts, high, first);
}
