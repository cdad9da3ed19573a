/*
 * present_notes.c - the instructor's second terminal: the present slide's notes, what comes next, the clock; it follows
 * a presentation (present_state.h) and can steer it.
 *
 * The argument, where there is one, is the lesson whose presentation is meant. With several presentations at once the
 * one that began last is followed; w goes round them.
 */
#include "tui/app.h"
#include "tui/banner.h"
#include "tui/course.h"
#include "tui/present_view.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NEXT = 1, BACK, UP, DOWN, JUMP, BLANK, RESTART, WHOM };

enum { TEXT_COLS = 78, ASIDE_FROM = 110, CLOCK_FROM = 26 };

/* How often to look for a presentation while none is followed. */
#define SEARCH_S 0.5
/* What was asked for and not done in this time is forgotten. */
#define PENDING_S 2.0

struct notes {
    struct app *app;
    char *wanted; /* the lesson of the argument; NULL: any */
    struct present_state state;
    bool following, lost, several;
    int minutes; /* the lesson's; 0: not known */
    char title[128];
    char read[80]; /* the lesson whose slides are here */
    char *text;
    struct slides slides;
    struct md_doc doc, next;
    int laid_slide, laid_cols;
    int top, hidden; /* rows of the notes scrolled away; how many there are to scroll */
    int pending;     /* the slide that was asked for; -1: none */
    double asked, searched, now;
    struct present_jump jump;
    char drawn[160]; /* what the last tick has shown of the clock */
};

static const struct key_binding keys[] = {
    {KEY_CODE_RIGHT, NEXT, N_("next"), N_("show the next slide on the other terminal")},
    {' ', NEXT, NULL, NULL},
    {KEY_CODE_PAGE_DOWN, NEXT, NULL, NULL},
    {KEY_CODE_LEFT, BACK, N_("before"), N_("show the slide before")},
    {KEY_CODE_PAGE_UP, BACK, NULL, NULL},
    {KEY_CODE_BACKSPACE, BACK, NULL, NULL},
    {KEY_CODE_UP, UP, N_("scroll"), N_("scroll the notes")},
    {KEY_CODE_DOWN, DOWN, N_("scroll"), N_("scroll the notes")},
    {'g', JUMP, N_("go to"), N_("the list of slides: type a number or a part of a heading")},
    {'/', JUMP, NULL, NULL},
    {'.', BLANK, N_("blank"), N_("blank the other screen, or bring it back")},
    {'b', BLANK, NULL, NULL},
    {'t', RESTART, N_("clock"), N_("the clock begins anew")},
    {'w', WHOM, NULL, N_("follow another presentation, where there are several")},
    {0, 0, NULL, NULL},
};

/* Only while there is a presentation to steer. */
static const struct key_binding *notes_footer(void *view)
{
    static const struct key_binding none[] = {{0, 0, NULL, NULL}};
    const struct notes *n = view;
    return n->following ? keys : none;
}

/* --- following ------------------------------------------------------------------------------------------------- */

static void forget_lesson(struct notes *n)
{
    markdown_free(&n->doc);
    markdown_free(&n->next);
    slides_free(&n->slides);
    free(n->text);
    n->text = NULL;
    n->read[0] = '\0';
    n->laid_slide = -1;
}

static void read_lesson(struct notes *n)
{
    struct error e = {0};
    if (!strcmp(n->read, n->state.lesson))
        return;
    forget_lesson(n);
    snprintf(n->read, sizeof n->read, "%s", n->state.lesson);
    if (!present_lesson_read(n->read, getenv("RINGSIDE_LESSON_LANG"), &n->text, &n->slides, &e))
        app_message(n->app, ROLE_BAD, "%s", e.text);
    const struct course *course = app_course(n->app);
    int index = course_find(course, n->read);
    n->minutes = index >= 0 ? course->lessons[index].minutes : 0;
    snprintf(n->title, sizeof n->title, "%s",
             index >= 0        ? course->lessons[index].title
             : n->slides.count ? n->slides.slides[0].heading
                               : n->read);
}

static void follow(struct notes *n, const struct present_state *state)
{
    n->state = *state;
    n->following = true;
    n->lost = false;
    n->pending = -1;
    n->top = 0;
    read_lesson(n);
}

static bool meant(const struct notes *n, const struct present_state *state)
{
    return (!n->wanted || !strcmp(n->wanted, state->lesson)) && !present_state_lost(state, n->now);
}

