/*
 * script.c - runs a key script.
 */
#include "tui/script.h"

#include "engine/base/timing.h"
#include "tui/keymap.h"
#include "tui/plain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORD_MAX = 512, SIZE_MAX_CELLS = 1000 };

struct script {
    const struct script_options *options;
    struct app *app;
    struct canvas canvas;
    FILE *out;
    const char *rest;
    int dumps;
};

bool size_parse(const char *text, int *cols, int *rows)
{
    char *end;
    long c = strtol(text, &end, 10);
    if (end == text || (*end != 'x' && *end != 'X'))
        return false;
    const char *second = end + 1;
    long r = strtol(second, &end, 10);
    if (end == second || *end || c < 1 || r < 1 || c > SIZE_MAX_CELLS || r > SIZE_MAX_CELLS)
        return false;
    *cols = (int)c;
    *rows = (int)r;
    return true;
}

/* The next word; quoted: whether it was in quotes. False at the end. */
static bool next_word(struct script *s, char word[WORD_MAX], bool *quoted)
{
    while (isspace((unsigned char)*s->rest))
        s->rest++;
    if (!*s->rest)
        return false;
    size_t n = 0;
    /* A quote that nothing closes, or that stands alone, is the key itself. */
    char quote = *s->rest == '"' || *s->rest == '\'' ? *s->rest : 0;
    const char *close = quote ? strchr(s->rest + 1, quote) : NULL;
    *quoted = close && close > s->rest + 1;
    if (*quoted) {
        for (const char *p = s->rest + 1; p < close && n + 1 < WORD_MAX; p++)
            word[n++] = *p;
        s->rest = close + 1;
    } else {
        while (*s->rest && !isspace((unsigned char)*s->rest) && n + 1 < WORD_MAX)
            word[n++] = *s->rest++;
    }
    word[n] = '\0';
    return true;
}

static void dump(struct script *s)
{
    app_draw(s->app, &s->canvas);
    if (s->dumps++)
        fputs("\n", s->out);
    plain_print_canvas(&s->canvas, s->out);
    if (s->options->roles) {
        fputs("\n", s->out);
        plain_print_roles(&s->canvas, s->out);
    }
}

static void really_wait(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds};
    t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
    nanosleep(&t, NULL);
}

static void ticks(struct script *s, double seconds, bool real)
{
    for (double t = 0; t < seconds - 1e-9 && !app_ended(s->app); t += APP_TICK_S) {
        double step = seconds - t < APP_TICK_S ? seconds - t : APP_TICK_S;
        double end = timing_now() + step;
        while (real && app_hurried(s->app) && !app_ended(s->app) && timing_now() < end)
            app_tick(s->app);
        if (real && timing_now() < end)
            really_wait(end - timing_now());
        app_advance(s->app, step);
        app_tick(s->app);
    }
}

static bool shows(struct script *s, const char *text)
{
    char *screen;
    size_t size;
    FILE *memory = open_memstream(&screen, &size);
    if (!memory)
        return false;
    app_draw(s->app, &s->canvas);
    plain_print_canvas(&s->canvas, memory);
    fclose(memory);
    bool found = strstr(screen, text) != NULL;
    free(screen);
    return found;
}

static bool until(struct script *s, const char *text, double limit, struct error *e)
{
    double end = timing_now() + limit;
    while (!shows(s, text)) {
        if (timing_now() > end || app_ended(s->app)) {
            dump(s);
            return error_set(e, ERROR_FAILED, "the screen did not show '%s' within %g s", text, limit);
        }
        ticks(s, APP_TICK_S, true);
    }
    return true;
}

/* A number as the next word, else the fallback and nothing is taken. */
static double next_number(struct script *s, double fallback)
{
    const char *before = s->rest;
    char word[WORD_MAX], *end;
    bool quoted;
    if (next_word(s, word, &quoted) && !quoted) {
        double value = strtod(word, &end);
        if (end != word && !*end && value >= 0 && value < 1e6)
            return value;
    }
    s->rest = before;
    return fallback;
}

