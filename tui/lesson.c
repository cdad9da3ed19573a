/*
 * lesson.c - reads a lesson: scroll, search, jump, bookmarks; answer and start its blocks; go on where one left, over
 * to the exercise.
 */
#include "tui/lesson.h"

#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action {
    UP = 1,
    DOWN,
    PAGE_UP,
    PAGE_DOWN,
    FIRST,
    LAST,
    BLOCK_NEXT,
    BLOCK_BEFORE,
    BLOCK_LEAVE, /* for the footer alone */
    SEARCH,
    JUMP,
    MARK,
    EXERCISE,
    NEXT,
    PREVIOUS,
    PRESENT
};

static const struct key_binding keys[] = {
    {KEY_CODE_UP, UP, N_("scroll"), N_("a line up")},
    {'k', UP, NULL, NULL},
    {KEY_CODE_DOWN, DOWN, N_("scroll"), N_("a line down")},
    {'j', DOWN, NULL, NULL},
    {' ', PAGE_DOWN, N_("page"), N_("a page down")},
    {KEY_CODE_PAGE_DOWN, PAGE_DOWN, NULL, NULL},
    {KEY_CODE_PAGE_UP, PAGE_UP, NULL, N_("a page up")},
    {'b', PAGE_UP, NULL, NULL},
    {KEY_CODE_HOME, FIRST, NULL, N_("the beginning")},
    {'g', FIRST, NULL, NULL},
    {KEY_CODE_END, LAST, NULL, N_("the end")},
    {'G', LAST, NULL, NULL},
    {KEY_CODE_TAB, BLOCK_NEXT, N_("block"),
     N_("the next block that asks or starts something; Esc leaves it")},
    {KEY_CODE_BACKTAB, BLOCK_BEFORE, NULL, N_("the block before")},
    {'e', EXERCISE, N_("exercise"), N_("do the exercise")},
    {KEY_CODE_ENTER, EXERCISE, NULL, NULL},
    {'/', SEARCH, N_("search"), N_("search; then n and N go through what was found, Esc ends it")},
    {'c', JUMP, N_("contents"), N_("contents and bookmarks, to jump to")},
    {'m', MARK, N_("mark"), N_("set a bookmark at the top line, or take it away")},
    {'n', NEXT, N_("next"), N_("the next lesson")},
    {'p', PREVIOUS, N_("previous"), N_("the lesson before")},
    {'P', PRESENT, NULL,
     N_("present it: slides for a projector ('ringside present --notes' elsewhere has the notes)")},
    {0, 0, NULL, NULL},
};

static const struct key_binding jump_keys[] = {
    {KEY_CODE_UP, UP, N_("select"), NULL},
    {KEY_CODE_DOWN, DOWN, N_("select"), NULL},
    {KEY_CODE_ENTER, EXERCISE, N_("jump"), NULL},
    {KEY_CODE_ESCAPE, JUMP, N_("close"), NULL},
    {0, 0, NULL, NULL},
};

static const struct key_binding block_more[] = {
    {KEY_CODE_TAB, BLOCK_NEXT, N_("next block"), NULL},
    {KEY_CODE_ESCAPE, BLOCK_LEAVE, N_("leave it"), NULL},
    {0, 0, NULL, NULL},
};

static void lesson_close(void *view)
{
    struct lesson *l = view;
    lesson_note(l);
    markdown_free(&l->doc);
    block_set_free(l->blocks);
    free(l->name);
    free(l->text);
    free(l);
}

static void *lesson_open(struct app *app, const char *argument, struct error *e)
{
    const struct course *course = app_course(app);
    char file[PATH_MAX];
    int index = course_find(course, argument);
    const char *name = index >= 0 ? course->lessons[index].name : argument;
    if (!name) {
        error_set(e, ERROR_INPUT, "which lesson? 'ringside lesson' lists them");
        return NULL;
    }
    if (!course_lesson_file(name, getenv("RINGSIDE_LESSON_LANG"), file, e))
        return NULL;
    struct lesson *l = calloc(1, sizeof *l);
    if (!l || !(l->name = strdup(name)) || !(l->text = markdown_read(file, e)) ||
        !(l->blocks = block_set_new(l->name, l->text, app_progress(app), e))) {
        if (!l || !l->name)
            error_set(e, ERROR_FAILED, "out of memory");
        if (l)
            lesson_close(l);
        return NULL;
    }
    l->app = app;
    l->index = index;
    l->match = l->focus = -1;
    l->source = progress_reading_line(app_progress(app), name);
    return l;
}

static void turn_to(struct lesson *l, struct app *app, int step)
{
    const struct course *course = app_course(app);
    int index = l->index + step;
    if (!course || l->index < 0 || index < 0 || index >= course->count) {
        app_message(app, ROLE_MUTED, "%s",
                    step > 0 ? _("this is the last lesson") : _("this is the first lesson"));
        return;
    }
    lesson_note(l);
    app_back(app);
    app_open(app, &view_lesson, course->lessons[index].name);
}

