/*
 * timeline_paint.c - rows of ranks and threads, time to the right: in each cell what takes up most of it, by colour and glyph;
 * a span that is long enough bears its name.
 */
#include "tui/axis.h"
#include "tui/text.h"
#include "tui/timeline.h"
#include "tui/timeline_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL = 10, DEPTH = 16, MOST_CELLS = 512 };

static const struct {
    enum role role;
    uint32_t glyph;
    char ascii;
    const char *means;
} KINDS[TRACE_KINDS] = {
    [TRACE_STEP] = {ROLE_MUTED, 0x2508, '~', N_("other")},
    [TRACE_DATA] = {ROLE_SERIES3, 0x2592, 'd', N_("data")},
    [TRACE_FORWARD] = {ROLE_SERIES1, 0x2588, 'F', N_("forward")},
    [TRACE_BACKWARD] = {ROLE_SERIES6, 0x2593, 'B', N_("backward")},
    [TRACE_LAYER_FORWARD] = {ROLE_SERIES1, 0x2588, 'F', NULL},
    [TRACE_LAYER_BACKWARD] = {ROLE_SERIES6, 0x2593, 'B', NULL},
    [TRACE_COMPUTE] = {ROLE_SERIES4, 0x2599, 'c', N_("compute")},
    [TRACE_OPTIMIZER] = {ROLE_SERIES5, 0x259A, 'O', N_("optimizer")},
    [TRACE_ALLREDUCE] = {ROLE_SERIES2, 0x2550, 'A', N_("allreduce")},
    [TRACE_WAIT] = {ROLE_WARN, 0x00B7, 'w', N_("waiting")},
    [TRACE_BETWEEN] = {ROLE_MUTED, 0x2500, '-', N_("between steps")},
    [TRACE_IDLE] = {ROLE_MUTED, ' ', '.', NULL},
    [TRACE_HOP] = {ROLE_SERIES2, 0x2261, 'h', N_("message")},
};

/* Of a span, in the reader's language where it is a word and no layer. */
static const char *event_name(const struct timeline_view *v, const struct trace_event *x)
{
    const char *name = trace_event_name(&v->trace, x);
    return *name ? _(name) : name;
}

/* --- which event a cell shows --- */

struct cell_owner {
    int event; /* -1: nothing was recorded here */
    int64_t time;
};

/* Own time of each event in each cell: later ones lie further inside and take theirs from those around. */
static void own_cells(const struct timeline_view *v, const struct trace_row *row, struct cell_owner *cells,
                      int count)
{
    const struct trace_data *d = &v->trace;
    double width = (v->end - v->begin) / count;
    static const struct cell_owner NOTHING = {-1, 0};
    int64_t(*own)[DEPTH] = calloc((size_t)count, sizeof *own); /* of the events that are open, by depth */
    int(*who)[DEPTH] = calloc((size_t)count, sizeof *who);
    for (int c = 0; c < count; c++)
        cells[c] = NOTHING;
    for (int i = row->first; own && who && i < row->first + row->count; i++) {
        const struct trace_event *x = &d->events[i];
        if ((double)x->t1 <= v->begin || (double)x->t0 >= v->end || x->depth >= DEPTH)
            continue;
        int first = (int)(((double)x->t0 - v->begin) / width),
            last = (int)(((double)x->t1 - v->begin) / width);
        first = first < 0 ? 0 : first;
        last = last >= count ? count - 1 : last;
        for (int c = first; c <= last; c++) {
            int64_t lo = (int64_t)(v->begin + c * width), hi = (int64_t)(v->begin + (c + 1) * width);
            lo = x->t0 > lo ? x->t0 : lo;
            hi = x->t1 < hi ? x->t1 : hi;
            if (hi <= lo && x->t1 > x->t0)
                continue;
            /* Whoever was here at this depth or further inside has all the time that it gets. */
            for (int k = x->depth; k < DEPTH; k++) {
                if (own[c][k] > cells[c].time)
                    cells[c] = (struct cell_owner){who[c][k], own[c][k]};
                own[c][k] = 0;
            }
            own[c][x->depth] = hi - lo;
            who[c][x->depth] = i;
            if (x->depth > 0)
                own[c][x->depth - 1] -= hi - lo;
        }
    }
    for (int c = 0; own && who && c < count; c++)
        for (int k = 0; k < DEPTH; k++)
            if (own[c][k] > cells[c].time)
                cells[c] = (struct cell_owner){who[c][k], own[c][k]};
    free(own);
    free(who);
}

