/* timeline_draw.c - a trace as text: the shares, the longest layers, and one step in letters. */
#include "tui/timeline.h"

#include "engine/base/event.h"
#include "tui/canvas.h"
#include "tui/critical_path.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- one step --- */

static int by_length(const void *a, const void *b)
{
    const struct trace_event *const *x = a, *const *y = b;
    int64_t s = (*x)->t1 - (*x)->t0, t = (*y)->t1 - (*y)->t0;
    return (s > t) - (s < t);
}

long timeline_typical_step(const struct trace_data *d)
{
    long step = d->first_step;
    int n = 0;
    const struct trace_event **steps = calloc((size_t)d->count + 1, sizeof *steps);
    for (int i = 0; steps && i < d->count; i++)
        if (d->events[i].kind == TRACE_STEP && d->rows[d->events[i].row].rank == 0)
            steps[n++] = &d->events[i];
    if (n) {
        qsort(steps, (size_t)n, sizeof *steps, by_length);
        step = steps[n / 2]->step;
    }
    free(steps);
    return step;
}

static const struct {
    char letter;
    const char *means;
} letters[TRACE_KINDS] = {
    [TRACE_STEP] = {'o', "other"},
    [TRACE_DATA] = {'d', "data"},
    [TRACE_FORWARD] = {'F', "forward"},
    [TRACE_BACKWARD] = {'B', "backward"},
    [TRACE_LAYER_FORWARD] = {'F', NULL},
    [TRACE_LAYER_BACKWARD] = {'B', NULL},
    [TRACE_COMPUTE] = {'c', "other computing"},
    [TRACE_OPTIMIZER] = {'O', "optimizer"},
    [TRACE_ALLREDUCE] = {'A', "allreduce"},
    [TRACE_WAIT] = {'w', "waiting"},
    [TRACE_BETWEEN] = {'-', "between"},
    [TRACE_IDLE] = {'.', "idle"},
    [TRACE_HOP] = {'h', NULL},
};

enum { LABEL = 10, LEAST_CELLS = 20, MOST_CELLS = 1000 };

struct drawing {
    int64_t begin, end;
    int cells;
    int64_t (*time)[TRACE_KINDS]; /* in each cell, of each kind */
};

/* The time that a span takes from those around it: whoever comes later lies further inside. */
static void paint(struct drawing *g, const struct trace_event *x, const struct trace_event *around)
{
    double width = (double)(g->end - g->begin) / g->cells;
    for (int c = 0; c < g->cells; c++) {
        int64_t lo = g->begin + (int64_t)(c * width), hi = g->begin + (int64_t)((c + 1) * width);
        lo = x->t0 > lo ? x->t0 : lo;
        hi = x->t1 < hi ? x->t1 : hi;
        if (hi <= lo)
            continue;
        g->time[c][x->kind] += hi - lo;
        if (around)
            g->time[c][around->kind] -= hi - lo;
    }
}

static void draw_row(struct drawing *g, const struct trace_data *d, const struct trace_row *row, bool *used,
                     char *line)
{
    const struct trace_event *open[16] = {NULL};
    memset(g->time, 0, (size_t)g->cells * sizeof *g->time);
    for (int i = row->first; i < row->first + row->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->t1 <= g->begin || x->t0 >= g->end || x->depth >= 16)
            continue;
        paint(g, x, x->depth ? open[x->depth - 1] : NULL);
        open[x->depth] = x;
    }
    for (int c = 0; c < g->cells; c++) {
        int most = TRACE_IDLE;
        for (int k = 0; k < TRACE_KINDS; k++)
            if (g->time[c][k] > g->time[c][most])
                most = k;
        bool layer = most == TRACE_LAYER_FORWARD || most == TRACE_LAYER_BACKWARD;
        used[layer ? most - TRACE_LAYER_FORWARD + TRACE_FORWARD : most] = true;
        line[c] = letters[most].letter;
    }
    line[g->cells] = 0;
}

static bool find_step(const struct trace_data *d, long step, struct drawing *g)
{
    g->begin = INT64_MAX, g->end = INT64_MIN;
    for (int i = 0; i < d->count; i++) {
        const struct trace_event *x = &d->events[i];
        if (x->kind != TRACE_STEP || x->step != step)
            continue;
        g->begin = x->t0 < g->begin ? x->t0 : g->begin;
        g->end = x->t1 > g->end ? x->t1 : g->end;
    }
    return g->end > g->begin;
}

