/*
 * home_draw.c - the home screen: lists at the left, and on a wide screen a preview of what is selected.
 */
#include "tui/axis.h"
#include "tui/home.h"
#include "tui/plot.h"
#include "tui/progress.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDE_FROM = 110, LIST_COLS = 64, RUNS_SHOWN = 5 };

/* --- drawing ------------------------------------------------------------------------------------------------ */

static bool lesson_begun(struct app *app, const struct course_lesson *lesson)
{
    return progress_reading_percent(app_progress(app), lesson->name) > 0 ||
           (*lesson->exercise && progress_checks(app_progress(app), lesson->exercise) > 0);
}

static void heading(struct canvas *c, struct rect row, const char *text, const char *right)
{
    int used = canvas_text(c, row.row, row.col, row.cols, ROLE_ACCENT, ATTR_BOLD, text);
    int width = text_columns(right);
    if (used + width + 2 < row.cols)
        canvas_text(c, row.row, row.col + row.cols - width, width, ROLE_MUTED, 0, right);
}

static void draw_lesson(struct app *app, struct canvas *c, struct rect r, int index, bool selected)
{
    const struct course_lesson *lesson = &app_course(app)->lessons[index];
    bool done = home_lesson_done(app, lesson), begun = lesson_begun(app, lesson);
    int percent = progress_reading_percent(app_progress(app), lesson->name);
    char state[24] = "", minutes[16] = "";
    if (done)
        snprintf(state, sizeof state, "%s", _("done"));
    else if (percent >= 100)
        snprintf(state, sizeof state, "%s", C_("at most 6 columns", "read"));
    else if (begun)
        snprintf(state, sizeof state, "%d %%", percent);
    if (lesson->minutes)
        snprintf(minutes, sizeof minutes, _("%d min"), lesson->minutes);
    enum role text = selected ? ROLE_SELECTED : ROLE_TEXT, muted = selected ? ROLE_SELECTED : ROLE_MUTED;
    enum role mark = selected ? ROLE_SELECTED : done ? ROLE_GOOD : begun ? ROLE_WARN : ROLE_MUTED;
    if (selected) {
        canvas_fill(c, r, ' ', ROLE_SELECTED, 0);
        c->cursor_row = r.row;
        c->cursor_col = r.col;
    }
    canvas_text(c, r.row, r.col, 2, text, 0, selected ? "▸" : " ");
    canvas_text(c, r.row, r.col + 2, 2, mark, 0, done ? "●" : begun ? "◐" : "○");
    canvas_format(c, r.row, r.col + 4, 3, muted, 0, "%2d", course_number(lesson, index));
    int right = r.cols >= 50 ? 15 : 6;
    canvas_text(c, r.row, r.col + 8, r.cols - 9 - right, text, selected ? ATTR_BOLD : 0, lesson->title);
    if (right > 6)
        canvas_format(c, r.row, r.col + r.cols - 15, 8, muted, 0, "%7s", minutes);
    int width = right > 6 ? 6 : 5;
    canvas_text_right(c, r.row, r.col + r.cols - 1 - width, width,
                      selected ? ROLE_SELECTED
                      : done   ? ROLE_GOOD
                               : ROLE_MUTED,
                      0, state);
}

