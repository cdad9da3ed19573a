/*
 * settings_view.c - theme, characters, language and mouse; each choice holds at once and is kept.
 */
#include "tui/app.h"

#include "engine/base/rundir.h"
#include "engine/launch/site.h"
#include "tui/plot.h"
#include "tui/settings.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum action { UP = 1, DOWN, BEFORE, NEXT, DOCTOR };
enum row { THEME, GLYPHS, LANGUAGE, MOUSE, ROWS };
enum { WIDE_FROM = 110, FORM_COLS = 60, LABEL_COLS = 14 };

static const struct key_binding keys[] = {
    {KEY_CODE_UP, UP, N_("select"), N_("the setting above or below")},
    {KEY_CODE_DOWN, DOWN, N_("select"), N_("the setting above or below")},
    {'k', UP, NULL, N_("the setting above or below")},
    {'j', DOWN, NULL, N_("the setting above or below")},
    {KEY_CODE_LEFT, BEFORE, N_("change"), N_("the choice before or after")},
    {KEY_CODE_RIGHT, NEXT, N_("change"), N_("the choice before or after")},
    {KEY_CODE_ENTER, NEXT, NULL, NULL},
    {' ', NEXT, NULL, NULL},
    {'h', BEFORE, NULL, N_("the choice before or after")},
    {'l', NEXT, NULL, N_("the choice before or after")},
    {'d', DOCTOR, N_("doctor"), N_("what works on this machine, what does not, and the cure")},
    {0, 0, NULL, NULL},
};

static const char *const labels[ROWS] = {N_("Theme"), N_("Characters"), N_("Language"), N_("Mouse")};

struct view {
    enum row selected;
    struct rect rows[ROWS]; /* where they were drawn last */
    char languages[LANGUAGES_MAX][LANGUAGE_SIZE];
    int language_count;
    char home[PATH_MAX];
    struct site site;
    struct error site_error; /* of kind NONE where it could be read */
    bool site_everybody, site_own;
};

static void *settings_open(struct app *app, const char *argument, struct error *e)
{
    (void)app;
    (void)argument;
    struct view *v = calloc(1, sizeof *v);
    char path[PATH_MAX + 16];
    if (!v) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    v->language_count = text_languages(v->languages);
    if (!ringside_home(v->home, NULL))
        v->home[0] = '\0';
    snprintf(path, sizeof path, "%s/site.lua", v->home);
    v->site_own = *v->home && access(path, R_OK) == 0;
    v->site_everybody = access("/etc/ringside/site.lua", R_OK) == 0;
    site_read(&v->site, &v->site_error);
    return v;
}

/* The next of `count` choices, or the one before, around the end. */
static int turn(int now, int count, int step)
{
    return (now + count + step) % count;
}

/* 0: by the environment; else one more than its number. */
static int language_number(const struct view *v, const struct settings *s)
{
    for (int i = 0; i < v->language_count; i++)
        if (!strcmp(v->languages[i], s->language))
            return i + 1;
    return 0;
}

static void change(struct view *v, struct app *app, int step)
{
    struct settings s = *app_settings(app);
    switch (v->selected) {
    case THEME: s.theme = (enum theme)turn((int)s.theme, THEME_CONTRAST + 1, step); break;
    case GLYPHS: s.glyphs = (enum settings_glyphs)turn((int)s.glyphs, GLYPHS_ASCII + 1, step); break;
    case MOUSE: s.mouse = !s.mouse; break;
    case LANGUAGE: {
        int n = turn(language_number(v, &s), v->language_count + 1, step);
        snprintf(s.language, sizeof s.language, "%s", n ? v->languages[n - 1] : "");
        break;
    }
    case ROWS: break;
    }
    app_choose(app, &s);
}

static void settings_act(void *view, struct app *app, int action)
{
    struct view *v = view;
    switch ((enum action)action) {
    case UP: v->selected = v->selected > 0 ? v->selected - 1 : 0; break;
    case DOWN: v->selected = v->selected + 1 < ROWS ? v->selected + 1 : v->selected; break;
    case BEFORE: change(v, app, -1); break;
    case NEXT: change(v, app, 1); break;
    case DOCTOR: app_open(app, &view_doctor, NULL); break;
    }
}

/* A press on a setting selects it; on the one that is selected it changes it, by the arrow it is nearer to. */
static bool settings_click(void *view, struct app *app, int row, int col, enum mouse what)
{
    struct view *v = view;
    if (what != MOUSE_PRESS && what != MOUSE_DOUBLE)
        return false;
    for (int i = 0; i < ROWS; i++) {
        if (row != v->rows[i].row || col < v->rows[i].col || col >= v->rows[i].col + v->rows[i].cols)
            continue;
        if (v->selected == (enum row)i)
            change(v, app, col < v->rows[i].col + LABEL_COLS + 6 ? -1 : 1);
        v->selected = (enum row)i;
    }
    return true;
}

/* --- drawing --- */

