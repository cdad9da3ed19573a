/*
 * term.c - curses behind a canvas.
 */
#include "tui/term.h"

#include "engine/base/timing.h"
#include "tui/theme.h"

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* Codes of our own for define_key, above those curses gives out. */
enum { PASTE_BEGIN = 2000, PASTE_END = 2001 };
/* More printable keys than this in one reading are pasted text, whatever the terminal says. */
enum { BURST_MAX = 32 };
/* An Esc that nothing follows within so many milliseconds is the key itself. */
enum { ESC_MS = 20 };
/* Pairs of colours for pictures; when they are used up, all are given out anew. */
enum { PICTURE_PAIRS = 24000 };

/* Two presses within this time in one place are a double one. */
#define DOUBLE_S 0.4

struct terminal {
    SCREEN *screen;
    WINDOW *input; /* a pad of its own: reading keys from stdscr would refresh it */
    bool utf8, paste_mode, pasting, mouse, redraw;
    enum depth depth;
    enum theme theme;
    int rows, cols;
    struct cell *shown; /* what the screen shows; glyph UINT32_MAX: unknown */
    struct cell *line;  /* one row being prepared */
    attr_t attributes[ROLE_COUNT];
    bool flat[ROLE_COUNT]; /* a blank of this role looks like any other blank */
    short pairs[ROLE_COUNT];
    double pressed_at; /* the mouse's last press, where */
    int pressed_row, pressed_col;
};

/* What a handler of a fatal signal needs; set once before the handlers are. */
static struct {
    bool active, have_modes;
    struct termios modes;
    char text[256];
    size_t length;
} restore;

static int restore_put(int byte)
{
    if (restore.length < sizeof restore.text)
        restore.text[restore.length++] = (char)byte;
    return byte;
}

