/*
 * script.h - key scripts: the application driven on a canvas with a fixed clock and no terminal.
 *
 * A script is words separated by blanks:
 *     Down Enter Esc q C-l     keys by name (see keymap.c); any single character is its own name
 *     "some text" 'or so'      types the text
 *     wait S                   moves the fixed clock on by S seconds, ticking the view
 *     sleep S                  really waits S seconds, ticking the view (for jobs that run)
 *     until "TEXT" [S]         really waits until TEXT is on the screen, at most S seconds (10)
 *     size 40x12               resizes the window (columns x rows)
 *     click 5,10               presses the mouse at row 5, column 10 (from 0); double, wheelup and wheeldown alike
 *     dump                     prints the screen
 */
#ifndef RINGSIDE_TUI_SCRIPT_H
#define RINGSIDE_TUI_SCRIPT_H

#include "engine/base/error.h"
#include "tui/app.h"

#include <stdio.h>

struct script_options {
    const char *keys;
    int rows, cols;
    bool utf8;
    bool dump;        /* print the last screen too */
    bool roles;       /* print the roles after each screen */
    const char *open; /* "VIEW:ARGUMENT" to begin with; NULL: home */
};

/* ERROR_INPUT names a word that is no key; ERROR_FAILED an `until` that never came true. */
bool script_run(const struct script_options *options, FILE *out, struct error *e);

/* Opens home and, above it, "VIEW:ARGUMENT" (may be NULL). */
bool app_open_named(struct app *app, const char *name, struct error *e);

/* "80x24": columns x rows. */
bool size_parse(const char *text, int *cols, int *rows);

#endif