/* --- a row --- */

static void put_kind(struct canvas *c, int row, int col, int kind, int attributes)
{
    uint32_t glyph = c->utf8 ? KINDS[kind].glyph : (uint32_t)KINDS[kind].ascii;
    canvas_put(c, row, col, glyph, KINDS[kind].role, attributes);
}

/* The name of a span in its cells, where it is long enough to bear one. */
static void put_name(const struct timeline_view *v, struct canvas *c, int row, int col, int cells, int event)
{
    const struct trace_event *x = &v->trace.events[event];
    const char *name = event_name(v, x);
    char text[TRACE_NAME + 24];
    bool bucket = x->bucket >= 0 && (x->kind == TRACE_ALLREDUCE || x->kind == TRACE_WAIT);
    if (cells < 6 || x->kind == TRACE_STEP || x->kind == TRACE_IDLE)
        return;
    if (bucket)
        snprintf(text, sizeof text, _("%.40s, bucket %d"), name, x->bucket);
    if (bucket && text_columns(text) > cells - 2)
        snprintf(text, sizeof text, _("bucket %d"), x->bucket);
    if (!bucket)
        snprintf(text, sizeof text, "%s", name);
    if (text_columns(text) > cells - 2 && cells < 9)
        return;
    if (text_columns(text) + 2 <= cells - 2)
        canvas_format(c, row, col + 1, cells - 2, KINDS[x->kind].role, ATTR_REVERSE, " %s ", text);
    else
        canvas_text(c, row, col + 1, cells - 2, KINDS[x->kind].role, ATTR_REVERSE, text);
}

static bool on_path(const struct timeline_view *v, int row, double t0, double t1)
{
    for (int i = 0; i < v->path.count; i++) {
        const struct path_piece *p = &v->path.pieces[i];
        if (p->row == row && (double)p->t0 < t1 && (double)p->t1 > t0)
            return true;
    }
    return false;
}

static void paint_row(const struct timeline_view *v, struct canvas *c, int shown, bool *used)
{
    int high = v->layout.high, left = v->layout.left, cells = v->layout.cells;
    int row = v->layout.first_row + (shown - v->top) * high;
    struct cell_owner owner[MOST_CELLS];
    int number = v->shown[shown];
    double width = (v->end - v->begin) / cells;
    own_cells(v, &v->trace.rows[number], owner, cells);
    for (int k = 0; k < cells; k++) {
        if (owner[k].event < 0)
            continue;
        int kind = v->trace.events[owner[k].event].kind;
        bool path = on_path(v, number, v->begin + k * width, v->begin + (k + 1) * width);
        for (int r = 0; r < high; r++)
            put_kind(c, row + r, left + k, kind, path ? ATTR_BOLD : 0);
        used[kind] = true;
    }
    for (int k = 0, end; k < cells; k = end) {
        for (end = k + 1; end < cells && owner[end].event == owner[k].event; end++)
            ;
        if (owner[k].event >= 0)
            put_name(v, c, row, left + k, end - k, owner[k].event);
    }
    if (shown == v->row && v->cursor >= 0) {
        const struct trace_event *x = &v->trace.events[v->cursor];
        int first = (int)floor(((double)x->t0 - v->begin) / width),
            last = (int)ceil(((double)x->t1 - v->begin) / width);
        first = first < 0 ? 0 : first >= cells ? cells - 1 : first;
        last = last > cells ? cells : last <= first ? first + 1 : last;
        canvas_put(c, row, left + first, c->utf8 ? 0x25B8 : '[', ROLE_SELECTED, ATTR_BOLD);
        if (last - first > 1)
            canvas_put(c, row, left + last - 1, c->utf8 ? 0x25C2 : ']', ROLE_SELECTED, ATTR_BOLD);
        c->cursor_row = row;
        c->cursor_col = left + first;
    }
}

static void paint_label(const struct timeline_view *v, struct canvas *c, int row, int col, int shown)
{
    const struct trace_row *r = &v->trace.rows[v->shown[shown]];
    bool first = shown == v->top || v->trace.rows[v->shown[shown - 1]].rank != r->rank,
         selected = shown == v->row;
    enum role role = selected ? ROLE_SELECTED : first ? ROLE_TITLE : ROLE_MUTED;
    if (first)
        canvas_format(c, row, col, LABEL - 1, role, selected ? ATTR_BOLD : 0, _("rank %d"), r->rank);
    else
        canvas_format(c, row, col, LABEL - 1, role, selected ? ATTR_BOLD : 0, "%8.8s", r->name);
}

