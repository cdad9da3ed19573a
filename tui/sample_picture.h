/*
 * sample_picture.h - a picture in cells: bytes on a scale, or red, green and blue, in whatever the terminal can show.
 *
 * Half blocks show two pixels a cell where cells can have colours of their own. Without colours there are braille dots
 * (eight a cell, grey by ordered dithering: B. Bayer, An optimum method for two-level rendition of continuous-tone
 * pictures, ICC 1973), shades, and without Unicode ASCII characters of growing ink. A cell is taken to be twice
 * as high as it is wide. Whatever the size, each dot shows the mean of the area of the picture that it covers.
 */
#ifndef RINGSIDE_TUI_SAMPLE_PICTURE_H
#define RINGSIDE_TUI_SAMPLE_PICTURE_H

#include "tui/canvas.h"

/* What a byte looks like. Neither relies on red against green. */
enum palette {
    PALETTE_GREY,
    PALETTE_HEAT,     /* 0 ... : black, purple, orange, pale yellow */
    PALETTE_DIVERGING /* below and above the middle: blue and orange, dark between them */
};

enum picture_style { PICTURE_BEST, PICTURE_SHADES, PICTURE_DOTS, PICTURE_STYLES };

struct picture {
    const unsigned char *bytes; /* channels × rows × cols, plain */
    int channels, rows, cols;   /* 1, or 3: red, green, blue */
    enum palette palette;
};

/* Fills the area, stretching where it is of another shape. */
void picture_draw(struct canvas *c, struct rect area, const struct picture *p, enum picture_style style);

/* Rows of cells that keep the picture's shape at this width. */
int picture_rows(const struct picture *p, int cols);

/* One value from 0 to 1 in one cell, in the same looks. */
void picture_cell(struct canvas *c, int row, int col, double value, enum palette palette,
                  enum picture_style style);
/* A strip from the lowest to the highest value. */
void picture_scale(struct canvas *c, int row, int col, int cols, enum palette palette,
                   enum picture_style style);

#endif
