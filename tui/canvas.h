/*
 * canvas.h - a grid of cells that views draw on.
 *
 * term.c puts a canvas on the screen through curses, plain.c prints it as text, tests compare it. Drawing
 * outside the grid is clipped, so a view never asks whether it fits. A wide character takes two cells: its
 * second one holds glyph 0.
 */
#ifndef RINGSIDE_TUI_CANVAS_H
#define RINGSIDE_TUI_CANVAS_H

#include <stdbool.h>
#include <stdint.h>

/* What a cell means; theme.c maps it to what the terminal can show. Never colour alone. */
enum role {
    ROLE_TEXT,
    ROLE_MUTED,
    ROLE_TITLE,
    ROLE_ACCENT,
    ROLE_GOOD,
    ROLE_WARN,
    ROLE_BAD,
    ROLE_CODE,
    ROLE_KEY,
    ROLE_SELECTED,
    ROLE_BORDER,
    ROLE_BAR, /* header and footer lines */
    ROLE_SERIES1,
    ROLE_SERIES2,
    ROLE_SERIES3,
    ROLE_SERIES4,
    ROLE_SERIES5,
    ROLE_SERIES6,
    ROLE_COUNT
};

enum { ATTR_BOLD = 1, ATTR_UNDERLINE = 2, ATTR_REVERSE = 4, ATTR_ITALIC = 8, ATTR_DIM = 16 };

struct cell {
    uint32_t glyph;     /* a Unicode code point; 0: the second half of a wide one */
    uint32_t combining; /* one combining mark upon it, or 0 */
    uint8_t role, attributes;
    uint32_t fg, bg; /* colours of its own, CELL_COLOUR | 0xRRGGBB; 0: those of its role */
};

enum { CELL_COLOUR = 0x1000000 };

struct rect {
    int row, col, rows, cols;
};

struct canvas {
    int rows, cols;
    struct cell *cells;         /* rows * cols, by row */
    int cursor_row, cursor_col; /* the real cursor: on the selected row, for screen readers; -1: hidden */
    bool utf8;                  /* whether the terminal shows Unicode; else views use ASCII */
    bool pixels; /* whether cells can have colours of their own; else pictures are made of dots and shades */
};

bool canvas_init(struct canvas *c, int rows, int cols, bool utf8); /* false: out of memory */
bool canvas_resize(struct canvas *c, int rows, int cols);
void canvas_free(struct canvas *c);
void canvas_clear(struct canvas *c); /* blanks of ROLE_TEXT, cursor hidden */

struct rect canvas_whole(const struct canvas *c);
/* The part of a rect inside margins; never negative. */
struct rect rect_inset(struct rect r, int rows, int cols);
/* Cuts `rows` (or `cols`) off and returns them; negative: from the bottom (or the right). */
struct rect rect_cut_rows(struct rect *r, int rows);
struct rect rect_cut_cols(struct rect *r, int cols);

void canvas_put(struct canvas *c, int row, int col, uint32_t glyph, enum role role, int attributes);
/* Two pixels (0xRRGGBB) one above the other in a cell; only where c->pixels. */
void canvas_pixels(struct canvas *c, int row, int col, uint32_t upper, uint32_t lower);
/*
 * Writes UTF-8 from (row, col) in at most `width` columns, with an ellipsis where it does not fit; control
 * characters become '?'. Returns the columns used. On a canvas without Unicode, glyphs outside ASCII are
 * written as near ASCII ones.
 */
int canvas_text(struct canvas *c, int row, int col, int width, enum role role, int attributes,
                const char *text);
/* The same, at the right end of these columns. */
int canvas_text_right(struct canvas *c, int row, int col, int width, enum role role, int attributes,
                      const char *text);
int canvas_format(struct canvas *c, int row, int col, int width, enum role role, int attributes,
                  const char *format, ...) __attribute__((format(printf, 7, 8)));
void canvas_fill(struct canvas *c, struct rect r, uint32_t glyph, enum role role, int attributes);
void canvas_hline(struct canvas *c, int row, int col, int cols, enum role role);
void canvas_vline(struct canvas *c, int row, int col, int rows, enum role role);
/* A frame with a title in its top line; returns the inside. */
struct rect canvas_box(struct canvas *c, struct rect r, const char *title, enum role role);

/* Columns a UTF-8 text takes. */
int text_columns(const char *utf8);
/* Decodes one code point and moves *text on; U+FFFD for a broken one; 0 at the end. */
uint32_t utf8_next(const char **text);
/* Encodes one code point in at most four bytes, no end mark; returns how many. */
int utf8_put(char *out, uint32_t glyph);
/* Columns one character takes: 0 (a combining mark), 1 or 2. */
int glyph_columns(uint32_t glyph);
/* The nearest ASCII character: '-' for a box line, '*' for a bullet, '?' where there is none. */
uint32_t glyph_ascii(uint32_t glyph);

#endif
