/*
 * braille.h - a picture of dots inside cells: two dots across and four down in each (Unicode braille), or one
 * where the terminal has no Unicode. Lines of several series share it; a cell takes the role of the series
 * that touched it last.
 */
#ifndef RINGSIDE_TUI_BRAILLE_H
#define RINGSIDE_TUI_BRAILLE_H

#include "tui/canvas.h"

struct dots {
    int rows, cols; /* in cells */
    int high, wide; /* in dots */
    bool braille;
    uint8_t *bits;   /* of each cell */
    uint8_t *series; /* 1 + the series that touched it last; 0: none */
};

/* How a series' line is broken, so that lines differ without colour: `on` dots drawn, then `off` left out. */
struct dash {
    int on, off;
};

bool dots_init(struct dots *d, int rows, int cols, bool braille); /* false: out of memory */
void dots_free(struct dots *d);
/* x from the left, y from the top, in dots; outside is ignored. */
void dots_set(struct dots *d, int x, int y, int series);
/* *phase counts dots along a polyline, so that dashes go on over its corners. */
void dots_line(struct dots *d, int x0, int y0, int x1, int y1, int series, struct dash dash, int *phase);
/* Draws the touched cells; roles and ASCII glyphs by series. Other cells stay as they are. */
void dots_draw(const struct dots *d, struct canvas *c, int row, int col, const enum role *roles,
               const char *ascii);

#endif
