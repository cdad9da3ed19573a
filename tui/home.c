/*
 * home.c - where one begins: the course with one's progress, recent runs, and what this machine can do.
 */
#include "tui/home.h"

#include "engine/launch/launch.h"
#include "tui/progress.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action {
    UP = 1,
    DOWN,
    FIRST,
    LAST,
    OPEN,
    CONTINUE,
    TRAIN,
    TRAIN_ANYWAY,
    QUIT,
    QUIT_ANYWAY,
    OTHER_PANE,
    SETTINGS,
    DOCTOR,
    COMPARE,
    ALGORITHMS,
    CLUSTER
};

static const struct key_binding keys[] = {
    {KEY_CODE_UP, UP, N_("select"), N_("the line above or below")},
    {KEY_CODE_DOWN, DOWN, N_("select"), N_("the line above or below")},
    {'k', UP, NULL, N_("the line above or below")},
    {'j', DOWN, NULL, N_("the line above or below")},
    {KEY_CODE_HOME, FIRST, NULL, N_("the first or the last line")},
    {KEY_CODE_END, LAST, NULL, N_("the first or the last line")},
    {KEY_CODE_TAB, OTHER_PANE, N_("runs"), N_("from the lessons to the runs and back")},
    {KEY_CODE_ENTER, OPEN, N_("open"), N_("open the lesson, or look at the run")},
    {'c', CONTINUE, N_("continue"), N_("go on where you left")},
    {'t', TRAIN, N_("train"), N_("train the CNN on MNIST for two epochs, on two ranks")},
    {',', SETTINGS, N_("setup"), N_("theme, characters, language, mouse")},
    {'v', COMPARE, N_("compare"), N_("set the selected run and others side by side")},
    {'d', DOCTOR, N_("doctor"), N_("what works on this machine, what does not, and the cure")},
    {'a', ALGORITHMS, N_("algorithm"), N_("watch any allreduce or other collective from its schedule")},
    {'C', CLUSTER, N_("cluster"),
     N_("the cluster: links under load, nodes and queue, simulated and of this machine")},
    {'q', QUIT, NULL, NULL},
    {0, 0, NULL, NULL},
};

int home_lessons(const struct app *app)
{
    const struct course *course = app_course(app);
    return course ? course->count : 0;
}

/* The n-th run that is not hidden; NULL where there are fewer. */
const struct recent_run *home_run(const struct home *h, int n)
{
    for (int i = 0; i < h->recent.count; i++)
        if (!h->recent.runs[i].hidden && n-- == 0)
            return &h->recent.runs[i];
    return NULL;
}

int home_runs(const struct home *h)
{
    int n = 0;
    for (int i = 0; i < h->recent.count; i++)
        n += !h->recent.runs[i].hidden;
    return n;
}

bool home_lesson_done(struct app *app, const struct course_lesson *lesson)
{
    return *lesson->exercise ? progress_passed(app_progress(app), lesson->exercise)
                             : progress_read(app_progress(app), lesson->name);
}

int home_continue_at(struct app *app)
{
    const struct course *course = app_course(app);
    int last = course_find(course, progress_last_lesson(app_progress(app)));
    if (last >= 0 && !home_lesson_done(app, &course->lessons[last]))
        return last;
    int count = home_lessons(app), from = last >= 0 ? last : 0;
    for (int n = 0; n < count; n++)
        if (!home_lesson_done(app, &course->lessons[(from + n) % count]))
            return (from + n) % count;
    return last >= 0 ? last : 0;
}

