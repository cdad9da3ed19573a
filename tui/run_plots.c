/*
 * run_plots.c - a run's curves over its steps, with those of other runs laid over them, a cursor and a part to look at.
 */
#include "tui/axis.h"
#include "tui/compare.h"
#include "tui/compare_plot.h"
#include "tui/plot.h"
#include "tui/run_view.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What is drawn of a model in a plot of each kind. */
static const struct run_series *curve_of(const struct run_model *m, enum run_curve curve)
{
    switch (curve) {
    case CURVE_ACCURACY: return &m->eval_accuracy;
    case CURVE_SPEED: return &m->speed;
    case CURVE_LOSS: break;
    }
    return &m->loss;
}

static void value_text(enum run_curve curve, double value, char *text, size_t size)
{
    if (curve == CURVE_LOSS)
        format_loss(value, text, size);
    else if (!isfinite(value))
        snprintf(text, size, "-");
    else if (curve == CURVE_ACCURACY)
        snprintf(text, size, "%.2f %%", 100 * value);
    else
        snprintf(text, size, "%.0f", value);
}

/* --- the part that is shown, and the cursor ------------------------------------------------------------------------- */

/* Of all the runs that are shown. */
static void all_steps(const struct run_view *v, double *last, double *filling)
{
    *last = v->m.total_steps > 0 ? fmax((double)v->m.total_steps, (double)v->m.step) : 0;
    *filling = v->m.step > 0 ? (double)v->m.step : 1;
    for (int i = 0; i < v->overlay_count; i++) {
        const struct run_model *m = v->overlays[i];
        *filling = fmax(*filling, (double)m->step);
        if (*last > 0)
            *last = fmax(*last, fmax((double)m->total_steps, (double)m->step));
    }
}

void run_fit_steps(struct run_view *v)
{
    double last, filling;
    v->steps.unit = AXIS_NUMBER;
    if (v->zoomed) {
        v->steps.lo = v->from;
        v->steps.hi = v->to;
        return;
    }
    all_steps(v, &last, &filling);
    if (last > 0) {
        v->steps.lo = 0;
        v->steps.hi = last;
    } else {
        if (v->steps.lo != 0)
            v->steps = (struct axis){.unit = AXIS_NUMBER};
        axis_fit_filling(&v->steps, 64, filling);
    }
}

void run_zoom(struct run_view *v, double by)
{
    double last, filling;
    all_steps(v, &last, &filling);
    double whole = last > 0 ? last : fmax(filling, 64), least = fmin(8, whole);
    run_fit_steps(v);
    double from = v->steps.lo, to = v->steps.hi, width = (to - from) * by;
    double at = v->has_cursor ? v->cursor : to < whole ? (from + to) / 2 : (double)v->m.step;
    at = fmin(fmax(at, from), to);
    width = fmax(width, least);
    if (width >= whole) {
        v->zoomed = false;
    } else {
        v->zoomed = true;
        v->from = at - width * (at - from) / (to - from);
        v->from = fmin(fmax(v->from, 0), whole - width);
        v->to = v->from + width;
    }
    v->refit = true;
}

void run_pan(struct run_view *v, double by)
{
    double last, filling;
    if (!v->zoomed)
        return;
    all_steps(v, &last, &filling);
    double whole = last > 0 ? last : fmax(filling, 64), width = v->to - v->from;
    v->from = fmin(fmax(v->from + by * width, 0), fmax(whole - width, 0));
    v->to = v->from + width;
    v->refit = true;
}

void run_move_cursor(struct run_view *v, double by)
{
    run_fit_steps(v);
    double width = v->steps.hi - v->steps.lo, step = fmax(1, round(width * fabs(by)));
    double newest = v->m.step > 0 ? (double)v->m.step : 0;
    if (!v->has_cursor)
        v->cursor = fmin(newest, v->steps.hi);
    else
        v->cursor += by > 0 ? step : -step;
    v->has_cursor = true;
    v->cursor = fmin(fmax(round(v->cursor), v->m.first_step > 0 ? (double)v->m.first_step : 0), newest);
    /* The part that is shown follows. */
    if (v->zoomed && v->cursor < v->from)
        run_pan(v, (v->cursor - v->from) / (v->to - v->from));
    else if (v->zoomed && v->cursor > v->to)
        run_pan(v, (v->cursor - v->to) / (v->to - v->from));
}