static void exercise(struct lesson *l, struct app *app)
{
    const struct course *course = app_course(app);
    lesson_note(l);
    if (l->index < 0 || !*course->lessons[l->index].exercise)
        app_message(app, ROLE_MUTED, "%s", _("this lesson has no exercise; n goes on to the next one"));
    else if (view_find("exercise"))
        app_open(app, view_find("exercise"), course->lessons[l->index].exercise);
}

/* A place that is not blank, so that the mark has something to stand beside. */
static void mark(struct lesson *l, struct app *app)
{
    int line = l->top;
    while (line < l->doc.count - 1 && !l->doc.lines[line].count)
        line++;
    if (!l->doc.count)
        return;
    bool there = progress_toggle_mark(app_progress(app), l->name, l->doc.lines[line].source);
    app_message(app, ROLE_MUTED, "%s",
                there ? _("Bookmark set; c lists the contents and the bookmarks.")
                      : _("Bookmark taken away."));
}

static void lesson_act(void *view, struct app *app, int action)
{
    struct lesson *l = view;
    int page = l->rows > 2 ? l->rows - 2 : 1;
    switch ((enum action)action) {
    case UP: l->top--; break;
    case DOWN: l->top++; break;
    case PAGE_UP: l->top -= page; break;
    case PAGE_DOWN: l->top += page; break;
    case FIRST: l->top = 0; break;
    case LAST: l->top = lesson_last_top(l); break;
    case BLOCK_NEXT:
    case BLOCK_BEFORE:
        if (!lesson_focus(l, action == BLOCK_NEXT ? 1 : -1))
            app_message(app, ROLE_MUTED, "%s", _("this lesson has no blocks to answer or to start"));
        break;
    case BLOCK_LEAVE: l->focus = -1; break;
    case SEARCH:
        l->typing = true;
        l->edit[0] = '\0';
        break;
    case JUMP:
        lesson_stops(l);
        l->jumping = l->stop_count > 0;
        break;
    case MARK: mark(l, app); break;
    case EXERCISE: exercise(l, app); return;
    case NEXT: turn_to(l, app, 1); return;
    case PREVIOUS: turn_to(l, app, -1); return;
    case PRESENT: app_open(app, &view_present, l->name); return;
    }
    lesson_settle(l);
    lesson_unfocus_hidden(l);
    l->moved = app_now(app);
}

/* Every key comes here first while a pattern is typed or shown, a list is open or a block has the focus. */
static bool lesson_typing(void *view)
{
    const struct lesson *l = view;
    return l->typing || l->jumping || l->focus >= 0 || *l->pattern;
}

static void type(struct lesson *l, struct app *app, int key)
{
    size_t length = strlen(l->edit);
    if (key == KEY_CODE_ESCAPE) {
        l->typing = false;
    } else if (key == KEY_CODE_ENTER) {
        l->typing = false;
        memcpy(l->pattern, l->edit, sizeof l->pattern);
        if (*l->pattern && !lesson_find(l, l->top, 1)) {
            app_message(app, ROLE_WARN, _("'%s' is not in this lesson"), l->pattern);
            l->pattern[0] = '\0';
        }
    } else if (key == KEY_CODE_BACKSPACE) {
        while (length > 0 && ((unsigned char)l->edit[--length] & 0xc0) == 0x80)
            ;
        l->edit[length] = '\0';
    } else if (key >= ' ' && key < KEY_CODE_BASE && length + 5 < sizeof l->edit) {
        length += (size_t)utf8_put(l->edit + length, (uint32_t)key);
        l->edit[length] = '\0';
    }
}

static void jump(struct lesson *l, int key)
{
    if (key == KEY_CODE_UP || key == 'k') {
        l->stop -= l->stop > 0;
    } else if (key == KEY_CODE_DOWN || key == 'j') {
        l->stop += l->stop < l->stop_count - 1;
    } else if (key == KEY_CODE_HOME || key == 'g') {
        l->stop = 0;
    } else if (key == KEY_CODE_END || key == 'G') {
        l->stop = l->stop_count - 1;
    } else if (key == KEY_CODE_ENTER) {
        l->top = l->stops[l->stop].line;
        lesson_settle(l);
        l->jumping = false;
    } else if (key == KEY_CODE_ESCAPE || key == 'c' || key == 'q') {
        l->jumping = false;
    }
}

/* Whether the block in focus can only be started once a prediction is made: Enter goes there. */
static bool waits(const struct lesson *l, int *wanted)
{
    if (l->focus < 0 || block_run(l->blocks, l->focus))
        return false;
    enum block_kind kind = block_kind_of(l->blocks, l->focus);
    return (kind == BLOCK_RUN || kind == BLOCK_SIM) && block_waits(l->blocks, l->focus, wanted);
}

