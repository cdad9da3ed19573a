/*
 * lesson.c - reads a lesson: scroll, search, go on where one left, over to the exercise.
 */
#include "tui/app.h"
#include "tui/course.h"
#include "tui/markdown.h"
#include "tui/progress.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { UP = 1, DOWN, PAGE_UP, PAGE_DOWN, FIRST, LAST, SEARCH, EXERCISE, NEXT, PREVIOUS, PRESENT };

enum { MEASURE = 78, CONTENTS = 30, CONTENTS_FROM = 120, PATTERN_MAX = 64 };

struct lesson {
    struct app *app;
    int index; /* in the course; -1: a file that is not part of it */
    char *name, *text;
    struct md_doc doc;
    int width;  /* doc is laid out for; 0: not yet */
    int top;    /* first line shown */
    int source; /* the text's line there, to stay at it when the width changes */
    int offset; /* lines below the first one of that source */
    int rows;   /* lines that fit, from the last drawing */
    char pattern[PATTERN_MAX * 4 + 1];
    char edit[PATTERN_MAX * 4 + 1]; /* while a pattern is typed */
    bool typing;
    int match; /* the line of the match shown; -1: none */
    int noted_source, noted_percent;
    double moved; /* when the reader last moved; 0: noted since */
};

static const struct key_binding keys[] = {
    {KEY_CODE_UP, UP, "scroll", "a line up"},
    {'k', UP, NULL, NULL},
    {KEY_CODE_DOWN, DOWN, "scroll", "a line down"},
    {'j', DOWN, NULL, NULL},
    {' ', PAGE_DOWN, "page", "a page down"},
    {KEY_CODE_PAGE_DOWN, PAGE_DOWN, NULL, NULL},
    {KEY_CODE_PAGE_UP, PAGE_UP, NULL, "a page up"},
    {'b', PAGE_UP, NULL, NULL},
    {KEY_CODE_HOME, FIRST, NULL, "the beginning"},
    {'g', FIRST, NULL, NULL},
    {KEY_CODE_END, LAST, NULL, "the end"},
    {'G', LAST, NULL, NULL},
    {'e', EXERCISE, "exercise", "do the exercise"},
    {KEY_CODE_ENTER, EXERCISE, NULL, NULL},
    {'/', SEARCH, "search", "search; then n and N go through what was found, Esc ends it"},
    {'n', NEXT, "next", "the next lesson"},
    {'p', PREVIOUS, "previous", "the lesson before"},
    {'P', PRESENT, NULL,
     N_("present it: slides for a projector ('ringside present --notes' elsewhere has the notes)")},
    {0, 0, NULL, NULL},
};

static int last_top(const struct lesson *l)
{
    int top = l->doc.count - l->rows;
    return top > 0 ? top : 0;
}

static int percent(const struct lesson *l)
{
    int bottom = l->top + l->rows;
    if (!l->doc.count || bottom >= l->doc.count)
        return 100;
    return bottom * 100 / l->doc.count;
}

static void note_progress(struct lesson *l)
{
    int share = percent(l);
    if (!l->rows || (l->source == l->noted_source && share <= l->noted_percent))
        return;
    l->noted_source = l->source;
    l->noted_percent = share;
    progress_note_reading(app_progress(l->app), l->name, l->source, share);
}

static void lesson_close(void *view)
{
    struct lesson *l = view;
    note_progress(l);
    markdown_free(&l->doc);
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
    if (!l || !(l->name = strdup(name)) || !(l->text = markdown_read(file, e))) {
        if (!l || !l->name)
            error_set(e, ERROR_FAILED, "out of memory");
        if (l)
            lesson_close(l);
        return NULL;
    }
    l->app = app;
    l->index = index;
    l->match = -1;
    l->source = progress_reading_line(app_progress(app), name);
    return l;
}

/* Remembers the place as a place of the text. */
static void place_note(struct lesson *l)
{
    if (l->top > last_top(l))
        l->top = last_top(l);
    if (l->top < 0)
        l->top = 0;
    if (!l->doc.count)
        return;
    l->source = l->doc.lines[l->top].source;
    l->offset = 0;
    for (int i = l->top - 1; i >= 0 && l->doc.lines[i].source == l->source; i--)
        l->offset++;
}

