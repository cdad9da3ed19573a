/*
 * run_train.c - a training job on the screen: progress, loss, accuracy, speed, where the time goes, ranks.
 */
#include "tui/axis.h"
#include "tui/follow.h"
#include "tui/plot.h"
#include "tui/run_view.h"
#include "tui/text.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* epoch 1/2  step 412/938  ######....  44 %  0:12 left */
static void draw_progress(const struct run_view *v, struct canvas *c, struct rect line)
{
    const struct run_model *m = &v->m;
    int col = line.col + 1, end = line.col + line.cols - 1;
    char text[64];
    if (m->have_job && m->job.train.epochs > 0 && isfinite(m->epoch)) {
        /* The stream tells how many epochs have been done, as a fraction. */
        int epoch = (int)floor(m->epoch - 1e-9) + 1;
        epoch = epoch < 1 ? 1 : epoch > m->job.train.epochs ? m->job.train.epochs : epoch;
        snprintf(text, sizeof text, _("epoch %d/%d"), epoch, m->job.train.epochs);
        col += canvas_text(c, line.row, col, end - col, ROLE_TEXT, 0, text) + 2;
    }
    if (m->step >= 0) {
        if (m->total_steps > 0)
            snprintf(text, sizeof text, _("step %5ld/%ld"), m->step, m->total_steps);
        else
            snprintf(text, sizeof text, _("step %5ld"), m->step);
        col += canvas_text(c, line.row, col, end - col, ROLE_TEXT, 0, text) + 2;
    }
    double share = run_model_progress(m, v->now), left = run_model_remaining(m, v->now);
    int right = 0;
    if (m->done && m->ok) {
        char wall[24];
        format_clock(m->wall_s, wall, sizeof wall);
        snprintf(text, sizeof text, _("done in %s"), wall);
        right = text_columns(text);
        canvas_text(c, line.row, end - right, right, ROLE_GOOD, ATTR_BOLD, text);
    } else if (isfinite(left)) {
        char clock[24];
        format_clock(left, clock, sizeof clock);
        snprintf(text, sizeof text, _("%6s left"), clock);
        right = text_columns(text);
        canvas_text(c, line.row, end - right, right, ROLE_TEXT, 0, text);
    }
    if (isfinite(share) && end - right - col > 14) {
        int cols = end - right - col - 8;
        gauge_draw(c, line.row, col, cols, share, m->done && m->ok ? ROLE_GOOD : ROLE_ACCENT);
        canvas_format(c, line.row, col + cols + 1, 5, ROLE_TEXT, 0, "%3.0f %%", 100 * share);
    }
}

const struct run_part run_parts[3] = {
    {N_("compute"), ROLE_SERIES1, 0x2588, '#'},
    {N_("exposed comm"), ROLE_SERIES2, 0x2593, '+'},
    {N_("data"), ROLE_SERIES3, 0x2592, ':'},
};

/* Where a step's time goes. */
static int draw_shares(const struct run_view *v, struct canvas *c, struct rect area)
{
    double share[3];
    if (area.rows < 2 || !run_model_shares(&v->m, share)) {
        canvas_text(c, area.row, area.col, area.cols, ROLE_MUTED, 0, _("no time measured yet"));
        return 1;
    }
    struct bar_part parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = (struct bar_part){share[i], run_parts[i].role, run_parts[i].glyph, run_parts[i].ascii};
    bar_draw(c, area.row, area.col, area.cols, parts, 3);
    bool one_row = area.cols >= 42;
    int col = area.col, row = area.row + 1;
    for (int i = 0; i < 3; i++) {
        const char *name = i == 1 && !one_row ? _("comm") : _(run_parts[i].name);
        canvas_put(c, row, col, c->utf8 ? run_parts[i].glyph : (uint32_t)run_parts[i].ascii,
                   run_parts[i].role, 0);
        canvas_format(c, row, col + 2, area.col + area.cols - col - 2, ROLE_TEXT, 0,
                      i < 2 ? "%s %2.0f%%" : "%s %.0f%%", name, 100 * share[i]);
        col += text_columns(name) + (area.cols >= 46 ? 8 : 7);
    }
    return 2;
}

