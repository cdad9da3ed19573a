/*
 * md_cells.h - a growing row of cells, and its breaking into lines.
 */
#ifndef RINGSIDE_TUI_MD_CELLS_H
#define RINGSIDE_TUI_MD_CELLS_H

#include "tui/canvas.h"

struct md_cells {
    struct cell *cells;
    int count, capacity;
    bool failed; /* memory ran out; what was added before is whole */
};

/* A wide character takes two cells, a combining mark none; '\n' is kept as a cell of its own: a forced break. */
void md_cells_add(struct md_cells *c, uint32_t glyph, enum role role, int attributes);
/* Control characters become '?', a tab four blanks. */
void md_cells_text(struct md_cells *c, const char *text, enum role role, int attributes);
void md_cells_text_n(struct md_cells *c, const char *text, int length, enum role role, int attributes);
void md_cells_free(struct md_cells *c);
/* The text; free() it. NULL where memory is short. */
char *md_cells_utf8(const struct md_cells *c);

/*
 * The next line of at most `width` columns, broken at blanks (a longer word is cut): cells[from..from+count).
 * *at begins as 0 and is moved on; false at the end. An empty row gives no line.
 */
bool md_wrap(const struct md_cells *c, int width, int *at, int *from, int *count);

#endif