static void print_axis(const struct drawing *g, FILE *to)
{
    char end[32];
    double ms = 1e-6 * (double)(g->end - g->begin);
    snprintf(end, sizeof end, "%.*f ms", ms < 10 ? 3 : 1, ms);
    fprintf(to, "%*s0%*s\n", LABEL, "", g->cells - 1, end);
}

static void print_legend(const bool *used, FILE *to)
{
    const char *between = "";
    for (int k = 0; k < TRACE_KINDS; k++)
        if (used[k] && letters[k].means) {
            fprintf(to, "%s%c %s", between, letters[k].letter, letters[k].means);
            between = "   ";
        }
    fputc('\n', to);
}

bool timeline_draw(const struct trace_data *d, long step, int columns, FILE *to, struct error *e)
{
    struct drawing g;
    bool used[TRACE_KINDS] = {false};
    char line[MOST_CELLS + 1];
    if (!find_step(d, step, &g))
        return error_set(e, ERROR_INPUT, "--step: the trace has steps %ld to %ld, not %ld", d->first_step,
                         d->last_step, step);
    g.cells = columns - LABEL < LEAST_CELLS  ? LEAST_CELLS
              : columns - LABEL > MOST_CELLS ? MOST_CELLS
                                             : columns - LABEL;
    g.time = calloc((size_t)g.cells, sizeof *g.time);
    if (!g.time)
        return error_set(e, ERROR_FAILED, "not enough memory to draw a step");
    int drawn = 0, before = -1, left_out = 0;
    for (int i = 0; i < d->row_count; i++) {
        const struct trace_row *row = &d->rows[i];
        if (row->tid >= TRACE_LANES || row->count == 0)
            continue;
        drawn += row->rank != before;
        if (drawn > TIMELINE_MOST_RANKS) {
            left_out += row->rank != before;
            before = row->rank;
            continue;
        }
        draw_row(&g, d, row, used, line);
        char label[16] = "";
        if (row->rank != before)
            snprintf(label, sizeof label, "rank %d", row->rank);
        else
            snprintf(label, sizeof label, "%8.8s", row->name);
        fprintf(to, "%-*s%s\n", LABEL, label, line);
        before = row->rank;
    }
    print_axis(&g, to);
    if (left_out)
        fprintf(to, "and %d more ranks\n", left_out);
    print_legend(used, to);
    free(g.time);
    return true;
}

/* --- as text --- */

enum { LAYERS_SHOWN = 8 };

/* Of `ringside allreduce`: its steps are operations. */
static bool has_operations(const struct trace_data *d)
{
    return strcmp(d->job, "allreduce") == 0;
}

static void print_ranks(const struct timeline *t, bool operations, FILE *to)
{
    fprintf(to, "\n%4s %12s %7s %7s %7s %7s %7s %7s %7s\n", "rank", operations ? "an operation" : "a step",
            "compute", "exposed", "hidden", "data", "between", "idle", "waiting");
    for (int i = 0; i < t->rank_count; i++) {
        const struct timeline_rank *r = &t->ranks[i];
        fprintf(to, "%4d %9.3f ms", r->rank, 1e3 * r->step_s);
        const double shares[] = {r->compute, r->exposed, r->hidden, r->data, r->between, r->idle, r->waiting};
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++)
            fprintf(to, " %5.1f %%", 100 * shares[k]);
        fputc('\n', to);
    }
    fprintf(to,
            "exposed, hidden: communication while nothing is computed, and beside computing;\n"
            "between: %s;\n"
            "waiting: in collectives, until the last rank has come\n",
            operations ? "checks, warm-ups, comparison of the ranks' times"
                       : "tests, checkpoints, events between steps");
}

static void print_layers(const struct timeline *t, FILE *to)
{
    int width = 5;
    int n = t->layer_count < LAYERS_SHOWN ? t->layer_count : LAYERS_SHOWN;
    if (n == 0)
        return;
    for (int i = 0; i < n; i++)
        width = text_columns(t->layers[i].name) > width ? text_columns(t->layers[i].name) : width;
    fprintf(to, "\n%-*s %12s %12s %8s\n", width, "layer", "forward", "backward", "of a step");
    for (int i = 0; i < n; i++) {
        const struct timeline_layer *l = &t->layers[i];
        fprintf(to, "%s%*s %9.3f ms %9.3f ms %7.1f %%\n", l->name, width - text_columns(l->name), "",
                1e3 * l->forward_s, 1e3 * l->backward_s,
                t->step_s > 0 ? 100 * (l->forward_s + l->backward_s) / t->step_s : 0);
    }
    if (n < t->layer_count)
        fprintf(to, "and %d shorter ones\n", t->layer_count - n);
}

