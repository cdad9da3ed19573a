/*
 * timeline_events.c - what a run's events say of its time, as a trace.
 */
#include "tui/text.h"
#include "tui/timeline_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NS 1e9

struct maker {
    struct trace_data *d;
    int room;
    bool failed;
};

static int name_of(struct maker *k, const char *name)
{
    struct trace_data *d = k->d;
    for (int i = 0; i < d->name_count; i++)
        if (strcmp(d->names[i], name) == 0)
            return i;
    char **grown = realloc(d->names, ((size_t)d->name_count + 1) * sizeof *grown);
    if (grown)
        d->names = grown;
    char *copy = grown ? strdup(name) : NULL;
    if (!copy) {
        k->failed = true;
        return -1;
    }
    d->names[d->name_count] = copy;
    return d->name_count++;
}

static void add(struct maker *k, struct trace_event x)
{
    struct trace_data *d = k->d;
    if (d->count == k->room) {
        int room = k->room ? 2 * k->room : 256;
        struct trace_event *grown = realloc(d->events, (size_t)room * sizeof *grown);
        if (!grown) {
            k->failed = true;
            return;
        }
        d->events = grown;
        k->room = room;
    }
    if (x.name < 0)
        x.name = name_of(k, trace_kind_title(x.kind));
    x.self = x.t1 - x.t0;
    x.row = (int16_t)(d->row_count - 1);
    d->events[d->count++] = x;
    d->rows[d->row_count - 1].count++;
}

static void begin_row(struct maker *k, int rank, int tid, const char *name)
{
    struct trace_row *row = &k->d->rows[k->d->row_count++];
    *row = (struct trace_row){.rank = rank, .tid = tid, .first = k->d->count};
    strncpy(row->name, name, sizeof row->name - 1);
}

static struct trace_event span(enum trace_kind kind, int step, int64_t t0, int64_t t1, int depth)
{
    return (struct trace_event){.t0 = t0,
                                .t1 = t1,
                                .bytes = -1,
                                .step = step,
                                .bucket = -1,
                                .round = -1,
                                .chunk = -1,
                                .name = -1,
                                .algo = -1,
                                .depth = (int16_t)depth,
                                .kind = (uint8_t)kind};
}

static bool tells(const struct run_rank *r)
{
    return isfinite(r->compute_s) && r->compute_s > 0;
}

static int64_t part(double seconds)
{
    return isfinite(seconds) && seconds > 0 ? (int64_t)(seconds * NS) : 0;
}

/* Data, compute, and communication that nothing hides, one after the other. */
static void add_mean_step(struct maker *k, const struct run_rank *r, int step)
{
    int64_t data = part(r->data_s), compute = part(r->compute_s), comm = part(run_rank_exposed(r));
    add(k, span(TRACE_STEP, step, 0, data + compute + comm, 0));
    if (data)
        add(k, span(TRACE_DATA, step, 0, data, 1));
    add(k, span(TRACE_COMPUTE, step, data, data + compute, 1));
    if (comm) { /* how much of it is waiting for others, means do not tell */
        struct trace_event x = span(TRACE_WAIT, step, data + compute, data + compute + comm, 1);
        x.name = name_of(k, N_("communication"));
        add(k, x);
    }
}

static int by_start(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;
    return x->t0 != y->t0 ? (x->t0 < y->t0 ? -1 : 1) : (x->t1 > y->t1) - (x->t1 < y->t1);
}