static void value_of(const struct view *v, const struct settings *s, enum row row, bool utf8, char *text,
                     size_t size)
{
    static const char *const themes[] = {N_("the terminal's"), N_("dark"), N_("light"), N_("high contrast")};
    static const char *const glyphs[] = {N_("by the locale"), N_("Unicode"), N_("ASCII")};
    const char *value = "";
    char language[32];
    if (row == THEME) {
        value = _(themes[s->theme]);
    } else if (row == GLYPHS) {
        value = _(glyphs[s->glyphs]);
    } else if (row == MOUSE) {
        value = s->mouse ? _("on") : _("off");
    } else {
        int n = language_number(v, s);
        text_language_name(n ? v->languages[n - 1] : text_language(), utf8, language, sizeof language);
        if (!n) {
            snprintf(text, size, _("by the locale: %s"), language);
            return;
        }
        value = language;
    }
    snprintf(text, size, "%s", value);
}

static const char *explanation(const struct settings *s, enum row row)
{
    static const char *const themes[] = {
        N_("Colours for a dark or a light background, as the terminal says of its own, which stays."),
        N_("Light text on a dark background that Ringside paints itself."),
        N_("Dark text on a white background that Ringside paints itself: the best in a bright room."),
        N_("White and strong colours on black, at least 7 : 1 for every text: for projectors and video "
           "calls."),
    };
    static const char *const glyphs[] = {
        N_("Unicode where the locale is UTF-8: curves of braille dots, arrows, box lines."),
        N_("Curves of braille dots, arrows, box lines. Where the locale is not UTF-8: from the next start "
           "on."),
        N_("No characters beyond ASCII: for old fonts and for braille displays."),
    };
    switch (row) {
    case THEME: return _(themes[s->theme]);
    case GLYPHS: return _(glyphs[s->glyphs]);
    case LANGUAGE:
        return _("Of the screens. Lessons have languages of their own; runs, errors of the machine and "
                 "--json stay English.");
    case MOUSE:
        return s->mouse ? _("Press on rows and on the footer, turn the wheel. Shift lets most terminals mark "
                            "text as ever.")
                        : _("The terminal marks and copies text as everywhere else.");
    case ROWS: break;
    }
    return "";
}

static void draw_row(struct view *v, const struct settings *s, struct canvas *c, struct rect r, enum row row)
{
    bool selected = row == v->selected;
    enum role text = selected ? ROLE_SELECTED : ROLE_TEXT, key = selected ? ROLE_SELECTED : ROLE_MUTED;
    char value[64];
    v->rows[row] = r;
    if (selected) {
        canvas_fill(c, r, ' ', ROLE_SELECTED, 0);
        c->cursor_row = r.row;
        c->cursor_col = r.col;
    }
    canvas_text(c, r.row, r.col, 2, text, 0, selected ? "▸" : " ");
    canvas_text(c, r.row, r.col + 2, LABEL_COLS - 1, text, selected ? ATTR_BOLD : 0, _(labels[row]));
    value_of(v, s, row, c->utf8, value, sizeof value);
    int col = r.col + 2 + LABEL_COLS;
    canvas_text(c, r.row, col, 1, key, 0, "◂");
    col += 2 + canvas_text(c, r.row, col + 2, r.col + r.cols - col - 5, text, 0, value);
    canvas_text(c, r.row, col + 1, 1, key, 0, "▸");
}

/* Every role as it looks now, so that a theme can be judged where it will be shown. */
static void draw_sample(struct canvas *c, struct rect r)
{
    static const struct {
        enum role role;
        const char *text;
    } words[] = {
        {ROLE_TITLE, N_("title")},   {ROLE_TEXT, N_("text")},   {ROLE_MUTED, N_("aside")},
        {ROLE_ACCENT, N_("accent")}, {ROLE_GOOD, N_("✓ good")}, {ROLE_WARN, N_("! warning")},
        {ROLE_BAD, N_("✗ bad")},     {ROLE_CODE, N_("code")},   {ROLE_KEY, N_("key")},
    };
    struct rect in = canvas_box(c, r, _("Sample"), ROLE_BORDER);
    int row = in.row, col = in.col + 1, end = in.col + in.cols;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *text = _(words[i].text);
        int width = text_columns(text);
        if (col + width > end && row + 1 < in.row + in.rows) {
            row++;
            col = in.col + 1;
        }
        if (col + width <= end)
            canvas_text(c, row, col, width, words[i].role, words[i].role == ROLE_TITLE ? ATTR_BOLD : 0, text);
        col += width + 2;
    }
    if (row + 1 >= in.row + in.rows)
        return;
    row++;
    static const uint32_t marks[] = {0x2501, 0x25cf, 0x25b2, 0x25a0, 0x25c6, 0x2605};
    for (int i = 0; i < 6 && in.col + 1 + i * 6 + 4 <= end; i++)
        for (int k = 0; k < 4; k++)
            canvas_put(c, row, in.col + 1 + i * 6 + k, k == 1 ? marks[i] : 0x2501,
                       (enum role)(ROLE_SERIES1 + i), 0);
    if (row + 1 < in.row + in.rows)
        canvas_text(c, row + 1, in.col + 1, in.cols - 2, ROLE_SELECTED, 0, _(" what is selected "));
}

