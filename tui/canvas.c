/*
 * canvas.c - drawing on a grid of cells; everything outside is clipped.
 */
#include "tui/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cell blank = {.glyph = ' ', .role = ROLE_TEXT};

bool canvas_init(struct canvas *c, int rows, int cols, bool utf8)
{
    *c = (struct canvas){.cursor_row = -1, .cursor_col = -1, .utf8 = utf8};
    return canvas_resize(c, rows, cols);
}

bool canvas_resize(struct canvas *c, int rows, int cols)
{
    if (rows < 1)
        rows = 1;
    if (cols < 1)
        cols = 1;
    struct cell *cells = realloc(c->cells, (size_t)rows * (size_t)cols * sizeof *cells);
    if (!cells)
        return false;
    c->cells = cells;
    c->rows = rows;
    c->cols = cols;
    canvas_clear(c);
    return true;
}

void canvas_free(struct canvas *c)
{
    if (!c)
        return;
    free(c->cells);
    *c = (struct canvas){.cursor_row = -1, .cursor_col = -1};
}

void canvas_clear(struct canvas *c)
{
    for (int i = 0; i < c->rows * c->cols; i++)
        c->cells[i] = blank;
    c->cursor_row = c->cursor_col = -1;
}

struct rect canvas_whole(const struct canvas *c)
{
    return (struct rect){0, 0, c->rows, c->cols};
}

struct rect rect_inset(struct rect r, int rows, int cols)
{
    r.row += rows;
    r.col += cols;
    r.rows -= 2 * rows;
    r.cols -= 2 * cols;
    if (r.rows < 0)
        r.rows = 0;
    if (r.cols < 0)
        r.cols = 0;
    return r;
}

struct rect rect_cut_rows(struct rect *r, int rows)
{
    struct rect cut = *r;
    if (rows >= 0) {
        cut.rows = rows < r->rows ? rows : r->rows;
        r->row += cut.rows;
    } else {
        cut.rows = -rows < r->rows ? -rows : r->rows;
        cut.row = r->row + r->rows - cut.rows;
    }
    r->rows -= cut.rows;
    return cut;
}

struct rect rect_cut_cols(struct rect *r, int cols)
{
    struct rect cut = *r;
    if (cols >= 0) {
        cut.cols = cols < r->cols ? cols : r->cols;
        r->col += cut.cols;
    } else {
        cut.cols = -cols < r->cols ? -cols : r->cols;
        cut.col = r->col + r->cols - cut.cols;
    }
    r->cols -= cut.cols;
    return cut;
}

/* Overwriting half of a wide character blanks its other half. */
static void cell_set(struct canvas *c, int row, int col, struct cell cell)
{
    struct cell *line = c->cells + (size_t)row * (size_t)c->cols;
    if (line[col].glyph == 0 && col > 0 && cell.glyph != 0)
        line[col - 1].glyph = ' ';
    if (cell.glyph != 0 && col + 1 < c->cols && line[col + 1].glyph == 0)
        line[col + 1].glyph = ' ';
    line[col] = cell;
}

void canvas_put(struct canvas *c, int row, int col, uint32_t glyph, enum role role, int attributes)
{
    if (row < 0 || row >= c->rows || col < 0 || col >= c->cols)
        return;
    if (!c->utf8 && glyph > 126)
        glyph = glyph_ascii(glyph);
    struct cell cell = {.glyph = glyph, .role = (uint8_t)role, .attributes = (uint8_t)attributes};
    if (glyph_columns(glyph) == 2) {
        if (col + 1 >= c->cols) {
            cell.glyph = ' ';
        } else {
            cell_set(c, row, col, cell);
            cell.glyph = 0;
            c->cells[(size_t)row * (size_t)c->cols + (size_t)col + 1] = cell;
            return;
        }
    }
    cell_set(c, row, col, cell);
}

