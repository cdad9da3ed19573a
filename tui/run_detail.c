#include "tui/run_detail.h"

#include <stdlib.h>

void run_detail_free(struct run_detail *d)
{
    if (!d)
        return;
    if (d->m)
        run_model_free(d->m);
    free(d->m);
    *d = (struct run_detail){0};
}

static bool covers(const struct run_detail *d, double from, double to)
{
    return d->m && d->from <= from && d->to >= to;
}

/* Buckets of the curve that has the most of them, between two steps. */
static int buckets_within(const struct run_model *m, double from, double to)
{
    const struct run_series *s = m->loss.samples > m->speed.samples ? &m->loss : &m->speed;
    return run_series_nearest(s, to) - run_series_nearest(s, from) + 1;
}

/* Whether the file knows more of these steps than the model. */
static bool worth_it(const struct run_model *of, double from, double to, int wanted)
{
    return !of->exact && of->index.count > 0 && (of->loss.stride > 1 || of->speed.stride > 1) &&
           buckets_within(of, from, to) < wanted;
}

/* Opens the part with as much again on either side, so that panning meets steps that are known. */
static void start(struct run_detail *d, const struct run_model *of, double from, double to)
{
    run_detail_free(d);
    d->m = malloc(sizeof *d->m);
    if (!d->m || !run_model_open(d->m, of->dir, NULL)) {
        free(d->m);
        d->m = NULL;
        return;
    }
    d->m->attached = true;
    d->from = from - (to - from);
    d->to = to + (to - from);
    d->window = to - from;
    int at = 0;
    while (at + 1 < of->index.count && of->index.step[at + 1] <= d->from)
        at++;
    d->offset = of->index.offset[at];
}

bool run_detail_tick(struct run_detail *d, const struct run_model *of, double from, double to, int wanted,
                     bool *changed)
{
    if (!worth_it(of, from, to, wanted))
        return false;
    bool closer = covers(d, from, to) && d->complete && to - from < 0.9 * d->window;
    if (!covers(d, from, to) || (closer && worth_it(d->m, from, to, wanted)))
        start(d, of, from, to);
    bool grown = d->m && d->complete && (double)d->m->step < d->to && d->m->step < of->step;
    if (!d->m || (d->complete && !grown))
        return false;
    if (run_model_read_steps(d->m, d->offset, d->to))
        return true;
    d->complete = *changed = true;
    return false;
}

const struct run_model *run_detail_best(const struct run_detail *d, const struct run_model *of, double from,
                                        double to)
{
    return covers(d, from, to) && d->complete ? d->m : of;
}
