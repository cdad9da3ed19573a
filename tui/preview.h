/*
 * preview.h - what a wide home screen shows beside the lists: the beginning of a lesson, or how a run stands.
 */
#ifndef RINGSIDE_TUI_PREVIEW_H
#define RINGSIDE_TUI_PREVIEW_H

#include "tui/canvas.h"

struct preview;

struct preview *preview_new(void); /* NULL: out of memory */
void preview_free(struct preview *p);

/* What to show from now on; cheap where it is what is shown already. */
void preview_lesson(struct preview *p, const char *name);
/* Leaves out a lesson's title and question, for who shows them already. */
void preview_without_head(struct preview *p, bool without);
void preview_run(struct preview *p, const char *dir);
/* Reads what a run has written since; true: something has changed. */
bool preview_tick(struct preview *p);
void preview_draw(struct preview *p, struct canvas *c, struct rect area, double now);

#endif
