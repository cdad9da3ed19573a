/*
 * theme.h - what a role looks like at each colour depth.
 *
 * Restrained: text in the terminal's own colours, one accent, three states, six series that also people with
 * red-green blindness can tell apart. Nothing depends on colour alone: where there is none, attributes stand
 * in (theme_style gives both), and views mark states with words or signs.
 */
#ifndef RINGSIDE_TUI_THEME_H
#define RINGSIDE_TUI_THEME_H

#include "tui/canvas.h"

enum depth { DEPTH_NONE, DEPTH_8, DEPTH_256, DEPTH_TRUE };

struct style {
    int fg, bg;     /* an index at DEPTH_8 and DEPTH_256, 0xRRGGBB at DEPTH_TRUE; -1: the terminal's own */
    int attributes; /* ATTR_... to add */
};

struct style theme_style(enum role role, enum depth depth, bool light);

/* The colour nearest to 0xRRGGBB: itself, or an index of the fixed cube and grey ramp of 256 (16..255). */
int theme_colour(uint32_t rgb, enum depth depth);

/* Whether the terminal's background is light: RINGSIDE_THEME=light|dark, else COLORFGBG, else dark. */
bool theme_light(void);

#endif
