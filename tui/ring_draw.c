/*
 * ring_draw.c - the ranks on an ellipse of cells, their chunks as bars, the messages on their paths.
 */
#include "tui/ring_draw.h"

#include "tui/axis.h"
#include "tui/plot.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DRAWN = 16, PATH_STEPS = 240, PATH_CELLS = 256 };

struct cell_at {
    int row, col;
};

struct geometry {
    int ranks, chunks;
    int wide, high; /* of one chunk, in cells */
    bool counts;    /* a row of numbers below the bars */
    int node_cols, node_rows;
    double row, col, rows, cols; /* centre and radii of the ellipse */
    struct rect node[MAX_DRAWN];
};

/* Where on the ellipse the point `f` lies, ranks counting from 0 clockwise from the top (two: from the left). */
static struct cell_at place(const struct geometry *g, double f)
{
    double u = f / g->ranks, row, col;
    u -= floor(u);
    if (g->ranks == 2) {
        row = -sin(u * 2 * M_PI);
        col = -cos(u * 2 * M_PI);
    } else if (g->ranks <= 8) {
        row = -cos(u * 2 * M_PI);
        col = sin(u * 2 * M_PI);
    } else {
        /* Many: equal distances down the sides, so that the bars of neighbours do not touch. */
        row = u < 0.5 ? -1 + 4 * u : 3 - 4 * u;
        col = sqrt(fmax(0, 1 - row * row)) * (u < 0.5 ? 1 : -1);
    }
    return (struct cell_at){(int)lround(g->row + row * g->rows), (int)lround(g->col + col * g->cols)};
}

static bool covered(const struct geometry *g, int row, int col)
{
    for (int i = 0; i < g->ranks; i++) {
        const struct rect *n = &g->node[i];
        if (row >= n->row && row < n->row + n->rows && col >= n->col - 1 && col < n->col + n->cols + 1)
            return true;
    }
    return false;
}

static void geometry_fit(struct geometry *g, struct rect area)
{
    int chunks = g->chunks > 0 ? g->chunks : 1;
    int most = area.cols * (g->ranks <= 4 ? 28 : g->ranks <= 8 ? 17 : 24) / 100;
    g->wide = (most - 2) / chunks;
    int widest = chunks <= 3 ? 10 : chunks == 4 ? 8 : 6;
    g->wide = g->wide > widest ? widest : g->wide < 1 ? 1 : g->wide;
    int room = area.rows / (g->ranks <= 4 ? 4 : g->ranks <= 8 ? 6 : 9);
    g->counts = room >= 4 && g->wide >= 2;
    g->high = room - 1 - (g->counts ? 1 : 0);
    g->high = g->high > (g->ranks <= 4 ? 4 : 3) ? (g->ranks <= 4 ? 4 : 3) : g->high < 1 ? 1 : g->high;
    if (g->chunks < 1)
        g->high = 1;
    g->node_cols = g->chunks > 0 ? chunks * g->wide + 2 : 8;
    if (g->node_cols < 8)
        g->node_cols = 8;
    g->node_rows = 1 + (g->chunks > 0 ? g->high : 0) + (g->counts ? 1 : 0);
    g->rows = (area.rows - g->node_rows) / 2.0;
    g->cols = (area.cols - g->node_cols - 2) / 2.0;
    if (g->cols > g->rows * 4.4)
        g->cols = g->rows * 4.4;
    g->row = area.row + (area.rows - 1) / 2.0;
    g->col = area.col + (area.cols - 1) / 2.0;
    for (int i = 0; i < g->ranks; i++) {
        struct cell_at at = place(g, i);
        int row = at.row - (g->node_rows - 1) / 2, col = at.col - g->node_cols / 2;
        row = row < area.row ? area.row : row;
        row = row + g->node_rows > area.row + area.rows ? area.row + area.rows - g->node_rows : row;
        col = col < area.col ? area.col : col;
        col = col + g->node_cols > area.col + area.cols ? area.col + area.cols - g->node_cols : col;
        g->node[i] = (struct rect){row, col, g->node_rows, g->node_cols};
    }
}

enum role ring_chunk_role(int chunk)
{
    return chunk < 0 ? ROLE_ACCENT : (enum role)(ROLE_SERIES1 + chunk % 6);
}