/* --- below the rows --- */

static void paint_axis(const struct timeline_view *v, struct canvas *c, int row, int left, int cells)
{
    struct axis axis = {.lo = 1e-9 * (v->begin - (double)v->path.begin),
                        .hi = 1e-9 * (v->end - (double)v->path.begin),
                        .unit = AXIS_SECONDS};
    double ticks[AXIS_MAX_TICKS];
    int count = axis_ticks(&axis, cells / 14 + 1, ticks), free_from = left;
    canvas_hline(c, row, left, cells, ROLE_BORDER);
    for (int i = 0; i < count; i++) {
        char text[AXIS_LABEL];
        int col = left + (int)lround(axis_place(&axis, ticks[i]) * (cells - 1));
        axis_label(&axis, ticks[i], text);
        int at = col - text_columns(text) / 2;
        if (at < free_from || at + text_columns(text) > left + cells)
            continue;
        free_from = at + canvas_text(c, row, at, AXIS_LABEL, ROLE_MUTED, 0, text) + 1;
    }
}

/* Which rank the critical path is on, in each cell: its last digit, coloured by what it does there. */
static void paint_path(const struct timeline_view *v, struct canvas *c, int row, int left, int cells)
{
    static const enum role ROLES[TIME_CLASSES] = {ROLE_SERIES1, ROLE_SERIES2, ROLE_SERIES3, ROLE_MUTED};
    double width = (v->end - v->begin) / cells;
    canvas_text(c, row, left - LABEL, LABEL - 1, ROLE_ACCENT, ATTR_BOLD, _("critical"));
    for (int k = 0; k < cells; k++) {
        double lo = v->begin + k * width, hi = lo + width, most = 0;
        const struct path_piece *piece = NULL;
        for (int i = 0; i < v->path.count; i++) {
            const struct path_piece *p = &v->path.pieces[i];
            double in = fmin(hi, (double)p->t1) - fmax(lo, (double)p->t0);
            if (in > most) {
                most = in;
                piece = p;
            }
        }
        if (piece)
            canvas_put(c, row, left + k, (uint32_t)('0' + v->trace.rows[piece->row].rank % 10),
                       ROLES[piece->class], ATTR_BOLD);
    }
}

/* What the cursor stands on. */
static void paint_cursor(const struct timeline_view *v, struct canvas *c, struct rect line)
{
    char start[24], length[24], bytes[48] = "", more[64] = "";
    if (v->cursor < 0)
        return;
    const struct trace_event *x = &v->trace.events[v->cursor];
    const struct trace_row *row = &v->trace.rows[x->row];
    format_seconds(1e-9 * (double)(x->t0 - v->path.begin), start, sizeof start);
    format_seconds(1e-9 * (double)(x->t1 - x->t0), length, sizeof length);
    if (x->bytes >= 0) {
        char size[24];
        format_bytes((double)x->bytes, size, sizeof size);
        snprintf(bytes, sizeof bytes, ", %s", size);
    }
    if (x->bucket >= 0 && x->kind != TRACE_HOP)
        snprintf(more, sizeof more, _(", bucket %d"), x->bucket);
    else if (x->round >= 0 && x->kind == TRACE_HOP)
        snprintf(more, sizeof more, _(", round %d"), x->round + 1);
    put_kind(c, line.row, line.col, x->kind, ATTR_BOLD);
    canvas_format(c, line.row, line.col + 2, line.cols - 2, ROLE_TEXT, ATTR_BOLD,
                  _("%s, rank %d: %s long, from %s on%s%s%s%s"), event_name(v, x), row->rank, length, start,
                  bytes, more, x->algo >= 0 && x->kind == TRACE_ALLREDUCE ? ", " : "",
                  x->algo >= 0 && x->kind == TRACE_ALLREDUCE ? v->trace.names[x->algo] : "");
}

static void share(char *text, size_t size, const char *name, double s, double whole)
{
    char time[24];
    format_seconds(s, time, sizeof time);
    snprintf(text, size, "%s %s (%.0f%%)", name, time, whole > 0 ? 100 * s / whole : 0);
}