static void note_plot(struct run_view *v, struct rect inside)
{
    if (v->plot_count < RUN_STEP_PLOTS && inside.cols > 1)
        v->plots[v->plot_count++] = inside;
}

bool run_click(struct run_view *v, int row, int col, double zoom)
{
    for (int i = 0; i < v->plot_count; i++) {
        struct rect r = v->plots[i];
        if (row < r.row || row >= r.row + r.rows || col < r.col || col >= r.col + r.cols)
            continue;
        v->cursor = v->steps.lo + (v->steps.hi - v->steps.lo) * (col - r.col) / (r.cols - 1);
        v->cursor = fmin(round(v->cursor), fmax((double)v->m.step, 0));
        v->has_cursor = true;
        if (zoom > 0)
            run_zoom(v, zoom);
        return true;
    }
    return false;
}

/* The value at the cursor: of the sample nearest to it, whose step is *x. NaN: the curve does not reach there. */
static double at_cursor(const struct run_view *v, enum run_curve curve, const struct run_series *s, double *x)
{
    int i = run_series_nearest(s, v->cursor);
    if (i < 0)
        return NAN;
    /* As far as its neighbour is, but not beyond the curve's ends; evaluations stand for all steps around them. */
    double reach = fmax((double)s->stride, 0.01 * (v->steps.hi - v->steps.lo));
    if (i > 0)
        reach = fmax(reach, s->x[i] - s->x[i - 1]);
    *x = s->x[i];
    return curve == CURVE_ACCURACY || fabs(s->x[i] - v->cursor) <= reach ? s->y[i] : NAN;
}

/* --- axes ----------------------------------------------------------------------------------------------------------- */

/* Widens lo..hi by a curve's values where it is shown; true where there are any. */
static bool widen(const struct run_view *v, const struct run_series *s, double *lo, double *hi)
{
    double a, b;
    bool all = !v->zoomed || s == &v->m.eval_accuracy; /* accuracies are few: their axis stays */
    bool any = !all ? run_series_range_within(s, v->from, v->to, &a, &b) : run_series_range(s, &a, &b);
    if (!any)
        return false;
    *lo = fmin(*lo, a);
    *hi = fmax(*hi, b);
    return true;
}

static bool range_of(const struct run_view *v, enum run_curve curve, double *lo, double *hi)
{
    *lo = INFINITY;
    *hi = -INFINITY;
    bool any = widen(v, curve_of(run_shown(v), curve), lo, hi);
    if (curve == CURVE_LOSS && v->m.loss_g.count) {
        *lo = INFINITY, *hi = -INFINITY; /* the two losses, not their sum */
        any = widen(v, &v->m.loss_g, lo, hi) | widen(v, &v->m.loss_d, lo, hi);
    }
    for (int i = 0; i < v->overlay_count; i++)
        any |= widen(v, curve_of(v->overlays[i], curve), lo, hi);
    return any;
}

void run_fit_axes(struct run_view *v)
{
    double lo, hi;
    run_fit_steps(v);
    if (v->loss.log != v->log_scale || v->refit) {
        v->loss = (struct axis){.log = v->log_scale};
        v->speed = v->accuracy = (struct axis){0};
    }
    v->refit = false;
    v->loss.zero = !v->log_scale && !v->zoomed;
    if (range_of(v, CURVE_LOSS, &lo, &hi))
        axis_fit(&v->loss, lo, hi);
    else if (!(v->loss.hi > v->loss.lo))
        axis_fit(&v->loss, 0.1, 2.5);
    v->accuracy.unit = AXIS_PERCENT;
    v->accuracy.lo_limit = 0;
    v->accuracy.hi_limit = 1;
    /* The range holds 100 %, so that the distance to it can be seen. */
    if (v->m.d_real.count)
        axis_fit(&v->accuracy, 0, 1);
    else if (range_of(v, CURVE_ACCURACY, &lo, &hi))
        axis_fit(&v->accuracy, lo - 0.01, 1);
    else if (!(v->accuracy.hi > v->accuracy.lo))
        axis_fit(&v->accuracy, 0, 1);
    v->speed.zero = !v->zoomed;
    if (range_of(v, CURVE_SPEED, &lo, &hi))
        axis_fit(&v->speed, v->zoomed ? lo : 0, hi);
    else if (!(v->speed.hi > 0))
        axis_fit(&v->speed, 0, 1000);
}

