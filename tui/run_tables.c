/*
 * run_tables.c - runs that are not a training job: collectives, a script's plots, checks, rank-script cases.
 */
#include "tui/plot.h"
#include "tui/run_view.h"
#include "tui/summary.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void boxed_notes(const struct run_view *v, struct canvas *c, struct rect area)
{
    run_draw_notes(v, c, rect_inset(canvas_box(c, area, _("Notes"), ROLE_BORDER), 0, 1));
}

/* --- allreduce -------------------------------------------------------------------------------------------- */

/* Collectives by algorithm, as series of busbw over size. */
struct bandwidth {
    int count;
    const char *names[PLOT_MAX_SERIES];
    struct run_series xy[PLOT_MAX_SERIES];
};

static void bandwidth_of(const struct run_model *m, struct bandwidth *b)
{
    *b = (struct bandwidth){0};
    for (int i = 0; i < m->collective_count; i++) {
        const struct run_collective *k = &m->collectives[i];
        int at = 0;
        while (at < b->count && strcmp(b->names[at], k->algo) != 0)
            at++;
        if (at == PLOT_MAX_SERIES)
            continue;
        b->names[at] = k->algo;
        if (at == b->count)
            b->count++;
        run_series_add(&b->xy[at], k->bytes, k->busbw_bytes_per_s);
    }
}

static void draw_bandwidth(struct run_view *v, struct canvas *c, struct rect area)
{
    struct bandwidth b;
    struct plot_series s[PLOT_MAX_SERIES];
    bandwidth_of(&v->m, &b);
    v->xs.unit = AXIS_BYTES;
    v->xs.log = true;
    v->ys.unit = AXIS_RATE;
    v->ys.zero = true;
    double lo = NAN, hi = NAN, top = NAN;
    for (int i = 0; i < b.count; i++) {
        double a, z;
        s[i] = (struct plot_series){
            .name = b.names[i], .x = b.xy[i].x, .y = b.xy[i].y, .count = b.xy[i].count, .points = true};
        for (int k = 0; k < b.xy[i].count; k++) {
            lo = fmin(lo, b.xy[i].x[k]);
            hi = fmax(hi, b.xy[i].x[k]);
        }
        if (run_series_range(&b.xy[i], &a, &z))
            top = fmax(top, z);
    }
    if (v->m.have_job)
        for (int i = 0; i < v->m.job.allreduce.sizes; i++) {
            lo = fmin(lo, (double)v->m.job.allreduce.bytes[i]);
            hi = fmax(hi, (double)v->m.job.allreduce.bytes[i]);
        }
    axis_fit(&v->xs, isfinite(lo) ? lo : 1024, isfinite(hi) ? hi : 1 << 20);
    axis_fit(&v->ys, 0, isfinite(top) ? top : 1e9);
    struct plot p = {.series = s,
                     .count = b.count,
                     .x = &v->xs,
                     .y = &v->ys,
                     .x_label = _("size"),
                     .empty = _("nothing measured yet")};
    plot_draw(c, canvas_box(c, area, _("Bus bandwidth over size of the vector"), ROLE_BORDER), &p);
    for (int i = 0; i < b.count; i++)
        run_series_free(&b.xy[i]);
}

static void text_right(struct canvas *c, int row, int end, enum role role, const char *text)
{
    int columns = text_columns(text);
    canvas_text(c, row, end - columns, columns, role, 0, text);
}

static void draw_collectives(const struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    struct rect in = rect_inset(canvas_box(c, area, _("Collectives"), ROLE_BORDER), 0, 1);
    static const struct {
        const char *name;
        int end; /* numbers stand to the right, at this column */
    } COLUMNS[] = {
        {N_("size"), 22}, {N_("ranks"), 28}, {N_("time"), 40}, {N_("busbw"), 52}, {N_("error"), 64}};
    canvas_text(c, in.row, in.col, in.cols, ROLE_MUTED, 0, _("algorithm"));
    for (size_t k = 0; k < sizeof COLUMNS / sizeof *COLUMNS; k++)
        text_right(c, in.row, in.col + COLUMNS[k].end, ROLE_MUTED, _(COLUMNS[k].name));
    int room = in.rows - 1, first = m->collective_count > room ? m->collective_count - room : 0;
    first = first > v->scroll ? first - v->scroll : 0;
    for (int i = first; i < m->collective_count && i - first < room; i++) {
        const struct run_collective *k = &m->collectives[i];
        char size[24], time[24], rate[24], error[24], ranks[16];
        snprintf(error, sizeof error, "%s", _("unchecked"));
        format_bytes(k->bytes, size, sizeof size);
        format_seconds(k->time_s, time, sizeof time);
        format_rate(k->busbw_bytes_per_s, rate, sizeof rate);
        if (isfinite(k->error))
            snprintf(error, sizeof error, "%.1e", k->error);
        snprintf(ranks, sizeof ranks, "%d", k->ranks);
        const char *cells[] = {size, ranks, time, rate, error};
        canvas_text(c, in.row + 1 + i - first, in.col, 12, ROLE_TEXT, ATTR_BOLD, k->algo);
        for (size_t j = 0; j < sizeof COLUMNS / sizeof *COLUMNS; j++)
            text_right(c, in.row + 1 + i - first, in.col + COLUMNS[j].end, ROLE_TEXT, cells[j]);
    }
}

