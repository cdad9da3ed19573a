/*
 * present.c - a lesson as slides on the whole window: for a projector, a presenter's remote, a hall.
 *
 * The argument is a lesson. What is shown is told in a small file (present_state.h), so that the notes on a second
 * terminal follow and can steer.
 */
#include "tui/app.h"
#include "tui/course.h"
#include "tui/keymap.h"
#include "tui/present_view.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEXT = 1,
    BACK,
    FIRST,
    LAST,
    UP,
    DOWN,
    JUMP,
    BLANK,
    START,
    FASTER,
    SLOWER,
    PAUSE,
};

static const struct key_binding keys[] = {
    {KEY_CODE_RIGHT, NEXT, N_("next"), N_("the next slide (what does not fit on one comes first)")},
    {' ', NEXT, NULL, NULL},
    {KEY_CODE_PAGE_DOWN, NEXT, NULL, NULL},
    {KEY_CODE_LEFT, BACK, N_("back"), N_("the slide before")},
    {KEY_CODE_PAGE_UP, BACK, NULL, NULL},
    {KEY_CODE_BACKSPACE, BACK, NULL, NULL},
    {KEY_CODE_HOME, FIRST, NULL, N_("the first slide")},
    {KEY_CODE_END, LAST, NULL, N_("the last slide")},
    {KEY_CODE_UP, UP, NULL, N_("scroll a slide that is longer than the window")},
    {KEY_CODE_DOWN, DOWN, NULL, N_("scroll a slide that is longer than the window")},
    {'g', JUMP, N_("go to"), N_("the list of slides: type a number or a part of a heading")},
    {'/', JUMP, NULL, NULL},
    {'.', BLANK, N_("blank"), N_("a blank screen; the next key brings the slide back")},
    {'b', BLANK, NULL, NULL},
    {KEY_CODE_ENTER, START, N_("start"), N_("start the slide's panel or recording, from its beginning")},
    {'+', FASTER, NULL, N_("recording: faster or slower")},
    {'=', FASTER, NULL, NULL},
    {'-', SLOWER, NULL, N_("recording: faster or slower")},
    {'p', PAUSE, NULL, N_("recording: pause, and go on")},
    {0, 0, NULL, NULL},
};

bool present_lesson_read(const char *name, const char *lang, char **text, struct slides *slides,
                         struct error *e)
{
    char file[PATH_MAX];
    *text = course_lesson_file(name, lang, file, e) ? markdown_read(file, e) : NULL;
    if (*text && slides_read(slides, *text, e))
        return true;
    free(*text);
    *text = NULL;
    return false;
}

static const struct slide *current(const struct present *p)
{
    return &p->slides.slides[p->state.slide];
}

/* Tells the notes how it stands; once the folder cannot be written there is nobody to tell. */
static void tell(struct present *p)
{
    struct error e = {0};
    if (!app_scripted(p->app) && !present_state_write(&p->state, app_now(p->app), &e)) {
        app_message(p->app, ROLE_WARN, "%s", e.text);
        p->state.file[0] = '\0';
    }
}

/* The number of the slide's live block; -1: its picture is none. */
static int block_of(const struct present *p, const struct slide *s)
{
    for (int i = 0; s->picture && i < block_count(p->blocks); i++)
        if (block_line(p->blocks, i) == s->picture_line)
            return i;
    return -1;
}

static void show(struct present *p, int slide)
{
    struct error e = {0};
    if (slide < 0 || slide >= p->slides.count)
        return;
    present_replay_free(p->replay);
    p->replay = NULL;
    p->state.slide = slide;
    p->block = block_of(p, current(p));
    p->top = 0;
    if (current(p)->info && !strcmp(current(p)->info, "replay") &&
        !(p->replay = present_replay_new(current(p)->picture, &e)))
        app_message(p->app, ROLE_BAD, "%s", e.text);
    tell(p);
}

static void present_close(void *view)
{
    struct present *p = view;
    present_state_end(&p->state);
    present_replay_free(p->replay);
    block_set_free(p->blocks);
    present_draw_free(p);
    slides_free(&p->slides);
    free(p->text);
    free(p->title);
    free(p->name);
    free(p);
}

