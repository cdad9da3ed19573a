/* timeline_operations.c - the operations of a trace as a table: by which algorithm, how large, how often, how long. */
#include "tui/timeline.h"

#include "tui/axis.h"

#include <stdlib.h>
#include <string.h>

/* All ranks' part in one operation: it takes as long as the rank that takes longest. */
struct operation {
    const struct trace_event *event;
    int64_t longest;
};

static int by_kind(const struct operation *a, const struct operation *b)
{
    if (a->event->bytes != b->event->bytes)
        return a->event->bytes < b->event->bytes ? -1 : 1;
    if (a->event->name != b->event->name)
        return a->event->name - b->event->name;
    return a->event->algo - b->event->algo;
}

static int by_kind_and_length(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    int order = by_kind(x, y);
    return order ? order : (x->longest > y->longest) - (x->longest < y->longest);
}

/* One a step. *count of them; NULL: no memory. */
static struct operation *operations(const struct trace_data *d, int *count)
{
    long steps = d->last_step - d->first_step + 1, n = 0;
    struct operation *all = d->count ? calloc((size_t)steps, sizeof *all) : NULL;
    for (int i = 0; all && i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->kind != TRACE_ALLREDUCE || x->step < d->first_step || x->step > d->last_step)
            continue;
        struct operation *o = &all[x->step - d->first_step];
        o->event = o->event ? o->event : x;
        o->longest = x->t1 - x->t0 > o->longest ? x->t1 - x->t0 : o->longest;
    }
    for (long s = 0; all && s < steps; s++)
        if (all[s].event)
            all[n++] = all[s];
    *count = (int)n;
    return all;
}

static const char *algo_of(const struct trace_data *d, const struct trace_event *x)
{
    return x->algo >= 0 ? d->names[x->algo] : "-";
}

static void milliseconds(int64_t ns, FILE *to)
{
    double ms = 1e-6 * (double)ns;
    fprintf(to, " %7.*f ms", ms < 1000 ? 3 : 0, ms);
}

void timeline_operations(const struct trace_data *d, FILE *to)
{
    int n;
    struct operation *all = operations(d, &n);
    if (n > 0) {
        qsort(all, (size_t)n, sizeof *all, by_kind_and_length);
        fprintf(to, "\n%-15s %-15s %9s %5s %10s %10s %10s\n", "operation", "algorithm", "size", "times",
                "least", "median", "most");
    }
    for (int i = 0, end; i < n; i = end) {
        char size[32];
        for (end = i; end < n && by_kind(&all[i], &all[end]) == 0; end++)
            ;
        format_bytes((double)all[i].event->bytes, size, sizeof size);
        fprintf(to, "%-15.15s %-15.15s %9s %5d", trace_event_name(d, all[i].event), algo_of(d, all[i].event),
                size, end - i);
        milliseconds(all[i].longest, to);
        milliseconds(all[(i + end - 1) / 2].longest, to);
        milliseconds(all[end - 1].longest, to);
        fputc('\n', to);
    }
    free(all);
}

void timeline_name_operation(const struct trace_data *d, long step, FILE *to)
{
    char size[32];
    fprintf(to, "\noperation %ld", step);
    for (int i = 0; i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->kind != TRACE_ALLREDUCE || x->step != step)
            continue;
        format_bytes((double)x->bytes, size, sizeof size);
        fprintf(to, ": %s of %s by %s", trace_event_name(d, x), size, algo_of(d, x));
        break;
    }
    fputc('\n', to);
}
