/*
 * app.c - the stack of views: who gets a key, what is drawn around the view on top, and what it may ask for.
 */
#include "tui/app.h"

#include "tui/course.h"
#include "tui/editor.h"
#include "tui/help.h"
#include "tui/keymap.h"
#include "tui/progress.h"
#include "tui/settings.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACK_MAX = 16 };
/* Columns that the answers to a question take, and where the second one begins. */
enum { ANSWERS = 14, ANSWER_NO = 7 };

/* A scripted clock starts at the first second of 2026 (UTC), wherever and whenever it runs. */
#define SCRIPT_EPOCH 1767225600.0

struct layer {
    const struct view_class *class;
    void *state;
    bool closing; /* freed once the call into it has returned */
};

struct app {
    struct layer stack[STACK_MAX];
    int depth;
    bool ended, scripted, hurried;
    double clock; /* scripted only */
    struct app_terminal terminal;
    char message[1200]; /* an error's sentence fits */
    enum role message_role;
    int asking; /* the action a yes is given to; 0: no question */
    struct help_overlay help;
    struct course *course;
    struct error course_error;
    struct progress *progress;
    struct settings settings;
    struct canvas *canvas; /* drawn on last */
    struct rect answers;   /* to the question, there */
};

struct app *app_new(const struct app_terminal *terminal, bool scripted, struct error *e)
{
    struct app *app = calloc(1, sizeof *app);
    if (!app) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    app->scripted = scripted;
    app->clock = SCRIPT_EPOCH;
    if (terminal)
        app->terminal = *terminal;
    app->course = course_load(&app->course_error);
    app->progress = progress_load(e);
    if (!app->progress) {
        app_free(app);
        return NULL;
    }
    struct error unread = {0};
    if (!settings_load(&app->settings, &unread))
        app_message(app, ROLE_WARN, "%s", unread.text);
    return app;
}

static void layer_close(struct layer *layer)
{
    if (layer->class->close)
        layer->class->close(layer->state);
}

void app_free(struct app *app)
{
    if (!app)
        return;
    while (app->depth > 0)
        layer_close(&app->stack[--app->depth]);
    course_free(app->course);
    progress_free(app->progress);
    free(app);
}

static struct layer *top(struct app *app)
{
    return app->depth ? &app->stack[app->depth - 1] : NULL;
}

/* Frees the layers that were left while one of their functions ran. */
static void sweep(struct app *app)
{
    int kept = 0, before = app->depth;
    for (int i = 0; i < app->depth; i++) {
        if (app->stack[i].closing)
            layer_close(&app->stack[i]);
        else
            app->stack[kept++] = app->stack[i];
    }
    app->depth = kept;
    if (!kept)
        app->ended = true;
    else if (kept != before)
        app_tick(app);
}

