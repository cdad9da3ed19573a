/*
 * timeline.h - what a trace says: where each rank's time went, which layers take longest, and one step drawn.
 *
 * Shares are of the time from the beginning of the first recorded step to the end of the last, on the rank's main
 * thread, each moment counted once, for the innermost span around it. `waiting` is the part of its collectives that a
 * rank spends until the last of the ranks has come: a rank that waits much is faster than another.
 */
#ifndef RINGSIDE_TUI_TIMELINE_H
#define RINGSIDE_TUI_TIMELINE_H

#include "engine/base/trace_read.h"

#include <stdio.h>

struct timeline_rank {
    int rank, steps;
    double step_s; /* mean, from one beginning to the next */
    double compute, exposed, data, between,
        idle;       /* shares, together 1; exposed: communication nothing hides */
    double waiting; /* share; part of exposed and of what is hidden */
    double hidden;  /* share of the time in which the communication thread is busy meanwhile */
};

struct timeline_layer {
    const char *name;             /* the trace's */
    double forward_s, backward_s; /* means of a step of a rank */
};

struct timeline {
    struct timeline_rank *ranks; /* those that have spans */
    int rank_count;
    struct timeline_layer *layers; /* the longest first */
    int layer_count;
    double step_s; /* mean over ranks */
};

bool timeline_sum_up(const struct trace_data *d, struct timeline *t, struct error *e);
void timeline_free(struct timeline *t);

/* The step whose length is the median of rank 0's. */
long timeline_typical_step(const struct trace_data *d);

enum { TIMELINE_MOST_RANKS = 64 }; /* that are drawn */

/*
 * Rows by rank and thread, time to the right, a letter for what takes up most of a cell; columns wide. Then the
 * legend. ERROR_INPUT where the trace has no such step.
 */
bool timeline_draw(const struct trace_data *d, long step, int columns, FILE *to, struct error *e);

/* Of a trace whose steps are operations each (`ringside allreduce`): a table of them; and one, named. */
void timeline_operations(const struct trace_data *d, FILE *to);
void timeline_name_operation(const struct trace_data *d, long step, FILE *to);

/* All of it as text. */
bool timeline_print(const struct trace_data *d, long step, int columns, FILE *to, struct error *e);
/* Its figures as events on standard output, `trace_rank` and `trace_layer`. */
bool timeline_emit(const struct trace_data *d, struct error *e);

#endif