/* --- drawing -------------------------------------------------------------------------------------------------------- */

/* A figure in a box's top line, at its right end. Not bold: it changes often, and a change of weight costs bytes. */
void run_draw_corner(struct canvas *c, struct rect box, enum role role, const char *text)
{
    int columns = text_columns(text);
    if (box.cols > columns + 14)
        canvas_text(c, box.row, box.col + box.cols - columns - 3, columns, role, 0, text);
}

static struct plot_series line_of(const char *name, const struct run_series *s)
{
    return (struct plot_series){
        .name = name, .x = s->x, .y = s->y, .lo = s->lo, .hi = s->hi, .count = s->count};
}

static void plot_curves(struct run_view *v, struct canvas *c, struct rect inside, const struct axis *y,
                        const struct plot_series *series, int count, const char *empty)
{
    const struct plot p = {.series = series,
                           .count = count,
                           .x = &v->steps,
                           .y = y,
                           .x_label = _("step"),
                           .empty = empty,
                           .cursor = v->has_cursor ? &v->cursor : NULL};
    plot_draw(c, inside, &p);
    note_plot(v, plot_inside(inside, &p));
}

/* Of a gan: the two losses, or what the discriminator takes for real, as two lines. */
static void draw_pair(struct run_view *v, struct canvas *c, struct rect inside, enum run_curve curve,
                      const char *const names[2], const struct run_series *const pair[2])
{
    char text[2][64], value[24];
    double step;
    struct plot_series lines[2];
    for (int i = 0; i < 2; i++) {
        value_text(curve, at_cursor(v, CURVE_LOSS, pair[i], &step), value, sizeof value);
        if (v->has_cursor)
            snprintf(text[i], sizeof text[i], "%s %s", names[i], value);
        else
            snprintf(text[i], sizeof text[i], "%s", names[i]);
        lines[i] = line_of(text[i], pair[i]);
    }
    plot_curves(v, c, inside, curve == CURVE_LOSS ? &v->loss : &v->accuracy, lines, 2, _("no step yet"));
}

/* Draws the lines, the values at the cursor beside them where there are several; text: the run's own value. */
static void draw_lines(struct run_view *v, struct canvas *c, struct rect inside, enum run_curve curve,
                       char *text, size_t size)
{
    struct plot_series series[PLOT_MAX_SERIES];
    const struct run_series *own = curve_of(&v->m, curve);
    char values[PLOT_MAX_SERIES][24];
    double step = v->cursor;
    int count = 0;
    for (int i = -1; i < v->overlay_count && count < PLOT_MAX_SERIES; i++, count++) {
        /* Accuracies are few, and the run's own; curves may be a part that was read again. */
        const struct run_model *of = i >= 0 ? v->overlays[i] : curve == CURVE_ACCURACY ? &v->m : run_shown(v);
        const struct run_series *s = curve_of(of, curve);
        double x = v->cursor;
        value_text(curve, at_cursor(v, curve, s, &x), values[count], sizeof values[count]);
        if (i < 0 && curve == CURVE_ACCURACY) /* evaluations are far between: say which one */
            step = x;
        series[count] = line_of(v->has_cursor && v->overlay_count ? values[count] : NULL, s);
        series[count].points = curve == CURVE_ACCURACY;
        series[count].fill = curve != CURVE_ACCURACY && !v->overlay_count;
    }
    const struct axis *y = curve == CURVE_LOSS       ? &v->loss
                           : curve == CURVE_ACCURACY ? &v->accuracy
                                                     : &v->speed;
    plot_curves(v, c, inside, y, series, count,
                curve == CURVE_ACCURACY ? _("after each epoch") : _("no step yet"));
    *text = '\0';
    if (!own->count)
        return;
    if (!v->has_cursor)
        value_text(curve, curve == CURVE_LOSS ? v->m.last_loss : own->y_last, values[0], sizeof values[0]);
    if (v->has_cursor && v->overlay_count)
        snprintf(text, size, _(" step %.0f "), step);
    else if (v->has_cursor)
        snprintf(text, size, _(" step %.0f: %s "), step, values[0]);
    else
        snprintf(text, size, " %s ", values[0]);
}

