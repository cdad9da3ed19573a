/*
 * home.c - the course outline.
 */
#include "tui/app.h"
#include "tui/course.h"
#include "tui/progress.h"

#include <stdio.h>
#include <stdlib.h>

enum { UP = 1, DOWN, OPEN };

struct home {
    int selected;
};

static const struct key_binding keys[] = {
    {KEY_CODE_UP, UP, "select", "the lesson above"},
    {KEY_CODE_DOWN, DOWN, "select", "the lesson below"},
    {KEY_CODE_ENTER, OPEN, "open", "open the lesson"},
    {0, 0, NULL, NULL},
};

static void *home_open(struct app *app, const char *argument, struct error *e)
{
    (void)app, (void)argument;
    struct home *h = calloc(1, sizeof *h);
    if (!h)
        error_set(e, ERROR_FAILED, "out of memory");
    return h;
}

static void home_act(void *view, struct app *app, int action)
{
    struct home *h = view;
    int count = app_course(app) ? app_course(app)->count : 0;
    if (action == UP && h->selected > 0)
        h->selected--;
    else if (action == DOWN && h->selected + 1 < count)
        h->selected++;
}

static void home_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct home *h = view;
    const struct course *course = app_course(app);
    for (int i = 0; course && i < course->count; i++)
        canvas_text(c, area.row + 1 + i, 2, area.cols - 4, i == h->selected ? ROLE_SELECTED : ROLE_TEXT, 0,
                    course->lessons[i].title);
}

static void home_close(void *view)
{
    free(view);
}

static void home_title(void *view, char *text, size_t size)
{
    (void)view;
    snprintf(text, size, "Deep learning on clusters");
}

const struct view_class view_home = {.name = "home",
                                     .keys = keys,
                                     .open = home_open,
                                     .act = home_act,
                                     .draw = home_draw,
                                     .title = home_title,
                                     .close = home_close};
