/*
 * compare_view.c - the view that sets runs side by side: which ones, a table of what differs and what came of it, and
 * the scaling curves.
 *
 * The argument names runs (directories, ids ...), separated by commas or newlines; NULL: none yet. A run that goes on is
 * followed; long ones are read in slices.
 */
#include "tui/app.h"
#include "tui/compare.h"
#include "tui/compare_plot.h"
#include "tui/compare_table.h"
#include "tui/run_picker.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_S 0.5
enum { EVENTS_A_POLL = 8000, WIDE_COLS = 120, WIDE_ROWS = 28 };

enum pane { PANE_TABLE, PANE_PLOT, PANE_LIST, PANES };

enum {
    ACT_PANE = 1,
    ACT_PANE_BACK,
    ACT_UP,
    ACT_DOWN,
    ACT_LEFT,
    ACT_RIGHT,
    ACT_PAGE_UP,
    ACT_PAGE_DOWN,
    ACT_MARK,
    ACT_OPEN
};

static const struct key_binding compare_keys[] = {
    {KEY_CODE_TAB, ACT_PANE, N_("pane"), N_("table, scaling, list of runs")},
    {KEY_CODE_BACKTAB, ACT_PANE_BACK, NULL, N_("the pane before")},
    {KEY_CODE_UP, ACT_UP, N_("move"), N_("the list: another run; the table: other lines")},
    {KEY_CODE_DOWN, ACT_DOWN, N_("move"), N_("the list: another run; the table: other lines")},
    {KEY_CODE_LEFT, ACT_LEFT, N_("columns"), N_("the table: other columns")},
    {KEY_CODE_RIGHT, ACT_RIGHT, N_("columns"), N_("the table: other columns")},
    {' ', ACT_MARK, N_("mark"), N_("the list: take a run in, or leave it out")},
    {KEY_CODE_ENTER, ACT_OPEN, N_("open"), N_("the list: look at the run")},
    {KEY_CODE_PAGE_UP, ACT_PAGE_UP, NULL, N_("ten lines at once")},
    {KEY_CODE_PAGE_DOWN, ACT_PAGE_DOWN, NULL, N_("ten lines at once")},
    {0, 0, NULL, NULL},
};

struct compare_view {
    struct run_picker *picker;
    struct run_model *models[PICKER_MARKS]; /* of the marked runs, in their order; NULL: it cannot be read */
    int count;
    struct comparison comparison;
    struct compare_table table;
    bool table_utf8;
    enum pane pane;
    bool wide; /* all panes are shown at once */
    int column, row;
    struct axis x, y;
    double now, polled;
};

static void drop(struct run_model *m)
{
    run_model_free(m);
    free(m);
}

/* Groups and table anew, from what has been read. */
static void rebuild(struct compare_view *v)
{
    compare_free(&v->comparison);
    compare_table_free(&v->table);
    for (int i = 0; i < v->count; i++)
        if (v->models[i])
            compare_add(&v->comparison, v->models[i]);
    if (!compare_finish(&v->comparison) || !compare_table_build(&v->table, &v->comparison, v->table_utf8))
        compare_free(&v->comparison);
    v->column = v->column < v->table.columns ? v->column : v->table.columns ? v->table.columns - 1 : 0;
    v->row = v->row < v->table.row_count ? v->row : 0;
}

static struct run_model *open_model(const char *dir)
{
    struct run_model *m = malloc(sizeof *m);
    if (!m || !run_model_open_quickly(m, dir, NULL)) {
        free(m);
        return NULL;
    }
    m->attached = true; /* it is looked at, not watched */
    run_model_poll(m, EVENTS_A_POLL);
    return m;
}

/* Brings the models in line with the marks. */
static void take_marks(struct compare_view *v)
{
    struct run_model *models[PICKER_MARKS] = {NULL};
    const struct run_picker *p = v->picker;
    for (int i = 0; i < p->mark_count; i++) {
        for (int k = 0; k < v->count && !models[i]; k++)
            if (v->models[k] && !strcmp(v->models[k]->dir, p->marks[i])) {
                models[i] = v->models[k];
                v->models[k] = NULL;
            }
        if (!models[i])
            models[i] = open_model(p->marks[i]);
    }
    for (int k = 0; k < v->count; k++)
        drop(v->models[k]);
    memcpy(v->models, models, sizeof models);
    v->count = p->mark_count;
    rebuild(v);
}

