/*
 * monkey.c - presses random keys on every screen and looks whether each screen that comes of it is sound.
 *
 *     monkey SEED KEYS [ARGUMENT...]
 *
 * Every view is opened once, and on its own arguments ("doctor:FILE"). Then views are opened on any of the arguments (runs,
 * lessons, files), sensible or not; keys are mostly those that the view on top has bound; the mouse, typed text, resizes
 * and the passing of time come in between. Each deed is written to standard output before it is done, so that the last
 * line tells what broke. Ends with 1 and a sentence where a screen is not sound.
 */
#include "tui/app.h"
#include "tui/keymap.h"
#include "tui/script.h"
#include "tui/settings.h"
#include "tui/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FOOTER_LABEL_COLS = 10, HOME_WITHIN = 64, REPORT_EVERY = 1000 };

struct monkey {
    uint64_t state;
    struct app *app;
    struct canvas canvas;
    char **arguments;
    int argument_count;
    long done;
    int visits[64];   /* by view */
    int followed[64]; /* screens with a selected row that the cursor was on, by view */
    double worst_s;   /* the longest that a deed took, and which it was */
    long worst;
};

static uint32_t draw_number(struct monkey *m)
{
    /* splitmix64: G. Steele, D. Lea, C. Flood 2014, Fast splittable pseudorandom number generators. */
    uint64_t z = (m->state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) >> 32);
}

static int below(struct monkey *m, int n)
{
    return n > 0 ? (int)(draw_number(m) % (uint32_t)n) : 0;
}

static void say(struct monkey *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct monkey *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%ld %s ", m->done, m->app ? app_top(m->app) : "-");
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
}