void run_draw_allreduce(struct run_view *v, struct canvas *c, struct rect area)
{
    int used = run_draw_state(v, c, area);
    rect_cut_rows(&area, used);
    if (v->pane == PANE_NOTES) {
        boxed_notes(v, c, area);
        return;
    }
    bool small = area.rows < 16 || area.cols < 60;
    if (v->pane == PANE_LOSS || (small && v->pane == PANE_ALL)) {
        draw_bandwidth(v, c, area);
        return;
    }
    if (v->pane != PANE_ALL) {
        draw_collectives(v, c, area);
        return;
    }
    if (v->m.note_count)
        boxed_notes(v, c, rect_cut_rows(&area, area.rows > 30 ? -6 : -3));
    int table = v->m.collective_count + 3;
    table = table > area.rows / 2 ? area.rows / 2 : table < 6 ? 6 : table;
    struct rect below = rect_cut_rows(&area, -table);
    draw_bandwidth(v, c, area);
    draw_collectives(v, c, below);
}

/* --- a script's points ------------------------------------------------------------------------------------ */

/* Whether values span so much that a logarithmic axis serves better (batch 8, 32, 128, 512). */
static bool wide_spread(double lo, double hi)
{
    return lo > 0 && hi / lo >= 30;
}

/* Answers given before measuring are listed among the notes. */
static bool only_said(const struct run_points *p)
{
    return !strcmp(p->name, "predicted") && !p->x_label[0];
}

/* Which plot series i belongs to: one plot for each title, in the order in which they came. */
static int plot_of(const struct run_model *m, int i)
{
    int plot = 0;
    for (int k = 0; k < i && strcmp(m->points[k].title, m->points[i].title) != 0; k++) {
        int before = 0; /* whether k opens a plot */
        while (before < k &&
               (only_said(&m->points[before]) || strcmp(m->points[before].title, m->points[k].title) != 0))
            before++;
        plot += before == k && !only_said(&m->points[k]);
    }
    return plot < RUN_PLOTS ? plot : RUN_PLOTS - 1;
}

static void draw_plot(struct run_view *v, struct canvas *c, struct rect area, int plot)
{
    const struct run_model *m = &v->m;
    struct axis *xs = &v->plot_x[plot], *ys = &v->plot_y[plot];
    struct plot_series s[PLOT_MAX_SERIES];
    int count = 0;
    double x0 = NAN, x1 = NAN, y0 = NAN, y1 = NAN;
    const struct run_points *named = NULL;
    for (int i = 0; i < m->points_count && count < PLOT_MAX_SERIES; i++) {
        const struct run_points *p = &m->points[i];
        if (only_said(p) || plot_of(m, i) != plot)
            continue;
        s[count++] = (struct plot_series){
            .name = p->name, .x = p->xy.x, .y = p->xy.y, .count = p->xy.count, .points = true};
        named = named && named->title[0] ? named : p;
        for (int k = 0; k < p->xy.count; k++) {
            x0 = fmin(x0, p->xy.x[k]);
            x1 = fmax(x1, p->xy.x[k]);
            y0 = fmin(y0, p->xy.y[k]);
            y1 = fmax(y1, p->xy.y[k]);
        }
    }
    if (xs->log != wide_spread(x0, x1))
        *xs = (struct axis){.log = wide_spread(x0, x1), .twos = x1 / x0 < 5000};
    bool tall =
        m->have_job && m->job.kind == JOB_BENCH && wide_spread(y0, y1); /* a roof is straight in logarithms */
    if (ys->log != tall)
        *ys = (struct axis){.log = tall};
    if (isfinite(x0))
        axis_fit(xs, x0, x1);
    if (isfinite(y0))
        axis_fit(ys, y0, y1);
    xs->unit = named && !strcmp(named->x_label, "bytes") ? AXIS_BYTES : AXIS_NUMBER;
    char title[192];
    snprintf(title, sizeof title, "%s", _("Points"));
    if (named && named->title[0])
        snprintf(title, sizeof title, "%s%s%s", named->title, named->y_label[0] ? ": " : "", named->y_label);
    else if (named && named->y_label[0])
        snprintf(title, sizeof title, "%s", named->y_label);
    struct plot p = {.series = s,
                     .count = count,
                     .x = xs,
                     .y = ys,
                     .x_label = named && named->x_label[0] ? named->x_label : NULL,
                     .empty = _("nothing plotted yet")};
    plot_draw(c, canvas_box(c, area, title, ROLE_BORDER), &p);
}