static bool lesson_key(void *view, struct app *app, int key)
{
    struct lesson *l = view;
    if (l->typing) {
        type(l, app, key);
        return true;
    }
    if (l->jumping) {
        jump(l, key);
        l->moved = app_now(app);
        return true;
    }
    if (l->focus >= 0 && key == KEY_CODE_ESCAPE) {
        l->focus = -1;
        return true;
    }
    int wanted;
    if (key == KEY_CODE_ENTER && waits(l, &wanted)) {
        app_message(app, ROLE_MUTED, "%s", _("First the prediction that this waits for."));
        l->focus = wanted;
        lesson_show(l, wanted);
        return true;
    }
    bool open = l->focus >= 0 && block_chosen(l->blocks, l->focus) < 0;
    if (l->focus >= 0 && block_key(l->blocks, l->focus, app, key)) {
        if (open && block_chosen(l->blocks, l->focus) >= 0 && !progress_kept(app_progress(app)))
            app_message(app, ROLE_WARN, "%s",
                        _("This answer is not kept: the folder of Ringside's files cannot be written."));
        lesson_layout(l, l->width, l->utf8, true);
        lesson_show(l, l->focus);
        return true;
    }
    if (!*l->pattern)
        return false;
    if (key == KEY_CODE_ESCAPE)
        l->pattern[0] = '\0';
    else if (key == 'n')
        lesson_find(l, l->match + 1, 1);
    else if (key == 'N')
        lesson_find(l, l->match - 1, -1);
    else
        return false;
    return true;
}

/* A press on a block gives it the focus and chooses what lies there; a double press is Enter to it. */
static bool lesson_click(void *view, struct app *app, int row, int col, enum mouse what)
{
    struct lesson *l = view;
    int line = l->top + row - l->text_row, first, last;
    if (what == MOUSE_WHEEL_UP || what == MOUSE_WHEEL_DOWN || l->jumping || l->typing || row < l->text_row ||
        row >= l->text_row + l->rows || line >= l->doc.count || l->doc.lines[line].live < 0)
        return false;
    int block = l->doc.lines[line].live;
    if (!block_live(l->blocks, block) || !lesson_block_lines(l, block, &first, &last))
        return true;
    bool there = l->focus == block;
    l->focus = block;
    if (what == MOUSE_DOUBLE && there)
        block_key(l->blocks, block, app, KEY_CODE_ENTER);
    else
        block_click(l->blocks, block, app, line - first, col - l->text_col, l->width);
    lesson_layout(l, l->width, l->utf8, true);
    return true;
}

/* The place is kept once the reader has rested for a second, so that scrolling does not write a file a line. */
static bool lesson_tick(void *view, struct app *app, double now)
{
    struct lesson *l = view;
    (void)app;
    if (l->rows && now - l->moved >= 1.0)
        lesson_note(l);
    if (!block_tick(l->blocks, now))
        return false;
    if (l->width && lesson_outgrown(l)) {
        lesson_layout(l, l->width, l->utf8, true);
        if (l->focus >= 0)
            lesson_show(l, l->focus);
    }
    return true;
}

static const struct key_binding *lesson_footer(void *view)
{
    struct lesson *l = view;
    int n = 0, wanted;
    if (l->jumping)
        return jump_keys;
    if (l->focus < 0)
        return keys;
    const struct key_binding *own = block_keys(l->blocks, l->focus);
    bool answered = block_chosen(l->blocks, l->focus) >= 0;
    for (int i = 0; !answered && own[i].action && n < LESSON_KEYS - 3; i++) {
        if (!own[i].label)
            continue;
        l->footer[n] = own[i];
        if (own[i].key == KEY_CODE_ENTER && block_run(l->blocks, l->focus))
            l->footer[n].label = N_("open run");
        else if (own[i].key == KEY_CODE_ENTER && waits(l, &wanted))
            l->footer[n].label = N_("predict");
        n++;
    }
    for (int i = 0; block_more[i].action; i++)
        l->footer[n++] = block_more[i];
    l->footer[n] = (struct key_binding){0, 0, NULL, NULL};
    return l->footer;
}

static void lesson_title(void *view, char *text, size_t size)
{
    const struct lesson *l = view;
    const char *title = l->doc.heading_count ? l->doc.headings[0].text : l->name;
    snprintf(text, size, "%s", title);
}

static enum role lesson_status(void *view, char *text, size_t size)
{
    const struct lesson *l = view;
    if (*l->pattern)
        snprintf(text, size, "/%.40s  %d %%", l->pattern, lesson_percent(l));
    else
        snprintf(text, size, "%d %%", lesson_percent(l));
    return ROLE_MUTED;
}

const struct view_class view_lesson = {
    .name = "lesson",
    .keys = keys,
    .footer = lesson_footer,
    .open = lesson_open,
    .act = lesson_act,
    .key = lesson_key,
    .typing = lesson_typing,
    .click = lesson_click,
    .tick = lesson_tick,
    .draw = lesson_draw,
    .title = lesson_title,
    .status = lesson_status,
    .close = lesson_close,
};
