/*
 * loop.c - the application on a terminal: poll, drain the input, tick, draw once.
 */
#include "tui/loop.h"

#include "engine/base/timing.h"
#include "tui/app.h"
#include "tui/script.h"
#include "tui/term.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS_MAX = 1024, EMPTY_READS_MAX = 20 };

struct loop {
    struct app *app;
    struct terminal *term;
    struct canvas canvas;
    bool ended, dirty;
    bool utf8; /* the terminal can show Unicode, and nobody asked for ASCII on the command line */
    int empty_reads;
};

/* Signal handlers write the signal's number here; -1 while no loop runs. */
static int signal_pipe[2] = {-1, -1};

static void on_signal(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    if (write(signal_pipe[1], &byte, 1) < 0)
        errno = saved; /* a full pipe: the loop has plenty to look at already */
    errno = saved;
}

static void on_crash(int number)
{
    term_restore();
    signal(number, SIG_DFL);
    raise(number);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

static const int watched[] = {SIGWINCH, SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT};
static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};

static bool signals_begin(struct error *e)
{
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return error_errno(e, ERROR_FAILED, "no pipe for signals");
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        handle(watched[i], on_signal, SA_RESTART);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        handle(fatal[i], on_crash, (int)SA_RESETHAND);
    handle(SIGPIPE, SIG_IGN, 0);
    return true;
}

static void signals_end(void)
{
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        handle(watched[i], SIG_DFL, 0);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        handle(fatal[i], SIG_DFL, 0);
    close(signal_pipe[0]);
    close(signal_pipe[1]);
    signal_pipe[0] = signal_pipe[1] = -1;
}

static void resized(struct loop *l)
{
    int rows, cols;
    term_resized(l->term);
    term_size(l->term, &rows, &cols);
    if (canvas_resize(&l->canvas, rows, cols))
        app_key(l->app, KEY_CODE_RESIZE);
    l->dirty = true;
}

static void terminal_release(void *self)
{
    term_release(((struct loop *)self)->term);
}

static void terminal_resume(void *self)
{
    struct loop *l = self;
    term_resume(l->term);
    resized(l);
}

static void terminal_redraw(void *self)
{
    struct loop *l = self;
    term_redraw(l->term);
    l->dirty = true;
}

static void terminal_suspend(void *self)
{
    terminal_release(self);
    handle(SIGTSTP, SIG_DFL, 0);
    /* The whole job of the shell, so that a `make run` around us stops too; our jobs have sessions of their
     * own. */
    kill(0, SIGTSTP);
    handle(SIGTSTP, on_signal, SA_RESTART);
    terminal_resume(self);
}

static void terminal_choose(void *self, const struct settings *settings)
{
    struct loop *l = self;
    term_choose(l->term, settings->theme, settings->mouse);
    l->canvas.utf8 = l->utf8 && settings->glyphs != GLYPHS_ASCII;
    l->dirty = true;
}

static void signal_received(struct loop *l, int number)
{
    if (number == SIGWINCH)
        resized(l);
    else if (number == SIGTSTP)
        terminal_suspend(l);
    else if (number == SIGCONT)
        terminal_resume(l);
    else
        l->ended = true;
}

static void keys_received(struct loop *l, short events)
{
    int keys[KEYS_MAX];
    bool read;
    int count = term_keys(l->term, keys, KEYS_MAX, &read);
    /* A terminal that is gone reads as its end, for ever. */
    l->empty_reads = read ? 0 : l->empty_reads + 1;
    if ((events & (POLLHUP | POLLERR | POLLNVAL) && !count) || l->empty_reads > EMPTY_READS_MAX) {
        l->ended = true;
        return;
    }
    for (int i = 0; i < count && !app_ended(l->app); i++) {
        int key = keys[i] & ~KEY_CODE_PASTED;
        bool typed = !(keys[i] & KEY_CODE_PASTED);
        /* Pasted text is no keys: it goes where text is typed, or nowhere. */
        if (typed || (app_typing(l->app) && key >= ' ' && key < KEY_CODE_BASE))
            app_key(l->app, key);
        l->dirty = true;
    }
}

static void turn(struct loop *l, double *next_tick)
{
    struct pollfd watch[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                              {.fd = signal_pipe[0], .events = POLLIN}};
    double left = *next_tick - timing_now();
    if (poll(watch, 2, left > 0 ? (int)(left * 1000) + 1 : 0) < 0 && errno != EINTR) {
        l->ended = true;
        return;
    }
    unsigned char number;
    while (read(signal_pipe[0], &number, 1) == 1)
        signal_received(l, number);
    if (watch[0].revents)
        keys_received(l, watch[0].revents);
    double now = timing_now();
    if (now >= *next_tick && !app_ended(l->app)) {
        l->dirty |= app_tick(l->app);
        *next_tick = now + (app_hurried(l->app) ? 0 : APP_TICK_S);
    }
}

bool loop_run(const char *open, bool utf8, struct error *e)
{
    struct loop l = {.dirty = true, .utf8 = utf8};
    const struct app_terminal terminal = {.self = &l,
                                          .release = terminal_release,
                                          .resume = terminal_resume,
                                          .redraw = terminal_redraw,
                                          .suspend = terminal_suspend,
                                          .choose = terminal_choose};
    if (!(l.app = app_new(&terminal, false, e)) || !app_open_named(l.app, open, e) || !signals_begin(e)) {
        app_free(l.app);
        return false;
    }
    const struct settings *settings = app_settings(l.app);
    bool ok = (l.term = term_open(utf8, settings->theme, settings->mouse, e)) != NULL;
    if (ok) {
        int rows, cols;
        term_size(l.term, &rows, &cols);
        ok = canvas_init(&l.canvas, rows, cols, utf8 && settings->glyphs != GLYPHS_ASCII) ||
             error_set(e, ERROR_FAILED, "out of memory");
        l.canvas.pixels = term_pixels(l.term);
    }
    double next_tick = timing_now() + APP_TICK_S;
    while (ok && !l.ended && !app_ended(l.app)) {
        if (l.dirty) {
            app_draw(l.app, &l.canvas);
            term_show(l.term, &l.canvas);
            l.dirty = false;
        }
        turn(&l, &next_tick);
    }
    term_close(l.term);
    app_free(l.app);
    canvas_free(&l.canvas);
    signals_end();
    return ok;
}

static bool wants_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

void loop_locale(enum settings_glyphs glyphs)
{
    static const char *const names[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};
    bool taken = setlocale(LC_ALL, "") != NULL;
    setlocale(LC_NUMERIC, "C");
    bool other = (!taken && wants_utf8()) || (glyphs == GLYPHS_UNICODE && !loop_utf8());
    for (size_t i = 0; other && i < sizeof names / sizeof *names; i++)
        other = setlocale(LC_CTYPE, names[i]) == NULL;
}

bool loop_utf8(void)
{
    return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

bool loop_impossible(char why[256])
{
    if (!isatty(STDIN_FILENO))
        snprintf(why, 256, "standard input is no terminal");
    else if (!isatty(STDOUT_FILENO))
        snprintf(why, 256, "standard output is no terminal");
    else
        term_impossible(why);
    return *why != '\0';
}
