#include "tui/timeline.h"

#include "tui/critical_path.h"

#include <stdlib.h>
#include <string.h>

/* --- shares --- */

/* One rank's part of a collective. */
struct part {
    int step, bucket, number; /* number: among those of its step and bucket on this rank */
    int rank;
    int64_t t0, t1;
};

static int by_collective(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->step != y->step)
        return x->step - y->step;
    if (x->bucket != y->bucket)
        return x->bucket - y->bucket;
    return x->number - y->number;
}

/* Those of all ranks and threads, side by side; *count of them. NULL: no memory. */
static struct part *collectives(const struct trace_data *d, int *count)
{
    struct part *parts = calloc((size_t)d->count + 1, sizeof *parts);
    *count = 0;
    for (int i = 0; parts && i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->kind != TRACE_ALLREDUCE)
            continue;
        int number = 0, rank = d->rows[x->row].rank;
        for (int k = *count - 1; k >= 0 && parts[k].rank == rank && parts[k].step == x->step; k--)
            number += parts[k].bucket == x->bucket;
        parts[(*count)++] = (struct part){x->step, x->bucket, number, rank, x->t0, x->t1};
    }
    if (parts)
        qsort(parts, (size_t)*count, sizeof *parts, by_collective);
    return parts;
}

/* What each rank of a collective spends until the last has come. */
static void add_waiting(const struct part *parts, int count, double *waiting)
{
    for (int i = 0, end; i < count; i = end) {
        int64_t last = 0;
        for (end = i; end < count && by_collective(&parts[i], &parts[end]) == 0; end++)
            last = parts[end].t0 > last ? parts[end].t0 : last;
        for (int k = i; k < end; k++) {
            int64_t until = last < parts[k].t1 ? last : parts[k].t1;
            if (until > parts[k].t0)
                waiting[parts[k].rank] += 1e-9 * (double)(until - parts[k].t0);
        }
    }
}

static double *share_of(struct timeline_rank *r, int kind)
{
    switch (time_class_of(kind)) {
    case TIME_COMPUTE: return &r->compute;
    case TIME_COMM: return kind == TRACE_HOP ? NULL : &r->exposed; /* transfers lie within an allreduce */
    case TIME_DATA: return &r->data;
    default: return kind == TRACE_BETWEEN ? &r->between : NULL;
    }
}

static void sum_rank(const struct trace_data *d, const struct trace_row *row, double waiting,
                     struct timeline_rank *r)
{
    int64_t begin = INT64_MAX, end = INT64_MIN;
    *r = (struct timeline_rank){.rank = row->rank};
    for (int i = row->first; i < row->first + row->count; i++) {
        const struct trace_event *x = &d->events[i];
        double *share = share_of(r, x->kind);
        if (share)
            *share += 1e-9 * (double)x->self;
        r->steps += x->kind == TRACE_STEP;
        begin = x->t0 < begin ? x->t0 : begin;
        end = x->t1 > end ? x->t1 : end;
    }
    const struct trace_row *comm = trace_data_row(d, row->rank, TRACE_LANE_COMM);
    for (int i = 0; comm && i < comm->count; i++)
        if (d->events[comm->first + i].kind == TRACE_ALLREDUCE)
            r->hidden += 1e-9 * (double)d->events[comm->first + i].self;
    double all = end > begin ? 1e-9 * (double)(end - begin) : 1;
    r->step_s = r->steps ? all / r->steps : 0;
    r->waiting = waiting / all;
    r->compute /= all, r->exposed /= all, r->data /= all, r->between /= all, r->hidden /= all;
    r->idle = 1 - r->compute - r->exposed - r->data - r->between;
    r->idle = r->idle > 0 ? r->idle : 0;
    /* What the main thread waits for is not hidden. */
    r->hidden = r->hidden > r->exposed ? r->hidden - r->exposed : 0;
}

/* --- layers --- */

static int longest_first(const void *a, const void *b)
{
    const struct timeline_layer *x = a, *y = b;
    double s = x->forward_s + x->backward_s, t = y->forward_s + y->backward_s;
    return (s < t) - (s > t);
}

static bool sum_layers(const struct trace_data *d, struct timeline *t)
{
    struct timeline_layer *layers = calloc((size_t)d->name_count + 1, sizeof *layers);
    double steps = 0;
    if (!layers)
        return false;
    for (int i = 0; i < t->rank_count; i++)
        steps += t->ranks[i].steps;
    for (int i = 0; i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        bool forward = x->kind == TRACE_LAYER_FORWARD;
        if (!forward && x->kind != TRACE_LAYER_BACKWARD)
            continue;
        double s = 1e-9 * (double)(x->t1 - x->t0) / (steps > 0 ? steps : 1);
        layers[x->name].name = trace_event_name(d, x);
        *(forward ? &layers[x->name].forward_s : &layers[x->name].backward_s) += s;
    }
    for (int i = 0; i < d->name_count; i++)
        if (layers[i].name)
            layers[t->layer_count++] = layers[i];
    qsort(layers, (size_t)t->layer_count, sizeof *layers, longest_first);
    t->layers = layers;
    return true;
}

bool timeline_sum_up(const struct trace_data *d, struct timeline *t, struct error *e)
{
    int count;
    *t = (struct timeline){0};
    struct part *parts = collectives(d, &count);
    double *waiting = calloc((size_t)d->ranks, sizeof *waiting);
    t->ranks = calloc((size_t)d->ranks, sizeof *t->ranks);
    bool ok = parts && waiting && t->ranks;
    if (ok)
        add_waiting(parts, count, waiting);
    for (int r = 0; ok && r < d->ranks; r++) {
        const struct trace_row *row = trace_data_row(d, r, TRACE_LANE_MAIN);
        if (!row || row->count == 0)
            continue;
        sum_rank(d, row, waiting[r], &t->ranks[t->rank_count++]);
        t->step_s += t->ranks[t->rank_count - 1].step_s;
    }
    t->step_s /= t->rank_count ? t->rank_count : 1;
    ok = ok && sum_layers(d, t);
    free(parts);
    free(waiting);
    if (ok)
        return true;
    timeline_free(t);
    return error_set(e, ERROR_FAILED, "not enough memory to sum up the trace");
}

void timeline_free(struct timeline *t)
{
    free(t->ranks);
    free(t->layers);
    *t = (struct timeline){0};
}
