#include "tui/critical_path.h"

#include <stdlib.h>
#include <string.h>

enum time_class time_class_of(int kind)
{
    switch (kind) {
    case TRACE_FORWARD:
    case TRACE_BACKWARD:
    case TRACE_LAYER_FORWARD:
    case TRACE_LAYER_BACKWARD:
    case TRACE_COMPUTE:
    case TRACE_OPTIMIZER: return TIME_COMPUTE;
    case TRACE_ALLREDUCE:
    case TRACE_WAIT:
    case TRACE_HOP: return TIME_COMM;
    case TRACE_DATA: return TIME_DATA;
    default: return TIME_OTHER;
    }
}

/* One rank's part of a collective. */
struct part {
    int step, bucket, number; /* number: among those of its step and bucket on this rank */
    int event, rank;
    int64_t t0;
};

struct walk {
    const struct trace_data *d;
    struct critical_path *p;
    struct part *parts; /* side by side those of a collective */
    int part_count, room;
    bool failed;
};

static int by_collective(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->step != y->step)
        return x->step - y->step;
    return x->bucket != y->bucket ? x->bucket - y->bucket : x->number - y->number;
}

static int by_collective_and_rank(const void *a, const void *b)
{
    int order = by_collective(a, b);
    return order ? order : ((const struct part *)a)->rank - ((const struct part *)b)->rank;
}

static bool find_parts(struct walk *w, long step)
{
    const struct trace_data *d = w->d;
    w->parts = calloc((size_t)d->count + 1, sizeof *w->parts);
    for (int i = 0; w->parts && i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->kind != TRACE_ALLREDUCE || x->step != step)
            continue;
        int number = 0, rank = d->rows[x->row].rank;
        for (int k = w->part_count - 1; k >= 0 && w->parts[k].rank == rank; k--)
            number += w->parts[k].bucket == x->bucket;
        w->parts[w->part_count++] = (struct part){x->step, x->bucket, number, i, rank, x->t0};
    }
    if (w->parts)
        qsort(w->parts, (size_t)w->part_count, sizeof *w->parts, by_collective_and_rank);
    return w->parts != NULL;
}

/* The part of the rank that came last to the collective that an event is part of. */
static int last_to_come(const struct walk *w, int event)
{
    int own = 0, last;
    while (own < w->part_count && w->parts[own].event != event)
        own++;
    if (own == w->part_count)
        return event;
    last = own;
    for (int k = own; k >= 0 && by_collective(&w->parts[k], &w->parts[own]) == 0; k--)
        last = w->parts[k].t0 > w->parts[last].t0 ? k : last;
    for (int k = own; k < w->part_count && by_collective(&w->parts[k], &w->parts[own]) == 0; k++)
        last = w->parts[k].t0 > w->parts[last].t0 ? k : last;
    return w->parts[last].event;
}

/* --- what a thread does at a moment --- */

/* The innermost event of a row right before t; -1: nothing. *from: since when it has been the innermost. */
static int innermost(const struct trace_data *d, const struct trace_row *row, int64_t t, int64_t *from)
{
    int found = -1;
    *from = INT64_MIN;
    for (int i = row->first; i < row->first + row->count && d->events[i].t0 < t; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->t1 >= t) {
            found = i; /* later ones lie further inside */
            *from = x->t0 > *from ? x->t0 : *from;
        } else {
            *from = x->t1 > *from ? x->t1 : *from; /* one inside that has ended */
        }
    }
    return found;
}

static int row_of(const struct trace_data *d, int rank, int lane)
{
    const struct trace_row *row = trace_data_row(d, rank, lane);
    return row ? (int)(row - d->rows) : -1;
}

/* The collective of the rank's communication thread that ended last within (since, t]; -1: none. */
static int ended_on_thread(const struct trace_data *d, int rank, int64_t since, int64_t t)
{
    int row = row_of(d, rank, TRACE_LANE_COMM), found = -1;
    for (int i = 0; row >= 0 && i < d->rows[row].count; i++) {
        const struct trace_event *x = &d->events[d->rows[row].first + i];
        if (x->kind == TRACE_ALLREDUCE && x->t1 > since && x->t1 <= t + CRITICAL_GAP_NS && x->t0 < t)
            found = d->rows[row].first + i;
    }
    return found;
}