static void paint_sums(const struct timeline_view *v, struct canvas *c, struct rect area)
{
    static const char *const NAMES[TIME_CLASSES] = {N_("compute"), N_("communication"), N_("data"),
                                                    N_("other")};
    double whole = 1e-9 * (double)(v->path.end - v->path.begin);
    int order[TIME_CLASSES] = {0, 1, 2, 3}, col = area.col, end = area.col + area.cols;
    for (int i = 0; i < TIME_CLASSES; i++)
        for (int k = i + 1; k < TIME_CLASSES; k++)
            if (v->path.seconds[order[k]] > v->path.seconds[order[i]]) {
                int swap = order[i];
                order[i] = order[k], order[k] = swap;
            }
    col += canvas_text(c, area.row, col, end - col, ROLE_TITLE, ATTR_BOLD, _("Critical: "));
    for (int i = 0; i < TIME_CLASSES && v->path.seconds[order[i]] >= 0.0005 * whole; i++) {
        char text[80];
        share(text, sizeof text, _(NAMES[order[i]]), v->path.seconds[order[i]], whole);
        col += canvas_format(c, area.row, col, end - col, ROLE_TEXT, 0, "%s%s", i ? ", " : "", text);
    }
    if (area.rows < 2)
        return;
    char sum[80];
    col = area.col;
    share(sum, sizeof sum, _("Mean exposed communication"), v->exposed_s, whole);
    col += canvas_text(c, area.row + 1, col, end - col, ROLE_TITLE, ATTR_BOLD, sum);
    bool named = v->exposed_count > 1 || (v->exposed_count == 1 && v->exposed[0].bucket >= 0);
    for (int i = 0; named && i < v->exposed_count && i < 4; i++) {
        const struct exposed_part *p = &v->exposed[i];
        char time[24];
        format_seconds(p->seconds, time, sizeof time);
        if (p->bucket >= 0)
            col += canvas_format(c, area.row + 1, col, end - col, ROLE_TEXT, 0, _("%s bucket %d: %s"),
                                 i ? "," : ":", p->bucket, time);
        else
            col += canvas_format(c, area.row + 1, col, end - col, ROLE_TEXT, 0, _("%s in no bucket: %s"),
                                 i ? "," : ":", time);
    }
}

/* The longest pieces of the path, where there is room. */
static void paint_pieces(const struct timeline_view *v, struct canvas *c, struct rect area, bool *used)
{
    int taken = 0;
    bool *told = calloc((size_t)v->path.count + 1, sizeof *told);
    canvas_text(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD,
                _("The longest pieces of the critical path"));
    for (int row = area.row + 1; told && row < area.row + area.rows && taken < v->path.count;
         row++, taken++) {
        int most = -1;
        for (int i = 0; i < v->path.count; i++)
            if (!told[i] && (most < 0 || v->path.pieces[i].t1 - v->path.pieces[i].t0 >
                                             v->path.pieces[most].t1 - v->path.pieces[most].t0))
                most = i;
        told[most] = true;
        const struct path_piece *p = &v->path.pieces[most];
        if (p->t1 - p->t0 < (v->path.end - v->path.begin) / 1000)
            break;
        const struct trace_event *x = p->event >= 0 ? &v->trace.events[p->event] : NULL;
        char length[24], bucket[32] = "";
        format_seconds(1e-9 * (double)(p->t1 - p->t0), length, sizeof length);
        if (x && x->bucket >= 0 && x->kind != TRACE_HOP)
            snprintf(bucket, sizeof bucket, _(", bucket %d"), x->bucket);
        used[x ? x->kind : TRACE_IDLE] = true;
        put_kind(c, row, area.col + 1, x ? x->kind : TRACE_IDLE, ATTR_BOLD);
        canvas_format(c, row, area.col + 3, area.cols - 3, ROLE_TEXT, 0, _("%*s%s  rank %-3d %s%s"),
                      8 - text_columns(length), "", length, v->trace.rows[p->row].rank,
                      x ? event_name(v, x) : _("nothing recorded"), bucket);
    }
    free(told);
}

static void paint_legend(const struct timeline_view *v, struct canvas *c, struct rect line, bool *used)
{
    int col = line.col, end = line.col + line.cols;
    used[TRACE_FORWARD] |= used[TRACE_LAYER_FORWARD];
    used[TRACE_BACKWARD] |= used[TRACE_LAYER_BACKWARD];
    for (int k = 0; k < TRACE_KINDS; k++) {
        if (!used[k] || !KINDS[k].means)
            continue;
        const char *words = _(v->from_events && k == TRACE_WAIT ? N_("communication") : KINDS[k].means);
        if (col + text_columns(words) + 2 > end)
            break;
        put_kind(c, line.row, col, k, 0);
        col += 2 + canvas_text(c, line.row, col + 2, end - col - 2, ROLE_MUTED, 0, words) + 2;
    }
    /* The row "critical" says with digits where the path runs. */
    if (col + text_columns(_("digits: rank")) <= end)
        canvas_text(c, line.row, col, end - col, ROLE_MUTED, 0, _("digits: rank"));
}

