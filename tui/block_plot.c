/*
 * block_plot.c - the block that draws a formula or points.
 *
 *     ```plot
 *     title: What one rank sends, in buffers
 *     x: N                             the variable, and what it is called on the axis
 *     from: 2
 *     to: 64
 *     y: 2*(N-1)/N = ring              a formula and its name; several lines, at most six
 *     y: N-1 = everyone
 *     points: 2 1.0, 4 1.5 = counted   points of x and y, and their name
 *     log: y                           x, y or both
 *     unit: seconds                    of y: seconds, bytes, rate, percent
 *     ```
 */
#include "tui/block_kind.h"
#include "tui/formula.h"
#include "tui/plot.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 161, ROWS = 11, TABLE_ROWS = 6 };

struct line {
    char *name;
    double x[SAMPLES], y[SAMPLES];
    int count;
    bool points;
};

struct plot_block {
    char variable[24];
    double from, to;
    bool log_x, log_y;
    enum axis_unit unit;
    struct line lines[PLOT_MAX_SERIES];
    int count;
};

static void plot_close(struct block *b)
{
    struct plot_block *p = b->state;
    for (int i = 0; i < p->count; i++)
        free(p->lines[i].name);
    free(p);
}

static bool number(const struct block *b, const char *key, double *value, struct error *e)
{
    const char *text = block_text_get(&b->text, key);
    char *end;
    *value = text ? strtod(text, &end) : NAN;
    return (text && !*end && isfinite(*value)) ||
           error_set(e, ERROR_INPUT, "line %d: %s: expected a number, got '%s'",
                     block_text_line(&b->text, key), key, text ? text : "");
}

/* Where the name of "FORMULA = NAME" begins; NULL: it has none. The formula may hold "==", "<=" and so on. */
static const char *name_of(const char *value)
{
    const char *last = NULL;
    for (const char *at = value; (at = strstr(at, " = ")); at += 3)
        last = at;
    return last;
}

/* A place between from and to, at part i of n: even, or even by ratio. */
static double sample(const struct plot_block *p, int i)
{
    double part = (double)i / (SAMPLES - 1);
    return p->log_x ? p->from * pow(p->to / p->from, part) : p->from + (p->to - p->from) * part;
}

static bool add_formula(struct plot_block *p, struct line *line, const char *text, struct error *e)
{
    struct formula *f = formula_new(text, p->variable, e);
    if (!f)
        return false;
    for (int i = 0; i < SAMPLES; i++) {
        line->x[line->count] = sample(p, i);
        line->y[line->count] = formula_at(f, line->x[line->count]);
        line->count += isfinite(line->y[line->count]);
    }
    formula_free(f);
    return line->count > 1 || error_set(e, ERROR_INPUT, "'%.80s' has no values there", text);
}

/* "2 1.0, 4 1.5": rising x. */
static bool add_points(struct line *line, const char *text, struct error *e)
{
    line->points = true;
    while (*text) {
        char *end, *after;
        double x = strtod(text, &end), y = strtod(end, &after);
        after += strspn(after, " ");
        bool right = end != text && after != end && (!*after || *after == ',') && isfinite(x) && isfinite(y);
        if (!right || line->count == SAMPLES || (line->count && x <= line->x[line->count - 1]))
            return error_set(e, ERROR_INPUT, "expected points 'X Y, X Y ...' of rising X, got '%.40s'", text);
        line->x[line->count] = x;
        line->y[line->count++] = y;
        text = after + (*after == ',');
        text += strspn(text, " ");
    }
    return line->count > 0 || error_set(e, ERROR_INPUT, "expected points");
}

static bool unit_of(const struct block *b, enum axis_unit *unit, struct error *e)
{
    static const struct {
        const char *name;
        enum axis_unit unit;
    } units[] = {{"number", AXIS_NUMBER},
                 {"seconds", AXIS_SECONDS},
                 {"bytes", AXIS_BYTES},
                 {"rate", AXIS_RATE},
                 {"percent", AXIS_PERCENT}};
    const char *text = block_text_get(&b->text, "unit");
    *unit = AXIS_NUMBER;
    for (size_t i = 0; text && i < sizeof units / sizeof *units; i++)
        if (!strcmp(units[i].name, text)) {
            *unit = units[i].unit;
            return true;
        }
    return !text || error_set(e, ERROR_INPUT,
                              "line %d: unit: expected number, seconds, bytes, rate or percent, got '%s'",
                              block_text_line(&b->text, "unit"), text);
}

static bool scales(const struct block *b, struct plot_block *p, struct error *e)
{
    const char *log = block_text_get(&b->text, "log");
    p->log_x = log && (!strcmp(log, "x") || !strcmp(log, "both"));
    p->log_y = log && (!strcmp(log, "y") || !strcmp(log, "both"));
    if (log && !p->log_x && !p->log_y)
        return error_set(e, ERROR_INPUT, "line %d: log: expected x, y or both, got '%s'",
                         block_text_line(&b->text, "log"), log);
    if (!number(b, "from", &p->from, e) || !number(b, "to", &p->to, e) || !unit_of(b, &p->unit, e))
        return false;
    return (p->to > p->from && !(p->log_x && p->from <= 0)) ||
           error_set(e, ERROR_INPUT, "line %d: 'to' has to be above 'from', and both above 0 on a log scale",
                     block_text_line(&b->text, "to"));
}

