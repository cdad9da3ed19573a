#include "tui/run_picker.h"

#include "tui/axis.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct run_picker *picker_new(int most, const char *left_out, bool steps_only)
{
    struct run_picker *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->most = most < PICKER_MARKS ? most : PICKER_MARKS;
    p->steps_only = steps_only;
    p->left_out = left_out ? strdup(left_out) : NULL;
    recent_refresh(&p->recent);
    return p;
}

void picker_free(struct run_picker *p)
{
    if (!p)
        return;
    recent_free(&p->recent);
    for (int i = 0; i < p->mark_count; i++)
        free(p->marks[i]);
    free(p->left_out);
    free(p);
}

static bool listed(const struct run_picker *p, const struct recent_run *run)
{
    bool steps = !strcmp(run->kind, "train") || !strcmp(run->kind, "sim");
    return !run->hidden && (steps || !p->steps_only) && (!p->left_out || strcmp(run->dir, p->left_out) != 0);
}

int picker_count(const struct run_picker *p)
{
    int count = 0;
    for (int i = 0; i < p->recent.count; i++)
        count += listed(p, &p->recent.runs[i]);
    return count;
}

const struct recent_run *picker_run(const struct run_picker *p, int n)
{
    for (int i = 0; i < p->recent.count; i++)
        if (listed(p, &p->recent.runs[i]) && n-- == 0)
            return &p->recent.runs[i];
    return NULL;
}

bool picker_refresh(struct run_picker *p)
{
    const struct recent_run *before = picker_run(p, p->selected);
    char *dir = before ? strdup(before->dir) : NULL;
    bool changed = recent_refresh(&p->recent);
    for (int i = 0; dir && i < picker_count(p); i++) /* a new run on top must not move the selection */
        if (!strcmp(picker_run(p, i)->dir, dir))
            p->selected = i;
    free(dir);
    return changed;
}

void picker_move(struct run_picker *p, int by)
{
    int last = picker_count(p) - 1;
    p->selected += by;
    p->selected = p->selected > last ? last : p->selected;
    p->selected = p->selected < 0 ? 0 : p->selected;
}

static int mark_of(const struct run_picker *p, const char *dir)
{
    for (int i = 0; i < p->mark_count; i++)
        if (!strcmp(p->marks[i], dir))
            return i;
    return -1;
}

bool picker_marked(const struct run_picker *p, const char *dir)
{
    return mark_of(p, dir) >= 0;
}

bool picker_mark(struct run_picker *p, const char *dir)
{
    if (picker_marked(p, dir))
        return true;
    if (p->mark_count == p->most)
        return false;
    char *copy = strdup(dir);
    if (!copy)
        return false;
    p->marks[p->mark_count++] = copy;
    return true;
}

bool picker_toggle(struct run_picker *p)
{
    const struct recent_run *run = picker_run(p, p->selected);
    int at = run ? mark_of(p, run->dir) : -1;
    if (at < 0)
        return !run || picker_mark(p, run->dir);
    free(p->marks[at]);
    memmove(&p->marks[at], &p->marks[at + 1], (size_t)(--p->mark_count - at) * sizeof *p->marks);
    return true;
}

/* "97.62 %", else the loss, else the step. */
static void result_text(const struct run_tail *tail, char *text, size_t size)
{
    char loss[24];
    if (isfinite(tail->accuracy))
        snprintf(text, size, "%.2f %%", 100 * tail->accuracy);
    else if (isfinite(tail->loss)) {
        format_loss(tail->loss, loss, sizeof loss);
        snprintf(text, size, _("loss %s"), loss);
    } else if (tail->step >= 0)
        snprintf(text, size, _("step %ld"), tail->step);
    else
        snprintf(text, size, "-");
}

static void draw_line(struct run_picker *p, struct canvas *c, struct rect row, int n, double now, bool active)
{
    const struct recent_run *run = picker_run(p, n);
    bool selected = n == p->selected && active, marked = picker_marked(p, run->dir);
    char result[32], age[24];
    result_text(&run->tail, result, sizeof result);
    age_text(age, sizeof age, now, run->status.started);
    /* mark, name, then what fits: origin, ranks, result, age */
    int col = row.col, end = row.col + row.cols;
    canvas_text(c, row.row, col, 2, ROLE_ACCENT, ATTR_BOLD, selected ? (c->utf8 ? "▸" : ">") : " ");
    canvas_text(c, row.row, col + 2, 3, marked ? ROLE_GOOD : ROLE_MUTED, ATTR_BOLD, marked ? "[x]" : "[ ]");
    int room = row.cols - 6, origin = room >= 34 ? 11 : 0, ranks = room >= 44 ? 9 : 0,
        value = room >= 58 ? 12 : 0, old = room >= 26 ? 10 : 0;
    end -= old;
    if (old)
        canvas_format(c, row.row, end, old, ROLE_MUTED, 0, "%*s", old, age);
    end -= value;
    if (value)
        canvas_format(c, row.row, end, value, ROLE_TEXT, 0, "%*s", value, result);
    end -= ranks;
    if (ranks) {
        char text[32];
        snprintf(text, sizeof text, text_plural("%d rank", "%d ranks", run->ranks), run->ranks);
        canvas_format(c, row.row, end, ranks, ROLE_TEXT, 0, "%*s", ranks, text);
    }
    end -= origin;
    if (origin)
        canvas_text(c, row.row, end + 1, origin - 1, !strcmp(run->origin, "measured") ? ROLE_TEXT : ROLE_WARN,
                    0, _(run->origin));
    canvas_text(c, row.row, col + 6, end - col - 7, selected ? ROLE_SELECTED : ROLE_TEXT, 0,
                rundir_id(run->dir));
    if (selected) {
        c->cursor_row = row.row;
        c->cursor_col = row.col + 2;
    }
}

void picker_draw(struct run_picker *p, struct canvas *c, struct rect area, double now, bool active)
{
    int count = picker_count(p);
    picker_move(p, 0);
    if (!count)
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0, _("No other runs yet."));
    if (p->selected < p->first)
        p->first = p->selected;
    if (p->selected >= p->first + area.rows)
        p->first = p->selected - area.rows + 1;
    for (int i = 0; i < area.rows && p->first + i < count; i++)
        draw_line(p, c, (struct rect){area.row + i, area.col, 1, area.cols}, p->first + i, now, active);
}
