/*
 * view.h - a screen, as a table of functions.
 *
 * The application holds a stack of views; the top one gets the keys and is drawn. A view owns its state,
 * reads runs and files, and draws on a canvas. Nothing in a view blocks: no key, tick or draw may wait for a
 * child, a disk that hangs or a job. One keymap table per view feeds the dispatcher, the footer, the `?`
 * overlay and the manual.
 */
#ifndef RINGSIDE_TUI_VIEW_H
#define RINGSIDE_TUI_VIEW_H

#include "engine/base/error.h"
#include "tui/canvas.h"

#include <stddef.h>

struct app;

/* Keys above Unicode's range, so that a key is one int. */
enum {
    KEY_CODE_BASE = 0x110000,
    KEY_CODE_UP,
    KEY_CODE_DOWN,
    KEY_CODE_LEFT,
    KEY_CODE_RIGHT,
    KEY_CODE_PAGE_UP,
    KEY_CODE_PAGE_DOWN,
    KEY_CODE_HOME,
    KEY_CODE_END,
    KEY_CODE_ENTER,
    KEY_CODE_ESCAPE,
    KEY_CODE_BACKSPACE,
    KEY_CODE_TAB,
    KEY_CODE_BACKTAB,
    KEY_CODE_RESIZE,
};

/* What the mouse has done; a wheel moves one step. */
enum mouse { MOUSE_PRESS, MOUSE_DOUBLE, MOUSE_WHEEL_UP, MOUSE_WHEEL_DOWN };

/* The mouse comes among the keys: what it did and where, in one int in which KEY_CODE_MOUSE is set. */
enum { KEY_CODE_MOUSE = 1 << 28 };
int mouse_key(enum mouse what, int row, int col);
enum mouse mouse_parse(int key, int *row, int *col);

/*
 * What a key does: the table of a view ends with an entry whose action is 0. Neighbours with the same label
 * are shown as one in the footer ("↑↓ select"), neighbours with the same help as one line of the overlay.
 * `?`, q and Esc are the application's unless a view binds them. Labels and help texts are marked by N_ (text.h);
 * a label has at most 10 columns in every language.
 */
struct key_binding {
    int key;           /* a code point or a KEY_CODE_ */
    int action;        /* the view's own number, > 0 */
    const char *label; /* in the footer: "step", at most 10 columns; NULL: not in the footer (a second key) */
    const char *help;  /* in the overlay: one line; NULL: as the binding before it with the same action */
};

struct view_class {
    const char *name; /* "home", "run", ... */
    bool bare;        /* it has the whole window: no header, no footer (slides) */
    const struct key_binding *keys;
    /* What the footer names of them at present, in a table of its own. NULL: those of `keys`. */
    const struct key_binding *(*footer)(void *view);
    /* Opens on an argument (a lesson's name, a run's directory; may be NULL). NULL and *e: it cannot be
     * opened. */
    void *(*open)(struct app *app, const char *argument, struct error *e);
    void (*act)(void *view, struct app *app, int action);
    /* Keys that no binding takes; true: taken. May be NULL. */
    bool (*key)(void *view, struct app *app, int key);
    /* Whether text is being typed (a search): then every key goes to key() before any table. May be NULL. */
    bool (*typing)(void *view);
    /*
     * The mouse at a cell of the canvas; true: taken. May be NULL, and what is not taken does what is usual: the
     * wheel is Up or Down, a press moves the selection (the cursor's row) to that row by as many Ups or Downs, a
     * double press is Enter. Presses on the footer are keys and do not come here.
     */
    bool (*click)(void *view, struct app *app, int row, int col, enum mouse what);
    /* Called at least every app_tick_interval; true: something to draw has changed. May be NULL. */
    bool (*tick)(void *view, struct app *app, double now);
    void (*draw)(void *view, struct app *app, struct canvas *c, struct rect area);
    /* Title of the header line, e.g. "Run 20261130-…". */
    void (*title)(void *view, char *text, size_t size);
    /* A few words at the right end of the header line ("running", "62 %"); their role. May be NULL. */
    enum role (*status)(void *view, char *text, size_t size);
    void (*close)(void *view);
};

extern const struct view_class view_home, view_lesson, view_exercise, view_run, view_ring, view_settings,
    view_doctor, view_present, view_notes, view_timeline, view_compare, view_cluster;

/* The n-th view, from 0; NULL behind the last. */
const struct view_class *view_at(int n);
/* The view of a name, or NULL. */
const struct view_class *view_find(const char *name);

#endif
