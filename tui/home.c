/*
 * home.c - where one begins: the course with one's progress, recent runs, and what this machine can do.
 */
#include "engine/launch/launch.h"
#include "tui/app.h"
#include "tui/course.h"
#include "tui/machine.h"
#include "tui/progress.h"
#include "tui/recent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { UP = 1, DOWN, FIRST, LAST, OPEN, CONTINUE, TRAIN, TRAIN_ANYWAY, QUIT, QUIT_ANYWAY, OTHER_PANE };

enum { WIDE_FROM = 110, RUNS_NARROW = 5 };

struct home {
    int selected;                /* lessons first, then runs */
    int first_lesson, first_run; /* shown first, where a list is longer than its room */
    struct recent recent;
    struct machine machine;
    double refreshed;
};

static const struct key_binding keys[] = {
    {KEY_CODE_UP, UP, "select", "the line above"},
    {KEY_CODE_DOWN, DOWN, "select", "the line below"},
    {'k', UP, NULL, NULL},
    {'j', DOWN, NULL, NULL},
    {KEY_CODE_HOME, FIRST, NULL, "the first lesson"},
    {KEY_CODE_END, LAST, NULL, "the last run"},
    {KEY_CODE_TAB, OTHER_PANE, "runs", "from the lessons to the runs and back"},
    {KEY_CODE_ENTER, OPEN, "open", "open the lesson, or look at the run"},
    {'c', CONTINUE, "continue", "go on where you left"},
    {'t', TRAIN, "train", "start the main job: two ranks train the CNN on MNIST, two epochs"},
    {'q', QUIT, NULL, NULL},
    {0, 0, NULL, NULL},
};

static int lessons(const struct app *app)
{
    const struct course *course = app_course(app);
    return course ? course->count : 0;
}

/* The n-th run that is not nested; NULL where there are fewer. */
static const struct recent_run *run_at(const struct home *h, int n)
{
    for (int i = 0; i < h->recent.count; i++)
        if (!h->recent.runs[i].nested && n-- == 0)
            return &h->recent.runs[i];
    return NULL;
}

static int runs(const struct home *h)
{
    int n = 0;
    for (int i = 0; i < h->recent.count; i++)
        n += !h->recent.runs[i].nested;
    return n;
}

static bool lesson_done(struct app *app, const struct course_lesson *lesson)
{
    return *lesson->exercise ? progress_passed(app_progress(app), lesson->exercise)
                             : progress_read(app_progress(app), lesson->name);
}

static bool lesson_begun(struct app *app, const struct course_lesson *lesson)
{
    return progress_reading_percent(app_progress(app), lesson->name) > 0 ||
           (*lesson->exercise && progress_checks(app_progress(app), lesson->exercise) > 0);
}

/* Where one left: the lesson read last, unless it is done; then the first that is not. */
static int continue_at(struct app *app)
{
    const struct course *course = app_course(app);
    int last = course_find(course, progress_last_lesson(app_progress(app)));
    if (last >= 0 && !lesson_done(app, &course->lessons[last]))
        return last;
    for (int i = last >= 0 ? last : 0; i < lessons(app); i++)
        if (!lesson_done(app, &course->lessons[i]))
            return i;
    return last >= 0 ? last : 0;
}

static void *home_open(struct app *app, const char *argument, struct error *e)
{
    (void)argument;
    struct home *h = calloc(1, sizeof *h);
    if (!h) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    machine_look(&h->machine);
    recent_refresh(&h->recent);
    h->refreshed = app_now(app);
    h->selected = continue_at(app);
    if (!app_course(app))
        app_message(app, ROLE_BAD, "%s", app_course_error(app));
    return h;
}

static void home_close(void *view)
{
    struct home *h = view;
    recent_free(&h->recent);
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
    if (h->selected < lessons(app))
        app_open(app, &view_lesson, app_course(app)->lessons[h->selected].name);
    else if ((run = run_at(h, h->selected - lessons(app))) && view_find("run"))
        app_open(app, view_find("run"), run->dir);
}