static void draw_facts(const struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    const struct job_train *t = &m->job.train;
    char lines[8][96];
    int count = 0;
    if (!m->have_job)
        return;
    char parameters[24] = "";
    if (isfinite(m->parameters))
        text_grouped(parameters, sizeof parameters, m->parameters);
    snprintf(lines[count++], 96, *parameters ? _("%.40s, %s parameters") : "%.40s", t->model, parameters);
    const char *by = c->utf8 ? "×" : "x";
    if (t->accumulate > 1)
        snprintf(lines[count++], 96,
                 text_plural("batch %d %s %d %s %d rank = %ld", "batch %d %s %d %s %d ranks = %ld", m->ranks),
                 t->batch, by, t->accumulate, by, m->ranks, job_global_batch(t, m->ranks));
    else if (m->ranks > 1)
        snprintf(lines[count++], 96, _("batch %d %s %d ranks = %ld"), t->batch, by, m->ranks,
                 job_global_batch(t, m->ranks));
    else
        snprintf(lines[count++], 96, _("batch %d, 1 rank"), t->batch);
    double lr = isfinite(m->last_lr) ? m->last_lr : t->lr;
    snprintf(lines[count++], 96, _("%s, lr %.1e, %s"), t->optimizer, lr, t->schedule);
    const char *algo = *m->algo ? m->algo : t->algo;
    double hidden = run_model_hidden(m);
    if (isfinite(hidden))
        snprintf(lines[count++], 96, _("%s in %d buckets, %.0f %% hidden"), algo, m->buckets, 100 * hidden);
    else
        snprintf(lines[count++], 96, _("%s allreduce, %.16s"), algo, m->device[0] ? m->device : t->device);
    if (m->samples_per_s > 0 && m->ranks > 0) {
        char time[24];
        format_seconds((double)job_global_batch(t, m->ranks) / m->samples_per_s, time, sizeof time);
        snprintf(lines[count++], 96, _("%s a step"), time);
    }
    if (isfinite(m->sent_bytes) && m->sent_bytes > 0) {
        char sent[24];
        format_si(m->sent_bytes, sent, sizeof sent);
        snprintf(lines[count++], 96, *m->compress ? _("%sB sent a step as %s") : _("%sB sent a step"), sent,
                 m->compress);
    }
    if (*m->compress && isfinite(m->compress_error))
        snprintf(lines[count++], 96, _("%s is off by %.1e"), m->compress, m->compress_error);
    if (m->origin[0] && strcmp(m->origin, "real") != 0)
        snprintf(lines[count++], 96, _("origin: %s"), m->origin);
    for (int i = 0; i < count && i < area.rows; i++)
        canvas_text(c, area.row + i, area.col, area.cols, ROLE_TEXT, 0, lines[i]);
}

static void draw_step(const struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    struct rect in = rect_inset(canvas_box(c, area, _("A step"), ROLE_BORDER), 0, 1);
    char text[32];
    if (isfinite(m->samples_per_s)) {
        snprintf(text, sizeof text, _(" last: %.0f samples/s "), m->samples_per_s);
        run_draw_corner(c, area, ROLE_ACCENT, text);
    }
    int used = draw_shares(v, c, in);
    rect_cut_rows(&in, used < in.rows ? used : in.rows);
    if (in.rows > 5)
        rect_cut_rows(&in, 1);
    draw_facts(v, c, in);
}

static void boxed_ranks(const struct run_view *v, struct canvas *c, struct rect area)
{
    run_draw_ranks(v, c,
                   rect_inset(canvas_box(c, area, _("Ranks: means between reports"), ROLE_BORDER), 0, 1));
}

static void boxed_notes(const struct run_view *v, struct canvas *c, struct rect area)
{
    run_draw_notes(v, c, rect_inset(canvas_box(c, area, _("Notes"), ROLE_BORDER), 0, 1));
}

static void boxed_samples(const struct run_view *v, struct canvas *c, struct rect area)
{
    struct rect in = rect_inset(
        canvas_box(c, area, samples_title(v->m.samples, v->m.sample_count, &v->sample), ROLE_BORDER), 0, 1);
    samples_draw(c, in, v->m.samples, v->m.sample_count, &v->sample);
}

