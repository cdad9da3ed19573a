/*
 * wrap.h - a sentence over as many rows as it needs, broken at blanks.
 */
#ifndef RINGSIDE_TUI_WRAP_H
#define RINGSIDE_TUI_WRAP_H

#include "tui/canvas.h"

/* Draws the text from the top of the area, at most area.rows rows (the last ends in an ellipsis); returns the rows used. */
int wrap_text(struct canvas *c, struct rect area, enum role role, int attributes, const char *text);
/* Rows the text would take at this width. */
int wrap_rows(const char *text, int cols);

#endif