static void home_act(void *view, struct app *app, int action)
{
    struct home *h = view;
    int total = lessons(app) + runs(h), running = recent_running(&h->recent);
    switch ((enum action)action) {
    case UP: h->selected--; break;
    case DOWN: h->selected++; break;
    case FIRST: h->selected = 0; break;
    case LAST: h->selected = total - 1; break;
    case OTHER_PANE:
        h->selected = h->selected < lessons(app) && runs(h) ? lessons(app) : continue_at(app);
        break;
    case OPEN: open_selected(h, app); break;
    case CONTINUE:
        h->selected = continue_at(app);
        open_selected(h, app);
        break;
    case TRAIN:
        if (running)
            app_ask(app, TRAIN_ANYWAY, "%d %s already. Start another one?", running,
                    running == 1 ? "job runs" : "jobs run");
        else
            train(h, app);
        break;
    case TRAIN_ANYWAY: train(h, app); break;
    case QUIT:
        if (running)
            app_ask(app, QUIT_ANYWAY, "%d %s and will go on without Ringside. Leave?", running,
                    running == 1 ? "job runs" : "jobs run");
        else
            app_quit(app);
        break;
    case QUIT_ANYWAY: app_quit(app); break;
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
    const char *warning = progress_warning(app_progress(app));
    if (warning) {
        app_message(app, ROLE_WARN, "%s", warning);
        changed = true;
    }
    if (fabs(now - h->refreshed) >= 1.0) {
        const struct recent_run *before = run_at(h, h->selected - lessons(app));
        char *dir = before ? strdup(before->dir) : NULL;
        h->refreshed = now;
        changed |= recent_refresh(&h->recent) | progress_refresh(app_progress(app));
        /* A new run on top must not move the selection to another run. */
        for (int i = 0; dir && i < runs(h); i++)
            if (!strcmp(run_at(h, i)->dir, dir))
                h->selected = lessons(app) + i;
        free(dir);
    }
    return changed;
}

/* --- drawing ------------------------------------------------------------------------------------------------ */

static void heading(struct canvas *c, struct rect row, const char *text, const char *right)
{
    int used = canvas_text(c, row.row, row.col, row.cols, ROLE_ACCENT, ATTR_BOLD, text);
    int width = text_columns(right);
    if (used + width + 2 < row.cols)
        canvas_text(c, row.row, row.col + row.cols - width, width, ROLE_MUTED, 0, right);
}

/* The lesson's place in the course: the number its name begins with. */
static int lesson_number(const struct course_lesson *lesson, int index)
{
    int number = atoi(lesson->name);
    return number > 0 ? number : index + 1;
}

static void draw_lesson(struct app *app, struct canvas *c, struct rect r, int index, bool selected)
{
    const struct course_lesson *lesson = &app_course(app)->lessons[index];
    bool done = lesson_done(app, lesson), begun = lesson_begun(app, lesson);
    int percent = progress_reading_percent(app_progress(app), lesson->name);
    char state[24] = "", minutes[16] = "";
    if (done)
        snprintf(state, sizeof state, "done");
    else if (percent >= 100)
        snprintf(state, sizeof state, "read");
    else if (begun)
        snprintf(state, sizeof state, "%d %%", percent);
    if (lesson->minutes)
        snprintf(minutes, sizeof minutes, "%d min", lesson->minutes);
    enum role text = selected ? ROLE_SELECTED : ROLE_TEXT, muted = selected ? ROLE_SELECTED : ROLE_MUTED;
    enum role mark = selected ? ROLE_SELECTED : done ? ROLE_GOOD : begun ? ROLE_WARN : ROLE_MUTED;
    if (selected) {
        canvas_fill(c, r, ' ', ROLE_SELECTED, 0);
        c->cursor_row = r.row;
        c->cursor_col = r.col;
    }
    canvas_text(c, r.row, r.col, 2, text, 0, selected ? "▸" : " ");
    canvas_text(c, r.row, r.col + 2, 2, mark, 0, done ? "●" : begun ? "◐" : "○");
    canvas_format(c, r.row, r.col + 4, 3, muted, 0, "%2d", lesson_number(lesson, index));
    int right = r.cols >= 50 ? 15 : 6;
    canvas_text(c, r.row, r.col + 8, r.cols - 9 - right, text, selected ? ATTR_BOLD : 0, lesson->title);
    if (right > 6)
        canvas_format(c, r.row, r.col + r.cols - 15, 8, muted, 0, "%7s", minutes);
    canvas_format(c, r.row, r.col + r.cols - 6, 5,
                  selected ? ROLE_SELECTED
                  : done   ? ROLE_GOOD
                           : ROLE_MUTED,
                  0, "%5s", state);
}

static void run_result(const struct recent_run *run, char *text, size_t size)
{
    *text = '\0';
    if (isfinite(run->tail.accuracy))
        snprintf(text, size, "%.2f %%", run->tail.accuracy * 100);
    else if (!run_state_ended(run->status.state) && run->tail.step >= 0)
        snprintf(text, size, "step %ld", run->tail.step);
    else if (isfinite(run->tail.loss))
        snprintf(text, size, "loss %.3f", run->tail.loss);
}

static void draw_run(struct app *app, struct canvas *c, struct rect r, const struct recent_run *run,
                     bool selected)
{
    static const struct {
        const char *mark;
        enum role role;
    } looks[] = {
        [RUN_PENDING] = {"◌", ROLE_WARN}, [RUN_RUNNING] = {"▶", ROLE_ACCENT},  [RUN_DONE] = {"✓", ROLE_GOOD},
        [RUN_FAILED] = {"✗", ROLE_BAD},   [RUN_CANCELLED] = {"■", ROLE_MUTED}, [RUN_LOST] = {"?", ROLE_WARN},
    };
    enum run_state state = run->status.state;
    enum role text = selected ? ROLE_SELECTED : ROLE_TEXT, muted = selected ? ROLE_SELECTED : ROLE_MUTED;
    enum role role = selected ? ROLE_SELECTED : looks[state].role;
    char result[32], age[24];
    run_result(run, result, sizeof result);
    age_text(age, sizeof age, app_now(app), run->status.started);
    if (selected) {
        canvas_fill(c, r, ' ', ROLE_SELECTED, 0);
        c->cursor_row = r.row;
        c->cursor_col = r.col;
    }
    canvas_text(c, r.row, r.col, 2, text, 0, selected ? "▸" : " ");
    canvas_text(c, r.row, r.col + 2, 2, role, 0, looks[state].mark);
    canvas_text(c, r.row, r.col + 4, 9, role, 0, run_state_name(state));
    int end = r.col + r.cols;
    canvas_format(c, r.row, end - 8, 7, muted, 0, "%7s", age);
    canvas_format(c, r.row, end - 20, 11, text, 0, "%11s", result);
    end -= 21;
    if (r.cols >= 60 && run->ranks > 0) {
        end -= 9;
        canvas_format(c, r.row, end, 8, muted, 0, run->ranks == 1 ? "%d rank" : "%d ranks", run->ranks);
    }
    canvas_text(c, r.row, r.col + 14, end - r.col - 15, text, selected ? ATTR_BOLD : 0, run->label);
}

/* Moves `first` so that the selected line of a list can be seen. */
static void follow(int *first, int selected, int total, int rows)
{
    if (selected >= 0 && selected < *first)
        *first = selected;
    if (selected >= *first + rows)
        *first = selected - rows + 1;
    if (*first > total - rows)
        *first = total - rows;
    if (*first < 0)
        *first = 0;
}

static void draw_course(struct home *h, struct app *app, struct canvas *c, struct rect r)
{
    int count = lessons(app), done = 0;
    char right[64] = "";
    for (int i = 0; i < count; i++)
        done += lesson_done(app, &app_course(app)->lessons[i]);
    if (count)
        snprintf(right, sizeof right, "%d of %d done ", done, count);
    heading(c, rect_cut_rows(&r, 1), "Course", right);
    rect_cut_rows(&r, r.rows > 4);
    follow(&h->first_lesson, h->selected < count ? h->selected : -1, count, r.rows);
    for (int i = 0; i < r.rows && h->first_lesson + i < count; i++) {
        int index = h->first_lesson + i;
        draw_lesson(app, c, (struct rect){r.row + i, r.col, 1, r.cols}, index, index == h->selected);
    }
}

static void draw_runs(struct home *h, struct app *app, struct canvas *c, struct rect r)
{
    int count = runs(h), running = recent_running(&h->recent);
    char right[64] = "";
    if (running)
        snprintf(right, sizeof right, "%d running ", running);
    heading(c, rect_cut_rows(&r, 1), "Recent runs", right);
    rect_cut_rows(&r, r.rows > 4);
    if (!count) {
        canvas_text(c, r.row, r.col + 2, r.cols - 2, ROLE_MUTED, 0,
                    "None yet. t trains the CNN on two ranks.");
        return;
    }
    follow(&h->first_run, h->selected - lessons(app), count, r.rows);
    for (int i = 0; i < r.rows && h->first_run + i < count; i++) {
        int index = h->first_run + i;
        draw_run(app, c, (struct rect){r.row + i, r.col, 1, r.cols}, run_at(h, index),
                 lessons(app) + index == h->selected);
    }
}

static int draw_words(struct canvas *c, int row, int col, int width, enum role role, const char *text)
{
    int rows = 0;
    while (*text && width > 4) {
        char line[256];
        int length = 0, space = 0;
        for (int columns = 0; text[length] && length < (int)sizeof line - 1; length++) {
            columns += ((unsigned char)text[length] & 0xc0) != 0x80;
            if (columns > width)
                break;
            if (text[length] == ' ')
                space = length;
        }
        if (text[length] && space)
            length = space;
        snprintf(line, sizeof line, "%.*s", length, text);
        canvas_text(c, row + rows++, col, width, role, 0, line);
        text += length;
        text += strspn(text, " ");
    }
    return rows;
}

static void draw_question(struct home *h, struct app *app, struct canvas *c, struct rect r)
{
    if (h->selected < lessons(app)) {
        const char *question = app_course(app)->lessons[h->selected].question;
        draw_words(c, r.row, r.col + 8, r.cols - 9, ROLE_TITLE, question);
    }
}

static void draw_machine(const struct home *h, struct canvas *c, struct rect r)
{
    const struct machine *m = &h->machine;
    const struct {
        bool there;
        const char *yes, *no;
    } facts[] = {
        {m->mpirun, "mpirun", "no mpirun: rank scripts run in one process"},
        {m->gpu, "GPU", "no GPU"},
        {m->scheduler, "scheduler", "no scheduler"},
    };
    heading(c, rect_cut_rows(&r, 1), "This machine", "");
    rect_cut_rows(&r, r.rows > 2);
    int col = r.col + 2, end = r.col + r.cols;
    char text[96];
    snprintf(text, sizeof text, "%s  %d %s, %.0f GiB", m->host, m->cores, m->cores == 1 ? "core" : "cores",
             m->memory_bytes / 1073741824.0);
    col += canvas_text(c, r.row, col, end - col, ROLE_TEXT, 0, text) + 3;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *word = facts[i].there ? facts[i].yes : facts[i].no;
        int width = text_columns(word) + 2;
        if (col + width > end && r.rows > 1) {
            rect_cut_rows(&r, 1);
            col = r.col + 2;
        }
        canvas_text(c, r.row, col, 2, facts[i].there ? ROLE_GOOD : ROLE_MUTED, 0, facts[i].there ? "✓" : "–");
        canvas_text(c, r.row, col + 2, end - col - 2, facts[i].there ? ROLE_TEXT : ROLE_MUTED, 0, word);
        col += width + 2;
    }
}

