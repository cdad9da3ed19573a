/*
 * timeline_view.h - what the parts of the timeline view share: the trace, the window of time, the cursor, the critical path.
 *
 * timeline_view.c is the view (keys, reading), timeline_paint.c draws it, timeline_events.c makes a trace of a run's events
 * where it has recorded none.
 */
#ifndef RINGSIDE_TUI_TIMELINE_VIEW_H
#define RINGSIDE_TUI_TIMELINE_VIEW_H

#include "tui/canvas.h"
#include "tui/critical_path.h"
#include "tui/run_model.h"

/* Where the cells lie. */
struct timeline_layout {
    int first_row, rows; /* on the canvas; of the trace's */
    int high;            /* canvas rows of each */
    int left, cells;
};

struct timeline_view {
    struct trace_data trace;
    bool have, from_events; /* a trace; one made of events */
    bool simulated;         /* its times are computed */
    bool hops;              /* rows of single messages are shown too */
    int *shown;             /* rows of the trace in order, shown_count of them; owned */
    int shown_count, top;   /* top: the first on the screen */
    int row;                /* the selected one, in shown */
    int cursor;             /* the selected event; -1: none */
    long step;
    double begin, end;         /* the window, nanoseconds */
    struct critical_path path; /* of the step */
    struct exposed_part exposed[EXPOSED_PARTS];
    int exposed_count;
    double exposed_s;
    struct timeline_layout layout; /* as drawn last */
    char why[1100];                /* why there is nothing to show */
};

/* Draws it and leaves in v->layout where. */
void timeline_paint(struct timeline_view *v, struct canvas *c, struct rect area);

/*
 * A trace of what a run's events say: step 1 is each rank's mean step as the parts that its rank events tell, whose order is
 * only schematic; then a step for each sampled operation, with its messages. False and *e: they say nothing of the kind.
 */
bool timeline_of_events(const struct run_model *m, struct trace_data *d, struct error *e);

#endif