static void place_restore(struct lesson *l)
{
    l->top = 0;
    while (l->top < l->doc.count && l->doc.lines[l->top].source < l->source)
        l->top++;
    l->top += l->offset;
}

static void layout(struct lesson *l, int width)
{
    if (l->width == width)
        return;
    struct md_doc doc;
    if (!markdown_render(&doc, l->text, width, NULL))
        return;
    markdown_free(&l->doc);
    l->doc = doc;
    l->width = width;
    l->match = -1;
    place_restore(l);
}

/* Goes to the first line from `from` on that holds the pattern, around the ends. */
static bool find(struct lesson *l, int from, int step)
{
    for (int n = 0, i = from; n < l->doc.count; n++, i += step) {
        i = (i % l->doc.count + l->doc.count) % l->doc.count;
        if (markdown_find(&l->doc.lines[i], l->pattern, 0) < 0)
            continue;
        l->match = i;
        if (i < l->top || i >= l->top + l->rows)
            l->top = i - l->rows / 3;
        place_note(l);
        return true;
    }
    return false;
}

static void turn_to(struct lesson *l, struct app *app, int step)
{
    const struct course *course = app_course(app);
    int index = l->index + step;
    if (!course || l->index < 0 || index < 0 || index >= course->count) {
        app_message(app, ROLE_MUTED, step > 0 ? "this is the last lesson" : "this is the first lesson");
        return;
    }
    note_progress(l);
    app_back(app);
    app_open(app, &view_lesson, course->lessons[index].name);
}

static void lesson_act(void *view, struct app *app, int action)
{
    struct lesson *l = view;
    const struct course *course = app_course(app);
    int page = l->rows > 2 ? l->rows - 2 : 1;
    switch ((enum action)action) {
    case UP: l->top--; break;
    case DOWN: l->top++; break;
    case PAGE_UP: l->top -= page; break;
    case PAGE_DOWN: l->top += page; break;
    case FIRST: l->top = 0; break;
    case LAST: l->top = last_top(l); break;
    case SEARCH:
        l->typing = true;
        l->edit[0] = '\0';
        break;
    case EXERCISE:
        note_progress(l);
        if (l->index < 0 || !*course->lessons[l->index].exercise)
            app_message(app, ROLE_MUTED, "this lesson has no exercise; n goes on to the next one");
        else if (view_find("exercise"))
            app_open(app, view_find("exercise"), course->lessons[l->index].exercise);
        return;
    case NEXT: turn_to(l, app, 1); return;
    case PREVIOUS: turn_to(l, app, -1); return;
    case PRESENT: app_open(app, &view_present, l->name); return;
    }
    place_note(l);
    l->moved = app_now(app);
}

/* Every key comes here first while a pattern is typed or shown. */
static bool lesson_typing(void *view)
{
    const struct lesson *l = view;
    return l->typing || *l->pattern;
}