/*
 * Curves that are no measurement but a formula, to see a plot in this theme: the speed-up of n ranks where a share s of
 * the work is serial, 1 / (s + (1 - s) / n) (G. M. Amdahl 1967, Validity of the single processor approach to achieving
 * large scale computing capabilities).
 */
static void draw_curves(struct canvas *c, struct rect r)
{
    enum { RANKS = 64, CURVES = 4 };
    static const struct {
        const char *name;
        double serial;
    } shares[CURVES] = {{"1 %", 0.01}, {"2 %", 0.02}, {"5 %", 0.05}, {"10 %", 0.1}};
    double x[RANKS], y[CURVES][RANKS];
    struct plot_series series[CURVES];
    struct axis ranks = {0}, speed = {.zero = true};
    for (int k = 0; k < CURVES; k++) {
        for (int n = 1; n <= RANKS; n++) {
            x[n - 1] = n;
            y[k][n - 1] = 1 / (shares[k].serial + (1 - shares[k].serial) / n);
        }
        series[k] = (struct plot_series){.name = shares[k].name, .x = x, .y = y[k], .count = RANKS};
    }
    axis_fit(&ranks, 1, RANKS);
    axis_fit(&speed, 0, y[0][RANKS - 1]);
    struct plot p = {.series = series, .count = CURVES, .x = &ranks, .y = &speed, .x_label = _("ranks")};
    plot_draw(c,
              canvas_box(c, r, _("Amdahl's law: speed-up where so much of the work is serial"), ROLE_BORDER),
              &p);
}

static void line(struct canvas *c, struct rect *r, const char *label, const char *text)
{
    if (r->rows < 1)
        return;
    canvas_text(c, r->row, r->col, LABEL_COLS + 4, ROLE_MUTED, 0, label);
    canvas_text(c, r->row, r->col + LABEL_COLS + 5, r->cols - LABEL_COLS - 5, ROLE_TEXT, 0, text);
    rect_cut_rows(r, 1);
}

/* A path below the learner's home as shells write it. */
static const char *shortened(const char *path, char *text, size_t size)
{
    const char *home = getenv("HOME");
    size_t length = home ? strlen(home) : 0;
    if (length < 2 || strncmp(path, home, length) != 0 || path[length] != '/')
        return path;
    snprintf(text, size, "~%s", path + length);
    return text;
}

static void draw_site(const struct view *v, struct canvas *c, struct rect r)
{
    char text[PATH_MAX + 64];
    if (r.rows < 3)
        return;
    struct rect in = rect_inset(canvas_box(c, r, _("This site"), ROLE_BORDER), 0, 1);
    line(c, &in, _("Runs and progress"), shortened(v->home, text, sizeof text));
    if (v->site_error.kind) {
        line(c, &in, _("Site profile"), v->site_error.text);
        return;
    }
    snprintf(text, sizeof text, text_plural("%d rank", "%d ranks", v->site.local_ranks), v->site.local_ranks);
    line(c, &in, _("At once, here"), text);
    line(c, &in, _("Site profile"),
         v->site_everybody && v->site_own ? _("/etc/ringside/site.lua, then site.lua beside your runs")
         : v->site_everybody              ? "/etc/ringside/site.lua"
         : v->site_own                    ? _("site.lua beside your runs")
                                          : _("none: what this machine has"));
}

static void settings_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct view *v = view;
    const struct settings *s = app_settings(app);
    struct rect r = rect_inset(area, 0, 1);
    bool wide = area.cols >= WIDE_FROM, tall = r.rows >= 14;
    rect_cut_rows(&r, tall);
    struct rect form = wide ? rect_cut_cols(&r, FORM_COLS) : rect_cut_rows(&r, ROWS + (tall ? 4 : 3));
    for (int i = 0; i < ROWS; i++)
        draw_row(v, s, c, rect_cut_rows(&form, 1), (enum row)i);
    rect_cut_rows(&form, tall);
    wrap_text(c, (struct rect){form.row, form.col + 2, form.rows, form.cols - 4}, ROLE_MUTED, 0,
              explanation(s, v->selected));
    rect_cut_cols(&r, wide ? 2 : 0);
    draw_sample(c, rect_cut_rows(&r, r.rows >= 10 ? 5 : r.rows));
    draw_site(v, c, rect_cut_rows(&r, 5));
    if (r.rows >= 8)
        draw_curves(c, r);
}

static void settings_title(void *view, char *text, size_t size)
{
    (void)view;
    snprintf(text, size, "%s", _("Settings"));
}

const struct view_class view_settings = {
    .name = "settings",
    .keys = keys,
    .open = settings_open,
    .act = settings_act,
    .click = settings_click,
    .draw = settings_draw,
    .title = settings_title,
    .close = free,
};
