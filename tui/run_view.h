/*
 * run_view.h - what the parts of the run view share: the model, the axes with their memory, which pane is shown.
 *
 * run.c is the view (keys, polling); run_plots.c draws curves, run_train.c a training job, run_sim.c a simulated one, run_tables.c the other kinds,
 * run_parts.c the pieces both use.
 */
#ifndef RINGSIDE_TUI_RUN_VIEW_H
#define RINGSIDE_TUI_RUN_VIEW_H

#include "tui/axis.h"
#include "tui/canvas.h"
#include "tui/run_detail.h"
#include "tui/run_export.h"
#include "tui/run_model.h"
#include "tui/run_picker.h"
#include "tui/sample_view.h"

/* Tab goes round; PANE_ALL shows as many as there is room for, any other one is on its own. */
enum run_pane {
    PANE_ALL,
    PANE_LOSS,
    PANE_ACCURACY,
    PANE_SPEED,
    PANE_TIME,
    PANE_SCALING,
    PANE_RANKS,
    PANE_SAMPLES,
    PANE_NOTES,
    PANE_COUNT
};

/* A run's plots over its steps. */
enum run_curve { CURVE_LOSS, CURVE_ACCURACY, CURVE_SPEED };

/* Other runs that are laid over this one; with it they are as many as a plot has markers for. */
enum { RUN_OVERLAYS = 5, RUN_STEP_PLOTS = 4 };

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
    struct axis scale_x, scale_y;                     /* of the scaling plot */
    double polled;
    long second; /* that was drawn last */

    bool has_cursor, zoomed, refit;    /* refit: the y axes forget what they held */
    double cursor, from, to;           /* steps; from..to is shown where zoomed */
    struct rect plots[RUN_STEP_PLOTS]; /* where plots over the steps were drawn last, for the mouse */
    int plot_count;
    struct run_detail detail;
    struct run_model *overlays[RUN_OVERLAYS];
    int overlay_count;
    struct run_picker *picker;  /* while other runs are chosen; else NULL */
    struct run_export *export_; /* while one is written; else NULL */
    double share;               /* of what is read or written in slices */
};

/* What to draw the curves from: a part of the run that was read again where one looks closely. */
static inline const struct run_model *run_shown(const struct run_view *v)
{
    return v->zoomed ? run_detail_best(&v->detail, &v->m, v->from, v->to) : &v->m;
}

/* Shares of a step's time, wherever they are drawn: compute, exposed communication, data. */
struct run_part {
    const char *name;
    enum role role;
    uint32_t glyph;
    char ascii;
};
extern const struct run_part run_parts[3];

/* The log's last lines; drawn by the view when `l` was pressed. */
void run_draw_log(struct run_view *v, struct canvas *c, struct rect area);

void run_draw_train(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_allreduce(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_script(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_sim(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_checks(struct run_view *v, struct canvas *c, struct rect area);
void run_draw_cases(struct run_view *v, struct canvas *c, struct rect area);

/* --- plots over the steps (run_plots.c) ----------------------------------------------------------------------- */

void run_fit_steps(struct run_view *v);
void run_fit_axes(struct run_view *v);
void run_draw_curve(struct run_view *v, struct canvas *c, struct rect area, enum run_curve curve);
/* The same without a box; text: the run's own value at the cursor, else its latest ("": none). */
void run_plot_curve(struct run_view *v, struct canvas *c, struct rect inside, enum run_curve curve,
                    char *text, size_t size);
/* Where a step's time went, over the steps: shares one on the other. */
void run_draw_time(struct run_view *v, struct canvas *c, struct rect area);
/* Samples/s over ranks of this run and the overlaid ones, with the ideal line. */
void run_draw_scaling(struct run_view *v, struct canvas *c, struct rect area);
bool run_has_scaling(const struct run_view *v);
/* Says which line is which run, in the area's first row; returns the rest of it. */
struct rect run_draw_overlays(const struct run_view *v, struct canvas *c, struct rect area);
/* A figure at the right end of a box's top line. */
void run_draw_corner(struct canvas *c, struct rect box, enum role role, const char *text);
/* Shows `by` times as much (0.5: half) around the cursor, moves on by a share of what is shown, or moves the cursor. */
void run_zoom(struct run_view *v, double by);
void run_pan(struct run_view *v, double by);
void run_move_cursor(struct run_view *v, double by);
/* The mouse on a plot over the steps: a press puts the cursor there, the wheel zooms around it; false: on none. */
bool run_click(struct run_view *v, int row, int col, double zoom);

/* --- other runs, and work in slices (run_others.c) ------------------------------------------------------------- */

struct app;
/* Opens the list of runs, or closes it; lays those that are marked in it over the plots, and closes it. */
void run_choose_overlays(struct run_view *v, struct app *app);
void run_take_overlays(struct run_view *v, struct app *app);
void run_drop_overlays(struct run_view *v);
/* Opens the view that compares on this run and those that are marked or overlaid. */
void run_compare(struct run_view *v, struct app *app);
void run_begin_export(struct run_view *v, struct app *app, enum export_format format);
/* Reads and writes what takes longer than a tick; true where it wants to be called again at once. */
bool run_work(struct run_view *v, struct app *app, bool *changed);

/* --- parts ---------------------------------------------------------------------------------------------------- */

/* Where the run's link was slowed on purpose, says so in the area's first row; returns the rest of it. */
struct rect run_draw_slowed(const struct run_model *m, struct canvas *c, struct rect area);
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
