/*
 * term.h - a canvas on a real terminal, and its keys. The only module that knows curses.
 *
 * Only what has changed since the last screen reaches curses, which sends the fewest bytes it can; an
 * unchanged screen sends none. The terminal is given back on term_close, on a crash (see term_restore) and
 * while another program has it.
 */
#ifndef RINGSIDE_TUI_TERM_H
#define RINGSIDE_TUI_TERM_H

#include "engine/base/error.h"
#include "tui/canvas.h"
#include "tui/theme.h"
#include "tui/view.h"

#include <stddef.h>

struct terminal;

/* One sentence why this TERM cannot show screens ("" where it can); asks terminfo only, sends nothing. */
void term_impossible(char why[256]);

/* Takes the terminal on standard input and output. */
struct terminal *term_open(bool utf8, enum theme theme, bool mouse, struct error *e);
/* Another theme, and the mouse on or off (off, the terminal itself marks and copies text). */
void term_choose(struct terminal *t, enum theme theme, bool mouse);
void term_close(struct terminal *t);

/* Set in a key that is part of pasted text, beside the character. */
enum { KEY_CODE_PASTED = 1 << 29 };

/*
 * All keys that are there now, at most `limit`; never blocks. *read: whether anything came, be it no key. Text is taken
 * as pasted where the terminal says so, or where more came at once than anybody types.
 */
int term_keys(struct terminal *t, int *keys, int limit, bool *read);

void term_show(struct terminal *t, const struct canvas *c);
/* Whether cells can have colours of their own, enough of them for a picture. */
bool term_pixels(const struct terminal *t);
void term_size(const struct terminal *t, int *rows, int *cols);
/* Takes the window's new size. */
void term_resized(struct terminal *t);
/* The next term_show draws everything anew. */
void term_redraw(struct terminal *t);
/* Gives the terminal back for a while, and takes it again. */
void term_release(struct terminal *t);
void term_resume(struct terminal *t);

/* Async-signal-safe: gives the terminal back as it was. For handlers of fatal signals. */
void term_restore(void);

#endif
