#include "tui/plot.h"

#include "tui/braille.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct dash DASHES[PLOT_MAX_SERIES] = {{1, 0}, {4, 2}, {2, 2}, {1, 1}, {6, 1}, {3, 1}};
static const uint32_t MARKERS[PLOT_MAX_SERIES] = {0x25CF, 0x25B2, 0x25A0, 0x25C6, 0x25BC, 0x2716};
static const char ASCII_MARKERS[] = "*o#x+@";

enum role plot_role(int series)
{
    return (enum role)(ROLE_SERIES1 + series % PLOT_MAX_SERIES);
}

uint32_t plot_marker(int series, bool utf8)
{
    int i = series % PLOT_MAX_SERIES;
    return utf8 ? MARKERS[i] : (uint32_t)ASCII_MARKERS[i];
}

/* Where the parts of a plot lie inside its area. */
struct frame {
    struct rect inside; /* of the lines */
    int gutter;         /* columns of the y labels with their axis */
    bool x_axis;        /* a row of labels below */
};

static struct frame frame_of(struct rect area, const struct plot *p, double *ticks, int count)
{
    struct frame f = {.gutter = 0};
    for (int i = 0; i < count; i++) {
        char label[AXIS_LABEL];
        axis_label(p->y, ticks[i], label);
        int columns = text_columns(label);
        f.gutter = columns > f.gutter ? columns : f.gutter;
    }
    /* At least four columns, so that the lines do not move when 0.5 becomes 2. */
    f.gutter = (f.gutter < 4 ? 4 : f.gutter) + 1;
    f.x_axis = area.rows >= 4;
    f.inside =
        (struct rect){area.row, area.col + f.gutter, area.rows - (f.x_axis ? 1 : 0), area.cols - f.gutter};
    return f;
}

static int row_of(const struct frame *f, double place)
{
    return f->inside.row + (int)lround((1 - place) * (f->inside.rows - 1));
}

static void draw_y_axis(struct canvas *c, const struct frame *f, const struct plot *p, const double *ticks,
                        int count)
{
    int col = f->inside.col - 1;
    canvas_vline(c, f->inside.row, col, f->inside.rows, ROLE_BORDER);
    for (int i = 0; i < count; i++) {
        int row = row_of(f, axis_place(p->y, ticks[i]));
        char label[AXIS_LABEL];
        axis_label(p->y, ticks[i], label);
        int columns = text_columns(label);
        canvas_text(c, row, col - columns, columns, ROLE_MUTED, 0, label);
        canvas_put(c, row, col, c->utf8 ? 0x2524 : '+', ROLE_BORDER, 0);
        for (int k = 0; k < f->inside.cols; k += c->utf8 ? 2 : 4)
            canvas_put(c, row, f->inside.col + k, c->utf8 ? 0x00B7 : '.', ROLE_BORDER, 0);
    }
}

static void draw_x_axis(struct canvas *c, const struct frame *f, const struct plot *p)
{
    int row = f->inside.row + f->inside.rows, cols = f->inside.cols;
    canvas_put(c, row, f->inside.col - 1, c->utf8 ? 0x2514 : '+', ROLE_BORDER, 0);
    int label_cols = p->x_label ? text_columns(p->x_label) + 1 : 0;
    double ticks[AXIS_MAX_TICKS];
    int count = axis_ticks(p->x, cols / 9 + 1 > 8 ? 8 : cols / 9 + 1, ticks);
    int used = -1;
    for (int i = 0; i < count; i++) {
        char label[AXIS_LABEL];
        axis_label(p->x, ticks[i], label);
        int columns = text_columns(label);
        int at = (int)lround(axis_place(p->x, ticks[i]) * (cols - 1)) - columns / 2;
        at = at < 0 ? 0 : at;
        at = at + columns > cols ? cols - columns : at;
        if (at <= used || at + columns > cols - label_cols)
            continue;
        canvas_text(c, row, f->inside.col + at, columns, ROLE_MUTED, 0, label);
        used = at + columns;
    }
    if (p->x_label && label_cols < cols && used < cols - label_cols + 1)
        canvas_text(c, row, f->inside.col + cols - label_cols + 1, label_cols - 1, ROLE_MUTED, ATTR_ITALIC,
                    p->x_label);
}