/* From 120 x 34: everything. */
static void draw_wide(struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    int low = m->sample_count ? 10 : area.rows / 6, middle = area.rows / 4;
    low = low < 5 ? 5 : low;
    middle = middle < 10 ? 10 : middle;
    struct rect bottom = rect_cut_rows(&area, -low), row = rect_cut_rows(&area, -middle);
    struct rect right = rect_cut_cols(&area, -area.cols * 36 / 100);
    run_draw_curve(v, c, area, CURVE_LOSS);
    run_draw_curve(v, c, right, CURVE_ACCURACY);
    struct rect ranks = rect_cut_cols(&row, -row.cols * 36 / 100),
                step = rect_cut_cols(&row, -(row.cols * 45 / 100 > 38 ? row.cols * 45 / 100 : 38));
    run_draw_curve(v, c, row, CURVE_SPEED);
    draw_step(v, c, step);
    boxed_ranks(v, c, ranks);
    if (m->sample_count) {
        struct rect digits = rect_cut_cols(&bottom, bottom.cols * 64 / 100);
        struct rect in = rect_inset(
            canvas_box(c, digits, samples_few_title(m->samples, m->sample_count), ROLE_BORDER), 0, 1);
        samples_draw_few(c, in, m->samples, m->sample_count, v->sample.style);
    }
    boxed_notes(v, c, bottom);
}

/* 80 x 24. */
static void draw_medium(struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    struct rect note = rect_cut_rows(&area, -1);
    int low = m->rank_count + 3 > 8 ? m->rank_count + 3 : 8;
    low = low > area.rows / 2 ? area.rows / 2 : low;
    struct rect bottom = rect_cut_rows(&area, -low);
    struct rect right = rect_cut_cols(&area, -area.cols * 38 / 100);
    run_draw_curve(v, c, area, CURVE_LOSS);
    run_draw_curve(v, c, right, CURVE_ACCURACY);
    struct rect step = rect_cut_cols(&bottom, bottom.cols * 48 / 100);
    draw_step(v, c, step);
    boxed_ranks(v, c, bottom);
    if (m->note_count)
        run_draw_notes(v, c, (struct rect){note.row, note.col + 1, 1, note.cols - 2});
}

/* Down to 40 x 12: figures, and a plot by Tab. */
static void draw_small(struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    char text[64], loss[24];
    int row = area.row;
    format_loss(m->last_loss, loss, sizeof loss);
    snprintf(text, sizeof text, _("loss %s"), loss);
    canvas_text(c, row, area.col + 1, area.cols - 1, plot_role(0), ATTR_BOLD, text);
    if (m->eval_accuracy.count) {
        snprintf(text, sizeof text, _("accuracy %.2f %%"),
                 100 * m->eval_accuracy.y[m->eval_accuracy.count - 1]);
        canvas_text(c, row, area.col + 16, area.cols - 16, ROLE_GOOD, ATTR_BOLD, text);
    }
    row++;
    if (isfinite(m->samples_per_s))
        canvas_format(c, row, area.col + 1, area.cols - 1, ROLE_TEXT, 0, _("%6.0f samples/s"),
                      m->samples_per_s);
    row++;
    struct rect rest = {row, area.col, area.row + area.rows - row, area.cols};
    if (rest.rows >= 6) {
        struct rect shares = rect_cut_rows(&rest, -2);
        draw_shares(v, c, rect_inset(shares, 0, 1));
    }
    run_plot_curve(v, c, rest, CURVE_LOSS, text, sizeof text);
}

void run_draw_train(struct run_view *v, struct canvas *c, struct rect area)
{
    run_fit_axes(v);
    int used = run_draw_state(v, c, area);
    rect_cut_rows(&area, used);
    struct rect line = rect_cut_rows(&area, 1);
    draw_progress(v, c, line);
    area = run_draw_overlays(v, c, area);
    switch (v->pane) {
    case PANE_LOSS: run_draw_curve(v, c, area, CURVE_LOSS); return;
    case PANE_ACCURACY: run_draw_curve(v, c, area, CURVE_ACCURACY); return;
    case PANE_SPEED: run_draw_curve(v, c, area, CURVE_SPEED); return;
    case PANE_TIME: run_draw_time(v, c, area); return;
    case PANE_SCALING: run_draw_scaling(v, c, area); return;
    case PANE_RANKS: boxed_ranks(v, c, area); return;
    case PANE_SAMPLES: boxed_samples(v, c, area); return;
    case PANE_NOTES: boxed_notes(v, c, area); return;
    case PANE_ALL:
    case PANE_COUNT: break;
    }
    if (area.cols >= 120 && area.rows >= 32)
        draw_wide(v, c, area);
    else if (area.cols >= 70 && area.rows >= 16)
        draw_medium(v, c, area);
    else
        draw_small(v, c, area);
}
