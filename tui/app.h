/*
 * app.h - what views may ask of the application.
 *
 * One thread, one poll() over the terminal, a signal pipe and the children's pipes: drain input, update, draw
 * once. The same loop runs on a real terminal, on a key script against a canvas with a fixed clock, and plain.
 */
#ifndef RINGSIDE_TUI_APP_H
#define RINGSIDE_TUI_APP_H

#include "engine/base/error.h"
#include "tui/view.h"

#include <stddef.h>

struct app;

/* Seconds since the epoch; a key script's clock stands still unless the script says `wait`. */
double app_now(const struct app *app);
/* Puts a view on the stack (or shows why it cannot be opened, in the message line). */
void app_open(struct app *app, const struct view_class *view, const char *argument);
/* Leaves the present view. */
void app_back(struct app *app);
void app_quit(struct app *app);
/* One sentence in the message line above the footer until the next key. */
void app_message(struct app *app, enum role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Runs $VISUAL, $EDITOR or a known editor on a file with the terminal handed over, then redraws. */
bool app_edit(struct app *app, const char *file, struct error *e);
/* Asks a yes-or-no question in the message line; `action` is given to the view's act() on yes. */
void app_ask(struct app *app, int action, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Whether the program draws with a fixed clock for a test. */
bool app_scripted(const struct app *app);

#endif