/* One column of dots: the mean of its samples, and the smallest and largest of them. */
struct bin {
    double sum, lo, hi;
    int count;
};

/*
 * The dot of a place among so many cells. The ends lie in the middle of the first and the last cell, where ticks and
 * markers are: so these lie on the line.
 */
static int dot_of(double place, int cells, int dots)
{
    int each = dots / cells; /* dots of a cell */
    return (int)lround(place * (cells - 1) * each + (each - 1) / 2.0);
}

static int dot_row(const struct dots *d, double place)
{
    double clipped = place < 0 ? 0 : place > 1 ? 1 : place;
    return dot_of(1 - clipped, d->rows, d->high);
}

/*
 * A dot in every other cell (those that a grid has its dots in: few bytes over a slow line) from the line (from y0 at the
 * left to y1 at the right) to the bottom.
 */
static void fill_below(struct dots *d, int from, int to, int y0, int y1, int index)
{
    if (!d->braille)
        return;
    for (int x = from; x <= to; x++) {
        int top = to > from ? y0 + (y1 - y0) * (x - from) / (to - from) : y1;
        for (int y = top + 2; y < d->high; y++)
            if (x % 4 == 0 && y % 4 == 2)
                dots_set(d, x, y, index);
    }
}

/*
 * How far the samples of a column reach, beside their mean at row y: the ends as dots, and every other dot between. Where
 * the area below is filled already, only what is above; among other lines only what is further off than a cell.
 */
static void draw_reach(struct dots *d, const struct plot *p, const struct bin *bin, int x, int y, int index)
{
    int top = dot_row(d, axis_place(p->y, bin->hi)), bottom = dot_row(d, axis_place(p->y, bin->lo));
    int least = !d->braille ? 2 : p->count > 1 ? 4 : 1;
    bool between = p->count == 1 && d->braille;
    if (y - top >= least)
        dots_set(d, x, top, index);
    if (bottom - y >= least)
        dots_set(d, x, bottom, index);
    for (int at = top + 1; between && at < bottom; at++)
        if ((x + at) % 2 == 0)
            dots_set(d, x, at, index);
}

/* The samples that fall into each column of dots. False: out of memory, or there are none. */
static bool fill_bins(const struct dots *d, const struct plot *p, const struct plot_series *s,
                      struct bin **out)
{
    struct bin *bins = *out = calloc((size_t)d->wide + 1, sizeof *bins);
    if (!bins)
        return false;
    for (int i = 0; i < s->count; i++) {
        double px = axis_place(p->x, s->x[i]);
        if (!isfinite(px) || px < 0 || px > 1 || !isfinite(axis_place(p->y, s->y[i])))
            continue;
        struct bin *bin = &bins[dot_of(px, d->cols, d->wide)];
        double lo = s->lo ? s->lo[i] : s->y[i], hi = s->hi ? s->hi[i] : s->y[i];
        bin->lo = bin->count && bin->lo < lo ? bin->lo : lo;
        bin->hi = bin->count && bin->hi > hi ? bin->hi : hi;
        bin->sum += s->y[i];
        bin->count++;
    }
    return true;
}

/* Many samples: means by column of dots, joined. */
static void draw_line(struct dots *d, const struct plot *p, int index)
{
    const struct plot_series *s = &p->series[index];
    struct bin *bins;
    if (!fill_bins(d, p, s, &bins))
        return;
    int phase = 0, px = -1, py = 0;
    struct dash dash = p->count > 1 ? DASHES[index % PLOT_MAX_SERIES] : DASHES[0];
    for (int x = 0; x < d->wide; x++) {
        if (!bins[x].count)
            continue;
        int y = dot_row(d, axis_place(p->y, bins[x].sum / bins[x].count));
        if (s->fill)
            fill_below(d, px < 0 ? x : px + 1, x, px < 0 ? y : py, y, index);
        draw_reach(d, p, &bins[x], x, y, index);
        dots_line(d, px < 0 ? x : px, px < 0 ? y : py, x, y, index, dash, &phase);
        px = x;
        py = y;
    }
    free(bins);
}