static void press(struct script *s, int key)
{
    app_key(s->app, key);
    app_tick(s->app);
    app_draw(s->app, &s->canvas);
}

static bool mouse_word(const char *word, enum mouse *what)
{
    static const char *const words[] = {[MOUSE_PRESS] = "click",
                                        [MOUSE_DOUBLE] = "double",
                                        [MOUSE_WHEEL_UP] = "wheelup",
                                        [MOUSE_WHEEL_DOWN] = "wheeldown"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i], word)) {
            *what = (enum mouse)i;
            return true;
        }
    return false;
}

static bool command(struct script *s, const char *word, struct error *e)
{
    enum mouse what;
    char text[WORD_MAX];
    bool quoted;
    if (!strcmp(word, "dump")) {
        dump(s);
    } else if (!strcmp(word, "wait") || !strcmp(word, "sleep")) {
        ticks(s, next_number(s, 1), word[0] == 's');
    } else if (!strcmp(word, "until")) {
        if (!next_word(s, text, &quoted))
            return error_set(e, ERROR_INPUT, "the key script's `until` needs a text in quotes");
        return until(s, text, next_number(s, 10), e);
    } else if (!strcmp(word, "size")) {
        int cols, rows;
        if (!next_word(s, text, &quoted) || !size_parse(text, &cols, &rows))
            return error_set(e, ERROR_INPUT,
                             "the key script's `size` needs columns x rows, as in: size 80x24");
        if (!canvas_resize(&s->canvas, rows, cols))
            return error_set(e, ERROR_FAILED, "out of memory");
        app_key(s->app, KEY_CODE_RESIZE);
        app_draw(s->app, &s->canvas);
    } else if (mouse_word(word, &what)) {
        int row, col;
        if (!next_word(s, text, &quoted) || sscanf(text, "%d,%d", &row, &col) != 2)
            return error_set(e, ERROR_INPUT, "the key script's `%s` needs row,column, as in: click 5,10",
                             word);
        press(s, mouse_key(what, row, col));
    } else {
        int key = key_parse(word);
        if (!key)
            return error_set(
                e, ERROR_INPUT,
                "'%s' in the key script is no key; keys are single characters, Up, Down, Left, Right, "
                "PgUp, PgDn, Home, End, Enter, Esc, Tab, Space, Bksp, C-l; text goes in quotes",
                word);
        press(s, key);
    }
    return true;
}

static bool play(struct script *s, struct error *e)
{
    char word[WORD_MAX];
    bool quoted;
    app_draw(s->app, &s->canvas);
    while (!app_ended(s->app) && next_word(s, word, &quoted)) {
        if (!quoted) {
            if (!command(s, word, e))
                return false;
            continue;
        }
        const char *text = word;
        for (uint32_t glyph; (glyph = utf8_next(&text));)
            app_key(s->app, (int)glyph);
    }
    if (s->options->dump && !app_ended(s->app))
        dump(s);
    return true;
}

bool app_open_named(struct app *app, const char *name, struct error *e)
{
    app_open(app, view_find("home"), NULL);
    if (!name)
        return true;
    char view[32];
    size_t length = strcspn(name, ":");
    snprintf(view, sizeof view, "%.*s", (int)length, name);
    const struct view_class *class = view_find(view);
    if (!class)
        return error_set(e, ERROR_INPUT,
                         "'%s' is no screen; there are home, lesson:NAME, exercise:NAME, run:RUN, ring:RUN, "
                         "settings, doctor",
                         view);
    if (strcmp(view, "home") != 0)
        app_open(app, class, name[length] ? name + length + 1 : NULL);
    return true;
}

bool script_run(const struct script_options *options, FILE *out, struct error *e)
{
    struct script s = {.options = options, .out = out, .rest = options->keys ? options->keys : ""};
    if (!canvas_init(&s.canvas, options->rows, options->cols, options->utf8))
        return error_set(e, ERROR_FAILED, "out of memory");
    s.app = app_new(NULL, true, e);
    bool ok = s.app && app_open_named(s.app, options->open, e) && play(&s, e);
    app_free(s.app);
    canvas_free(&s.canvas);
    return ok;
}
