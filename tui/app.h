/*
 * app.h - what views may ask of the application.
 *
 * One thread, one poll() over the terminal, a signal pipe and the children's pipes: drain input, update, draw
 * once. The same loop runs on a real terminal, on a key script against a canvas with a fixed clock, and
 * plain.
 */
#ifndef RINGSIDE_TUI_APP_H
#define RINGSIDE_TUI_APP_H

#include "engine/base/error.h"
#include "tui/view.h"

#include <stddef.h>

struct app;
struct course;
struct progress;
struct settings;

/* The terminal as the application needs it; without one (key scripts, tests) all members are NULL. */
struct app_terminal {
    void *self;
    void (*release)(void *self); /* gives the terminal to another program */
    void (*resume)(void *self);  /* takes it back and draws everything anew */
    void (*redraw)(void *self);
    void (*suspend)(void *self); /* stops the process until it is continued */
    /* Theme, glyphs and mouse as chosen from now on; then everything is drawn anew. */
    void (*choose)(void *self, const struct settings *settings);
};

/* Views are ticked at least this often while they are on top. */
#define APP_TICK_S 0.1
/* A window smaller than this shows a notice instead of the view. */
enum { APP_LEAST_ROWS = 12, APP_LEAST_COLS = 40 };

/* --- for views
 * ---------------------------------------------------------------------------------------------- */

/* Seconds since the epoch; a key script's clock stands still unless the script says `wait`. */
double app_now(const struct app *app);
/*
 * Puts a view on the stack (or shows why it cannot be opened, in the message line). A view that calls
 * app_back and then app_open puts another in its place; it is closed only after its act() or key() has
 * returned.
 */
void app_open(struct app *app, const struct view_class *view, const char *argument);
/* Leaves the present view; the last one ends the application. */
void app_back(struct app *app);
void app_quit(struct app *app);
/* One sentence in the message line above the footer until the next key. */
void app_message(struct app *app, enum role role, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Runs $VISUAL, $EDITOR or a known editor on a file with the terminal handed over, then redraws. */
bool app_edit(struct app *app, const char *file, struct error *e);
/* Asks a yes-or-no question in the message line; `action` is given to the view's act() on yes. */
void app_ask(struct app *app, int action, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Asks for the next tick at once, after keys: there is more to read. Said at each tick that wants it. */
void app_hurry(struct app *app);
/* Whether the program draws with a fixed clock for a test. */
bool app_scripted(const struct app *app);
/* The course; NULL where it could not be read (app_course_error then says why). */
const struct course *app_course(const struct app *app);
const char *app_course_error(const struct app *app);
/* What the learner has chosen; never NULL. */
const struct settings *app_settings(const struct app *app);
/* Chooses anew, at once and for later; the message line says so where it could not be kept. */
void app_choose(struct app *app, const struct settings *settings);
/* The learner's progress; never NULL. */
struct progress *app_progress(struct app *app);

/* --- for those who drive it (loop.c, script.c, tests)
 * ------------------------------------------------------- */

/* terminal may be NULL; scripted: with a fixed clock. */
struct app *app_new(const struct app_terminal *terminal, bool scripted, struct error *e);
void app_free(struct app *app);
void app_key(struct app *app, int key);
/* Lets the view on top look at the world; true: something to draw has changed. */
bool app_tick(struct app *app);
/* Whether the view on top has asked for the next tick at once. */
bool app_hurried(const struct app *app);
void app_draw(struct app *app, struct canvas *c);
bool app_ended(const struct app *app);
/* Whether text is being typed into the view on top. */
bool app_typing(struct app *app);
/* Moves a scripted clock on. */
void app_advance(struct app *app, double seconds);
/* The name of the view on top; "" where none is. */
const char *app_top(const struct app *app);

#endif
