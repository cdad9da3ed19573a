/*
 * highlight.h - a light touch of colour on Lua source: keywords, strings, numbers, comments.
 *
 * Works a line at a time on cells that hold the text already; what spans lines (long comments and strings) is
 * carried in a state that begins as 0.
 */
#ifndef RINGSIDE_TUI_HIGHLIGHT_H
#define RINGSIDE_TUI_HIGHLIGHT_H

#include "tui/canvas.h"

/* Sets role and attributes of each of the line's cells; returns the state for the next line. */
int highlight_lua(struct cell *line, int count, int state);

#endif