/* Whether samples do not go from left to right: a cloud of them, between which a line would mean nothing. */
static bool is_cloud(const struct plot_series *s)
{
    for (int i = 1; i < s->count; i++)
        if (s->x[i] <= s->x[i - 1])
            return true;
    return false;
}

/* Few samples: every one, joined. */
static void draw_points(struct dots *d, const struct plot *p, int index)
{
    const struct plot_series *s = &p->series[index];
    if (is_cloud(s))
        return;
    struct dash dash = p->count > 1 ? DASHES[index % PLOT_MAX_SERIES] : DASHES[0];
    int phase = 0, px = -1, py = 0;
    for (int i = 0; i < s->count; i++) {
        double ax = axis_place(p->x, s->x[i]), ay = axis_place(p->y, s->y[i]);
        if (!isfinite(ax) || !isfinite(ay))
            continue;
        int x = dot_of(ax, d->cols, d->wide), y = dot_row(d, ay);
        dots_line(d, px < 0 ? x : px, px < 0 ? y : py, x, y, index, dash, &phase);
        px = x;
        py = y;
    }
}

static bool cell_of(const struct frame *f, const struct plot *p, double x, double y, int *row, int *col)
{
    double ax = axis_place(p->x, x), ay = axis_place(p->y, y);
    if (!isfinite(ax) || !isfinite(ay) || ax < 0 || ax > 1)
        return false;
    ay = ay < 0 ? 0 : ay > 1 ? 1 : ay;
    *col = f->inside.col + (int)lround(ax * (f->inside.cols - 1));
    *row = row_of(f, ay);
    return true;
}

/* How far a sample reaches, as a bar through it. */
static void draw_interval(struct canvas *c, const struct frame *f, const struct plot *p, int index, int i)
{
    const struct plot_series *s = &p->series[index];
    int top, bottom, col;
    if (!(s->hi[i] > s->lo[i]) || !cell_of(f, p, s->x[i], s->hi[i], &top, &col) ||
        !cell_of(f, p, s->x[i], s->lo[i], &bottom, &col))
        return;
    for (int row = top; row <= bottom; row++)
        canvas_put(c, row, col, c->utf8 ? 0x2502 : '|', plot_role(index), 0);
}

/* A marker at every sample, or, on a line of many samples among others, one every 16 columns. */
static void draw_markers(struct canvas *c, const struct frame *f, const struct plot *p, int index)
{
    const struct plot_series *s = &p->series[index];
    uint32_t marker = plot_marker(index, c->utf8);
    int row, col;
    if (s->points) {
        for (int i = 0; s->lo && s->hi && i < s->count; i++)
            draw_interval(c, f, p, index, i);
        for (int i = 0; i < s->count; i++)
            if (cell_of(f, p, s->x[i], s->y[i], &row, &col))
                canvas_put(c, row, col, marker, plot_role(index), ATTR_BOLD);
        return;
    }
    if (p->count < 2 || s->lines)
        return;
    int next = f->inside.col + 4 + 5 * index;
    for (int i = 0; i < s->count; i++)
        if (cell_of(f, p, s->x[i], s->y[i], &row, &col) && col >= next) {
            canvas_put(c, row, col, marker, plot_role(index), ATTR_BOLD);
            next = col + 16;
        }
}