static void run_result(const struct recent_run *run, char *text, size_t size)
{
    char loss[24];
    *text = '\0';
    if (isfinite(run->tail.accuracy))
        snprintf(text, size, "%.2f %%", run->tail.accuracy * 100);
    else if (!run_state_ended(run->status.state) && run->tail.step >= 0)
        snprintf(text, size, _("step %ld"), run->tail.step);
    else if (isfinite(run->tail.loss)) {
        format_loss(run->tail.loss, loss, sizeof loss);
        snprintf(text, size, _("loss %s"), loss);
    }
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
    canvas_text(c, r.row, r.col + 4, 9, role, 0, _(run_state_name(state)));
    int end = r.col + r.cols;
    canvas_text_right(c, r.row, end - 8, 7, muted, 0, age);
    end -= 9;
    if (r.cols >= 50 || *result) {
        canvas_format(c, r.row, end - 11, 11, text, 0, "%11s", result);
        end -= 12;
    }
    if (r.cols >= 60 && run->ranks > 0) {
        end -= 9;
        canvas_format(c, r.row, end, 8, muted, 0, text_plural("%d rank", "%d ranks", run->ranks), run->ranks);
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

/* "2 of 5 done, 75 min to go" */
static void standing(struct app *app, char *text, size_t size)
{
    int count = home_lessons(app), done = 0, minutes = 0;
    *text = '\0';
    for (int i = 0; i < count; i++) {
        const struct course_lesson *lesson = &app_course(app)->lessons[i];
        bool own = home_lesson_done(app, lesson);
        done += own;
        minutes += own ? 0 : lesson->minutes;
    }
    if (count && minutes)
        snprintf(text, size, _("%d of %d done, %d min to go "), done, count, minutes);
    else if (count)
        snprintf(text, size, _("%d of %d done "), done, count);
}

/* Where to go on, in one line; what of it finds no room is the lesson's title. */
static void draw_next(struct app *app, struct canvas *c, struct rect r)
{
    const struct course_lesson *lesson = &app_course(app)->lessons[home_continue_at(app)];
    char text[128];
    home_next(app, lesson, text, sizeof text);
    if (home_lesson_done(app, lesson)) {
        canvas_text(c, r.row, r.col, r.cols, ROLE_GOOD, 0,
                    _("✓ You have done all there is. Look at any of it again."));
        return;
    }
    canvas_text(c, r.row, r.col, 1, ROLE_KEY, ATTR_BOLD, "c");
    int title = r.cols - 4 - text_columns(text);
    int used = 2 + canvas_format(c, r.row, r.col + 2, title, ROLE_TITLE, 0, "%s.", lesson->title);
    canvas_text(c, r.row, r.col + used + 1, r.cols - used - 1, ROLE_ACCENT, 0, text);
}

/*
 * With room each lesson has its question below it (and a blank line below that), and the way from one to the next is
 * drawn; without, only the selected one has, at the end of the list.
 */
static void draw_course(struct home *h, struct app *app, struct canvas *c, struct rect r)
{
    int count = home_lessons(app);
    char right[64];
    standing(app, right, sizeof right);
    heading(c, rect_cut_rows(&r, 1), _("Course"), right);
    if (count && r.rows >= count + 4) {
        struct rect next = rect_cut_rows(&r, 1);
        draw_next(app, c, (struct rect){next.row, next.col + 2, 1, next.cols - 3});
    }
    rect_cut_rows(&r, r.rows > 4);
    int each = count * 3 - 1 <= r.rows ? 3 : count * 2 <= r.rows ? 2 : 1;
    struct rect question = {0};
    if (each == 1 && r.rows >= 8) {
        question = rect_cut_rows(&r, -2);
        question.row++;
        question.rows--;
    }
    follow(&h->first_lesson, h->selected < count ? h->selected : -1, count, r.rows / each + (each == 3));
    for (int i = 0; i * each < r.rows && h->first_lesson + i < count; i++) {
        int index = h->first_lesson + i;
        const char *text = app_course(app)->lessons[index].question;
        draw_lesson(app, c, (struct rect){r.row + i * each, r.col, 1, r.cols}, index, index == h->selected);
        /* A long question takes the blank line too. Below the last one a line is free in any case. */
        int row = r.row + i * each + 1, room = r.row + r.rows - row, most = index + 1 < count ? each - 1 : 2;
        if (each > 1)
            wrap_text(c, (struct rect){row, r.col + 8, room < most ? room : most, r.cols - 9}, ROLE_MUTED, 0,
                      text);
        for (int k = 0; k < each - 1 && index + 1 < count && k < room; k++)
            canvas_put(c, row + k, r.col + 2, 0x2502,
                       home_lesson_done(app, &app_course(app)->lessons[index]) ? ROLE_GOOD : ROLE_BORDER, 0);
    }
    if (question.rows && h->selected < count)
        canvas_text(c, question.row, question.col + 8, question.cols - 9, ROLE_TITLE, 0,
                    app_course(app)->lessons[h->selected].question);
}

static void draw_runs(struct home *h, struct app *app, struct canvas *c, struct rect r)
{
    int count = home_runs(h), running = recent_running(&h->recent);
    char right[64] = "";
    if (running)
        snprintf(right, sizeof right, _("%d running "), running);
    heading(c, rect_cut_rows(&r, 1), _("Recent runs"), right);
    rect_cut_rows(&r, r.rows > RUNS_SHOWN && r.rows > count);
    if (!count) {
        canvas_text(c, r.row, r.col + 2, r.cols - 2, ROLE_MUTED, 0,
                    _("None yet. t trains the CNN on two ranks."));
        return;
    }
    follow(&h->first_run, h->selected - home_lessons(app), count, r.rows);
    for (int i = 0; i < r.rows && h->first_run + i < count; i++) {
        int index = h->first_run + i;
        draw_run(app, c, (struct rect){r.row + i, r.col, 1, r.cols}, home_run(h, index),
                 home_lessons(app) + index == h->selected);
    }
}

static void draw_machine(const struct home *h, struct canvas *c, struct rect r)
{
    const struct machine *m = &h->machine;
    const struct {
        bool there;
        const char *yes, *no;
    } facts[] = {
        {m->mpirun, "mpirun", N_("no mpirun: rank scripts run in one process")},
        {m->gpu, "GPU", N_("no GPU")},
        {m->scheduler != NULL, m->scheduler, N_("no scheduler")},
    };
    heading(c, rect_cut_rows(&r, 1), _("This machine"), "");
    rect_cut_rows(&r, r.rows > 1);
    int col = r.col + 2, end = r.col + r.cols;
    char text[96];
    snprintf(text, sizeof text, text_plural("%s  %d core, %.0f GiB", "%s  %d cores, %.0f GiB", m->cores),
             m->host, m->cores, m->memory_bytes / 1073741824.0);
    col += canvas_text(c, r.row, col, end - col, ROLE_TEXT, 0, text) + 3;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *word = facts[i].there ? facts[i].yes : _(facts[i].no);
        int width = text_columns(word) + 2;
        if (col + width > end) {
            rect_cut_rows(&r, 1);
            col = r.col + 2;
        }
        canvas_text(c, r.row, col, 2, facts[i].there ? ROLE_GOOD : ROLE_MUTED, 0, facts[i].there ? "✓" : "–");
        canvas_text(c, r.row, col + 2, end - col - 2, facts[i].there ? ROLE_TEXT : ROLE_MUTED, 0, word);
        col += width + 2;
    }
}

/* The lists, from top to bottom; what has no room is left out, the course last. */
static void draw_lists(struct home *h, struct app *app, struct canvas *c, struct rect area)
{
    struct rect machine = {0};
    if (area.rows >= 16) {
        machine = rect_cut_rows(&area, area.rows >= 30 ? -3 : -2);
        rect_cut_rows(&area, -1);
    }
    int count = home_runs(h), most = area.rows >= 30 ? 12 : area.rows >= 14 ? RUNS_SHOWN : 1;
    int shown = count < 1 ? 1 : count < most ? count : most;
    struct rect list = rect_cut_rows(&area, -(shown + 1 + (area.rows >= 30)));
    rect_cut_rows(&area, -1);
    draw_course(h, app, c, area);
    draw_runs(h, app, c, list);
    if (machine.rows)
        draw_machine(h, c, machine);
}

static void draw_preview(struct home *h, struct app *app, struct canvas *c, struct rect area)
{
    enum { CARD_FROM = 28, CARD_COLS = 78 };
    const struct recent_run *run;
    if (h->selected < home_lessons(app)) {
        struct rect card = area;
        card.cols = card.cols < CARD_COLS ? card.cols : CARD_COLS;
        bool room = area.rows >= CARD_FROM;
        if (room)
            rect_cut_rows(&area, home_card(h, app, c, card, h->selected) + 1);
        preview_lesson(h->preview, app_course(app)->lessons[h->selected].name);
        preview_without_head(h->preview, room);
    } else if ((run = home_run(h, h->selected - home_lessons(app)))) {
        preview_run(h->preview, run->dir);
    }
    preview_draw(h->preview, c, area, app_now(app));
}

void home_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    struct home *h = view;
    h->previewing = area.cols >= WIDE_FROM;
    struct rect left = h->previewing ? rect_cut_cols(&area, LIST_COLS) : rect_inset(area, 0, 1);
    rect_cut_rows(&left, left.rows >= 20);
    if (h->previewing) {
        left = rect_inset(left, 0, 1);
        canvas_vline(c, area.row, area.col, area.rows, ROLE_BORDER);
        rect_cut_rows(&area, 1);
        draw_preview(h, app, c, rect_inset(area, 0, 4));
    }
    rect_cut_rows(&left, left.rows >= 16 ? -1 : 0);
    draw_lists(h, app, c, left);
}
