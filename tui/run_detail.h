/*
 * run_detail.h - a part of a long run, step by step.
 *
 * Of a long run a curve's buckets stand for many steps each (run_series.h). Who looks closer gets that part again from
 * the file, which the model's index finds, read in slices of some milliseconds.
 */
#ifndef RINGSIDE_TUI_RUN_DETAIL_H
#define RINGSIDE_TUI_RUN_DETAIL_H

#include "tui/run_model.h"

struct run_detail {
    struct run_model *m; /* NULL: none */
    double from, to;     /* the steps it covers */
    double window;       /* ... of which so many were on the screen */
    off_t offset;
    bool complete;
};

/*
 * Looks after the steps from..to of a run that are on the screen, which has room for `wanted` buckets; *changed: they
 * can be shown now. True: there is more to read, call again soon.
 */
bool run_detail_tick(struct run_detail *d, const struct run_model *of, double from, double to, int wanted,
                     bool *changed);
/* What to draw the steps from..to of: the part that was read again where it covers them, else the run itself. */
const struct run_model *run_detail_best(const struct run_detail *d, const struct run_model *of, double from,
                                        double to);
void run_detail_free(struct run_detail *d);

#endif