/* Of the waits on the main threads of all ranks that overlap with this one the one that began last. */
static int last_to_wait(const struct trace_data *d, int event, int64_t t)
{
    int last = event;
    for (int i = 0; i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->kind == TRACE_WAIT && x->step == d->events[event].step &&
            x->bucket == d->events[event].bucket && x->t0 < t && x->t1 >= t - CRITICAL_GAP_NS &&
            x->t0 > d->events[last].t0)
            last = i;
    }
    return last;
}

/* --- the chain, backwards --- */

/* A piece from t0 to *t, which becomes t0. */
static void add(struct walk *w, int event, int row, int64_t t0, int64_t *t)
{
    struct critical_path *p = w->p;
    enum time_class class = event < 0 ? TIME_OTHER : time_class_of(w->d->events[event].kind);
    t0 = t0 < p->begin ? p->begin : t0;
    if (t0 >= *t)
        return;
    if (p->count > 0 && p->pieces[p->count - 1].event == event && p->pieces[p->count - 1].row == row) {
        p->pieces[p->count - 1].t0 = t0;
    } else {
        if (p->count == w->room) {
            int room = w->room ? 2 * w->room : 64;
            struct path_piece *grown = realloc(p->pieces, (size_t)room * sizeof *grown);
            if (!grown) {
                w->failed = true;
                *t = p->begin;
                return;
            }
            p->pieces = grown;
            w->room = room;
        }
        p->pieces[p->count++] = (struct path_piece){event, row, t0, *t, class};
    }
    p->seconds[class] += 1e-9 * (double)(*t - t0);
    *t = t0;
}

/* From within a collective to the moment its last rank came; returns the row to go on with. */
static int through_collective(struct walk *w, int event, int64_t *t)
{
    for (;;) {
        const struct trace_data *d = w->d;
        const struct trace_event *x = &d->events[event];
        const struct trace_event *last = &d->events[last_to_come(w, event)];
        const struct trace_row *row = &d->rows[last->row];
        int64_t came = last->t0 < *t ? last->t0 : x->t0;
        if (last->t0 >= *t) /* clocks disagree: stay with this rank */
            last = x, row = &d->rows[x->row];
        add(w, event, x->row, came, t);
        if (row->tid != TRACE_LANE_COMM)
            return last->row;
        int before = -1;
        for (int i = row->first; i < row->first + row->count && &d->events[i] < last; i++)
            if (d->events[i].kind == TRACE_ALLREDUCE && d->events[i].step == last->step)
                before = i;
        if (before < 0 || d->events[before].t1 < *t - CRITICAL_GAP_NS || *t <= w->p->begin) {
            int main_row = row_of(d, row->rank, TRACE_LANE_MAIN);
            return main_row >= 0 ? main_row : last->row;
        }
        add(w, (int)(last - d->events), last->row, d->events[before].t1, t);
        event = before;
    }
}

static void follow(struct walk *w, int row)
{
    const struct trace_data *d = w->d;
    int64_t t = w->p->end, from;
    while (t > w->p->begin && !w->failed) {
        int event = innermost(d, &d->rows[row], t, &from);
        int rank = d->rows[row].rank;
        if (event < 0 || (d->events[event].kind != TRACE_ALLREDUCE && d->events[event].kind != TRACE_WAIT)) {
            add(w, event, row, from, &t);
            continue;
        }
        if (d->events[event].kind == TRACE_ALLREDUCE) {
            row = through_collective(w, event, &t);
            continue;
        }
        int64_t before = t;
        int sum = ended_on_thread(d, rank, from, t);
        if (sum >= 0) {
            add(w, event, row, d->events[sum].t1, &t);
            row = through_collective(w, sum, &t);
        } else {
            int last = last_to_wait(d, event, t);
            add(w, event, row, last == event ? from : d->events[last].t0, &t);
            row = d->events[last].row;
        }
        if (t >= before)
            add(w, event, row, from < t ? from : t - 1, &t);
    }
}