static void draw_wide(struct home *h, struct app *app, struct canvas *c, struct rect area)
{
    struct rect left = rect_cut_cols(&area, area.cols * 11 / 20);
    canvas_vline(c, area.row, area.col, area.rows, ROLE_BORDER);
    left = rect_inset(left, 1, 2);
    area = rect_inset(area, 1, 3);
    area.cols++;
    struct rect question = rect_cut_rows(&left, -4);
    draw_course(h, app, c, left);
    draw_question(h, app, c, rect_inset(question, 1, 0));
    struct rect machine = rect_cut_rows(&area, -4);
    rect_cut_rows(&area, -1);
    draw_runs(h, app, c, area);
    draw_machine(h, c, machine);
}

static void home_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct home *h = view;
    if (area.cols >= WIDE_FROM) {
        draw_wide(h, app, c, area);
        return;
    }
    area.col += 1;
    area.cols -= 2;
    bool roomy = area.rows >= 20;
    rect_cut_rows(&area, roomy);
    struct rect machine = rect_cut_rows(&area, area.rows >= 16 ? -3 : 0);
    int shown = runs(h) < RUNS_NARROW ? (runs(h) ? runs(h) : 1) : RUNS_NARROW;
    if (area.rows < 12 && shown > 2)
        shown = 2;
    rect_cut_rows(&area, -(area.rows >= 12));
    struct rect list = rect_cut_rows(&area, -(shown + 1 + (shown > 3)));
    rect_cut_rows(&area, -1);
    struct rect question = rect_cut_rows(&area, area.rows >= 8 ? -3 : 0);
    draw_course(h, app, c, area);
    if (question.rows)
        draw_question(h, app, c, rect_inset(question, 1, 0));
    draw_runs(h, app, c, list);
    if (machine.rows)
        draw_machine(h, c, machine);
}

static void home_title(void *view, char *text, size_t size)
{
    (void)view;
    snprintf(text, size, "Deep learning on clusters");
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