static void draw_last(struct canvas *c, const struct frame *f, const struct plot *p, int index)
{
    const struct plot_series *s = &p->series[index];
    int row, col;
    if (!s->last || !s->count || !cell_of(f, p, s->x[s->count - 1], s->y[s->count - 1], &row, &col))
        return;
    char text[24];
    double y = s->y[s->count - 1];
    if (p->y->unit == AXIS_PERCENT)
        snprintf(text, sizeof text, "%.2f %%", 100 * y);
    else
        axis_label(p->y, y, text);
    int columns = text_columns(text), at = col - columns / 2, right = f->inside.col + f->inside.cols;
    at = at + columns > right ? right - columns : at;
    at = at < f->inside.col ? f->inside.col : at;
    int above = row - 1 >= f->inside.row ? row - 1 : row + 1;
    if (above < f->inside.row + f->inside.rows)
        canvas_text(c, above, at, columns, plot_role(index), ATTR_BOLD, text);
}

/* The sample nearest to x on the axis; -1: none can be placed. */
static int nearest(const struct plot *p, const struct plot_series *s, double x)
{
    int best = -1;
    double least = INFINITY, at = axis_place(p->x, x);
    for (int i = 0; i < s->count; i++) {
        double away = fabs(axis_place(p->x, s->x[i]) - at);
        if (away < least && isfinite(axis_place(p->y, s->y[i]))) {
            least = away;
            best = i;
        }
    }
    return best;
}

/* A line through all rows, with a marker at the value of each series that reaches it. */
static void draw_cursor(struct canvas *c, const struct frame *f, const struct plot *p)
{
    double place = p->cursor ? axis_place(p->x, *p->cursor) : NAN;
    if (!(place >= 0 && place <= 1))
        return;
    int col = f->inside.col + (int)lround(place * (f->inside.cols - 1)), row, at;
    for (int i = 0; i < f->inside.rows; i++)
        canvas_put(c, f->inside.row + i, col, c->utf8 ? 0x2502 : '|', ROLE_ACCENT, 0);
    for (int i = 0; i < p->count; i++) {
        const struct plot_series *s = &p->series[i];
        int k = nearest(p, s, *p->cursor);
        if (k >= 0 && cell_of(f, p, s->x[k], s->y[k], &row, &at) && abs(at - col) <= 1)
            canvas_put(c, row, col, plot_marker(i, c->utf8), plot_role(i), ATTR_BOLD);
    }
}

static int named_series(const struct plot *p, int count)
{
    int named = 0;
    for (int i = 0; i < count; i++)
        named += p->series[i].name != NULL;
    return named;
}

/* "● ring  ▲ mpi" at the right end of a row of its own. */
static void draw_legend(struct canvas *c, struct rect row, const struct plot *p, int count)
{
    int columns = 0;
    for (int i = 0; i < count; i++)
        columns += p->series[i].name ? text_columns(p->series[i].name) + 4 : 0;
    int right = row.col + row.cols, col = right - columns > row.col ? right - columns : row.col;
    for (int i = 0; i < count && col + 3 < right; i++) {
        if (!p->series[i].name)
            continue;
        canvas_put(c, row.row, col, plot_marker(i, c->utf8), plot_role(i), ATTR_BOLD);
        col += 2 + canvas_text(c, row.row, col + 2, right - col - 2, plot_role(i), 0, p->series[i].name) + 2;
    }
}

/* The frame of what is left of the area below the legend, with the ticks of the y axis. */
static struct frame layout(struct rect *area, const struct plot *p, int count, double *ticks,
                           int *ticks_count)
{
    if (named_series(p, count) > 1 && area->rows >= 6)
        rect_cut_rows(area, 1);
    int most = area->rows / 3 + 1 > 6 ? 6 : area->rows / 3 + 1; /* at least two rows between labels */
    *ticks_count = axis_ticks(p->y, most, ticks);
    return frame_of(*area, p, ticks, *ticks_count);
}