void ring_draw_chunk(struct canvas *c, struct rect at, int chunk, int have, int ranks, bool hot)
{
    int columns = at.cols > 2 ? at.cols - 1 : at.cols, high = at.rows;
    bool complete = have >= ranks;
    int attributes = (complete ? ATTR_BOLD : 0) | (hot ? ATTR_REVERSE : 0);
    enum role role = ring_chunk_role(chunk);
    if (!c->utf8) {
        uint32_t glyph = complete    ? '#'
                         : have == 0 ? '.'
                         : have < 10 ? (uint32_t)('0' + have)
                         : have < 36 ? (uint32_t)('a' + have - 10)
                                     : '+';
        canvas_fill(c, (struct rect){at.row, at.col, high, columns}, glyph, role, attributes);
        return;
    }
    int eighths = complete ? 8 * high : (int)lround(8.0 * high * have / ranks);
    eighths = eighths < 1 && have > 0 ? 1 : !complete && eighths > 8 * high - 1 ? 8 * high - 1 : eighths;
    for (int r = 0; r < high; r++) {
        int n = eighths - 8 * (high - 1 - r);
        uint32_t glyph = n <= 0 ? ' ' : n >= 8 ? 0x2588 : 0x2580u + (uint32_t)n;
        canvas_fill(c, (struct rect){at.row + r, at.col, 1, columns}, glyph, role, attributes);
    }
}

const struct ring_message *ring_sent_by(const struct ring_scene *s, int rank)
{
    const struct ring_model *m = s->model;
    if (ring_over(s))
        return NULL;
    for (int i = m->first[s->round]; i < m->first[s->round + 1]; i++)
        if (m->messages[i].from == rank)
            return &m->messages[i];
    return NULL;
}

static void draw_node(struct canvas *c, const struct geometry *g, const struct ring_scene *s, int rank)
{
    const struct ring_model *m = s->model;
    struct rect n = g->node[rank];
    bool complete = ring_model_complete(m, s->sets, rank);
    char label[24];
    snprintf(label, sizeof label, _("rank %d%s"), rank, complete ? (c->utf8 ? " ✓" : " ok") : "");
    int columns = text_columns(label), pad = columns < n.cols ? (n.cols - columns) / 2 : 0;
    canvas_text(c, n.row, n.col + pad, n.cols - pad, complete ? ROLE_GOOD : ROLE_TITLE, ATTR_BOLD, label);
    if (m->chunks < 1)
        return;
    const struct ring_message *x = s->travel < 1 ? ring_sent_by(s, rank) : NULL;
    int bars = m->chunks * g->wide, left = n.col + (n.cols - bars - 2) / 2;
    for (int r = 0; r < g->high; r++) {
        canvas_put(c, n.row + 1 + r, left, c->utf8 ? 0x2595 : '[', ROLE_BORDER, 0);
        canvas_put(c, n.row + 1 + r, left + bars + 1 - (g->wide > 2), c->utf8 ? 0x258F : ']', ROLE_BORDER, 0);
    }
    for (int k = 0; k < m->chunks; k++) {
        int have = ring_model_have(m, s->sets, rank, k), col = left + 1 + k * g->wide;
        bool hot = x && x->chunk == k;
        ring_draw_chunk(c, (struct rect){n.row + 1, col, g->high, g->wide}, k, have, m->ranks,
                        hot && !c->utf8);
        if (hot && c->utf8 && !g->counts && g->high == 1)
            for (int j = 0; j < (g->wide > 2 ? g->wide - 1 : g->wide); j++) {
                struct cell *cell = &c->cells[(n.row + 1) * c->cols + col + j];
                if (n.row + 1 < c->rows && col + j < c->cols)
                    cell->attributes |= ATTR_UNDERLINE;
            }
        if (g->counts)
            canvas_format(c, n.row + 1 + g->high, col, g->wide, hot ? ring_chunk_role(k) : ROLE_MUTED,
                          hot ? ATTR_BOLD | ATTR_UNDERLINE : 0, "%d", have);
    }
}

/* The cells a message passes, those under a rank's bar left out. */
static int path_of(const struct geometry *g, const struct ring_message *x, struct cell_at *cells)
{
    int right = (x->from + 1) % g->ranks, left = (x->from + g->ranks - 1) % g->ranks, count = 0;
    struct cell_at a = place(g, x->from), b = place(g, x->to);
    for (int k = 0; k <= PATH_STEPS && count < PATH_CELLS; k++) {
        double f = (double)k / PATH_STEPS;
        struct cell_at at;
        if (x->to == right)
            at = place(g, x->from + f);
        else if (x->to == left)
            at = place(g, x->from + g->ranks - f);
        else
            at = (struct cell_at){(int)lround(a.row + f * (b.row - a.row)),
                                  (int)lround(a.col + f * (b.col - a.col))};
        if (covered(g, at.row, at.col) ||
            (count && cells[count - 1].row == at.row && cells[count - 1].col == at.col))
            continue;
        cells[count++] = at;
    }
    return count;
}

static uint32_t arrow(struct cell_at a, struct cell_at b, bool utf8)
{
    int rows = b.row - a.row, cols = b.col - a.col;
    bool vertical = 2 * abs(rows) > abs(cols);
    if (vertical)
        return rows > 0 ? (utf8 ? 0x25BC : 'v') : (utf8 ? 0x25B2 : '^');
    return cols > 0 ? (utf8 ? 0x25B6 : '>') : (utf8 ? 0x25C0 : '<');
}

