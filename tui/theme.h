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

enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT, THEME_CONTRAST };

struct style {
    int fg, bg;     /* an index at DEPTH_8 and DEPTH_256, 0xRRGGBB at DEPTH_TRUE; -1: the terminal's own */
    int attributes; /* ATTR_... to add */
};

/* The look a theme has here. */
struct look {
    enum theme theme; /* THEME_DARK, THEME_LIGHT or THEME_CONTRAST */
    bool painted;     /* with a background of its own; else on the terminal's */
};

/*
 * A theme that was chosen paints its own background, so that it looks the same in every terminal and on a
 * projector. THEME_AUTO is RINGSIDE_THEME=dark|light|contrast where that is set; else dark or light, as COLORFGBG says,
 * upon the terminal's own background.
 */
struct look theme_look(enum theme chosen);

struct style theme_style(enum role role, enum depth depth, struct look look);

/* The colour nearest to 0xRRGGBB: itself, or an index of the fixed cube and grey ramp of 256 (16..255). */
int theme_colour(uint32_t rgb, enum depth depth);

#endif