void term_restore(void)
{
    if (!restore.active)
        return;
    restore.active = false;
    for (size_t done = 0; done < restore.length;) {
        ssize_t n = write(STDOUT_FILENO, restore.text + done, restore.length - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (restore.have_modes)
        tcsetattr(STDIN_FILENO, TCSANOW, &restore.modes);
}

static void restore_prepare(struct terminal *t)
{
    static const char *const names[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
    restore.length = 0;
    if (t->paste_mode)
        for (const char *s = "\033[?2004l"; *s; s++)
            restore_put(*s);
    const char *mouse = tigetstr("kmous");
    if (mouse && mouse != (char *)-1)
        for (const char *s = "\033[?1006l\033[?1000l"; *s; s++)
            restore_put(*s);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = tigetstr(names[i]);
        if (text && text != (char *)-1)
            tputs(text, 1, restore_put);
    }
}

void term_impossible(char why[256])
{
    const char *name = getenv("TERM");
    int status = 0;
    why[0] = '\0';
    if (!name || !*name) {
        snprintf(why, 256, "TERM is not set");
    } else if (setupterm(name, STDOUT_FILENO, &status) != OK) {
        snprintf(why, 256, "the terminal type TERM=%.64s is unknown here", name);
    } else {
        const char *place = tigetstr("cup"), *clear_all = tigetstr("clear");
        if (!place || place == (char *)-1 || !clear_all || clear_all == (char *)-1)
            snprintf(why, 256, "TERM=%.64s cannot place text on a screen", name);
        del_curterm(cur_term);
    }
}

static attr_t curses_attributes(int attributes)
{
    return (attributes & ATTR_BOLD ? A_BOLD : 0) | (attributes & ATTR_UNDERLINE ? A_UNDERLINE : 0) |
           (attributes & ATTR_REVERSE ? A_REVERSE : 0) | (attributes & ATTR_ITALIC ? A_ITALIC : 0) |
           (attributes & ATTR_DIM ? A_DIM : 0);
}

static enum depth colour_depth(void)
{
    const char *no_colour = getenv("NO_COLOR");
    if ((no_colour && *no_colour) || !has_colors() || start_color() != OK || COLORS < 8)
        return DEPTH_NONE;
    use_default_colors();
    if (COLORS >= 1 << 24)
        return DEPTH_TRUE;
    return COLORS >= 256 && COLOR_PAIRS > ROLE_COUNT ? DEPTH_256 : DEPTH_8;
}

static void colours(struct terminal *t)
{
    enum depth depth = t->depth;
    struct look look = theme_look(t->theme);
    int page = theme_style(ROLE_TEXT, depth, look).bg;
    memset(t->pairs, 0, sizeof t->pairs);
    /*
     * Text has a pair too, of the default colours: leaving a colour for it takes "\\033[39m", while leaving it for
     * pair 0 makes curses reset everything, in twice the bytes.
     */
    for (int role = 0; role < ROLE_COUNT; role++) {
        struct style style = theme_style((enum role)role, depth, look);
        t->attributes[role] = curses_attributes(style.attributes);
        t->flat[role] = style.bg == page && !(style.attributes & (ATTR_REVERSE | ATTR_UNDERLINE));
        if (depth == DEPTH_NONE)
            continue;
        /* Roles that look alike share a pair: going from one to the other then costs nothing. */
        for (int other = 0; other < role && !t->pairs[role]; other++) {
            struct style same = theme_style((enum role)other, depth, look);
            if (t->pairs[other] && same.fg == style.fg && same.bg == style.bg)
                t->pairs[role] = t->pairs[other];
        }
        if (!t->pairs[role]) {
            t->pairs[role] = (short)(role + 1);
            init_extended_pair(role + 1, style.fg, style.bg);
        }
    }
    if (t->pairs[ROLE_TEXT])
        bkgd((chtype)COLOR_PAIR(t->pairs[ROLE_TEXT]) | t->attributes[ROLE_TEXT] | ' ');
}

/* Terminals that know bracketed paste; others might print the request. */
static bool knows_paste(void)
{
    static const char *const names[] = {"xterm",   "tmux", "screen", "rxvt", "alacritty", "foot",   "kitty",
                                        "konsole", "vte",  "gnome",  "st-",  "wezterm",   "ghostty"};
    const char *name = getenv("TERM");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name && !strncmp(name, names[i], strlen(names[i])))
            return true;
    return false;
}

static void paste_mode(struct terminal *t, bool on)
{
    if (t->paste_mode) {
        putp(on ? "\033[?2004h" : "\033[?2004l");
        fflush(stdout);
    }
}

/* Presses and the wheel only: the terminal then sends nothing while the mouse merely moves. */
static void mouse_mode(struct terminal *t, bool on)
{
    t->mouse = on;
    mouseinterval(0); /* a press is told at once; double ones are ours to tell */
    mousemask(on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
}

static bool shown_resize(struct terminal *t)
{
    getmaxyx(stdscr, t->rows, t->cols);
    free(t->shown);
    free(t->line);
    t->shown = malloc((size_t)t->rows * (size_t)t->cols * sizeof *t->shown);
    t->line = malloc((size_t)t->cols * sizeof *t->line);
    term_redraw(t);
    return t->shown && t->line;
}

struct terminal *term_open(bool utf8, enum theme theme, bool mouse, struct error *e)
{
    struct terminal *t = calloc(1, sizeof *t);
    if (!t) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    t->utf8 = utf8;
    t->theme = theme;
    restore.have_modes = tcgetattr(STDIN_FILENO, &restore.modes) == 0;
    set_escdelay(ESC_MS); /* ESCDELAY of the environment comes before it */
    t->screen = newterm(NULL, stdout, stdin);
    if (!t->screen) {
        free(t);
        error_set(e, ERROR_FAILED, "the terminal could not be set up; try --plain");
        return NULL;
    }
    t->paste_mode = knows_paste();
    restore_prepare(t);
    restore.active = true;
    raw();
    noecho();
    nonl();
    curs_set(0);
    scrollok(stdscr, FALSE);
    t->input = newpad(1, 1);
    keypad(t->input, TRUE);
    meta(t->input, TRUE);
    nodelay(t->input, TRUE);
    define_key("\033[200~", PASTE_BEGIN);
    define_key("\033[201~", PASTE_END);
    t->depth = colour_depth();
    colours(t);
    mouse_mode(t, mouse);
    paste_mode(t, true);
    if (!t->input || !shown_resize(t)) {
        term_close(t);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    return t;
}

void term_close(struct terminal *t)
{
    if (!t)
        return;
    paste_mode(t, false);
    curs_set(1);
    if (t->input)
        delwin(t->input);
    endwin();
    restore.active = false;
    delscreen(t->screen);
    free(t->shown);
    free(t->line);
    free(t);
}

static int translate(wint_t code)
{
    switch (code) {
    case KEY_UP: return KEY_CODE_UP;
    case KEY_DOWN: return KEY_CODE_DOWN;
    case KEY_LEFT: return KEY_CODE_LEFT;
    case KEY_RIGHT: return KEY_CODE_RIGHT;
    case KEY_PPAGE: return KEY_CODE_PAGE_UP;
    case KEY_NPAGE: return KEY_CODE_PAGE_DOWN;
    case KEY_HOME: return KEY_CODE_HOME;
    case KEY_END: return KEY_CODE_END;
    case KEY_ENTER: return KEY_CODE_ENTER;
    case KEY_BACKSPACE: return KEY_CODE_BACKSPACE;
    case KEY_BTAB: return KEY_CODE_BACKTAB;
    default: return 0;
    }
}

static int translate_character(wint_t character)
{
    switch (character) {
    case 27: return KEY_CODE_ESCAPE;
    case '\r':
    case '\n': return KEY_CODE_ENTER;
    case '\t': return KEY_CODE_TAB;
    case 8:
    case 127: return KEY_CODE_BACKSPACE;
    default: return character < KEY_CODE_BASE ? (int)character : 0;
    }
}

static int translate_mouse(struct terminal *t, const MEVENT *event)
{
    enum mouse what = MOUSE_PRESS;
    if (event->bstate & BUTTON4_PRESSED)
        what = MOUSE_WHEEL_UP;
    else if (event->bstate & BUTTON5_PRESSED)
        what = MOUSE_WHEEL_DOWN;
    else if (!(event->bstate & BUTTON1_PRESSED))
        return 0;
    double now = timing_now();
    if (what == MOUSE_PRESS) {
        bool again =
            now - t->pressed_at < DOUBLE_S && event->y == t->pressed_row && event->x == t->pressed_col;
        t->pressed_at = again ? 0 : now; /* a third press is a new first one */
        t->pressed_row = event->y;
        t->pressed_col = event->x;
        what = again ? MOUSE_DOUBLE : MOUSE_PRESS;
    }
    return mouse_key(what, event->y, event->x);
}

/* Presses that come in one reading are one KEY_MOUSE to curses; it hands them out from the last one on. */
static int mouse_keys(struct terminal *t, int *keys, int limit)
{
    enum { EVENTS_MAX = 8 }; /* as many as curses keeps */
    MEVENT events[EVENTS_MAX];
    int n = 0, count = 0;
    while (n < EVENTS_MAX && getmouse(&events[n]) == OK)
        n++;
    while (n-- > 0 && count < limit)
        if ((keys[count] = translate_mouse(t, &events[n])))
            count++;
    return count;
}

int term_keys(struct terminal *t, int *keys, int limit, bool *read)
{
    int count = 0, printable = 0, status;
    wint_t code;
    *read = false;
    while (count < limit && (status = wget_wch(t->input, &code)) != ERR) {
        int key = status == KEY_CODE_YES ? 0 : translate_character(code);
        *read = true;
        if (status == KEY_CODE_YES && (code == PASTE_BEGIN || code == PASTE_END))
            t->pasting = code == PASTE_BEGIN;
        else if (status == KEY_CODE_YES && code == KEY_MOUSE)
            count += mouse_keys(t, keys + count, limit - count);
        else if (status == KEY_CODE_YES)
            key = translate(code);
        if (key)
            keys[count++] = key | (t->pasting ? KEY_CODE_PASTED : 0);
        printable += key >= ' ' && key < KEY_CODE_BASE && !t->pasting;
    }
    for (int i = 0; i < count && printable > BURST_MAX; i++)
        keys[i] |= KEY_CODE_PASTED;
    return count;
}

bool term_pixels(const struct terminal *t)
{
    return t->utf8 && t->depth >= DEPTH_256 && COLOR_PAIRS > PICTURE_PAIRS;
}

/* The pair of a cell with colours of its own. */
static short own_pair(struct terminal *t, const struct cell *cell)
{
    int fg = cell->fg ? theme_colour(cell->fg & 0xffffff, t->depth) : -1;
    int bg = cell->bg ? theme_colour(cell->bg & 0xffffff, t->depth) : -1;
    int pair = alloc_pair(fg, bg);
    if (pair >= PICTURE_PAIRS) {
        for (int used = ROLE_COUNT + 1; used <= pair; used++)
            free_pair(used);
        t->redraw = true; /* what is on the screen has lost its pairs */
        pair = alloc_pair(fg, bg);
    }
    return pair > 0 ? (short)pair : t->pairs[cell->role];
}

static void put_cell(struct terminal *t, int row, int col, const struct cell *cell)
{
    cchar_t c;
    wchar_t text[3] = {(wchar_t)cell->glyph, (wchar_t)cell->combining, 0};
    short pair = cell->fg || cell->bg ? own_pair(t, cell) : t->pairs[cell->role];
    setcchar(&c, text, t->attributes[cell->role] | curses_attributes(cell->attributes), pair, NULL);
    mvadd_wch(row, col, &c);
}

/*
 * A short gap between two cells of one colour takes that colour: it looks the same, and saves going to the text's
 * colour and back. Long gaps stay as they are, since terminals can clear those at once.
 */
static void bridge_gaps(const struct terminal *t, struct cell *line, int cols)
{
    enum { GAP_MAX = 6 };
    for (int col = 1, gap = 0; col < cols; col++) {
        bool blank =
            line[col].glyph == ' ' && line[col].role == ROLE_TEXT && !line[col].attributes && !line[col].bg;
        if (blank) {
            gap++;
            continue;
        }
        const struct cell *before = &line[col - gap - 1];
        if (gap && gap <= GAP_MAX && col > gap && before->role == line[col].role && t->flat[before->role] &&
            before->attributes == line[col].attributes &&
            !(before->attributes & (ATTR_REVERSE | ATTR_UNDERLINE)))
            for (int i = col - gap; i < col; i++) {
                line[i].role = before->role;
                line[i].attributes = before->attributes;
            }
        gap = 0;
    }
}

static bool same(const struct cell *a, const struct cell *b)
{
    return a->glyph == b->glyph && a->combining == b->combining && a->role == b->role &&
           a->attributes == b->attributes && a->fg == b->fg && a->bg == b->bg;
}

/* A blank that looks the same in every such role. */
static bool plain_blank(const struct terminal *t, const struct cell *cell)
{
    return cell->glyph == ' ' && !cell->combining && !cell->bg &&
           (cell->role == ROLE_TEXT || t->flat[cell->role]) &&
           !(cell->attributes & (ATTR_REVERSE | ATTR_UNDERLINE));
}

/* A blank that only takes another invisible colour is sent where it bridges two cells that are sent, too. */
static bool may_stay(const struct terminal *t, const struct cell *line, const struct cell *shown, int col,
                     int cols, bool before)
{
    if (!plain_blank(t, &line[col]) || !plain_blank(t, &shown[col]))
        return false;
    int next = col + 1;
    while (next < cols && line[next].glyph == ' ')
        next++;
    return !before || next == cols || same(&line[next], &shown[next]);
}

void term_show(struct terminal *t, const struct canvas *c)
{
    int rows = c->rows < t->rows ? c->rows : t->rows, cols = c->cols < t->cols ? c->cols : t->cols;
    bool changed = t->redraw;
    if (t->redraw) {
        for (int i = 0; i < t->rows * t->cols; i++)
            t->shown[i] = (struct cell){.glyph = UINT32_MAX};
        erase();
        clearok(curscr, TRUE);
        t->redraw = false;
    }
    for (int row = 0; row < rows; row++) {
        struct cell *line = t->line;
        memcpy(line, c->cells + (size_t)row * (size_t)c->cols, (size_t)cols * sizeof *line);
        bridge_gaps(t, line, cols);
        struct cell *shown = t->shown + (size_t)row * (size_t)t->cols;
        bool sent = false; /* the cell before */
        for (int col = 0; col < cols; col++) {
            bool before = sent;
            sent = !same(&line[col], &shown[col]) && !may_stay(t, line, shown, col, cols, before);
            if (!sent)
                continue;
            /* The second half of a wide character comes with its first. */
            if (line[col].glyph)
                put_cell(t, row, col, &line[col]);
            else if (col > 0 && same(&line[col - 1], &shown[col - 1]))
                put_cell(t, row, col - 1, &line[col - 1]);
            shown[col] = line[col];
            changed = true;
        }
    }
    bool cursor = c->cursor_row >= 0 && c->cursor_row < rows && c->cursor_col >= 0 && c->cursor_col < cols;
    leaveok(stdscr, !cursor);
    if (cursor)
        move(c->cursor_row, c->cursor_col);
    if (changed || cursor)
        refresh();
}

void term_size(const struct terminal *t, int *rows, int *cols)
{
    *rows = t->rows;
    *cols = t->cols;
}

void term_resized(struct terminal *t)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    shown_resize(t);
}

void term_redraw(struct terminal *t)
{
    t->redraw = true;
}

void term_choose(struct terminal *t, enum theme theme, bool mouse)
{
    t->theme = theme;
    colours(t);
    mouse_mode(t, mouse);
    term_redraw(t);
}

void term_release(struct terminal *t)
{
    paste_mode(t, false);
    curs_set(1);
    endwin();
    restore.active = false;
}

void term_resume(struct terminal *t)
{
    reset_prog_mode();
    restore.active = true;
    curs_set(0);
    keypad(t->input, TRUE); /* endwin has switched the terminal's keypad back */
    paste_mode(t, true);
    term_resized(t);
}