/* The ring itself, on which neighbours talk. */
static void draw_track(struct canvas *c, const struct geometry *g)
{
    for (int r = 0; r < g->ranks; r++) {
        struct cell_at cells[PATH_CELLS];
        struct ring_message along = {.from = r, .to = (r + 1) % g->ranks};
        int count = g->ranks > 1 ? path_of(g, &along, cells) : 0;
        for (int i = 0; i < count; i++)
            canvas_put(c, cells[i].row, cells[i].col, c->utf8 ? 0x00B7 : '.', ROLE_MUTED, 0);
    }
}

/* Where a message goes: an arrow at its end, and across the ring a line. */
static void draw_path(struct canvas *c, const struct geometry *g, const struct ring_message *x)
{
    struct cell_at cells[PATH_CELLS];
    int count = path_of(g, x, cells);
    if (count < 2)
        return;
    enum role role = x->faulty ? ROLE_BAD : ring_chunk_role(x->chunk);
    uint32_t dot = x->faulty ? (c->utf8 ? 0x2022 : 'x') : (c->utf8 ? 0x00B7 : '.');
    for (int i = 0; (x->far || x->faulty) && i < count; i++)
        canvas_put(c, cells[i].row, cells[i].col, dot, role, 0);
    int end = count - 1, before = end > 2 ? end - 2 : 0;
    canvas_put(c, cells[end].row, cells[end].col, arrow(cells[before], cells[end], c->utf8), role, ATTR_BOLD);
}

/* Where something should have come: crosses on its way. */
static void draw_missing(struct canvas *c, const struct geometry *g, const struct ring_fault *f)
{
    struct cell_at cells[PATH_CELLS];
    struct ring_message x = {.from = f->from, .to = f->kind == RING_MISSING ? f->to : f->expected};
    int count = x.to >= 0 ? path_of(g, &x, cells) : 0;
    for (int i = 1; i < count; i += 3)
        canvas_put(c, cells[i].row, cells[i].col, c->utf8 ? 0x00D7 : 'x', ROLE_BAD, ATTR_BOLD);
}

/* The message itself, somewhere on its way. */
static void draw_message(struct canvas *c, const struct geometry *g, const struct ring_scene *s,
                         const struct ring_message *x)
{
    struct cell_at cells[PATH_CELLS];
    int count = s->travel < 1 ? path_of(g, x, cells) : 0;
    if (count < 2)
        return;
    int at = (int)lround((s->travel < 0 ? 0 : s->travel) * (count - 2));
    char text[8];
    if (x->chunk < 0)
        snprintf(text, sizeof text, "%s", c->utf8 ? "●" : "o");
    else
        snprintf(text, sizeof text, "%d", x->chunk % 1000);
    canvas_text(c, cells[at].row, cells[at].col, 3, x->faulty ? ROLE_BAD : ring_chunk_role(x->chunk),
                ATTR_REVERSE | ATTR_BOLD, text);
}

static void centred(struct canvas *c, struct rect area, int row, enum role role, int attributes,
                    const char *text)
{
    int columns = text_columns(text), pad = columns < area.cols ? (area.cols - columns) / 2 : 0;
    if (row >= area.row && row < area.row + area.rows)
        canvas_text(c, row, area.col + pad, area.cols - pad, role, attributes, text);
}

static void draw_centre(struct canvas *c, const struct geometry *g, const struct ring_scene *s)
{
    struct ring_figures f;
    ring_figures_of(s, &f);
    int half = (int)(g->cols * 0.72) - g->node_cols / 2;
    half = half < 15 ? 15 : half > 30 ? 30 : half;
    struct rect r = {(int)lround(g->row) - 4, (int)lround(g->col) - half, 9, 2 * half + 1};
    bool tall = g->rows >= 8;
    int row = r.row + (tall ? 0 : 2);
    centred(c, r, row++, ring_over(s) ? ROLE_GOOD : ROLE_ACCENT, ATTR_BOLD, f.phase);
    centred(c, r, row++, ROLE_TEXT, 0, f.round);
    if (tall) {
        int cols = r.cols > 34 ? 34 : r.cols;
        gauge_draw(c, row++, r.col + (r.cols - cols) / 2, cols, (double)s->round / s->model->rounds,
                   ROLE_ACCENT);
        row++;
    }
    centred(c, r, row++, ROLE_TEXT, 0, f.bytes);
    if (tall)
        centred(c, r, row++, ROLE_MUTED, 0, f.formula);
    centred(c, r, row++, ROLE_TEXT, 0, f.really);
    if (tall)
        centred(c, r, row++, ROLE_MUTED, 0, f.shown);
}

