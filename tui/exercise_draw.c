/*
 * exercise_draw.c - the exercise view on the screen.
 *
 * From 140 columns task and results stand beside the learner's file. At 80 x 24 the task or the file is above the
 * results (Tab changes which), so that both keep 76 columns; in a high window both are. Below that one pane fills the window. From 120 columns a run
 * that the exercise has started takes the right half.
 */
#include "tui/exercise_view.h"
#include "tui/highlight.h"
#include "tui/run_view.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows above the results from which task and file are shown both, one above the other. */
enum { BOTH_FROM = 30 };

static void clamp_scroll(int *scroll, int lines, int rows)
{
    int most = lines - rows;
    if (*scroll > most)
        *scroll = most;
    if (*scroll < 0)
        *scroll = 0;
}

/* A box whose frame says that its pane has the keys. */
static struct rect pane_box(struct exercise_view *v, struct canvas *c, struct rect area,
                            enum exercise_pane pane, const char *title)
{
    bool has_keys = v->pane == pane;
    struct rect in = canvas_box(c, area, title, has_keys ? ROLE_ACCENT : ROLE_BORDER);
    return rect_inset(in, 0, 1);
}

static void more_mark(struct canvas *c, struct rect area, int below)
{
    if (below <= 0 || area.cols < 20)
        return;
    char text[24];
    snprintf(text, sizeof text, _(" %d more "), below);
    int columns = text_columns(text);
    canvas_text(c, area.row + area.rows - 1, area.col + area.cols - columns - 2, columns, ROLE_MUTED, 0,
                text);
}

static const char *task_text(const struct exercise_view *v)
{
    if (v->show_hint && v->hints_shown > 0)
        return v->hints[v->hints_shown - 1];
    return v->task;
}

/* The task (or the hint) as lines of a width. */
static void render_task(struct exercise_view *v, int cols)
{
    const char *text = task_text(v);
    if (!text || (v->doc_text == text && v->doc_width == cols))
        return;
    markdown_free(&v->doc);
    v->doc = (struct md_doc){0};
    v->doc_text = text;
    v->doc_width = cols;
    if (!markdown_render(&v->doc, text, cols < MD_LEAST_WIDTH ? MD_LEAST_WIDTH : cols, NULL))
        v->doc = (struct md_doc){0};
}

static int task_rows(struct exercise_view *v, int cols)
{
    render_task(v, cols);
    return task_text(v) ? v->doc.count : 1;
}

static void draw_task(struct exercise_view *v, struct canvas *c, struct rect area)
{
    char title[64];
    if (v->show_hint)
        snprintf(title, sizeof title, _("Hint %d of %d (t: task)"), v->hints_shown, v->hint_count);
    else
        snprintf(title, sizeof title, "%s", _("Task"));
    struct rect in = pane_box(v, c, area, PANE_TASK, title);
    if (!task_text(v)) {
        canvas_text(c, in.row, in.col, in.cols, ROLE_MUTED, 0, _("This exercise has no task."));
        return;
    }
    render_task(v, in.cols);
    int *scroll = &v->scroll[PANE_TASK];
    clamp_scroll(scroll, v->doc.count, in.rows);
    for (int i = 0; i < in.rows && *scroll + i < v->doc.count; i++)
        markdown_draw(c, in.row + i, in.col, in.cols, &v->doc.lines[*scroll + i]);
    more_mark(c, area, v->doc.count - *scroll - in.rows);
}

/* One line of code into cells, tabs to multiples of four; returns how many. */
static int code_cells(const char *line, size_t length, struct cell *cells, int most)
{
    int count = 0;
    const char *end = line + length;
    while (line < end && count < most) {
        uint32_t glyph = utf8_next(&line);
        if (glyph == '\t') {
            do
                cells[count++] = (struct cell){.glyph = ' ', .role = ROLE_TEXT};
            while (count % 4 && count < most);
            continue;
        }
        if (glyph < ' ')
            glyph = '?';
        cells[count++] = (struct cell){.glyph = glyph, .role = ROLE_TEXT};
    }
    return count;
}

static int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; lines++) {
        const char *end = strchr(text, '\n');
        if (!end)
            return lines + 1;
        text = end + 1;
    }
    return lines;
}

static void draw_code(struct exercise_view *v, struct canvas *c, struct rect area)
{
    enum { MOST = 512 };
    struct cell cells[MOST];
    const char *slash = strrchr(v->files.file, '/');
    char title[120];
    if (v->show_diff)
        snprintf(title, sizeof title, "%s", _("Yours and the solution (d: your file)"));
    else
        snprintf(title, sizeof title, v->edited ? _("%.80s (not checked)") : "%.80s",
                 slash ? slash + 1 : v->files.file);
    struct rect in = pane_box(v, c, area, PANE_CODE, title);
    if (!v->code) {
        canvas_text(c, in.row, in.col, in.cols, ROLE_BAD, 0, _("The file cannot be read; R makes it anew."));
        return;
    }
    if (v->show_diff) {
        int rows = exercise_diff_rows(v);
        clamp_scroll(&v->scroll[PANE_CODE], rows, in.rows);
        exercise_diff_draw(v, c, in);
        more_mark(c, area, rows - v->scroll[PANE_CODE] - in.rows);
        return;
    }
    int lines = lines_of(v->code), wrong = exercise_check_line(&v->check), state = 0;
    clamp_scroll(&v->scroll[PANE_CODE], lines, in.rows);
    const char *at = v->code;
    for (int i = 0; i < lines; i++) {
        const char *end = strchr(at, '\n');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        int count = code_cells(at, length, cells, MOST), row = in.row + i - v->scroll[PANE_CODE];
        state = highlight_lua(cells, count, state);
        at = end ? end + 1 : at + length;
        if (row < in.row)
            continue;
        if (row >= in.row + in.rows)
            break;
        bool bad = i + 1 == wrong;
        canvas_format(c, row, in.col, 4, bad ? ROLE_BAD : ROLE_MUTED, bad ? ATTR_BOLD : 0, "%s%3d",
                      bad ? check_glyph(CHECK_FAIL, c->utf8) : "", i + 1);
        int room = in.cols - 5;
        for (int k = 0; k < count && k < room; k++) {
            uint32_t glyph = cells[k].glyph;
            if (k + 1 == room && count > room)
                glyph = 0x2026;
            canvas_put(c, row, in.col + 5 + k, c->utf8 ? glyph : glyph_ascii(glyph), cells[k].role,
                       cells[k].attributes);
        }
    }
    more_mark(c, area, lines - v->scroll[PANE_CODE] - in.rows);
}