/* What bounds the step: the critical path's parts, and its longest piece. */
static void print_critical_path(const struct trace_data *d, long step, FILE *to)
{
    static const char *const names[TIME_CLASSES] = {"compute", "communication", "data", "other"};
    struct critical_path p;
    struct error e = {0};
    if (!critical_path_find(d, step, &p, &e))
        return;
    double whole = 1e-9 * (double)(p.end - p.begin);
    const struct path_piece *longest = NULL;
    fprintf(to, "critical path:");
    for (int i = 0; i < TIME_CLASSES; i++)
        fprintf(to, "%s %s %.1f %%", i ? "," : "", names[i], 100 * p.seconds[i] / whole);
    for (int i = 0; i < p.count; i++)
        if (p.pieces[i].event >= 0 &&
            (!longest || p.pieces[i].t1 - p.pieces[i].t0 > longest->t1 - longest->t0))
            longest = &p.pieces[i];
    if (longest)
        fprintf(to, "\nits longest piece: rank %d, %s, %.3f ms", d->rows[longest->row].rank,
                trace_event_name(d, &d->events[longest->event]), 1e-6 * (double)(longest->t1 - longest->t0));
    fputc('\n', to);
    critical_path_free(&p);
}

bool timeline_print(const struct trace_data *d, long step, int columns, FILE *to, struct error *e)
{
    struct timeline t;
    bool operations = has_operations(d);
    if (!timeline_sum_up(d, &t, e))
        return false;
    fprintf(to, "%s %ld to %ld of %d rank%s; ", operations ? "operations" : "steps", d->first_step,
            d->last_step, t.rank_count, t.rank_count == 1 ? "" : "s");
    if (d->offset_s > 0)
        fprintf(to, "clocks differed by up to %.3g us,\nset right to within %.3g us\n", 1e6 * d->offset_s,
                1e6 * d->bound_s);
    else
        fprintf(to, "clocks agree to within %.3g us\n", 1e6 * d->bound_s);
    if (*d->slowed)
        fprintf(to, "%s\n", d->slowed);
    if (d->incomplete)
        fputs("the run failed: this is only what rank 0 saw\n", to);
    if (d->dropped)
        fprintf(to, "%ld spans found no room and are missing\n", d->dropped);
    print_ranks(&t, operations, to);
    print_layers(&t, to);
    timeline_free(&t);
    if (operations) {
        timeline_operations(d, to);
        timeline_name_operation(d, step, to);
    } else {
        fprintf(to, "\nstep %ld\n", step);
    }
    if (!timeline_draw(d, step, columns, to, e))
        return false;
    print_critical_path(d, step, to);
    return true;
}

bool timeline_emit(const struct trace_data *d, struct error *e)
{
    struct timeline t;
    if (!timeline_sum_up(d, &t, e))
        return false;
    bool ok = true;
    for (int i = 0; ok && i < t.rank_count; i++) {
        const struct timeline_rank *r = &t.ranks[i];
        json_t *event = event_new("trace_rank", -1);
        event_set_integer(event, "rank", r->rank);
        event_set_integer(event, "steps", r->steps);
        event_set_number(event, "step_s", r->step_s);
        event_set_number(event, "compute", r->compute);
        event_set_number(event, "exposed_comm", r->exposed);
        event_set_number(event, "hidden_comm", r->hidden);
        event_set_number(event, "data", r->data);
        event_set_number(event, "between", r->between);
        event_set_number(event, "idle", r->idle);
        event_set_number(event, "waiting", r->waiting);
        ok = event_write(STDOUT_FILENO, event, e);
    }
    for (int i = 0; ok && i < t.layer_count; i++) {
        json_t *event = event_new("trace_layer", -1);
        event_set_text(event, "layer", t.layers[i].name);
        event_set_number(event, "forward_s", t.layers[i].forward_s);
        event_set_number(event, "backward_s", t.layers[i].backward_s);
        ok = event_write(STDOUT_FILENO, event, e);
    }
    timeline_free(&t);
    return ok;
}