/* Follows the one that began last; after: the one after that in the list of those there are. */
static void search(struct notes *n, const char *after)
{
    static const struct present_state none;
    struct present_state list[PRESENT_MAX];
    int count = present_state_list(list), live = 0, first = -1, then = -1;
    bool passed = false;
    for (int i = 0; i < count; i++) {
        if (!meant(n, &list[i]))
            continue;
        live++;
        if (first < 0)
            first = i;
        if (passed && then < 0)
            then = i;
        passed |= after && !strcmp(list[i].file, after);
    }
    n->several = live > 1;
    if (first >= 0)
        follow(n, &list[then >= 0 ? then : first]);
    else if (count && !n->following && !n->lost) { /* only what somebody left behind */
        n->state = list[0];
        n->lost = true;
    } else if (!count && !n->following) {
        n->state = none;
        n->lost = false;
    }
}

/* True: something to draw has changed. */
static bool look(struct notes *n)
{
    struct present_state before = n->state;
    if (!n->following) {
        bool lost = n->lost;
        if (n->now - n->searched < SEARCH_S && n->now >= n->searched)
            return false;
        n->searched = n->now;
        search(n, NULL);
        return n->following || lost != n->lost;
    }
    if (!present_state_read(before.file, &n->state)) { /* it was left */
        n->state = before;
        n->following = false;
        return true;
    }
    if (present_state_lost(&n->state, n->now)) {
        n->following = false;
        return n->lost = true;
    }
    read_lesson(n);
    if (n->pending == n->state.slide || n->now - n->asked > PENDING_S)
        n->pending = -1;
    if (n->state.slide != before.slide)
        n->top = 0;
    return n->state.slide != before.slide || n->state.blank != before.blank ||
           n->state.started != before.started;
}

/* --- the clock ------------------------------------------------------------------------------------------------- */

struct clock {
    char wall[16], elapsed[24], left[24];
    bool over; /* more time than the lesson has */
};