/* A rank's part of an operation: from its first message to its last. Messages that it sends lie inside, cut where they overlap. */
static void add_operation(struct maker *k, const struct run_op *op, int rank, int step, int64_t offset)
{
    int64_t begin = INT64_MAX, end = INT64_MIN, until;
    int sent = 0;
    for (int i = 0; i < op->count; i++) {
        const struct run_hop *h = &op->hops[i];
        int64_t t0 = (int64_t)(h->t0 * NS) + offset, t1 = (int64_t)(h->t1 * NS) + offset;
        if (h->from != rank && h->to != rank)
            continue;
        begin = t0 < begin ? t0 : begin;
        end = t1 > end ? t1 : end;
        sent += h->from == rank;
    }
    if (end <= begin)
        return;
    struct trace_event around = span(TRACE_ALLREDUCE, step, begin, end, 1);
    around.algo = around.name = name_of(k, op->algo);
    add(k, span(TRACE_STEP, step, begin, end, 0));
    add(k, around);
    int first = k->d->count;
    for (int i = 0; i < op->count && sent; i++) {
        const struct run_hop *h = &op->hops[i];
        char name[TRACE_NAME];
        if (h->from != rank)
            continue;
        struct trace_event x =
            span(TRACE_HOP, step, (int64_t)(h->t0 * NS) + offset, (int64_t)(h->t1 * NS) + offset, 2);
        snprintf(name, sizeof name, h->chunk >= 0 ? "> %d, c%d" : "> %d", h->to, h->chunk);
        x.name = name_of(k, name);
        x.bytes = (int64_t)h->bytes;
        x.round = h->hop;
        x.chunk = h->chunk;
        add(k, x);
    }
    if (k->failed)
        return;
    struct trace_event *hops = k->d->events + first;
    int count = k->d->count - first;
    qsort(hops, (size_t)count, sizeof *hops, by_start);
    until = begin;
    for (int i = 0; i < count; i++) { /* they follow each other */
        hops[i].t0 = hops[i].t0 > until ? hops[i].t0 : until;
        hops[i].t1 = hops[i].t1 > hops[i].t0 ? hops[i].t1 : hops[i].t0;
        hops[i].self = hops[i].t1 - hops[i].t0;
        until = hops[i].t1;
    }
    for (int i = 0; i < count; i++)
        k->d->events[first - 1].self -= hops[i].self;
}

/* Operations begin after the mean step, one after the other as they did. */
static int64_t first_moment(const struct run_model *m)
{
    double first = INFINITY;
    for (int i = 0; i < m->op_count; i++)
        for (int j = 0; j < m->ops[i].count; j++)
            first = fmin(first, m->ops[i].hops[j].t0);
    return isfinite(first) ? (int64_t)(first * NS) : 0;
}

static bool has_mean_step(const struct run_model *m)
{
    for (int r = 0; r < m->rank_count; r++)
        if (tells(&m->rank_table[r]))
            return true;
    return false;
}

static int rank_count(const struct run_model *m)
{
    int ranks = m->ranks > m->rank_count ? m->ranks : m->rank_count;
    for (int i = 0; i < m->op_count; i++)
        ranks = m->ops[i].ranks > ranks ? m->ops[i].ranks : ranks;
    return ranks > RUN_MAX_OPS * 32 ? RUN_MAX_OPS * 32 : ranks;
}

bool timeline_of_events(const struct run_model *m, struct trace_data *d, struct error *e)
{
    struct maker k = {.d = d};
    int ranks = rank_count(m), mean = has_mean_step(m) ? 1 : 0;
    int64_t longest = 0;
    *d = (struct trace_data){.ranks = ranks, .first_step = 1, .last_step = mean + m->op_count};
    strcpy(d->job, "events");
    if (!mean && !m->op_count)
        return error_set(e, ERROR_INPUT,
                         "this run has neither a trace nor events that tell where its time went");
    d->rows = calloc((size_t)ranks + 1, sizeof *d->rows);
    for (int r = 0; d->rows && r < m->rank_count; r++) {
        const struct run_rank *x = &m->rank_table[r];
        int64_t all = part(x->data_s) + part(x->compute_s) + part(run_rank_exposed(x));
        longest = all > longest ? all : longest;
    }
    int64_t offset = mean * (longest + longest / 4) - first_moment(m);
    for (int r = 0; d->rows && r < ranks; r++) {
        begin_row(&k, r, TRACE_LANE_MAIN, "main");
        for (int i = 0; i < m->rank_count; i++)
            if (m->rank_table[i].rank == r && tells(&m->rank_table[i]))
                add_mean_step(&k, &m->rank_table[i], 1);
        for (int i = 0; i < m->op_count; i++)
            add_operation(&k, &m->ops[i], r, mean + i + 1, offset);
    }
    if (d->rows && !k.failed)
        return true;
    trace_data_free(d);
    return error_set(e, ERROR_FAILED, "not enough memory for the timeline");
}
