/*
 * loop.h - the application on a terminal: one thread, one poll().
 */
#ifndef RINGSIDE_TUI_LOOP_H
#define RINGSIDE_TUI_LOOP_H

#include "engine/base/error.h"

/* Whether there can be no screen; then why ("standard input is no terminal", "TERM=dumb cannot ..."). */
bool loop_impossible(char why[256]);
/* Whether the locale's encoding is UTF-8 (setlocale was called). */
bool loop_utf8(void);
/* Runs until the learner leaves, the terminal goes away or a signal asks to end. open: as for --open, or
 * NULL. */
bool loop_run(const char *open, bool utf8, struct error *e);

#endif