static const char *title_of(const struct run_view *v, enum run_curve curve)
{
    bool pair =
        curve == CURVE_LOSS ? v->m.loss_g.count > 0 : curve == CURVE_ACCURACY && v->m.d_real.count > 0;
    switch (curve) {
    case CURVE_LOSS:
        if (pair)
            return v->log_scale ? _("The two losses (log)") : _("The two losses");
        return v->log_scale ? _("Training loss (log)") : _("Training loss");
    case CURVE_ACCURACY: return pair ? _("Discriminator: taken for real") : _("Test accuracy");
    case CURVE_SPEED: break;
    }
    return _("Samples/s, all ranks");
}

void run_plot_curve(struct run_view *v, struct canvas *c, struct rect inside, enum run_curve curve,
                    char *text, size_t size)
{
    const struct run_model *shown = run_shown(v);
    *text = '\0';
    if (curve == CURVE_LOSS && v->m.loss_g.count)
        draw_pair(v, c, inside, curve, (const char *const[]){_("discriminator"), _("generator")},
                  (const struct run_series *const[]){&shown->loss_d, &shown->loss_g});
    else if (curve == CURVE_ACCURACY && v->m.d_real.count)
        draw_pair(v, c, inside, curve, (const char *const[]){_("real"), _("generated")},
                  (const struct run_series *const[]){&shown->d_real, &shown->d_fake});
    else
        draw_lines(v, c, inside, curve, text, size);
}

void run_draw_curve(struct run_view *v, struct canvas *c, struct rect area, enum run_curve curve)
{
    char text[64];
    const char *title = title_of(v, curve);
    run_plot_curve(v, c, canvas_box(c, area, title, ROLE_BORDER), curve, text, sizeof text);
    const char *shown = text, *value = strstr(text, ": ");
    if (value && area.cols < text_columns(text) + text_columns(title) + 8)
        shown = value + 1; /* no room to say of which step it is */
    if (*text)
        run_draw_corner(c, area, curve == CURVE_ACCURACY ? ROLE_GOOD : plot_role(0), shown);
}

/* What the lines are: "● this run ▲ cnn-mnist (simulated)", in a row of its own where there are several. */
struct rect run_draw_overlays(const struct run_view *v, struct canvas *c, struct rect area)
{
    if (!v->overlay_count || area.rows < 8)
        return area;
    struct rect row = rect_cut_rows(&area, 1);
    int col = row.col + 1, end = row.col + row.cols - 1;
    for (int i = -1; i < v->overlay_count && col + 4 < end; i++) {
        char text[320];
        if (i < 0)
            snprintf(text, sizeof text, _("this run (%s)"), _(run_origin_word(&v->m)));
        else
            snprintf(text, sizeof text, "%s (%s)", v->overlays[i]->id, _(run_origin_word(v->overlays[i])));
        canvas_put(c, row.row, col, plot_marker(i + 1, c->utf8), plot_role(i + 1), ATTR_BOLD);
        col += 2 + canvas_text(c, row.row, col + 2, end - col - 2, plot_role(i + 1), 0, text) + 2;
    }
    return area;
}

/* --- where the time goes, over the steps ---------------------------------------------------------------------------- */

/* Sums of the three times over the steps of each column of cells. */
struct column {
    double part[3];
    int count;
};

static void sum_columns(const struct run_view *v, const struct run_model *m, struct column *columns,
                        int count)
{
    const struct run_series *parts[] = {&m->compute, &m->exposed, &m->data};
    for (int i = 0; i < m->compute.count && i < m->exposed.count && i < m->data.count; i++) {
        double place = axis_place(&v->steps, m->compute.x[i]);
        if (!(place >= 0 && place <= 1))
            continue;
        struct column *to = &columns[(int)lround(place * (count - 1))];
        for (int p = 0; p < 3; p++)
            to->part[p] += fmax(parts[p]->y[i], 0);
        to->count++;
    }
}

static void draw_column(struct canvas *c, struct rect inside, int at, const struct column *k, int attributes)
{
    double whole = k->part[0] + k->part[1] + k->part[2], before = 0;
    int from = 0;
    for (int p = 0; p < 3 && whole > 0; p++) {
        before += k->part[p];
        int to = (int)lround(before / whole * inside.rows);
        for (; from < to; from++)
            canvas_put(c, inside.row + inside.rows - 1 - from, inside.col + at,
                       c->utf8 ? run_parts[p].glyph : (uint32_t)run_parts[p].ascii, run_parts[p].role,
                       attributes);
    }
}

