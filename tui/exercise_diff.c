/*
 * exercise_diff.c - what the exercise view shows once there is more to see than the file: how it differs from the
 * solution (when its checks have passed), and beside it the run that it has started.
 *
 * The run is shown by its own view (run or ring), which is opened here and not put on the application's stack; keys stay
 * with the exercise, and Enter opens the run's view as a whole.
 */
#include "tui/app.h"
#include "tui/exercise_view.h"
#include "tui/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 3 }; /* lines that both have which are shown around a change */

/* --- the difference ---------------------------------------------------------------------------------------------- */

static bool make(struct exercise_view *v, struct error *e)
{
    char path[PATH_MAX + 16];
    if (v->diff_code && v->diff_code == v->code)
        return true;
    if (!v->solution) {
        snprintf(path, sizeof path, "%s/solution.lua", v->files.folder);
        if (!(v->solution = markdown_read(path, e)))
            return false;
    }
    line_diff_free(&v->diff);
    v->diff_code = v->code;
    return line_diff_make(&v->diff, v->code ? v->code : "", v->solution, e);
}

bool exercise_diff_toggle(struct exercise_view *v, struct error *e)
{
    if (v->show_diff) {
        v->show_diff = false;
        return true;
    }
    if (!v->passed)
        return error_set(e, ERROR_FAILED, "%s", _("Once the checks pass, d shows how the solution does it."));
    if (!make(v, e))
        return false;
    v->show_diff = true;
    return true;
}

void exercise_diff_free(struct exercise_view *v)
{
    line_diff_free(&v->diff);
    v->diff_code = NULL;
}

/* Whether a line is shown: a change, or near one; all where nothing has changed. */
static bool near_change(const struct line_diff *d, int i)
{
    if (!d->only_first && !d->only_second)
        return true;
    for (int k = i - AROUND; k <= i + AROUND; k++)
        if (k >= 0 && k < d->count && d->lines[k].kind != DIFF_SAME)
            return true;
    return false;
}

/* The row-th row of the difference: a line, or -1 for lines that are left out; false past the last. */
static bool row_of(const struct line_diff *d, int row, int *line)
{
    int rows = 0;
    bool left_out = false;
    for (int i = 0; i < d->count; i++) {
        bool shown = near_change(d, i);
        if (!shown && left_out)
            continue;
        left_out = !shown;
        if (rows++ == row) {
            *line = shown ? i : -1;
            return true;
        }
    }
    return false;
}

int exercise_diff_rows(struct exercise_view *v)
{
    int rows = 0, line;
    if (!make(v, NULL))
        return 1;
    while (row_of(&v->diff, rows, &line))
        rows++;
    return rows + 2;
}

void exercise_diff_draw(struct exercise_view *v, struct canvas *c, struct rect in)
{
    const struct line_diff *d = &v->diff;
    if (!make(v, NULL))
        return;
    if (!d->only_first && !d->only_second)
        canvas_text(c, in.row, in.col, in.cols, ROLE_GOOD, 0, _("Your file is the solution, line by line."));
    else
        canvas_format(c, in.row, in.col, in.cols, ROLE_MUTED, 0, _("- yours %d, + solution %d: both pass."),
                      d->only_first, d->only_second);
    rect_cut_rows(&in, 2);
    for (int i = 0; i < in.rows; i++) {
        int line, row = in.row + i;
        if (!row_of(d, v->scroll[PANE_CODE] + i, &line))
            return;
        if (line < 0) {
            canvas_text(c, row, in.col + 5, in.cols - 5, ROLE_MUTED, 0, "…");
            continue;
        }
        const struct diff_line *l = &d->lines[line];
        enum role role = l->kind == DIFF_FIRST ? ROLE_BAD : l->kind == DIFF_SECOND ? ROLE_GOOD : ROLE_TEXT;
        if (l->first)
            canvas_format(c, row, in.col, 3, ROLE_MUTED, 0, "%3d", l->first);
        canvas_text(c, row, in.col + 4, 1, role, ATTR_BOLD,
                    l->kind == DIFF_FIRST    ? "-"
                    : l->kind == DIFF_SECOND ? "+"
                                             : " ");
        canvas_format(c, row, in.col + 6, in.cols - 6, role, 0, "%.*s", l->length, l->text);
    }
}

/* --- the run beside ---------------------------------------------------------------------------------------------- */

void exercise_beside_close(struct exercise_view *v)
{
    if (v->beside && v->beside->close)
        v->beside->close(v->beside_view);
    v->beside = NULL;
    v->beside_view = NULL;
}

bool exercise_beside_open(struct exercise_view *v, struct app *app, const struct view_class *view,
                          const char *run)
{
    struct error e = {0};
    exercise_beside_close(v);
    if (v->cols < EXERCISE_BESIDE_FROM || !view || !(v->beside_view = view->open(app, run, &e)))
        return false;
    v->beside = view;
    snprintf(v->beside_run, sizeof v->beside_run, "%s", run);
    return true;
}

bool exercise_beside_shown(const struct exercise_view *v)
{
    return v->beside && v->cols >= EXERCISE_BESIDE_FROM;
}

bool exercise_beside_tick(struct exercise_view *v, struct app *app, double now)
{
    return exercise_beside_shown(v) && v->beside->tick && v->beside->tick(v->beside_view, app, now);
}

void exercise_beside_draw(struct exercise_view *v, struct app *app, struct canvas *c, struct rect area)
{
    char title[256] = "", status[128] = "";
    int row = c->cursor_row, col = c->cursor_col;
    struct rect head = rect_cut_rows(&area, 1);
    if (v->beside->title)
        v->beside->title(v->beside_view, title, sizeof title);
    if (v->beside->status)
        v->beside->status(v->beside_view, status, sizeof status);
    int width = text_columns(status);
    canvas_text(c, head.row, head.col + 1, head.cols - width - 3, ROLE_TITLE, ATTR_BOLD, title);
    canvas_text(c, head.row, head.col + head.cols - width - 1, width, ROLE_ACCENT, 0, status);
    v->beside->draw(v->beside_view, app, c, area);
    c->cursor_row = row; /* the keys are the exercise's */
    c->cursor_col = col;
}
