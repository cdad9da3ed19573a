/*
 * banner.h - headings in block letters, for slides that are read from the last row of a hall.
 *
 * A font of our own, five pixels high and up to five wide, in capitals. Small letters take half a row a pixel (half
 * blocks: three rows), large ones a row and two columns (five rows). Without Unicode both are drawn with '#', and
 * both take five rows. Text is broken at blanks.
 */
#ifndef RINGSIDE_TUI_BANNER_H
#define RINGSIDE_TUI_BANNER_H

#include "tui/canvas.h"

enum banner_scale { BANNER_SMALL, BANNER_LARGE };

/* Lines that the text takes at this width; 0: a word is wider, or the font lacks a character. */
int banner_lines(const char *text, enum banner_scale scale, int cols);
/* Rows that so many lines take, with a blank row between two. */
int banner_rows(int lines, enum banner_scale scale, bool utf8);
/* Draws the text from the top left corner of the area, or with its lines in the middle; returns the rows used. */
int banner_draw(struct canvas *c, struct rect area, enum banner_scale scale, bool centred, enum role role,
                const char *text);

#endif
