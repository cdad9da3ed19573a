/*
 * summary.h - the table of a model's layers: output shape, parameters, FLOPs, bytes, arithmetic intensity.
 *
 * Written as lines of text from a run's `layer` events. The table takes the columns it needs, at most those there are
 * (80 are enough for every figure; long descriptions are cut); where there are many more, it also shows a layer's name and
 * the FLOPs of its backward pass.
 */
#ifndef RINGSIDE_TUI_SUMMARY_H
#define RINGSIDE_TUI_SUMMARY_H

#include "tui/run_model.h"

#include <stdio.h>

/* Nothing where the run describes no model. utf8: whether × may be written; else x. */
void summary_write(FILE *to, const struct run_model *m, int columns, bool utf8);

struct canvas;
struct rect;
/* The same on the screen, without the first `skip` lines; no more of them than leave the last line in sight. */
void summary_draw(struct canvas *c, struct rect area, const struct run_model *m, int skip);

#endif
