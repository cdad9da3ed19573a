/*
 * run_view.h - what the parts of the run view share: the model, the axes with their memory, which pane is shown.
 *
 * run.c is the view (keys, polling); run_train.c draws a training job, run_sim.c a simulated one, run_tables.c the other kinds,
 * run_parts.c the pieces both use.
 */
#ifndef RINGSIDE_TUI_RUN_VIEW_H
#define RINGSIDE_TUI_RUN_VIEW_H

#include "tui/axis.h"
#include "tui/canvas.h"
#include "tui/run_model.h"
#include "tui/sample_view.h"

/* Tab goes round; PANE_ALL shows as many as there is room for. */
enum run_pane {
    PANE_ALL,
    PANE_LOSS,
    PANE_ACCURACY,
    PANE_SPEED,
    PANE_RANKS,
    PANE_SAMPLES,
    PANE_NOTES,
    PANE_COUNT
};

/* Plots of a script that are drawn side by side; more share the last one. */
enum { RUN_PLOTS = 3 };

struct run_view {
    struct run_model m;
    enum run_pane pane;
    bool log;       /* the log's tail instead of everything */
    bool log_scale; /* the loss on a logarithmic axis */
    int selected;   /* of the runs a script has started */
    int scroll;     /* of lists */
    struct sample_choice sample;
    double now; /* seconds since the epoch, of the last tick */
    struct axis steps, loss, accuracy, speed, xs, ys;
    struct axis plot_x[RUN_PLOTS], plot_y[RUN_PLOTS]; /* of a script's plots */
    double polled;
    long second; /* that was drawn last */
};

/* The log's last lines; drawn by the view when `l` was pressed. */
void run_draw_log(struct run_view *v, struct canvas *c, struct rect area);

void run_draw_train(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_allreduce(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_script(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_sim(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_checks(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_cases(struct run_view *v, struct canvas *c, struct rect area);

/* --- parts ---------------------------------------------------------------------------------------------------- */

/* Where the run's link was slowed on purpose, says so in the area's first row; returns the rest of it. */
struct rect run_draw_slowed(const struct run_model *m, struct canvas *c, struct rect area);
/* Samples/s by step, with the axes fitted (run_train.c). */
void run_draw_speed(struct run_view *v, struct canvas *c, struct rect area);
/* Where something other than plain running must be said, says it; returns the rows used. */
int run_draw_state(const struct run_view *v, struct canvas *c, struct rect area);
void run_draw_notes(const struct run_view *v, struct canvas *c, struct rect area);
void run_draw_ranks(const struct run_view *v, struct canvas *c, struct rect area);
void run_draw_children(const struct run_view *v, struct canvas *c, struct rect area);
/* One check: glyph, name, and what was measured, is accepted, comes next; returns the rows used. */
int check_draw(struct canvas *c, struct rect area, const struct run_check *check);
/* All of them but the first `skip`; returns the number of the first that found no room (count: none). */
int checks_draw(struct canvas *c, struct rect area, const struct run_check *checks, int count, int skip);
/* Rows that checks_draw would use for all of them. */
int checks_rows(const struct run_check *checks, int count, int cols);
enum role check_role(enum check_result result);
const char *check_glyph(enum check_result result, bool utf8);

#endif