static bool wrong(struct monkey *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool wrong(struct monkey *m, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("not sound, after %ld keys, %s at %dx%d: ", m->done, app_top(m->app), m->canvas.cols,
           m->canvas.rows);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    return false;
}

static const struct cell *cell_at(const struct canvas *c, int row, int col)
{
    return c->cells + (size_t)row * (size_t)c->cols + col;
}

/* Every cell can be shown: a character of its width, in ASCII where that was asked for. */
static bool cells_sound(struct monkey *m)
{
    const struct canvas *c = &m->canvas;
    for (int row = 0; row < c->rows; row++)
        for (int col = 0; col < c->cols; col++) {
            const struct cell *cell = cell_at(c, row, col);
            if (cell->role >= ROLE_COUNT)
                return wrong(m, "row %d, column %d: role %d", row, col, cell->role);
            bool second = col > 0 && cell_at(c, row, col - 1)->glyph &&
                          glyph_columns(cell_at(c, row, col - 1)->glyph) == 2;
            if ((cell->glyph == 0) != second)
                return wrong(m, "row %d, column %d: half of a wide character", row, col);
            if (cell->glyph &&
                (cell->glyph < ' ' || (cell->glyph >= 127 && cell->glyph < 160) || cell->glyph > 0x10ffff))
                return wrong(m, "row %d, column %d: control character %#x", row, col, (unsigned)cell->glyph);
            if (!c->utf8 && cell->glyph > 126)
                return wrong(m, "row %d, column %d: U+%04X, but only ASCII can be shown", row, col,
                             (unsigned)cell->glyph);
        }
    return true;
}

/* Where a row is shown as selected, the real cursor is on one: screen readers and braille displays follow it. */
static bool cursor_sound(struct monkey *m)
{
    const struct canvas *c = &m->canvas;
    int selected = -1;
    bool on_it = false;
    for (int row = 1; row + 1 < c->rows; row++)
        for (int col = 0; col < c->cols; col++)
            if (cell_at(c, row, col)->role == ROLE_SELECTED) {
                selected = row;
                on_it |= row == c->cursor_row;
            }
    if (c->cursor_row >= c->rows || c->cursor_col >= c->cols)
        return wrong(m, "the cursor is outside: row %d, column %d", c->cursor_row, c->cursor_col);
    if (selected >= 0 && !on_it && !app_typing(m->app))
        return wrong(m, "row %d is selected, but the cursor is at row %d", selected, c->cursor_row);
    for (int i = 0; on_it && view_at(i); i++)
        m->followed[i] += !strcmp(view_at(i)->name, app_top(m->app));
    return true;
}

/* The footer names keys; slides have none. */
static bool frame_sound(struct monkey *m)
{
    const struct canvas *c = &m->canvas;
    const struct view_class *view = view_find(app_top(m->app));
    if (c->rows < APP_LEAST_ROWS || c->cols < APP_LEAST_COLS || !view || view->bare)
        return true;
    bool key = false;
    for (int col = 0; col < c->cols; col++)
        key |= cell_at(c, c->rows - 1, col)->role == ROLE_KEY;
    return key || wrong(m, "the footer names no key");
}

static bool sound(struct monkey *m)
{
    if (app_ended(m->app))
        return true;
    app_draw(m->app, &m->canvas);
    return cells_sound(m) && cursor_sound(m) && frame_sound(m);
}

/* Labels of all views, in the language of the moment. */
static bool labels_sound(struct monkey *m)
{
    for (int i = 0; view_at(i); i++)
        for (const struct key_binding *k = view_at(i)->keys; k && k->action; k++)
            if (k->label && text_columns(_(k->label)) > FOOTER_LABEL_COLS)
                return wrong(m, "%s, in %s: the label '%s' takes %d columns, more than %d", view_at(i)->name,
                             text_language(), _(k->label), text_columns(_(k->label)), FOOTER_LABEL_COLS);
    return true;
}

static const struct view_class *top_view(struct monkey *m)
{
    return view_find(app_top(m->app));
}

static void press(struct monkey *m, int key)
{
    char name[KEY_NAME_SIZE];
    key_name(key, false, name);
    say(m, "key %s", name);
    app_key(m->app, key);
}

static void press_bound(struct monkey *m)
{
    const struct view_class *view = top_view(m);
    int count = 0;
    for (const struct key_binding *k = view ? view->keys : NULL; k && k->action; k++)
        count++;
    if (!count) {
        press(m, KEY_CODE_DOWN);
        return;
    }
    int key = view->keys[below(m, count)].key;
    press(m, key);
}

static void press_any(struct monkey *m)
{
    static const int others[] = {'?', 'q', 'y', 'n', '/', 12, 26, 0xe9, 0x4f60, 0x301, 0x1f600, 7, 1};
    int n = below(m, 3);
    press(m, n == 0   ? KEY_CODE_UP + below(m, KEY_CODE_RESIZE - KEY_CODE_UP)
             : n == 1 ? ' ' + below(m, 95)
                      : others[below(m, sizeof others / sizeof *others)]);
}

static void use_mouse(struct monkey *m)
{
    enum mouse what = (enum mouse)below(m, 4);
    int row = below(m, m->canvas.rows + 2), col = below(m, m->canvas.cols + 2);
    if (below(m, 3) == 0)
        row = m->canvas.rows - 1;
    say(m, "mouse %d %d,%d", (int)what, row, col);
    app_key(m->app, mouse_key(what, row, col));
}

static bool resize(struct monkey *m)
{
    static const int sizes[][2] = {{80, 24},  {200, 60}, {40, 12},  {1, 1},
                                   {160, 45}, {39, 12},  {120, 40}, {81, 25}};
    int n = below(m, 2 * (int)(sizeof sizes / sizeof *sizes));
    bool given = n < (int)(sizeof sizes / sizeof *sizes);
    int cols = given ? sizes[n][0] : 1 + below(m, 220), rows = given ? sizes[n][1] : 1 + below(m, 70);
    say(m, "size %dx%d", cols, rows);
    m->canvas.utf8 = below(m, 8) != 0;
    if (!canvas_resize(&m->canvas, rows, cols))
        return wrong(m, "out of memory");
    app_key(m->app, KEY_CODE_RESIZE);
    return true;
}

static void open_view(struct monkey *m)
{
    int views = 0;
    while (view_at(views))
        views++;
    const struct view_class *view = view_at(below(m, views));
    const char *argument = below(m, 12) ? m->arguments[below(m, m->argument_count)] : NULL;
    if (!strcmp(view->name, "home"))
        return; /* it is at the bottom already */
    say(m, "open %s:%s", view->name, argument ? argument : "");
    app_open(m->app, view, argument);
    for (int i = 0; i < views && i < (int)(sizeof m->visits / sizeof *m->visits); i++)
        m->visits[i] += !strcmp(app_top(m->app), view_at(i)->name);
}

/* Escape always leads home, whatever is open. */
static bool go_home(struct monkey *m)
{
    say(m, "home");
    for (int i = 0; strcmp(app_top(m->app), "home") != 0; i++) {
        if (i == HOME_WITHIN)
            return wrong(m, "%d times Esc did not lead home", HOME_WITHIN);
        app_key(m->app, KEY_CODE_ESCAPE);
        if (app_ended(m->app))
            return wrong(m, "Esc left the program");
    }
    for (int i = 0; i < 4; i++)
        app_key(m->app, KEY_CODE_ESCAPE);
    return !app_ended(m->app) || wrong(m, "Esc at home left the program");
}

static bool begin(struct monkey *m, struct error *e)
{
    app_free(m->app);
    m->app = app_new(NULL, true, e);
    return m->app && app_open_named(m->app, NULL, e);
}

static bool deed(struct monkey *m)
{
    int n = below(m, 100);
    if (n < 55)
        press_bound(m);
    else if (n < 74)
        press_any(m);
    else if (n < 82)
        use_mouse(m);
    else if (n < 87)
        app_advance(m->app, below(m, 30) / 10.0);
    else if (n < 92)
        return resize(m);
    else if (n < 98)
        open_view(m);
    else if (n < 99)
        return go_home(m);
    else
        return labels_sound(m);
    return true;
}

/* First every view once, on nothing and on each argument of a view's own ("VIEW:ARGUMENT"): a list is sure to be seen. */
static bool tour(struct monkey *m)
{
    bool ok = true;
    for (int i = 0; ok && view_at(i); i++)
        for (int k = -1; ok && k < m->argument_count; k++) {
            const char *name = view_at(i)->name, *argument = k < 0 ? NULL : m->arguments[k];
            size_t length = strlen(name);
            if (argument && (strncmp(argument, name, length) != 0 || argument[length] != ':'))
                continue;
            say(m, "tour %s", argument ? argument : name);
            if (strcmp(name, "home") != 0)
                app_open(m->app, view_at(i), argument ? argument + length + 1 : NULL);
            app_tick(m->app);
            press(m, KEY_CODE_DOWN);
            ok = sound(m) && go_home(m);
        }
    return ok;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct monkey m = {.arguments = argv + 3, .argument_count = argc - 3};
    struct error e = {0};
    if (argc < 4 || !canvas_init(&m.canvas, 24, 80, true)) {
        fputs("usage: monkey SEED KEYS ARGUMENT...\n", stderr);
        return 2;
    }
    m.state = strtoull(argv[1], NULL, 10);
    long keys = strtol(argv[2], NULL, 10);
    bool ok = begin(&m, &e) && tour(&m);
    for (; ok && m.done < keys; m.done++) {
        double before = seconds();
        ok = deed(&m);
        if (ok && app_ended(m.app))
            ok = begin(&m, &e);
        if (ok)
            app_tick(m.app);
        ok = ok && sound(&m);
        double took = seconds() - before;
        if (took > m.worst_s) {
            m.worst_s = took;
            m.worst = m.done;
        }
        if (ok && (m.done + 1) % REPORT_EVERY == 0)
            fprintf(stderr, "# %ld keys\n", m.done + 1);
    }
    if (ok)
        ok = labels_sound(&m);
    printf("# the longest deed, after %ld, took %.0f ms; opened:", m.worst, m.worst_s * 1000);
    for (int i = 0; view_at(i); i++)
        printf(" %s %d", view_at(i)->name, m.visits[i]);
    printf("\n# screens on which the cursor was on the selected row:");
    for (int i = 0; view_at(i); i++)
        printf(" %s %d", view_at(i)->name, m.followed[i]);
    putchar('\n');
    if (*e.text)
        printf("%s\n", e.text);
    app_free(m.app);
    canvas_free(&m.canvas);
    return ok ? 0 : 1;
}
