/*
 * present_jump.h - the list of slides over a slide: type a number or a part of a heading, Enter goes there.
 */
#ifndef RINGSIDE_TUI_PRESENT_JUMP_H
#define RINGSIDE_TUI_PRESENT_JUMP_H

#include "tui/canvas.h"
#include "tui/slides.h"

enum { JUMP_PATTERN_MAX = 48 };

struct present_jump {
    bool open;
    char pattern[JUMP_PATTERN_MAX * 4 + 1];
    int selected; /* a slide, from 0 */
};

void present_jump_open(struct present_jump *j, int slide);
/* The slide that was chosen, or -1; every key is taken while the list is open. */
int present_jump_key(struct present_jump *j, const struct slides *slides, int key);
void present_jump_draw(const struct present_jump *j, const struct slides *slides, struct canvas *c,
                       struct rect area);

#endif