static void compare_close(void *view)
{
    struct compare_view *v = view;
    for (int i = 0; i < v->count; i++)
        drop(v->models[i]);
    compare_free(&v->comparison);
    compare_table_free(&v->table);
    picker_free(v->picker);
    free(v);
}

static void *compare_open(struct app *app, const char *argument, struct error *e)
{
    struct compare_view *v = calloc(1, sizeof *v);
    char *names = strdup(argument ? argument : ""), *rest = names;
    if (!v || !names || !(v->picker = picker_new(PICKER_MARKS, NULL, false))) {
        free(v);
        free(names);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    v->now = app_now(app);
    v->table_utf8 = true;
    bool ok = true;
    for (char *name; ok && (name = strsep(&rest, ",\n"));) {
        char dir[PATH_MAX];
        if (!*name)
            continue;
        ok = rundir_find(name, dir, e);
        if (ok && !picker_mark(v->picker, dir))
            ok = error_set(e, ERROR_INPUT, "at most %d runs can be compared at once", v->picker->most);
    }
    free(names);
    if (!ok) {
        compare_close(v);
        return NULL;
    }
    v->pane = v->picker->mark_count > 1 ? PANE_TABLE : PANE_LIST;
    take_marks(v);
    return v;
}

static bool compare_tick(void *view, struct app *app, double now)
{
    struct compare_view *v = view;
    bool due = now - v->polled >= POLL_S || now < v->polled, changed = false, reading = false;
    for (int i = 0; i < v->count; i++) {
        double share;
        struct run_model *m = v->models[i];
        if (!m)
            continue;
        bool slices = run_model_reading(m, &share);
        if (slices || (due && !run_model_ended(m)))
            changed |= run_model_poll(m, EVENTS_A_POLL) && due;
        changed |= slices && !run_model_reading(m, &share);
        reading |= slices;
    }
    if (reading)
        app_hurry(app);
    if (changed)
        rebuild(v);
    if (due) {
        v->polled = v->now = now;
        changed |= picker_refresh(v->picker);
    }
    return changed;
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static void change_pane(struct compare_view *v, int by)
{
    do
        v->pane = (enum pane)(((int)v->pane + by + PANES) % PANES);
    while (v->pane == PANE_PLOT && (v->wide || !compare_scales(&v->comparison)));
}

static void move(struct compare_view *v, int by)
{
    if (v->pane == PANE_LIST) {
        picker_move(v->picker, by);
        return;
    }
    v->row += by;
    v->row = v->row > v->table.row_count - 3 ? v->table.row_count - 3 : v->row;
    v->row = v->row < 0 ? 0 : v->row;
}

static void compare_act(void *view, struct app *app, int action)
{
    struct compare_view *v = view;
    const struct recent_run *run = picker_run(v->picker, v->picker->selected);
    switch (action) {
    case ACT_PANE: change_pane(v, 1); break;
    case ACT_PANE_BACK: change_pane(v, -1); break;
    case ACT_UP: move(v, -1); break;
    case ACT_DOWN: move(v, 1); break;
    case ACT_PAGE_UP: move(v, -10); break;
    case ACT_PAGE_DOWN: move(v, 10); break;
    case ACT_LEFT: v->column -= v->column > 0; break;
    case ACT_RIGHT: v->column += v->column + 1 < v->table.columns; break;
    case ACT_MARK:
        v->pane = PANE_LIST;
        if (!picker_toggle(v->picker))
            app_message(app, ROLE_WARN, _("At most %d runs at once."), v->picker->most);
        take_marks(v);
        break;
    case ACT_OPEN:
        if (v->pane == PANE_LIST && run)
            app_open(app, &view_run, run->dir);
        break;
    default: break;
    }
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

static void draw_list(struct compare_view *v, struct canvas *c, struct rect area)
{
    char title[64];
    snprintf(title, sizeof title, text_plural("Runs: %d marked (Space)", "Runs: %d marked (Space)", v->count),
             v->count);
    struct rect in =
        rect_inset(canvas_box(c, area, title, v->pane == PANE_LIST ? ROLE_ACCENT : ROLE_BORDER), 0, 1);
    picker_draw(v->picker, c, in, v->now, v->pane == PANE_LIST);
}

/* Which runs a column holds, below the table. */
static void draw_members(const struct compare_view *v, struct canvas *c, struct rect area)
{
    const struct comparison *k = &v->comparison;
    int row = 0;
    for (int g = 0; g < k->group_count && row < area.rows; g++)
        for (int i = 0; i < k->run_count && row < area.rows; i++) {
            const struct compare_run *run = &k->runs[i];
            char letter[8];
            if (run->group != g)
                continue;
            compare_letter(g, letter);
            canvas_format(c, area.row + row, area.col, 3, ROLE_TITLE, ATTR_BOLD, "%s", letter);
            int used = canvas_text(c, area.row + row, area.col + 4, area.cols - 4, ROLE_TEXT, 0, run->id);
            canvas_format(c, area.row + row++, area.col + 5 + used, area.cols - 5 - used, ROLE_MUTED, 0,
                          "%s%s%s%s%s", _(run->origin), run->state != RUN_DONE ? ", " : "",
                          run->state != RUN_DONE ? _(run_state_name(run->state)) : "", run->again ? ", " : "",
                          run->again ? _("not counted") : "");
        }
}

static void draw_table(struct compare_view *v, struct canvas *c, struct rect area)
{
    if (v->table_utf8 != c->utf8) {
        v->table_utf8 = c->utf8;
        rebuild(v);
    }
    struct rect in = rect_inset(
        canvas_box(c, area, _("Side by side"), v->pane == PANE_TABLE ? ROLE_ACCENT : ROLE_BORDER), 0, 1);
    if (!v->comparison.run_count) {
        wrap_text(c, in, ROLE_MUTED, 0,
                  _("Mark two runs or more in the list (Tab, Space): what differs between them "
                    "comes first, then what came of it."));
        return;
    }
    const char *note = v->table.note;
    int note_rows = in.rows >= 16 ? wrap_rows(note, in.cols) : 0;
    struct rect foot = rect_cut_rows(&in, -note_rows);
    int shown = compare_table_draw(c, in, &v->table, v->column, v->row);
    if (note_rows)
        wrap_text(c, foot, ROLE_MUTED, 0, note);
    if (v->column > 0 || v->column + shown < v->table.columns) {
        char text[48];
        snprintf(text, sizeof text, _(" %d to %d of %d "), v->column + 1, v->column + shown,
                 v->table.columns);
        int columns = text_columns(text);
        canvas_text(c, area.row, area.col + area.cols - columns - 3, columns, ROLE_ACCENT, 0, text);
    }
    rect_cut_rows(&in, v->table.row_count - v->row + 1 < in.rows ? v->table.row_count - v->row + 1 : in.rows);
    draw_members(v, c, in);
}

static void draw_plot(struct compare_view *v, struct canvas *c, struct rect area)
{
    struct rect in = canvas_box(c, area, _("Scaling: samples/s over ranks"), ROLE_BORDER);
    compare_plot(c, in, &v->comparison, &v->x, &v->y);
}

static void compare_draw(void *view, struct app *app, struct canvas *c, struct rect area)
{
    (void)app;
    struct compare_view *v = view;
    v->wide = area.cols >= WIDE_COLS && area.rows >= WIDE_ROWS;
    if (v->wide) {
        draw_list(v, c, rect_cut_cols(&area, area.cols * 42 / 100));
        int rows = v->table.row_count + v->comparison.run_count + wrap_rows(v->table.note, area.cols - 4) + 4;
        if (compare_scales(&v->comparison) && area.rows - rows < 12)
            rows = area.rows - 12;
        if (compare_scales(&v->comparison))
            draw_plot(v, c, rect_cut_rows(&area, -(area.rows - rows)));
        draw_table(v, c, area);
    } else if (v->pane == PANE_LIST) {
        draw_list(v, c, area);
    } else if (v->pane == PANE_PLOT && compare_scales(&v->comparison)) {
        draw_plot(v, c, area);
    } else {
        draw_table(v, c, area);
    }
}

static void compare_title(void *view, char *text, size_t size)
{
    (void)view;
    snprintf(text, size, "%s", _("Compare runs"));
}

static enum role compare_status(void *view, char *text, size_t size)
{
    const struct compare_view *v = view;
    int reading = 0;
    double share;
    for (int i = 0; i < v->count; i++)
        reading += v->models[i] && run_model_reading(v->models[i], &share);
    *text = '\0';
    if (reading)
        snprintf(text, size, "%s", _("reading"));
    return ROLE_ACCENT;
}

const struct view_class view_compare = {
    .name = "compare",
    .keys = compare_keys,
    .open = compare_open,
    .act = compare_act,
    .tick = compare_tick,
    .draw = compare_draw,
    .title = compare_title,
    .status = compare_status,
    .close = compare_close,
};