static void minutes_text(double seconds, char *text, size_t size)
{
    long s = lround(floor(fabs(seconds)));
    if (s >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
}

static void read_clock(const struct notes *n, struct clock *clock)
{
    time_t now = (time_t)n->now;
    struct tm tm;
    *clock = (struct clock){0};
    if (localtime_r(&now, &tm))
        strftime(clock->wall, sizeof clock->wall, "%H:%M", &tm);
    if (!n->following)
        return;
    double elapsed = n->now - n->state.started, left = n->minutes * 60.0 - elapsed;
    minutes_text(elapsed, clock->elapsed, sizeof clock->elapsed);
    clock->over = n->minutes > 0 && left < 0;
    if (n->minutes > 0)
        minutes_text(ceil(left), clock->left, sizeof clock->left);
}

/* --- the view -------------------------------------------------------------------------------------------------- */

static void *notes_open(struct app *app, const char *argument, struct error *e)
{
    const struct course *course = app_course(app);
    struct notes *n = calloc(1, sizeof *n);
    if (!n) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    n->app = app;
    n->now = app_now(app);
    n->laid_slide = n->pending = -1;
    if (argument && *argument) {
        int index = course_find(course, argument);
        n->wanted = strdup(index >= 0 ? course->lessons[index].name : argument);
    }
    search(n, NULL);
    return n;
}

static void notes_close(void *view)
{
    struct notes *n = view;
    forget_lesson(n);
    free(n->wanted);
    free(n);
}

static void ask(struct notes *n, struct present_want want)
{
    struct error e = {0};
    if (!n->following)
        app_message(n->app, ROLE_MUTED, _("There is no presentation to steer yet."));
    else if (!present_want_write(&n->state, &want, &e))
        app_message(n->app, ROLE_BAD, "%s", e.text);
}

static void go_to(struct notes *n, int slide)
{
    if (slide < 0 || slide >= n->slides.count)
        return;
    n->pending = slide;
    n->asked = n->now;
    ask(n, (struct present_want){.slide = slide, .blank = -1});
}

static void notes_act(void *view, struct app *app, int action)
{
    struct notes *n = view;
    int at = n->pending >= 0 ? n->pending : n->state.slide;
    (void)app;
    switch (action) {
    case NEXT: go_to(n, at + 1); break;
    case BACK: go_to(n, at - 1); break;
    case UP: n->top -= n->top > 0; break;
    case DOWN: n->top += n->top < n->hidden; break;
    case JUMP:
        if (n->slides.count)
            present_jump_open(&n->jump, n->state.slide);
        break;
    case BLANK: ask(n, (struct present_want){.slide = -1, .blank = !n->state.blank}); break;
    case RESTART: ask(n, (struct present_want){.slide = -1, .blank = -1, .restart = true}); break;
    case WHOM: search(n, n->state.file); break;
    }
}

static bool notes_typing(void *view)
{
    const struct notes *n = view;
    return n->jump.open;
}

static bool notes_key(void *view, struct app *app, int key)
{
    struct notes *n = view;
    (void)app;
    if (!n->jump.open)
        return false;
    int chosen = present_jump_key(&n->jump, &n->slides, key);
    if (chosen >= 0)
        go_to(n, chosen);
    return true;
}

static bool notes_tick(void *view, struct app *app, double now)
{
    struct notes *n = view;
    struct clock clock;
    char text[sizeof n->drawn];
    (void)app;
    n->now = now;
    bool changed = look(n);
    read_clock(n, &clock);
    snprintf(text, sizeof text, "%s %s %s", clock.wall, clock.elapsed, clock.left);
    if (strcmp(text, n->drawn) != 0) {
        memcpy(n->drawn, text, sizeof text);
        changed = true;
    }
    return changed;
}

/* --- drawing --------------------------------------------------------------------------------------------------- */

static const struct slide *slide_at(const struct notes *n, int i)
{
    return i >= 0 && i < n->slides.count ? &n->slides.slides[i] : NULL;
}

static void lay_out(struct notes *n, int cols, int next_cols)
{
    const struct slide *s = slide_at(n, n->state.slide), *next = slide_at(n, n->state.slide + 1);
    if (n->laid_slide == n->state.slide && n->laid_cols == cols)
        return;
    markdown_free(&n->doc);
    markdown_free(&n->next);
    if (s)
        markdown_render(&n->doc, s->notes, cols < TEXT_COLS ? cols : TEXT_COLS, NULL);
    if (next && next_cols)
        markdown_render(&n->next, next->text, next_cols, NULL);
    n->laid_slide = n->state.slide;
    n->laid_cols = cols;
}

/* One figure of the clock with its name; large digits where there is room. */
static void draw_figure(struct canvas *c, struct rect area, const char *name, const char *text,
                        enum role role, bool large)
{
    if (large && banner_lines(text, BANNER_SMALL, area.cols) == 1) {
        int rows = banner_draw(c, area, BANNER_SMALL, false, role, text);
        canvas_text(c, area.row + rows, area.col, area.cols, ROLE_MUTED, 0, name);
        return;
    }
    int col = area.col + canvas_text(c, area.row, area.col, area.cols, role, ATTR_BOLD, text);
    int room = area.col + area.cols - col - 1;
    if (text_columns(name) <= room)
        canvas_text(c, area.row, col + 1, room, ROLE_MUTED, 0, name);
}

static void draw_clock(const struct notes *n, struct canvas *c, struct rect row, bool large)
{
    struct clock clock;
    read_clock(n, &clock);
    struct rect third = row;
    third.cols = row.cols / 3;
    if (*clock.elapsed)
        draw_figure(c, third, _("elapsed"), clock.elapsed, ROLE_TEXT, large);
    third.col += third.cols;
    if (*clock.left)
        draw_figure(c, third, clock.over ? _("over time") : _("left"), clock.left,
                    clock.over ? ROLE_WARN : ROLE_GOOD, large);
    third.col += third.cols;
    draw_figure(c, third, _("o'clock"), clock.wall, ROLE_ACCENT, large);
}

static void draw_waiting(const struct notes *n, struct canvas *c, struct rect area)
{
    char text[512];
    if (n->lost)
        snprintf(
            text, sizeof text,
            _("The presentation of %s on %s (process %ld) was at slide %d and has given no sign of life "
              "since; "
              "it has been left behind. Start another with 'ringside present LESSON': the notes follow it."),
            n->state.lesson, n->state.host, n->state.pid, n->state.slide + 1);
    else if (*n->state.lesson)
        snprintf(text, sizeof text, _("The presentation of %s is over. The notes follow the next one."),
                 n->state.lesson);
    else
        snprintf(text, sizeof text, "%s",
                 _("Nothing is presented yet. Start it on the other terminal with 'ringside present LESSON', "
                   "or with "
                   "P in a lesson: the notes follow by themselves."));
    wrap_text(c, area, n->lost ? ROLE_WARN : ROLE_TEXT, 0, text);
}

static void draw_next(struct notes *n, struct canvas *c, struct rect area)
{
    const struct slide *next = slide_at(n, n->state.slide + 1);
    canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0,
                next ? _("next") : _("this is the last slide"));
    if (!next)
        return;
    rect_cut_rows(&area, 1);
    rect_cut_rows(&area, wrap_text(c, area, ROLE_ACCENT, ATTR_BOLD, next->heading) + 1);
    for (int i = 0; i < n->next.count && i < area.rows; i++)
        markdown_draw(c, area.row + i, area.col, area.cols, &n->next.lines[i]);
}

