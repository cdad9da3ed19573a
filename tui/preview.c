/*
 * preview.c - a lesson's first lines, a run's figures and its loss.
 */
#include "tui/preview.h"

#include "tui/axis.h"
#include "tui/block.h"
#include "tui/course.h"
#include "tui/markdown.h"
#include "tui/plot.h"
#include "tui/run_model.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events taken in at one tick: a long run is read over a few of them, so that a key never waits. */
enum { EVENTS_A_TICK = 2000, PLOT_ROWS = 16, MEASURE = 78 };

struct preview {
    char *lesson, *run; /* one of them at most */
    char *text;
    struct md_doc doc;
    int width;
    bool headless;           /* without title and question */
    struct run_model *model; /* NULL: no run, or it cannot be read */
    struct axis steps, loss;
};

struct preview *preview_new(void)
{
    return calloc(1, sizeof(struct preview));
}

static void clear(struct preview *p)
{
    markdown_free(&p->doc);
    if (p->model)
        run_model_free(p->model);
    free(p->model);
    free(p->lesson);
    free(p->run);
    free(p->text);
    *p = (struct preview){0};
}

void preview_free(struct preview *p)
{
    if (!p)
        return;
    clear(p);
    free(p);
}

void preview_lesson(struct preview *p, const char *name)
{
    char file[PATH_MAX];
    if (p->lesson && !strcmp(p->lesson, name))
        return;
    clear(p);
    p->lesson = strdup(name);
    if (course_lesson_file(name, getenv("RINGSIDE_LESSON_LANG"), file, NULL))
        p->text = markdown_read(file, NULL);
}

void preview_without_head(struct preview *p, bool without)
{
    p->headless = without;
}

void preview_run(struct preview *p, const char *dir)
{
    if (p->run && !strcmp(p->run, dir))
        return;
    clear(p);
    p->run = strdup(dir);
    p->model = calloc(1, sizeof *p->model);
    if (p->model && !run_model_open_quickly(p->model, dir, NULL)) {
        free(p->model);
        p->model = NULL;
    }
    if (!p->model)
        return;
    p->model->attached = true; /* looking at the list is not watching the run: leave no note that says so */
    run_model_poll(p->model, EVENTS_A_TICK);
}

bool preview_tick(struct preview *p)
{
    return p->model && run_model_poll(p->model, EVENTS_A_TICK);
}

static void draw_lesson(struct preview *p, struct canvas *c, struct rect area)
{
    int width = area.cols < MEASURE ? area.cols : MEASURE;
    if (p->text && p->width != width) {
        struct block_set *blocks = block_set_new(p->lesson, p->text, NULL, NULL);
        struct md_live live = blocks ? block_plain_for(blocks, c->utf8) : (struct md_live){0};
        markdown_free(&p->doc);
        if (markdown_render_live(&p->doc, p->text, width, blocks ? &live : NULL, NULL))
            p->width = width;
        block_set_free(blocks);
    }
    int from = 0;
    if (p->headless)
        for (int blanks = 0; from < p->doc.count && blanks < 2; from++)
            blanks += !p->doc.lines[from].count;
    for (int i = 0; i < area.rows && from + i < p->doc.count; i++)
        markdown_draw(c, area.row + i, area.col, width, &p->doc.lines[from + i]);
}

struct fact {
    const char *name;
    char value[48];
};

static int facts(const struct run_model *m, double now, struct fact *f)
{
    int n = 0;
    char text[32];
    if (m->ranks > 0) {
        f[n].name = _("ranks");
        snprintf(f[n++].value, sizeof f->value, *m->device ? _("%d on %.24s") : "%d", m->ranks, m->device);
    }
    if (m->step >= 0) {
        f[n].name = _("step");
        if (m->total_steps > 0)
            snprintf(f[n++].value, sizeof f->value, _("%ld of %ld"), m->step, m->total_steps);
        else
            snprintf(f[n++].value, sizeof f->value, "%ld", m->step);
    }
    double accuracy = m->eval_accuracy.count ? m->eval_accuracy.y[m->eval_accuracy.count - 1] : NAN;
    if (isfinite(m->final_accuracy))
        accuracy = m->final_accuracy;
    if (isfinite(accuracy)) {
        f[n].name = _("accuracy");
        snprintf(f[n++].value, sizeof f->value, "%.2f %%", accuracy * 100);
    }
    if (isfinite(m->last_loss)) {
        f[n].name = _("loss");
        format_loss(m->last_loss, f[n].value, sizeof f->value);
        n++;
    }
    double speed = m->done && isfinite(m->final_samples_per_s) ? m->final_samples_per_s : m->samples_per_s;
    if (isfinite(speed)) {
        f[n].name = _("samples/s");
        snprintf(f[n++].value, sizeof f->value, "%.0f", speed);
    }
    if (*m->slowed) {
        f[n].name = _("link");
        snprintf(f[n++].value, sizeof f->value, "%.47s", m->slowed);
    }
    /* A running clock would draw each second: the run's own view has one. */
    if (run_model_ended(m)) {
        format_clock(run_model_elapsed(m, now), text, sizeof text);
        f[n].name = _("took");
        snprintf(f[n++].value, sizeof f->value, "%s", text);
    }
    return n;
}

static void draw_run(struct preview *p, struct canvas *c, struct rect area, double now)
{
    const struct run_model *m = p->model;
    struct fact list[8];
    char text[512];
    if (!m) {
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0, _(_("This run cannot be read.")));
        return;
    }
    canvas_text(c, area.row, area.col, area.cols, ROLE_TITLE, ATTR_BOLD, m->id);
    canvas_hline(c, area.row + 1, area.col, area.cols, ROLE_BORDER);
    rect_cut_rows(&area, 3);
    run_model_state_text(m, text, sizeof text);
    rect_cut_rows(&area, wrap_text(c, area, ROLE_TEXT, 0, text) + 1);
    int count = facts(m, now, list);
    for (int i = 0; i < count && area.rows > 0; i++) {
        canvas_text(c, area.row, area.col, 11, ROLE_MUTED, 0, list[i].name);
        canvas_text(c, area.row, area.col + 12, area.cols - 12, ROLE_TEXT, 0, list[i].value);
        rect_cut_rows(&area, 1);
    }
    double lo, hi;
    if (m->loss.count > 1 && area.rows > 6 && run_series_range(&m->loss, &lo, &hi)) {
        struct plot_series series = {
            .name = _("loss"), .x = m->loss.x, .y = m->loss.y, .count = m->loss.count};
        rect_cut_rows(&area, 1);
        if (area.rows > PLOT_ROWS)
            area.rows = PLOT_ROWS;
        if (m->total_steps > 0)
            p->steps = (struct axis){.hi = fmax((double)m->total_steps, (double)m->step)};
        else
            axis_fit_filling(&p->steps, 64, (double)m->step);
        p->loss.zero = true;
        axis_fit(&p->loss, lo, hi);
        struct rect in = canvas_box(c, area, _(_("Training loss")), ROLE_BORDER);
        plot_draw(c, in,
                  &(struct plot){
                      .series = &series, .count = 1, .x = &p->steps, .y = &p->loss, .x_label = _("step")});
    }
}

void preview_draw(struct preview *p, struct canvas *c, struct rect area, double now)
{
    if (p->run)
        draw_run(p, c, area, now);
    else if (p->lesson)
        draw_lesson(p, c, area);
}