/* What the glyphs mean, and the times at the cursor, else the latest ones. */
static void draw_time_key(const struct run_view *v, struct canvas *c, struct rect key,
                          const struct run_model *m)
{
    const struct run_series *parts[] = {&m->compute, &m->exposed, &m->data};
    const double latest[] = {v->m.compute_s,
                             isfinite(v->m.exposed_comm_s) ? v->m.exposed_comm_s : v->m.comm_s, v->m.data_s};
    double value[3], whole = 0, step;
    for (int i = 0; i < 3; i++) {
        value[i] = v->has_cursor ? at_cursor(v, CURVE_SPEED, parts[i], &step) : latest[i];
        value[i] = isfinite(value[i]) ? value[i] : 0;
        whole += value[i];
    }
    int col = key.col + 1;
    for (int i = 0; i < 3 && whole > 0; i++) {
        const struct run_part *part = &run_parts[i];
        char time[24], text[80];
        format_seconds(value[i], time, sizeof time);
        if (key.cols < 60)
            snprintf(text, sizeof text, "%s %.0f%%", i == 1 ? _("comm") : _(part->name),
                     100 * value[i] / whole);
        else
            snprintf(text, sizeof text, "%s %s, %.0f %%", _(part->name), time, 100 * value[i] / whole);
        canvas_put(c, key.row, col, c->utf8 ? part->glyph : (uint32_t)part->ascii, part->role, 0);
        col += 4 + canvas_text(c, key.row, col + 2, key.col + key.cols - col - 2, ROLE_TEXT, 0, text);
    }
}

void run_draw_time(struct run_view *v, struct canvas *c, struct rect area)
{
    enum { MOST = 512 };
    struct column columns[MOST] = {0};
    struct axis shares = {.lo = 0, .hi = 1, .unit = AXIS_PERCENT};
    struct rect in = canvas_box(c, area, _("Where a step's time goes"), ROLE_BORDER),
                key = rect_cut_rows(&in, 1);
    struct plot p = {.x = &v->steps, .y = &shares, .x_label = _("step"), .empty = NULL};
    run_fit_steps(v);
    plot_draw(c, in, &p);
    struct rect inside = plot_inside(in, &p);
    int count = inside.cols < MOST ? inside.cols : MOST;
    if (count < 2 || inside.rows < 1)
        return;
    note_plot(v, inside);
    const struct run_model *m = run_shown(v);
    sum_columns(v, m, columns, count);
    int cursor = v->has_cursor ? (int)lround(axis_place(&v->steps, v->cursor) * (count - 1)) : -1, last = -1;
    /* A gap between two steps shows what came before it, up to the newest step. */
    double end = fmin(axis_place(&v->steps, (double)v->m.step) * (count - 1) + 0.5, count - 1);
    for (int i = 0; i <= (int)end; i++) {
        last = columns[i].count ? i : last;
        if (last >= 0)
            draw_column(c, inside, i, &columns[last], i == cursor ? ATTR_REVERSE : 0);
    }
    draw_time_key(v, c, key, m);
    if (v->has_cursor) {
        char text[32];
        snprintf(text, sizeof text, _(" step %.0f "), v->cursor);
        run_draw_corner(c, area, ROLE_ACCENT, text);
    }
}

/* --- scaling -------------------------------------------------------------------------------------------------------- */

bool run_has_scaling(const struct run_view *v)
{
    for (int i = 0; i < v->overlay_count; i++)
        if (v->overlays[i]->ranks != v->m.ranks)
            return true;
    return false;
}

void run_draw_scaling(struct run_view *v, struct canvas *c, struct rect area)
{
    struct comparison k = {0};
    bool ok = compare_add(&k, &v->m);
    for (int i = 0; ok && i < v->overlay_count; i++)
        ok = compare_add(&k, v->overlays[i]);
    struct rect in = canvas_box(c, area, _("Scaling: samples/s over ranks"), ROLE_BORDER);
    if (ok && compare_finish(&k))
        compare_plot(c, in, &k, &v->scale_x, &v->scale_y);
    compare_free(&k);
}