static void draw_notes(struct notes *n, struct canvas *c, struct rect area)
{
    const struct slide *s = slide_at(n, n->state.slide), *next = slide_at(n, n->state.slide + 1);
    struct rect aside = {0};
    if (area.cols >= ASIDE_FROM) {
        aside = rect_cut_cols(&area, -(area.cols / 3));
        canvas_vline(c, aside.row, aside.col, aside.rows, ROLE_BORDER);
        rect_cut_cols(&aside, 3);
        rect_cut_cols(&area, -2);
    }
    canvas_format(c, area.row, area.col, area.cols, ROLE_MUTED, 0, _("slide %d of %d"), n->state.slide + 1,
                  n->state.slides);
    if (n->state.blank)
        canvas_text(c, area.row, area.col + area.cols / 2, area.cols / 2, ROLE_WARN, ATTR_BOLD,
                    _("the screen is blank"));
    rect_cut_rows(&area, 1);
    if (s)
        rect_cut_rows(&area, wrap_text(c, area, ROLE_TITLE, ATTR_BOLD, s->heading));
    rect_cut_rows(&area, area.rows > 12);
    if (!aside.cols) {
        struct rect last = rect_cut_rows(&area, -1);
        int col = last.col + canvas_format(c, last.row, last.col, last.cols, ROLE_MUTED, 0, "%s ",
                                           next ? _("next") : _("this is the last slide"));
        if (next)
            canvas_text(c, last.row, col, last.col + last.cols - col, ROLE_ACCENT, 0, next->heading);
        canvas_hline(c, last.row - 1, last.col, last.cols, ROLE_BORDER);
        rect_cut_rows(&area, -1);
    }
    lay_out(n, area.cols, aside.cols);
    if (aside.cols)
        draw_next(n, c, aside);
    n->hidden = n->doc.count > area.rows ? n->doc.count - area.rows : 0;
    n->top = n->top > n->hidden ? n->hidden : n->top;
    for (int i = 0; i < area.rows && n->top + i < n->doc.count; i++)
        markdown_draw(c, area.row + i, area.col, area.cols, &n->doc.lines[n->top + i]);
    if (n->top < n->hidden)
        canvas_put(c, area.row + area.rows - 1, area.col + area.cols, 0x25bc, ROLE_MUTED, 0);
}

static void notes_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct notes *n = view;
    (void)app;
    struct rect in = rect_inset(area, 0, area.cols >= 60 ? 2 : 1);
    bool large = in.rows >= CLOCK_FROM;
    rect_cut_rows(&in, in.rows > 12);
    draw_clock(n, c, rect_cut_rows(&in, large ? (c->utf8 ? 4 : 6) : 1), large);
    canvas_hline(c, in.row, in.col, in.cols, ROLE_BORDER);
    rect_cut_rows(&in, 1);
    if (n->following)
        draw_notes(n, c, in);
    else
        draw_waiting(n, c, in);
    if (n->jump.open)
        present_jump_draw(&n->jump, &n->slides, c, area);
}

static void notes_title(void *view, char *text, size_t size)
{
    const struct notes *n = view;
    if (n->following)
        snprintf(text, size, _("Notes: %s"), n->title);
    else
        snprintf(text, size, "%s", _("Notes"));
}

static enum role notes_status(void *view, char *text, size_t size)
{
    const struct notes *n = view;
    if (n->several)
        snprintf(text, size, _("on %s, process %ld; w: another"), n->state.host, n->state.pid);
    return ROLE_MUTED;
}

const struct view_class view_notes = {
    .name = "notes",
    .keys = keys,
    .footer = notes_footer,
    .open = notes_open,
    .act = notes_act,
    .key = notes_key,
    .typing = notes_typing,
    .tick = notes_tick,
    .draw = notes_draw,
    .title = notes_title,
    .status = notes_status,
    .close = notes_close,
};