static void *present_open(struct app *app, const char *argument, struct error *e)
{
    const struct course *course = app_course(app);
    int index = course_find(course, argument);
    const char *name = index >= 0 ? course->lessons[index].name : argument;
    struct present *p = calloc(1, sizeof *p);
    if (!name)
        error_set(e, ERROR_INPUT, _("which lesson? 'ringside lesson' lists them"));
    else if (!p)
        error_set(e, ERROR_FAILED, "out of memory");
    if (!name || !p || !present_lesson_read(name, getenv("RINGSIDE_LESSON_LANG"), &p->text, &p->slides, e)) {
        free(p);
        return NULL;
    }
    p->app = app;
    p->name = strdup(name);
    p->title = strdup(index >= 0 ? course->lessons[index].title : p->slides.slides[0].heading);
    p->laid_slide = -1;
    /* Without the progress: a hall's predictions are made anew each time, and are not the instructor's. */
    p->blocks = p->name ? block_set_new(p->name, p->text, NULL, e) : NULL;
    if (!p->name || !p->title || !p->blocks) {
        present_close(p);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    snprintf(p->state.lesson, sizeof p->state.lesson, "%s", name);
    p->state.slides = p->slides.count;
    p->state.started = app_now(app);
    /* A script's slides are nobody's to follow. A home that cannot be written to costs the notes, not the slides. */
    if (!app_scripted(app) && !present_state_begin(&p->state, NULL))
        p->state.file[0] = '\0';
    show(p, 0);
    return p;
}

static void next(struct present *p)
{
    if (p->below > 0) {
        p->top += p->page > 2 ? p->page - 1 : 1;
    } else if (p->state.slide + 1 < p->slides.count) {
        show(p, p->state.slide + 1);
    } else {
        app_message(p->app, ROLE_MUTED, _("This is the last slide."));
    }
}

static void back(struct present *p)
{
    if (p->top > 0)
        p->top = 0;
    else
        show(p, p->state.slide - 1);
}

static void start(struct present *p)
{
    struct error e = {0};
    if (!p->replay)
        next(p);
    else if (!present_replay_start(p->replay, p->app, &e))
        app_message(p->app, ROLE_BAD, "%s", e.text);
}

static void change_speed(struct present *p, int action)
{
    struct error e = {0};
    if (!p->replay)
        app_message(p->app, ROLE_MUTED, _("There is no recording on this slide."));
    else if (!(action == PAUSE ? present_replay_pause(p->replay, &e)
                               : present_replay_speed(p->replay, p->app, action == FASTER ? 1 : -1, &e)))
        app_message(p->app, ROLE_BAD, "%s", e.text);
}

static void set_blank(struct present *p, bool blank)
{
    p->state.blank = blank;
    tell(p);
}

static void present_act(void *view, struct app *app, int action)
{
    struct present *p = view;
    (void)app;
    switch (action) {
    case NEXT: next(p); break;
    case BACK: back(p); break;
    case FIRST: show(p, 0); break;
    case LAST: show(p, p->slides.count - 1); break;
    case UP: p->top -= p->top > 0; break;
    case DOWN: p->top += p->below > 0; break;
    case JUMP: present_jump_open(&p->jump, p->state.slide); break;
    case BLANK: set_blank(p, true); break;
    case START: start(p); break;
    case FASTER:
    case SLOWER:
    case PAUSE: change_speed(p, action); break;
    }
}

/* What turns slides does so on every slide, whatever a live block would do with the key. */
static bool turns(int key)
{
    int action = keymap_action(keys, key);
    return action == NEXT || action == BACK || action == FIRST || action == LAST || key == '.';
}

/* A blank screen and the list of slides take every key; a live block all that it can use. */
static bool present_typing(void *view)
{
    const struct present *p = view;
    return p->state.blank || p->jump.open || (p->block >= 0 && block_live(p->blocks, p->block));
}

static bool present_key(void *view, struct app *app, int key)
{
    struct present *p = view;
    if (p->state.blank) {
        set_blank(p, false);
        return true;
    }
    if (p->jump.open) {
        int chosen = present_jump_key(&p->jump, &p->slides, key);
        if (chosen >= 0)
            show(p, chosen);
        return true;
    }
    if (p->block >= 0 && !turns(key) && block_key(p->blocks, p->block, app, key))
        return true;
    return p->replay && !keymap_action(keys, key) && present_replay_key(p->replay, app, key);
}

static bool present_click(void *view, struct app *app, int row, int col, enum mouse what)
{
    struct present *p = view;
    (void)app, (void)row, (void)col;
    if (p->state.blank)
        set_blank(p, false);
    else if (!p->jump.open && what == MOUSE_PRESS)
        next(p);
    return what == MOUSE_PRESS || what == MOUSE_DOUBLE;
}

static bool present_tick(void *view, struct app *app, double now)
{
    struct present *p = view;
    struct present_want want;
    bool changed = p->replay && present_replay_tick(p->replay, app, now);
    changed = (block_tick(p->blocks, now) || changed) && !p->state.blank;
    if (present_want_take(&p->state, &want)) {
        if (want.restart)
            p->state.started = now;
        if (want.blank >= 0)
            p->state.blank = want.blank;
        p->jump.open = false;
        if (want.slide >= 0 && want.slide != p->state.slide)
            show(p, want.slide);
        else
            tell(p);
        changed = true;
    } else if (now - p->state.beat >= PRESENT_BEAT_S) {
        tell(p);
    }
    return changed;
}

static void present_view_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct present *p = view;
    if (p->state.blank)
        return;
    present_draw(p, app, c, area);
    if (p->jump.open)
        present_jump_draw(&p->jump, &p->slides, c, area);
}

const struct view_class view_present = {
    .name = "present",
    .bare = true,
    .keys = keys,
    .open = present_open,
    .act = present_act,
    .key = present_key,
    .typing = present_typing,
    .click = present_click,
    .tick = present_tick,
    .draw = present_view_draw,
    .close = present_close,
};