double app_now(const struct app *app)
{
    if (app->scripted)
        return app->clock;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void app_advance(struct app *app, double seconds)
{
    app->clock += seconds;
}

void app_hurry(struct app *app)
{
    app->hurried = true;
}

bool app_hurried(const struct app *app)
{
    return app->hurried;
}

bool app_scripted(const struct app *app)
{
    return app->scripted;
}

bool app_ended(const struct app *app)
{
    return app->ended;
}

const char *app_top(const struct app *app)
{
    return app->depth ? app->stack[app->depth - 1].class->name : "";
}

const struct course *app_course(const struct app *app)
{
    return app->course;
}

const char *app_course_error(const struct app *app)
{
    return app->course ? "" : app->course_error.text;
}

struct progress *app_progress(struct app *app)
{
    return app->progress;
}

const struct settings *app_settings(const struct app *app)
{
    return &app->settings;
}

void app_choose(struct app *app, const struct settings *settings)
{
    struct error e = {0};
    app->settings = *settings;
    if (!settings_save(settings, &e))
        app_message(app, ROLE_WARN, _("This holds until you leave; it could not be kept: %s"), e.text);
    if (app->terminal.choose)
        app->terminal.choose(app->terminal.self, settings);
    if (app->canvas)
        text_choose(settings->language, app->canvas->utf8);
}

void app_open(struct app *app, const struct view_class *view, const char *argument)
{
    struct error e = {0};
    if (app->depth == STACK_MAX) {
        app_message(app, ROLE_WARN, _("too many screens are open: go back with q first"));
        return;
    }
    void *state = view->open(app, argument, &e);
    if (!state) {
        app_message(app, ROLE_BAD, "%s", e.text);
        return;
    }
    app->stack[app->depth++] = (struct layer){.class = view, .state = state};
    app_tick(app);
}

void app_back(struct app *app)
{
    for (int i = app->depth - 1; i >= 0; i--)
        if (!app->stack[i].closing) {
            app->stack[i].closing = true;
            return;
        }
}

void app_quit(struct app *app)
{
    app->ended = true;
}

static void message_set(struct app *app, enum role role, const char *format, va_list arguments)
{
    vsnprintf(app->message, sizeof app->message, format, arguments);
    app->message_role = role;
    app->asking = 0;
}

void app_message(struct app *app, enum role role, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message_set(app, role, format, arguments);
    va_end(arguments);
}

void app_ask(struct app *app, int action, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    message_set(app, ROLE_WARN, format, arguments);
    va_end(arguments);
    app->asking = action;
}

static void global_action(struct app *app, int action)
{
    if (action == GLOBAL_HELP) {
        help_open(&app->help);
    } else if (action == GLOBAL_BACK) {
        app_back(app);
    } else if (action == GLOBAL_QUIT) {
        app_quit(app);
    } else if (action == GLOBAL_REDRAW) {
        if (app->terminal.redraw)
            app->terminal.redraw(app->terminal.self);
    } else if (action == GLOBAL_SUSPEND) {
        if (app->terminal.suspend)
            app->terminal.suspend(app->terminal.self);
        else
            app_message(app, ROLE_MUTED, _("there is no shell to go back to here"));
    }
}

static const struct key_binding *globals(const struct app *app)
{
    return app->depth > 1 ? keymap_global : keymap_home_global;
}

static const struct key_binding *footer_keys(const struct layer *layer)
{
    return layer->class->footer ? layer->class->footer(layer->state) : layer->class->keys;
}

static struct rect footer_row(const struct canvas *c)
{
    return (struct rect){c->rows - 1, 0, 1, c->cols};
}

/* The key of what is shown in the footer, or of an answer to a question; 0: nothing is there. */
static int pressed_key(struct app *app, int row, int col)
{
    const struct canvas *c = app->canvas;
    if (app->asking)
        return row != app->answers.row || col < app->answers.col ? 0
               : col < app->answers.col + ANSWER_NO              ? 'y'
                                                                 : 'n';
    if (row != c->rows - 1 || top(app)->class->bare)
        return 0;
    if (app->help.open)
        return keymap_footer_key(footer_row(c), c->utf8, help_keys, NULL, col);
    int key = keymap_footer_key(footer_row(c), c->utf8, footer_keys(top(app)), globals(app), col);
    return app_typing(app) && key < KEY_CODE_BASE ? 0 : key;
}

/* Moves the selection to a row by as many Ups or Downs; one step back where the row is none of the list's. */
static void select_row(struct app *app, int row)
{
    struct canvas *c = app->canvas;
    const struct view_class *class = top(app)->class;
    app_draw(app, c);
    for (int steps = c->rows, at = c->cursor_row; steps > 0 && at >= 0 && at != row; steps--) {
        bool down = at < row;
        app_key(app, down ? KEY_CODE_DOWN : KEY_CODE_UP);
        if (app->ended || top(app)->class != class)
            return;
        app_draw(app, c);
        int now = c->cursor_row;
        if (now >= 0 && (down ? now > row : now < row))
            app_key(app, down ? KEY_CODE_UP : KEY_CODE_DOWN);
        if (now < 0 || (down ? now <= at || now > row : now >= at || now < row))
            return;
        at = now;
    }
}

static void mouse(struct app *app, int event)
{
    struct layer *layer = top(app);
    const struct canvas *c = app->canvas;
    int row, col, key;
    enum mouse what = mouse_parse(event, &row, &col);
    bool wheel = what == MOUSE_WHEEL_UP || what == MOUSE_WHEEL_DOWN;
    if (!c || c->rows < APP_LEAST_ROWS || c->cols < APP_LEAST_COLS)
        return;
    if (!wheel && (key = pressed_key(app, row, col))) {
        app_key(app, key);
        return;
    }
    if (app->asking || (!layer->class->bare && (row == 0 || row == c->rows - 1)))
        return;
    int arrow = what == MOUSE_WHEEL_UP ? KEY_CODE_UP : KEY_CODE_DOWN;
    if (app->help.open) {
        help_key(&app->help, wheel ? arrow : KEY_CODE_ESCAPE);
        return;
    }
    app->message[0] = '\0';
    if (layer->class->click && layer->class->click(layer->state, app, row, col, what))
        sweep(app);
    else if (app_typing(app))
        return;
    else if (wheel)
        app_key(app, arrow);
    else if (what == MOUSE_PRESS)
        select_row(app, row);
    else if (c->cursor_row == row)
        app_key(app, KEY_CODE_ENTER);
}

void app_key(struct app *app, int key)
{
    struct layer *layer = top(app);
    if (!layer || key == KEY_CODE_RESIZE)
        return;
    if (key & KEY_CODE_MOUSE) {
        mouse(app, key);
        return;
    }
    const struct view_class *class = layer->class;
    int action;
    if (app->asking) {
        action = app->asking;
        app->asking = 0;
        app->message[0] = '\0';
        if ((key == 'y' || key == 'Y' || key == KEY_CODE_ENTER) && class->act)
            class->act(layer->state, app, action);
        sweep(app);
        return;
    }
    app->message[0] = '\0';
    if (app->help.open) {
        help_key(&app->help, key);
        if (key == 3)
            app_quit(app);
        return;
    }
    bool typing = class->typing && class->typing(layer->state);
    if (typing && class->key && class->key(layer->state, app, key)) {
        sweep(app);
        return;
    }
    if ((action = keymap_action(class->keys, key)) && class->act)
        class->act(layer->state, app, action);
    else if (typing || !class->key || !class->key(layer->state, app, key))
        global_action(app, keymap_action(globals(app), key));
    sweep(app);
}

bool app_tick(struct app *app)
{
    struct layer *layer = top(app);
    app->hurried = false;
    /* Whatever view it was that could not keep something. */
    const char *warning = app->progress ? progress_warning(app->progress) : NULL;
    if (warning)
        app_message(app, ROLE_WARN, "%s", warning);
    bool changed = layer && layer->class->tick && layer->class->tick(layer->state, app, app_now(app));
    return changed || warning;
}

bool app_typing(struct app *app)
{
    struct layer *layer = top(app);
    return layer && layer->class->typing && layer->class->typing(layer->state);
}

static void draw_too_small(struct canvas *c)
{
    int row = c->rows / 2;
    canvas_text(c, row, 0, c->cols, ROLE_WARN, 0, _("The window is too small."));
    canvas_format(c, row + 1, 0, c->cols, ROLE_MUTED, 0, _("Ringside needs %dx%d; this is %dx%d."),
                  APP_LEAST_COLS, APP_LEAST_ROWS, c->cols, c->rows);
}

static void draw_header(struct canvas *c, struct rect row, struct layer *layer)
{
    char title[256] = "", status[128] = "";
    enum role role = ROLE_BAR;
    if (layer->class->title)
        layer->class->title(layer->state, title, sizeof title);
    if (layer->class->status)
        role = layer->class->status(layer->state, status, sizeof status);
    (void)role;
    canvas_fill(c, row, ' ', ROLE_BAR, 0);
    int end = row.cols - 1;
    if (*status) {
        int width = text_columns(status);
        if (width > row.cols / 2)
            width = row.cols / 2;
        end -= width + 1;
        canvas_text(c, row.row, end + 1, width, ROLE_BAR, 0, status);
    }
    int col = 1;
    col += canvas_text(c, row.row, col, end - col, ROLE_BAR, ATTR_BOLD, "Ringside");
    if (*title && end - col > 6) {
        col += canvas_text(c, row.row, col, 3, ROLE_BAR, 0, " · ");
        canvas_text(c, row.row, col, end - col, ROLE_BAR, 0, title);
    }
}

/* Over as many rows above the footer as the sentence needs, up to a third of the window. */
static void draw_message(struct app *app, struct canvas *c, struct rect area)
{
    int width = area.cols - 4, rows = wrap_rows(app->message, app->asking ? width - ANSWERS : width);
    if (rows > area.rows / 3)
        rows = area.rows / 3;
    struct rect box = rect_cut_rows(&area, -(rows > 0 ? rows : 1));
    canvas_fill(c, box, ' ', ROLE_TEXT, 0);
    const char *mark = app->message_role == ROLE_BAD ? "✗" : app->message_role == ROLE_GOOD ? "✓" : "»";
    canvas_text(c, box.row, 1, 1, app->message_role, ATTR_BOLD, mark);
    struct rect text = {box.row, 3, box.rows, app->asking ? width - ANSWERS : width};
    wrap_text(c, text, app->message_role, 0, app->message);
    if (app->asking) {
        int row = box.row + box.rows - 1,
            col = box.rows > 1 ? c->cols - ANSWERS + 1 : 5 + text_columns(app->message);
        canvas_text(c, row, col, 1, ROLE_KEY, ATTR_BOLD, "y");
        canvas_text(c, row, col + 2, 4, ROLE_MUTED, 0, _("yes"));
        canvas_text(c, row, col + ANSWER_NO, 1, ROLE_KEY, ATTR_BOLD, "n");
        canvas_text(c, row, col + ANSWER_NO + 2, 4, ROLE_MUTED, 0, _("no"));
        app->answers = (struct rect){row, col, 1, ANSWERS};
    }
}

void app_draw(struct app *app, struct canvas *c)
{
    app->canvas = c;
    canvas_clear(c);
    struct layer *layer = top(app);
    if (!layer)
        return;
    if (c->rows < APP_LEAST_ROWS || c->cols < APP_LEAST_COLS) {
        draw_too_small(c);
        return;
    }
    struct rect area = canvas_whole(c);
    struct rect header = rect_cut_rows(&area, !layer->class->bare);
    struct rect footer = rect_cut_rows(&area, layer->class->bare ? 0 : -1);
    layer->class->draw(layer->state, app, c, area);
    if (!layer->class->bare)
        draw_header(c, header, layer);
    if (layer->class->bare) {
        if (app->help.open)
            help_draw(&app->help, c, area, layer->class->keys, globals(app));
    } else if (app->help.open) {
        help_draw(&app->help, c, area, layer->class->keys, globals(app));
        canvas_fill(c, footer, ' ', ROLE_TEXT, 0);
        keymap_footer(c, footer, help_keys, NULL);
    } else {
        keymap_footer(c, footer, footer_keys(layer), globals(app));
    }
    if (app->message[0])
        draw_message(app, c, area);
}

bool app_edit(struct app *app, const char *file, struct error *e)
{
    if (!app->terminal.release)
        return error_set(e, ERROR_FAILED, "there is no terminal to edit in; the file is %s", file);
    app->terminal.release(app->terminal.self);
    bool ok = editor_run(file, e);
    app->terminal.resume(app->terminal.self);
    return ok;
}