static void *home_open(struct app *app, const char *argument, struct error *e)
{
    (void)argument;
    struct home *h = calloc(1, sizeof *h);
    if (!h || !(h->preview = preview_new())) {
        free(h);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    machine_look(&h->machine);
    recent_refresh(&h->recent);
    h->refreshed = app_now(app);
    h->title = app_course(app) ? app_course(app)->title : _("no course");
    h->selected = home_continue_at(app);
    if (!app_course(app))
        app_message(app, ROLE_BAD, "%s", app_course_error(app));
    return h;
}

static void home_close(void *view)
{
    struct home *h = view;
    recent_free(&h->recent);
    preview_free(h->preview);
    free(h);
}

static void train(struct home *h, struct app *app)
{
    struct job job;
    struct error e = {0};
    char dir[PATH_MAX];
    job_defaults(&job, JOB_TRAIN);
    bool ok = launch_start(&job, dir, &e);
    job_clear(&job);
    recent_refresh(&h->recent);
    if (!ok)
        app_message(app, ROLE_BAD, "%s", e.text);
    else if (view_find("run"))
        app_open(app, view_find("run"), dir);
}

static void open_selected(struct home *h, struct app *app)
{
    const struct recent_run *run;
    if (h->selected < home_lessons(app))
        app_open(app, &view_lesson, app_course(app)->lessons[h->selected].name);
    else if ((run = home_run(h, h->selected - home_lessons(app))) && view_find("run"))
        app_open(app, view_find("run"), run->dir);
}

static void home_act(void *view, struct app *app, int action)
{
    struct home *h = view;
    int total = home_lessons(app) + home_runs(h), running = recent_running(&h->recent);
    switch ((enum action)action) {
    case UP: h->selected--; break;
    case DOWN: h->selected++; break;
    case FIRST: h->selected = 0; break;
    case LAST: h->selected = total - 1; break;
    case OTHER_PANE:
        h->selected =
            h->selected < home_lessons(app) && home_runs(h) ? home_lessons(app) : home_continue_at(app);
        break;
    case OPEN: open_selected(h, app); break;
    case CONTINUE:
        h->selected = home_continue_at(app);
        open_selected(h, app);
        break;
    case TRAIN:
        if (running)
            app_ask(app, TRAIN_ANYWAY,
                    text_plural("%d job runs already. Start another one?",
                                "%d jobs run already. Start another one?", running),
                    running);
        else
            train(h, app);
        break;
    case TRAIN_ANYWAY: train(h, app); break;
    case QUIT:
        if (running)
            app_ask(app, QUIT_ANYWAY,
                    text_plural("%d job runs and will go on without Ringside. Leave?",
                                "%d jobs run and will go on without Ringside. Leave?", running),
                    running);
        else
            app_quit(app);
        break;
    case QUIT_ANYWAY: app_quit(app); break;
    case SETTINGS: app_open(app, &view_settings, NULL); break;
    case DOCTOR: app_open(app, &view_doctor, NULL); break;
    case COMPARE: {
        const struct recent_run *run = home_run(h, h->selected - home_lessons(app));
        app_open(app, &view_compare, h->selected >= home_lessons(app) && run ? run->dir : NULL);
        break;
    }
    case ALGORITHMS: app_open(app, &view_ring, "schedule"); break;
    case CLUSTER: app_open(app, &view_cluster, NULL); break;
    }
    if (h->selected >= total)
        h->selected = total - 1;
    if (h->selected < 0)
        h->selected = 0;
}

static bool home_tick(void *view, struct app *app, double now)
{
    struct home *h = view;
    bool changed = false;
    if (fabs(now - h->refreshed) >= 1.0) {
        const struct recent_run *before = home_run(h, h->selected - home_lessons(app));
        char *dir = before ? strdup(before->dir) : NULL;
        h->refreshed = now;
        changed |= recent_refresh(&h->recent);
        changed |= progress_refresh(app_progress(app));
        /* A new run on top must not move the selection to another run. */
        for (int i = 0; dir && i < home_runs(h); i++)
            if (!strcmp(home_run(h, i)->dir, dir))
                h->selected = home_lessons(app) + i;
        free(dir);
    }
    if (h->previewing)
        changed |= preview_tick(h->preview);
    return changed;
}

static void home_title(void *view, char *text, size_t size)
{
    const struct home *h = view;
    snprintf(text, size, "%s", h->title);
}

const struct view_class view_home = {
    .name = "home",
    .keys = keys,
    .open = home_open,
    .act = home_act,
    .tick = home_tick,
    .draw = home_draw,
    .title = home_title,
    .close = home_close,
};