static bool plot_open(struct block *b, struct error *e)
{
    struct plot_block *p = b->state = calloc(1, sizeof *p);
    const char *x = block_text_get(&b->text, "x");
    if (!p)
        return error_set(e, ERROR_FAILED, "out of memory");
    snprintf(p->variable, sizeof p->variable, "%s", x ? x : "x");
    if (!*p->variable ||
        strspn(p->variable, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") != strlen(p->variable))
        return error_set(e, ERROR_INPUT, "line %d: x: expected the variable's name, such as N, got '%s'",
                         block_text_line(&b->text, "x"), x);
    if (!scales(b, p, e))
        return false;
    for (int i = 0; i < b->text.field_count; i++) {
        const struct block_field *f = &b->text.fields[i];
        bool formula = !strcmp(f->key, "y");
        if (!formula && strcmp(f->key, "points") != 0)
            continue;
        if (p->count == PLOT_MAX_SERIES)
            return error_set(e, ERROR_INPUT, "line %d: more than %d lines", f->line, PLOT_MAX_SERIES);
        struct line *line = &p->lines[p->count++];
        const char *name = name_of(f->value);
        char *text = strndup(f->value, name ? (size_t)(name - f->value) : strlen(f->value));
        struct error inner = {0};
        line->name = strdup(name ? name + 3 : f->value);
        bool ok = text && line->name &&
                  (formula ? add_formula(p, line, text, &inner) : add_points(line, text, &inner));
        free(text);
        if (!ok)
            return error_set(e, ERROR_INPUT, "line %d: %s: %s", f->line, f->key, inner.text);
    }
    return p->count > 0 ||
           error_set(e, ERROR_INPUT, "line %d: a plot block needs 'y: FORMULA' or 'points: ...'",
                     b->text.line);
}

static int plot_rows(struct block *b, int cols)
{
    const char *note = block_text_get(&b->text, "note");
    return ROWS + (note ? wrap_rows(note, cols) : 0);
}

static void plot_block_draw(struct block *b, struct canvas *c, struct rect in, bool focused)
{
    const struct plot_block *p = b->state;
    struct plot_series series[PLOT_MAX_SERIES];
    double lo = INFINITY, hi = -INFINITY;
    const char *note = block_text_get(&b->text, "note"), *label = block_text_get(&b->text, "xlabel");
    (void)focused;
    for (int i = 0; i < p->count; i++) {
        const struct line *line = &p->lines[i];
        series[i] = (struct plot_series){
            .name = line->name, .x = line->x, .y = line->y, .count = line->count, .points = line->points};
        for (int k = 0; k < line->count; k++)
            if (!p->log_y || line->y[k] > 0)
                lo = fmin(lo, line->y[k]), hi = fmax(hi, line->y[k]);
    }
    struct axis x = {.lo = p->from, .hi = p->to, .log = p->log_x, .twos = p->log_x};
    struct axis y = {.unit = p->unit, .log = p->log_y, .zero = !p->log_y && lo >= 0 && lo < hi / 2};
    axis_fit(&y, lo, hi);
    plot_draw(
        c, rect_cut_rows(&in, ROWS),
        &(struct plot){
            .series = series, .count = p->count, .x = &x, .y = &y, .x_label = label ? label : p->variable});
    if (note)
        block_sentence(c, &in, ROLE_MUTED, 0, note);
}

/* A value of a line where another one has its samples; NaN: it has none near. */
static double value_at(const struct line *line, double x)
{
    for (int i = 0; i < line->count; i++) {
        if (fabs(line->x[i] - x) < 1e-9 * fmax(1, fabs(x)))
            return line->y[i];
        if (!line->points && i && line->x[i] > x) {
            double part = (x - line->x[i - 1]) / (line->x[i] - line->x[i - 1]);
            return line->y[i - 1] + part * (line->y[i] - line->y[i - 1]);
        }
    }
    return NAN;
}

/* As a table of a few values. */
static int plot_plain(struct block *b, struct canvas *c, struct rect in)
{
    const struct plot_block *p = b->state;
    const char *title = block_text_get(&b->text, "title"), *note = block_text_get(&b->text, "note");
    int before = in.rows, each = (in.cols - 12) / p->count;
    char text[400];
    each = each > 16 ? 16 : each;
    snprintf(text, sizeof text, _("Plot: %s"), title ? title : "");
    block_sentence(c, &in, ROLE_ACCENT, ATTR_BOLD, text);
    canvas_format(c, in.row, in.col, 10, ROLE_MUTED, 0, "%10s", p->variable);
    for (int i = 0; i < p->count; i++)
        canvas_format(c, in.row, in.col + 11 + i * each, each, ROLE_TEXT, ATTR_BOLD, "%*.*s", each - 1,
                      each - 1, p->lines[i].name);
    rect_cut_rows(&in, 1);
    for (int row = 0; row < TABLE_ROWS; row++) {
        double x = sample(p, row * (SAMPLES - 1) / (TABLE_ROWS - 1));
        if (p->to - p->from >= TABLE_ROWS)
            x = round(x);
        canvas_format(c, in.row, in.col, 10, ROLE_MUTED, 0, "%10.4g", x);
        for (int i = 0; i < p->count; i++) {
            double y = value_at(&p->lines[i], x);
            if (isfinite(y))
                canvas_format(c, in.row, in.col + 11 + i * each, each, ROLE_TEXT, 0, "%*.4g", each - 1, y);
        }
        rect_cut_rows(&in, 1);
    }
    if (note)
        block_sentence(c, &in, ROLE_MUTED, 0, note);
    return before - in.rows;
}

const struct block_class block_plot_class = {
    .label = N_("Plot"),
    .open = plot_open,
    .close = plot_close,
    .rows = plot_rows,
    .draw = plot_block_draw,
    .plain = plot_plain,
};