/* A row for each rank: for small windows and for more ranks than fit on an ellipse. */
static void draw_list(struct canvas *c, struct rect area, const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    struct ring_figures f;
    ring_figures_of(s, &f);
    canvas_format(c, area.row, area.col, area.cols, ROLE_ACCENT, ATTR_BOLD, "%s, %s", f.phase, f.round);
    canvas_text(c, area.row + 1, area.col, area.cols, ROLE_TEXT, 0, f.bytes);
    int rows = area.rows - 4, left = area.col + 4;
    int chunks = m->chunks < area.cols - 16 ? m->chunks : area.cols - 16;
    for (int r = 0; r < m->ranks && r < rows; r++) {
        int row = area.row + 2 + r;
        bool cut = r == rows - 1 && m->ranks > rows;
        if (cut) {
            canvas_format(c, row, area.col, area.cols, ROLE_MUTED, 0, _("and %d more ranks"), m->ranks - r);
            break;
        }
        canvas_format(c, row, area.col, 4, ring_model_complete(m, s->sets, r) ? ROLE_GOOD : ROLE_TITLE,
                      ATTR_BOLD, "%3d", r);
        for (int k = 0; k < chunks; k++)
            ring_draw_chunk(c, (struct rect){row, left + k, 1, 1}, k, ring_model_have(m, s->sets, r, k),
                            m->ranks, false);
        const struct ring_message *x = ring_sent_by(s, r);
        if (!x)
            continue;
        int col = left + (chunks > 0 ? chunks + 1 : 0);
        enum role role = x->faulty ? ROLE_BAD : ring_chunk_role(x->chunk);
        if (x->chunk >= 0)
            canvas_format(c, row, col, area.col + area.cols - col, role, 0, "%d %s %d%s", x->chunk,
                          c->utf8 ? "→" : "->", x->to,
                          x->stranger ? _(" no neighbour")
                          : x->faulty ? _(" wrong")
                                      : "");
        else
            canvas_format(c, row, col, area.col + area.cols - col, role, 0, "%s %d%s", c->utf8 ? "→" : "->",
                          x->to,
                          x->stranger ? _(" no neighbour")
                          : x->faulty ? _(" wrong")
                                      : "");
    }
    int used = canvas_text(c, area.row + area.rows - 2, area.col, area.cols, ROLE_MUTED, 0, f.really);
    if (*f.shown && used + 2 + text_columns(f.shown) <= area.cols)
        canvas_format(c, area.row + area.rows - 2, area.col + used, area.cols - used, ROLE_MUTED, 0, "; %s",
                      f.shown);
}

enum ring_layout ring_layout_of(const struct ring_scene *s)
{
    if (s->layout != RING_AUTO && s->model->ranks <= MAX_DRAWN)
        return s->layout;
    return s->model->claims_ring && s->model->ranks <= MAX_DRAWN ? RING_AROUND : RING_ROWS;
}

void ring_draw(struct canvas *c, struct rect area, const struct ring_scene *s)
{
    const struct ring_model *m = s->model;
    char sentence[300];
    bool bad = ring_sentence(s, sentence, sizeof sentence);
    struct rect caption = rect_cut_rows(&area, -1);
    bool rows = ring_layout_of(s) == RING_ROWS;
    bool compact = !rows && (area.cols < 60 || area.rows < 15 || m->ranks < 2);
    if (compact)
        draw_list(c, (struct rect){area.row, area.col, area.rows + 1, area.cols}, s);
    canvas_format(c, caption.row, caption.col, caption.cols, bad ? ROLE_BAD : ROLE_TEXT, bad ? ATTR_BOLD : 0,
                  "%s%s", bad ? (c->utf8 ? "✗ " : "! ") : "", sentence);
    if (compact)
        return;
    if (area.cols >= 120)
        ring_draw_panel(c, rect_cut_cols(&area, -42), s);
    if (rows) {
        ring_draw_rows(c, area, s);
        return;
    }
    struct geometry g = {.ranks = m->ranks, .chunks = m->chunks};
    geometry_fit(&g, area);
    int first = ring_over(s) ? 0 : m->first[s->round], last = ring_over(s) ? 0 : m->first[s->round + 1];
    draw_track(c, &g);
    for (int i = first; i < last; i++)
        draw_path(c, &g, &m->messages[i]);
    for (int i = 0; i < m->fault_count; i++)
        if (m->faults[i].round == s->round)
            draw_missing(c, &g, &m->faults[i]);
    draw_centre(c, &g, s);
    for (int i = first; i < last; i++)
        draw_message(c, &g, s, &m->messages[i]);
    for (int r = 0; r < m->ranks; r++)
        draw_node(c, &g, s, r);
}