static bool bounds(const struct trace_data *d, long step, struct critical_path *p, int *last)
{
    p->begin = INT64_MAX, p->end = INT64_MIN;
    for (int i = 0; i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->kind != TRACE_STEP || x->step != step)
            continue;
        p->begin = x->t0 < p->begin ? x->t0 : p->begin;
        if (x->t1 > p->end) {
            p->end = x->t1;
            *last = x->row;
        }
    }
    return p->end > p->begin;
}

bool critical_path_find(const struct trace_data *d, long step, struct critical_path *p, struct error *e)
{
    struct walk w = {.d = d, .p = p};
    int last = 0;
    *p = (struct critical_path){0};
    if (!bounds(d, step, p, &last))
        return error_set(e, ERROR_INPUT, "the trace has no step %ld: it has steps %ld to %ld", step,
                         d->first_step, d->last_step);
    if (find_parts(&w, step))
        follow(&w, last);
    else
        w.failed = true;
    free(w.parts);
    if (w.failed) {
        critical_path_free(p);
        return error_set(e, ERROR_FAILED, "not enough memory for the critical path");
    }
    for (int i = 0, k = p->count - 1; i < k; i++, k--) {
        struct path_piece piece = p->pieces[i];
        p->pieces[i] = p->pieces[k];
        p->pieces[k] = piece;
    }
    return true;
}

void critical_path_free(struct critical_path *p)
{
    free(p->pieces);
    *p = (struct critical_path){0};
}

/* --- exposed communication --- */

static int longest_first(const void *a, const void *b)
{
    const struct exposed_part *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static void expose(struct exposed_part *parts, int *count, int most, int bucket, int64_t time)
{
    int k = 0;
    while (k < *count && parts[k].bucket != bucket)
        k++;
    if (k == most || time <= 0)
        return;
    if (k == *count)
        parts[(*count)++] = (struct exposed_part){.bucket = bucket};
    parts[k].seconds += 1e-9 * (double)time;
}

/* Of a wait for the communication thread: what that did meanwhile, by bucket. Returns how much of it. */
static int64_t behind_wait(const struct trace_data *d, const struct trace_event *wait,
                           struct exposed_part *parts, int *count, int most)
{
    const struct trace_row *row = trace_data_row(d, d->rows[wait->row].rank, TRACE_LANE_COMM);
    int64_t sum = 0;
    for (int i = 0; row && i < row->count; i++) {
        const struct trace_event *x = &d->events[row->first + i];
        int64_t lo = x->t0 > wait->t0 ? x->t0 : wait->t0, hi = x->t1 < wait->t1 ? x->t1 : wait->t1;
        if (x->kind != TRACE_ALLREDUCE || hi <= lo)
            continue;
        expose(parts, count, most, x->bucket, hi - lo);
        sum += hi - lo;
    }
    return sum;
}

int exposed_of_step(const struct trace_data *d, long step, struct exposed_part *parts, int most, double *sum)
{
    int count = 0, ranks = 0;
    *sum = 0;
    for (int i = 0; i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->step != step || d->rows[x->row].tid != TRACE_LANE_MAIN)
            continue;
        ranks += x->kind == TRACE_STEP;
        if (time_class_of(x->kind) != TIME_COMM)
            continue;
        *sum += 1e-9 * (double)x->self;
        int64_t named = x->kind == TRACE_WAIT && x->bucket < 0 ? behind_wait(d, x, parts, &count, most) : 0;
        expose(parts, &count, most, x->bucket, x->self - named);
    }
    for (int k = 0; k < count; k++)
        parts[k].seconds /= ranks ? ranks : 1;
    *sum /= ranks ? ranks : 1;
    qsort(parts, (size_t)count, sizeof *parts, longest_first);
    return count;
}