void canvas_pixels(struct canvas *c, int row, int col, uint32_t upper, uint32_t lower)
{
    if (row < 0 || row >= c->rows || col < 0 || col >= c->cols)
        return;
    bool alike = upper == lower;
    struct cell cell = {.glyph = alike ? ' ' : 0x2584,
                        .role = ROLE_TEXT,
                        .fg = alike ? 0 : CELL_COLOUR | lower,
                        .bg = CELL_COLOUR | upper};
    cell_set(c, row, col, cell);
}

int canvas_text(struct canvas *c, int row, int col, int width, enum role role, int attributes,
                const char *text)
{
    if (width <= 0 || !text)
        return 0;
    bool cut = text_columns(text) > width;
    int limit = cut ? width - 1 : width, used = 0;
    uint32_t glyph;
    while ((glyph = utf8_next(&text))) {
        if (glyph < 32 || (glyph >= 127 && glyph < 160))
            glyph = '?';
        int columns = glyph_columns(glyph);
        if (columns == 0) {
            int at = col + used - 1;
            if (c->utf8 && used > 0 && row >= 0 && row < c->rows && at >= 0 && at < c->cols) {
                struct cell *cell = c->cells + (size_t)row * (size_t)c->cols + at;
                if (cell->glyph == 0 && at > 0)
                    cell--;
                if (!cell->combining)
                    cell->combining = glyph;
            }
            continue;
        }
        if (used + columns > limit)
            break;
        canvas_put(c, row, col + used, glyph, role, attributes);
        if (columns == 2 && !c->utf8)
            canvas_put(c, row, col + used + 1, ' ', role, attributes);
        used += columns;
    }
    if (cut) {
        canvas_put(c, row, col + used, 0x2026, role, attributes);
        used++;
    }
    return used;
}

int canvas_text_right(struct canvas *c, int row, int col, int width, enum role role, int attributes,
                      const char *text)
{
    int blank_columns = width - text_columns(text);
    if (blank_columns < 0)
        blank_columns = 0;
    return canvas_text(c, row, col + blank_columns, width - blank_columns, role, attributes, text);
}

int canvas_format(struct canvas *c, int row, int col, int width, enum role role, int attributes,
                  const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return canvas_text(c, row, col, width, role, attributes, text);
}

void canvas_fill(struct canvas *c, struct rect r, uint32_t glyph, enum role role, int attributes)
{
    for (int row = r.row; row < r.row + r.rows; row++)
        for (int col = r.col; col < r.col + r.cols; col++)
            canvas_put(c, row, col, glyph, role, attributes);
}

void canvas_hline(struct canvas *c, int row, int col, int cols, enum role role)
{
    for (int i = 0; i < cols; i++)
        canvas_put(c, row, col + i, 0x2500, role, 0);
}

void canvas_vline(struct canvas *c, int row, int col, int rows, enum role role)
{
    for (int i = 0; i < rows; i++)
        canvas_put(c, row + i, col, 0x2502, role, 0);
}

struct rect canvas_box(struct canvas *c, struct rect r, const char *title, enum role role)
{
    if (r.rows < 2 || r.cols < 2)
        return rect_inset(r, 1, 1);
    int bottom = r.row + r.rows - 1, right = r.col + r.cols - 1;
    canvas_hline(c, r.row, r.col + 1, r.cols - 2, role);
    canvas_hline(c, bottom, r.col + 1, r.cols - 2, role);
    canvas_vline(c, r.row + 1, r.col, r.rows - 2, role);
    canvas_vline(c, r.row + 1, right, r.rows - 2, role);
    canvas_put(c, r.row, r.col, 0x256d, role, 0);
    canvas_put(c, r.row, right, 0x256e, role, 0);
    canvas_put(c, bottom, r.col, 0x2570, role, 0);
    canvas_put(c, bottom, right, 0x256f, role, 0);
    if (title && *title && r.cols > 6) {
        canvas_put(c, r.row, r.col + 2, ' ', role, 0);
        int used = canvas_text(c, r.row, r.col + 3, r.cols - 6, ROLE_TITLE, ATTR_BOLD, title);
        canvas_put(c, r.row, r.col + 3 + used, ' ', role, 0);
    }
    return rect_inset(r, 1, 1);
}