/* What a check is about to do, or has found, in one line. */
static enum role check_headline(const struct exercise_view *v, char *text, size_t size)
{
    const struct exercise_check *k = &v->check;
    if (!k->started) {
        snprintf(text, size, "%s",
                 _("Not checked yet: e edits your file, saving it checks, c checks with real ranks."));
        return ROLE_MUTED;
    }
    int total = k->m.check_count, passed = exercise_check_count(k, CHECK_PASS);
    if (k->running) {
        if (k->m.status.state == RUN_PENDING) {
            run_model_state_text(&k->m, text, size);
        } else {
            const char *format = k->stopping  ? _("Stopping the check, %.0f s")
                                 : k->instant ? _("Checking in one process, %.0f s (x stops it)")
                                              : _("Checking with real ranks, %.0f s (x stops it)");
            snprintf(text, size, format, run_model_elapsed(&k->m, v->now));
        }
        return ROLE_ACCENT;
    }
    if (exercise_check_passed(k)) {
        if (k->instant)
            snprintf(text, size, _("All %d pass in one process. Now c: the same with real ranks."), total);
        else
            snprintf(text, size, _("All %d checks pass. Well done. d shows how the solution does it."),
                     total);
        return ROLE_GOOD;
    }
    if (!total && k->m.status.state == RUN_CANCELLED) {
        snprintf(text, size, "%s", _("The check was stopped before it gave an answer."));
        return ROLE_WARN;
    }
    if (!total) {
        char why[600];
        run_model_state_text(&k->m, why, sizeof why);
        snprintf(text, size, _("The check gave no answer. %s"), why);
        return ROLE_BAD;
    }
    snprintf(text, size,
             k->instant ? _("%d of %d checks pass (in one process; c: real ranks)")
                        : _("%d of %d checks pass"),
             passed, total);
    return exercise_check_count(k, CHECK_FAIL) ? ROLE_BAD : ROLE_WARN;
}

static void draw_checks(struct exercise_view *v, struct canvas *c, struct rect area)
{
    struct rect in = pane_box(v, c, area, PANE_CHECKS, _("Checks"));
    char text[800];
    enum role role = check_headline(v, text, sizeof text);
    int used = wrap_text(c, (struct rect){in.row, in.col, in.rows < 2 ? in.rows : 2, in.cols}, role,
                         ATTR_BOLD, text);
    rect_cut_rows(&in, used);
    if (!v->check.started)
        return;
    clamp_scroll(&v->scroll[PANE_CHECKS], v->check.m.check_count, 1);
    int total = v->check.m.check_count;
    more_mark(c, area, total - checks_draw(c, in, v->check.m.checks, total, v->scroll[PANE_CHECKS]));
}

static int results_rows(const struct exercise_view *v, int cols)
{
    char text[800];
    check_headline(v, text, sizeof text);
    int rows = wrap_rows(text, cols);
    return (rows > 2 ? 2 : rows) +
           (v->check.started ? checks_rows(v->check.m.checks, v->check.m.check_count, cols) : 0);
}

void exercise_draw(struct exercise_view *v, struct app *app, struct canvas *c, struct rect area)
{
    v->cols = area.cols;
    if (exercise_beside_shown(v)) {
        struct rect right = rect_cut_cols(&area, -(area.cols / 2));
        exercise_beside_draw(v, app, c, right);
    }
    if (v->pane != PANE_CHECKS)
        v->top = v->pane;
    if (area.rows < 16 || area.cols < 60) {
        if (v->pane == PANE_TASK)
            draw_task(v, c, area);
        else if (v->pane == PANE_CODE)
            draw_code(v, c, area);
        else
            draw_checks(v, c, area);
        return;
    }
    if (area.cols >= 140) {
        struct rect right = rect_cut_cols(&area, -(area.cols - 68));
        /* The task takes what it needs, up to two thirds; the results get the rest. */
        int rows = task_rows(v, area.cols - 4) + 2, most = area.rows * 2 / 3;
        draw_task(v, c, rect_cut_rows(&area, rows < most ? rows : most));
        draw_checks(v, c, area);
        draw_code(v, c, right);
        return;
    }
    /* The results take what they need, up to a share that grows while they have the keys. */
    int rows = results_rows(v, area.cols - 4) + 2;
    int most = v->pane == PANE_CHECKS ? area.rows * 60 / 100 : area.rows / 2;
    struct rect below = rect_cut_rows(&area, -(rows < most ? rows : most));
    if (area.rows >= BOTH_FROM) {
        rows = task_rows(v, area.cols - 4) + 2;
        most = area.rows / 2;
        draw_task(v, c, rect_cut_rows(&area, rows < most ? rows : most));
        draw_code(v, c, area);
    } else if (v->top == PANE_CODE)
        draw_code(v, c, area);
    else
        draw_task(v, c, area);
    draw_checks(v, c, below);
}
