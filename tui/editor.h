/*
 * editor.h - runs the learner's editor on a file, in the foreground of the terminal.
 */
#ifndef RINGSIDE_TUI_EDITOR_H
#define RINGSIDE_TUI_EDITOR_H

#include "engine/base/error.h"

/*
 * $VISUAL, else $EDITOR (both may hold arguments), else the first of nano, vim, vi, emacs that is on the
 * PATH. Blocks until it ends. ERROR_MISSING where there is none, ERROR_FAILED where it cannot be started.
 */
bool editor_run(const char *file, struct error *e);

#endif
