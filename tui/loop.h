/*
 * loop.h - the application on a terminal: one thread, one poll().
 */
#ifndef RINGSIDE_TUI_LOOP_H
#define RINGSIDE_TUI_LOOP_H

#include "engine/base/error.h"
#include "tui/settings.h"

/* Whether there can be no screen; then why ("standard input is no terminal", "TERM=dumb cannot ..."). */
bool loop_impossible(char why[256]);
/*
 * Takes the environment's locale. Where it is not installed (an ssh client sends its own), or has no Unicode though
 * that is asked for, characters are taken as UTF-8 if this machine can.
 */
void loop_locale(enum settings_glyphs glyphs);
/* Whether the locale's encoding is UTF-8 (loop_locale was called). */
bool loop_utf8(void);
/* Runs until the learner leaves, the terminal goes away or a signal asks to end. open: as for --open, or
 * NULL. */
bool loop_run(const char *open, bool utf8, struct error *e);

#endif