/* Side by side where there is room for it; else one above the other. */
static void draw_points(struct run_view *v, struct canvas *c, struct rect area)
{
    int plots = 1;
    for (int i = 0; i < v->m.points_count; i++)
        if (!only_said(&v->m.points[i]) && plot_of(&v->m, i) >= plots)
            plots = plot_of(&v->m, i) + 1;
    bool beside = area.cols / plots >= 40 || area.rows / plots < 6;
    for (int plot = 0; plot < plots; plot++) {
        struct rect part = plot == plots - 1 ? area
                           : beside          ? rect_cut_cols(&area, area.cols / (plots - plot))
                                             : rect_cut_rows(&area, area.rows / (plots - plot));
        draw_plot(v, c, part, plot);
    }
}

static bool has_points(const struct run_model *m)
{
    for (int i = 0; i < m->points_count; i++)
        if (!only_said(&m->points[i]))
            return true;
    return false;
}

static void boxed_children(const struct run_view *v, struct canvas *c, struct rect area)
{
    run_draw_children(v, c,
                      rect_inset(canvas_box(c, area, _("Runs it started (Enter opens)"), ROLE_BORDER), 0, 1));
}

void run_draw_script(struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    int used = run_draw_state(v, c, area);
    rect_cut_rows(&area, used);
    bool small = area.rows < 14;
    if (m->layer_count && v->pane != PANE_NOTES) {
        summary_draw(c, rect_inset(canvas_box(c, area, _("Layers"), ROLE_BORDER), 0, 1), m, v->scroll);
        return;
    }
    if (v->pane == PANE_LOSS && has_points(m)) {
        draw_points(v, c, area);
        return;
    }
    if (v->pane == PANE_NOTES || (small && !has_points(m) && !m->child_count)) {
        boxed_notes(v, c, area);
        return;
    }
    if (small) {
        if (has_points(m))
            draw_points(v, c, area);
        else
            boxed_children(v, c, area);
        return;
    }
    int children = m->child_count ? m->child_count + 2 : 0;
    children = children > area.rows / 3 ? area.rows / 3 : children;
    if (children)
        boxed_children(v, c, rect_cut_rows(&area, -children));
    if (has_points(m))
        boxed_notes(v, c, rect_cut_rows(&area, -area.rows / 3));
    if (has_points(m))
        draw_points(v, c, area);
    else
        boxed_notes(v, c, area);
}

/* --- checks and cases ------------------------------------------------------------------------------------- */

void run_draw_checks(struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    int used = run_draw_state(v, c, area);
    rect_cut_rows(&area, used);
    int children = area.rows >= 14 && m->child_count ? m->child_count + 2 : 0;
    children = children > area.rows / 3 ? area.rows / 3 : children;
    if (children)
        boxed_children(v, c, rect_cut_rows(&area, -children));
    if (m->note_count && area.rows >= 14)
        boxed_notes(v, c, rect_cut_rows(&area, -5));
    char title[96];
    if (m->have_job)
        snprintf(title, sizeof title, _("Checks of %s"), m->job.script.exercise);
    else
        snprintf(title, sizeof title, "%s", _("Checks of an exercise"));
    struct rect in = rect_inset(canvas_box(c, area, title, ROLE_BORDER), 0, 1);
    if (!m->check_count)
        canvas_text(c, in.row, in.col, in.cols, ROLE_MUTED, 0,
                    run_model_ended(m) ? _("No check has answered.") : _("Checking ..."));
    checks_draw(c, in, m->checks, m->check_count, v->scroll < m->check_count ? v->scroll : 0);
}

void run_draw_cases(struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    int used = run_draw_state(v, c, area);
    rect_cut_rows(&area, used);
    canvas_text(c, area.row, area.col + 1, area.cols - 2, ROLE_ACCENT, 0,
                m->op_count ? _("Press r to watch the messages on the ring, hop by hop.")
                            : _("The messages can be watched on the ring (r) once some have been recorded."));
    rect_cut_rows(&area, 1);
    if (m->note_count && area.rows >= 12)
        boxed_notes(v, c, rect_cut_rows(&area, -area.rows / 3));
    const char *title = !strcmp(m->mode, "coroutines")
                            ? _("Cases of your function, ranks as coroutines in one process")
                            : _("Cases of your function, a process for each rank");
    struct rect in = rect_inset(canvas_box(c, area, title, ROLE_BORDER), 0, 1);
    canvas_format(c, in.row, in.col, in.cols, ROLE_MUTED, 0, "  %5s %9s  %s", _("ranks"), _("elements"),
                  _("result"));
    int row = 1, skip = m->case_count > in.rows - 1 ? m->case_count - (in.rows - 1) : 0;
    skip = skip > v->scroll ? skip - v->scroll : 0;
    for (int i = skip; i < m->case_count && row < in.rows; i++, row++) {
        const struct run_case *k = &m->cases[i];
        enum check_result result = k->ok ? CHECK_PASS : CHECK_FAIL;
        canvas_text(c, in.row + row, in.col, 1, check_role(result), ATTR_BOLD, check_glyph(result, c->utf8));
        canvas_format(c, in.row + row, in.col + 2, in.cols - 2, ROLE_TEXT, 0, "%5d %9ld  ", k->ranks,
                      k->length);
        canvas_text(c, in.row + row, in.col + 19, in.cols - 19, check_role(result), 0,
                    k->ok ? _("right sum") : k->error);
    }
}