static void type(struct lesson *l, struct app *app, int key)
{
    size_t length = strlen(l->edit);
    if (key == KEY_CODE_ESCAPE) {
        l->typing = false;
    } else if (key == KEY_CODE_ENTER) {
        l->typing = false;
        memcpy(l->pattern, l->edit, sizeof l->pattern);
        if (*l->pattern && !find(l, l->top, 1)) {
            app_message(app, ROLE_WARN, "'%s' is not in this lesson", l->pattern);
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

static bool lesson_key(void *view, struct app *app, int key)
{
    struct lesson *l = view;
    if (l->typing) {
        type(l, app, key);
        return true;
    }
    if (!*l->pattern)
        return false;
    if (key == KEY_CODE_ESCAPE)
        l->pattern[0] = '\0';
    else if (key == 'n')
        find(l, l->match + 1, 1);
    else if (key == 'N')
        find(l, l->match - 1, -1);
    else
        return false;
    return true;
}

/* The place is kept once the reader has rested for a second, so that scrolling does not write a file a line. */
static bool lesson_tick(void *view, struct app *app, double now)
{
    struct lesson *l = view;
    (void)app;
    if (l->rows && now - l->moved >= 1.0)
        note_progress(l);
    return false;
}

static void draw_contents(const struct lesson *l, struct canvas *c, struct rect r)
{
    int current = -1, row = r.row;
    for (int i = 0; i < l->doc.heading_count; i++)
        if (l->doc.headings[i].level <= 2 && l->doc.headings[i].line <= l->top + l->rows / 3)
            current = i;
    for (int i = 0; i < l->doc.heading_count && row < r.row + r.rows; i++) {
        const struct md_heading *h = &l->doc.headings[i];
        if (h->level > 2)
            continue;
        bool here = i == current;
        canvas_text(c, row, r.col, 2, ROLE_ACCENT, 0, here ? "▸" : " ");
        canvas_text(c, row, r.col + 2, r.cols - 2, here ? ROLE_TITLE : ROLE_MUTED, here ? ATTR_BOLD : 0,
                    h->text);
        row += h->level == 1 ? 2 : 1;
    }
}

static void draw_matches(const struct lesson *l, struct canvas *c, int row, int col, int width,
                         const struct md_line *line)
{
    int length = text_columns(l->pattern);
    for (int at = 0; *l->pattern && length > 0 && (at = markdown_find(line, l->pattern, at)) >= 0;
         at += length)
        for (int i = at; i < at + length && i < width && col + i < c->cols; i++)
            c->cells[(size_t)row * (size_t)c->cols + (size_t)(col + i)].attributes ^= ATTR_REVERSE;
}

static void draw_prompt(const struct lesson *l, struct canvas *c, struct rect area)
{
    int row = area.row + area.rows - 1;
    canvas_fill(c, (struct rect){row, area.col, 1, area.cols}, ' ', ROLE_TEXT, 0);
    int col = area.col + 1 + canvas_text(c, row, area.col + 1, 2, ROLE_KEY, ATTR_BOLD, "/");
    col += canvas_text(c, row, col, area.cols - 4, ROLE_TEXT, 0, l->edit);
    canvas_put(c, row, col, ' ', ROLE_TEXT, ATTR_REVERSE);
    c->cursor_row = row;
    c->cursor_col = col;
}

static void lesson_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct lesson *l = view;
    struct rect text = area;
    (void)app;
    rect_cut_rows(&text, 1);
    rect_cut_rows(&text, text.rows >= 16 ? -1 : 0);
    bool contents = area.cols >= CONTENTS_FROM;
    int margin = 2, width = area.cols - 2 * margin;
    if (contents) {
        struct rect pane = rect_cut_cols(&text, CONTENTS + 4);
        layout(l, MEASURE);
        l->rows = text.rows;
        place_note(l);
        draw_contents(l, c, rect_inset(pane, 0, 2));
        canvas_vline(c, area.row, pane.col + pane.cols - 1, area.rows, ROLE_BORDER);
        width = MEASURE;
        margin = (text.cols - MEASURE) / 3;
        if (margin < 3)
            margin = 3;
    } else if (width > MEASURE) {
        margin += (width - MEASURE) / 2;
        width = MEASURE;
    }
    layout(l, width);
    l->rows = text.rows;
    place_note(l);
    for (int i = 0; i < text.rows && l->top + i < l->doc.count; i++) {
        const struct md_line *line = &l->doc.lines[l->top + i];
        markdown_draw(c, text.row + i, text.col + margin, width, line);
        draw_matches(l, c, text.row + i, text.col + margin, width, line);
    }
    /* A bar at the right edge says how far one is, where there is something to scroll. */
    if (l->doc.count > l->rows && text.rows > 3) {
        int size = text.rows * l->rows / l->doc.count;
        size = size > 1 ? size : 1;
        int at = last_top(l) ? (text.rows - size) * l->top / last_top(l) : 0;
        for (int i = 0; i < size; i++)
            canvas_put(c, text.row + at + i, area.col + area.cols - 1, 0x2590, ROLE_BORDER, 0);
    }
    if (l->typing)
        draw_prompt(l, c, area);
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
        snprintf(text, size, "/%.40s  %d %%", l->pattern, percent(l));
    else
        snprintf(text, size, "%d %%", percent(l));
    return ROLE_MUTED;
}

const struct view_class view_lesson = {
    .name = "lesson",
    .keys = keys,
    .open = lesson_open,
    .act = lesson_act,
    .key = lesson_key,
    .typing = lesson_typing,
    .tick = lesson_tick,
    .draw = lesson_draw,
    .title = lesson_title,
    .status = lesson_status,
    .close = lesson_close,
};