/* --- all of it --- */

/* Rows below the ranks: axis, path, cursor, two sums, legend; fewer in small windows. */
static int rows_below(struct rect area)
{
    return area.rows >= 14 ? 6 : area.rows >= 9 ? 4 : 2;
}

/* Rows are two high where half of the area is enough for that. */
static struct timeline_layout layout_of(const struct timeline_view *v, struct rect area)
{
    struct timeline_layout l = {
        .first_row = area.row + 1, .left = area.col + LABEL, .cells = area.cols - LABEL};
    int room = area.rows - 1 - rows_below(area);
    l.high = 2 * v->shown_count <= area.rows / 2 ? 2 : 1;
    l.rows = v->shown_count - v->top < room / l.high ? v->shown_count - v->top : room / l.high;
    l.rows = l.rows < 0 ? 0 : l.rows;
    l.cells = l.cells > MOST_CELLS ? MOST_CELLS : l.cells < 1 ? 1 : l.cells;
    return l;
}

static void paint_head(const struct timeline_view *v, struct canvas *c, struct rect line)
{
    char whole[24], window[24];
    const struct trace_data *d = &v->trace;
    format_seconds(1e-9 * (double)(v->path.end - v->path.begin), whole, sizeof whole);
    format_seconds(1e-9 * (v->end - v->begin), window, sizeof window);
    enum role role = ROLE_TITLE;
    if (v->from_events && v->step == 1 && d->rows[0].count && d->events[0].kind == TRACE_STEP &&
        d->events[d->rows[0].first + 1].kind != TRACE_ALLREDUCE)
        canvas_format(c, line.row, line.col, line.cols, ROLE_WARN, ATTR_BOLD,
                      v->simulated
                          ? _("A simulated mean step, %s: the order of its parts is schematic")
                          : _("A mean step, %s: its parts are measured, their order schematic (no trace)"),
                      whole);
    else if (v->from_events || !strcmp(d->job, "allreduce"))
        canvas_format(c, line.row, line.col, line.cols, role, ATTR_BOLD,
                      _("Operation %ld (%ld to %ld): %s; shown: %s"), v->step, d->first_step, d->last_step,
                      whole, window);
    else
        canvas_format(c, line.row, line.col, line.cols, role, ATTR_BOLD,
                      _("Step %ld (%ld to %ld): %s; shown: %s"), v->step, d->first_step, d->last_step, whole,
                      window);
}

void timeline_paint(struct timeline_view *v, struct canvas *c, struct rect area)
{
    bool used[TRACE_KINDS] = {false};
    int room = area.rows - 1 - rows_below(area);
    room = room < 1 ? 1 : room;
    v->top = v->row < v->top ? v->row : v->row >= v->top + room ? v->row - room + 1 : v->top;
    v->top = v->top > v->shown_count - room ? v->shown_count - room : v->top;
    v->top = v->top < 0 ? 0 : v->top;
    v->layout = layout_of(v, area);
    struct timeline_layout l = v->layout;
    paint_head(v, c, rect_cut_rows(&area, 1));
    for (int i = 0; i < l.rows; i++) {
        paint_label(v, c, l.first_row + i * l.high, area.col, v->top + i);
        paint_row(v, c, v->top + i, used);
    }
    int row = l.first_row + l.rows * l.high, end = area.row + area.rows, below = rows_below(area);
    paint_axis(v, c, row++, l.left, l.cells);
    paint_path(v, c, row++, l.left, l.cells);
    if (below < 4)
        return;
    paint_cursor(v, c, (struct rect){row++, area.col, 1, area.cols});
    if (below >= 6) {
        paint_sums(v, c, (struct rect){row, area.col, 2, area.cols});
        row += 2;
    } else if (row < end - 1) {
        paint_sums(v, c, (struct rect){row++, area.col, 1, area.cols});
    }
    if (end - 2 - row >= 3)
        paint_pieces(v, c, (struct rect){row + 1, area.col, end - 2 - row, area.cols}, used);
    paint_legend(v, c, (struct rect){end - 1, area.col, 1, area.cols}, used);
}