struct rect plot_inside(struct rect area, const struct plot *p)
{
    double ticks[AXIS_MAX_TICKS];
    int ticks_count;
    if (area.rows < 3 || area.cols < 12)
        return (struct rect){area.row, area.col, 0, 0};
    return layout(&area, p, p->count < PLOT_MAX_SERIES ? p->count : PLOT_MAX_SERIES, ticks, &ticks_count)
        .inside;
}

void plot_draw(struct canvas *c, struct rect area, const struct plot *p)
{
    if (area.rows < 3 || area.cols < 12)
        return;
    int total = 0, count = p->count > PLOT_MAX_SERIES ? PLOT_MAX_SERIES : p->count;
    for (int i = 0; i < count; i++)
        total += p->series[i].count;
    if (named_series(p, count) > 1 && area.rows >= 6)
        draw_legend(c, (struct rect){area.row, area.col, 1, area.cols}, p, count);
    double ticks[AXIS_MAX_TICKS];
    int ticks_count;
    struct frame f = layout(&area, p, count, ticks, &ticks_count);
    if (f.inside.cols < 4 || f.inside.rows < 1)
        return;
    draw_y_axis(c, &f, p, ticks, ticks_count);
    if (f.x_axis)
        draw_x_axis(c, &f, p);
    if (!total && p->empty) {
        int columns = text_columns(p->empty);
        int pad = columns < f.inside.cols ? (f.inside.cols - columns) / 2 : 0;
        canvas_text(c, f.inside.row + f.inside.rows / 2, f.inside.col + pad, f.inside.cols - pad, ROLE_MUTED,
                    0, p->empty);
        return;
    }
    struct dots d;
    if (!dots_init(&d, f.inside.rows, f.inside.cols, c->utf8))
        return;
    struct plot limited = *p;
    limited.count = count;
    for (int i = 0; i < count; i++)
        (p->series[i].points || p->series[i].lines ? draw_points : draw_line)(&d, &limited, i);
    enum role roles[PLOT_MAX_SERIES];
    for (int i = 0; i < PLOT_MAX_SERIES; i++)
        roles[i] = plot_role(i);
    dots_draw(&d, c, f.inside.row, f.inside.col, roles, ASCII_MARKERS);
    dots_free(&d);
    for (int i = 0; i < count; i++)
        draw_markers(c, &f, &limited, i);
    for (int i = 0; i < count; i++)
        draw_last(c, &f, &limited, i);
    draw_cursor(c, &f, &limited);
}

/* The block that fills n eighths of a cell from the left. */
static uint32_t eighths(int n)
{
    return n >= 8 ? 0x2588 : n <= 0 ? ' ' : 0x2590u - (uint32_t)n;
}

void bar_draw(struct canvas *c, int row, int col, int cols, const struct bar_part *parts, int count)
{
    double before = 0;
    int from = 0;
    for (int i = 0; i < count; i++) {
        before += isfinite(parts[i].share) && parts[i].share > 0 ? parts[i].share : 0;
        int to = (int)lround((before > 1 ? 1 : before) * cols);
        for (; from < to; from++)
            canvas_put(c, row, col + from, c->utf8 ? parts[i].glyph : (uint32_t)parts[i].ascii, parts[i].role,
                       0);
    }
    for (; from < cols; from++)
        canvas_put(c, row, col + from, c->utf8 ? 0x00B7 : '.', ROLE_BORDER, 0);
}

void gauge_draw(struct canvas *c, int row, int col, int cols, double share, enum role role)
{
    if (!isfinite(share) || share < 0)
        share = 0;
    int filled = (int)lround((share > 1 ? 1 : share) * cols * 8);
    for (int k = 0; k < cols; k++) {
        int n = filled - 8 * k;
        if (n <= 0)
            canvas_put(c, row, col + k, c->utf8 ? 0x00B7 : '.', ROLE_BORDER, 0);
        else
            canvas_put(c, row, col + k,
                       c->utf8  ? eighths(n)
                       : n >= 4 ? '#'
                                : '.',
                       n >= 4 || c->utf8 ? role : ROLE_BORDER, 0);
    }
}
