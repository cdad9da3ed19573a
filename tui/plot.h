/*
 * plot.h - line plots and bars on a canvas.
 *
 * Lines are drawn with braille dots (one character a cell without Unicode). Series differ by marker and by
 * dashes as well as by colour. Where a series has more samples than the plot has columns of dots, each column
 * shows their mean, and how far they reach: a peak of one sample stays to be seen. A plot owns nothing: samples and axes belong to the caller, who fits the axes before
 * drawing (axis.h says why they have a memory).
 */
#ifndef RINGSIDE_TUI_PLOT_H
#define RINGSIDE_TUI_PLOT_H

#include "tui/axis.h"
#include "tui/canvas.h"

enum { PLOT_MAX_SERIES = 6 };

struct plot_series {
    const char *name; /* in the legend; NULL: not there */
    const double *x, *y;
    int count;
    const double *lo, *hi; /* how far each sample reaches, where it stands for several; NULL: it does not */
    bool points; /* few samples that matter one by one: a marker at each, and lines between where x grows */
    bool lines;  /* few samples, and lines between them, without markers */
    bool last;   /* the last value is written at the line's end */
    bool fill;   /* the area below the line is filled with every other dot: one series only */
};

struct plot {
    const struct plot_series *series;
    int count;
    const struct axis *x, *y;
    const char *x_label;  /* at the right end of the x axis; NULL: none */
    const char *empty;    /* what to say while there is nothing to plot; NULL: nothing */
    const double *cursor; /* a place on the x axis that is marked by a line; NULL: none */
};

/* Draws axes, grid, lines and (with two or more named series) a legend. Needs 3 rows and 12 columns. */
void plot_draw(struct canvas *c, struct rect area, const struct plot *p);

/* Where its lines lie, for who draws among them; empty where there is no room for a plot. */
struct rect plot_inside(struct rect area, const struct plot *p);

/* The role and the marker of series i, for legends elsewhere. */
enum role plot_role(int series);
uint32_t plot_marker(int series, bool utf8);

/*
 * A bar of `cols` columns whose parts are the shares (of 1) in order; each part has its own glyph and role,
 * so that parts differ without colour. Shares are rounded to eighths of a cell at the end of the bar only.
 */
struct bar_part {
    double share;
    enum role role;
    uint32_t glyph;
    char ascii;
};
void bar_draw(struct canvas *c, int row, int col, int cols, const struct bar_part *parts, int count);
/* A bar from the left, `share` of `cols` long, in eighths of a cell; the rest muted. */
void gauge_draw(struct canvas *c, int row, int col, int cols, double share, enum role role);

#endif
