/*
 * run_sim.c - a simulated training run on the screen: what was simulated, where a step's time goes, and why.
 */
#include "engine/base/units.h"
#include "tui/axis.h"
#include "tui/plot.h"
#include "tui/run_view.h"
#include "tui/text.h"
#include "tui/text_plot.h"
#include "tui/wrap.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum role role;
    uint32_t glyph;
    char ascii;
} PARTS[] = {
    {N_("compute"), ROLE_SERIES1, 0x2588, '#'}, {N_("exposed comm"), ROLE_SERIES2, 0x2593, '+'},
    {N_("bubble"), ROLE_SERIES4, 0x2592, '='},  {N_("stragglers"), ROLE_SERIES5, 0x2591, '-'},
    {N_("data"), ROLE_SERIES3, 0x2592, ':'},
};
enum { PART_COUNT = sizeof PARTS / sizeof *PARTS };

static double known(double value)
{
    return isfinite(value) && value > 0 ? value : 0;
}

/* Where a step's time goes: a bar, and the parts that are not 0. */
static int draw_parts(const struct run_model *m, struct canvas *c, struct rect area)
{
    const double seconds[] = {known(m->compute_s),
                              known(m->exposed_comm_s - known(m->bubble_s) - known(m->straggler_s)),
                              known(m->bubble_s), known(m->straggler_s), known(m->data_s)};
    double whole = 0;
    struct bar_part parts[PART_COUNT];
    for (int i = 0; i < PART_COUNT; i++)
        whole += seconds[i];
    if (!(whole > 0))
        return 0;
    for (int i = 0; i < PART_COUNT; i++)
        parts[i] = (struct bar_part){seconds[i] / whole, PARTS[i].role, PARTS[i].glyph, PARTS[i].ascii};
    bar_draw(c, area.row, area.col, area.cols, parts, PART_COUNT);
    int shown = 0, across = area.cols >= 46 ? 2 : 1, width = area.cols / across;
    for (int i = 0; i < PART_COUNT; i++) {
        int row = area.row + 1 + shown / across, col = area.col + shown % across * width;
        if (!(seconds[i] > 0) || row >= area.row + area.rows)
            continue;
        canvas_put(c, row, col, c->utf8 ? PARTS[i].glyph : (uint32_t)PARTS[i].ascii, PARTS[i].role, 0);
        canvas_format(c, row, col + 2, width - 2, ROLE_TEXT, 0, "%s %.1f%%", _(PARTS[i].name),
                      100 * seconds[i] / whole);
        shown++;
    }
    return 1 + (shown + across - 1) / across;
}

static void draw_figures(const struct run_model *m, struct canvas *c, struct rect area)
{
    const struct job_sim *s = &m->job.sim;
    char lines[3][96], text[32], speed[32], bytes[32] = "-";
    int count = 0;
    const struct run_why *step = run_model_why(m, "step");
    format_seconds(step ? step->time_s : NAN, text, sizeof text);
    format_si(m->final_samples_per_s, speed, sizeof speed);
    if (step)
        snprintf(lines[count++], 96, _("%s a step, %s samples/s"), text, speed);
    if (isfinite(m->memory_bytes))
        units_show_bytes(m->memory_bytes, bytes, sizeof bytes);
    if (isfinite(m->efficiency))
        snprintf(lines[count++], 96, _("efficiency %.1f %%, %s"), 100 * m->efficiency, bytes);
    if (s->tensor > 1 || s->pipeline > 1)
        snprintf(lines[count++], 96, _("tensor %d, pipeline %d, %d micro-batches"), s->tensor, s->pipeline,
                 s->microbatches);
    for (int i = 0; i < count && i < area.rows; i++)
        canvas_text(c, area.row + i, area.col, area.cols, ROLE_TEXT, 0, lines[i]);
}

static void draw_step(const struct run_model *m, struct canvas *c, struct rect area)
{
    struct rect in = rect_inset(canvas_box(c, area, _("A step"), ROLE_BORDER), 0, 1);
    int used = draw_parts(m, c, in);
    rect_cut_rows(&in, used < in.rows ? used : in.rows);
    draw_figures(m, c, in);
}

/* The bottleneck first, then what adds up to the step. */
static void draw_why(const struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    struct rect in = rect_inset(canvas_box(c, area, _("Why"), ROLE_BORDER), 0, 1);
    int row = 0, skip = v->scroll < m->why_count ? v->scroll : m->why_count;
    for (int first = 1; first >= 0; first--)
        for (int i = 0; i < m->why_count && row < in.rows; i++) {
            char text[700];
            bool bottleneck = !strcmp(m->whys[i].what, "bottleneck");
            if (bottleneck != (first == 1) || (!bottleneck && skip-- > 0))
                continue;
            bool again = i > 0 && !strcmp(m->whys[i - 1].what, m->whys[i].what); /* said once */
            snprintf(text, sizeof text, "%s%s%.600s", again ? "" : m->whys[i].what, again ? "" : ": ",
                     m->whys[i].text);
            struct rect r = {in.row + row, in.col, in.rows - row, in.cols};
            row += wrap_text(c, r, bottleneck ? ROLE_ACCENT : ROLE_TEXT, bottleneck ? ATTR_BOLD : 0, text);
        }
    if (!m->why_count)
        canvas_text(c, in.row, in.col, in.cols, ROLE_MUTED, 0, _("nothing yet"));
}

static void draw_head(const struct run_model *m, struct canvas *c, struct rect line)
{
    const struct job_sim *s = &m->job.sim;
    char device[48] = "", text[400];
    if (*m->device)
        snprintf(device, sizeof device, _(" on %.24s"), m->device);
    snprintf(text, sizeof text,
             text_plural("%.40s on %.40s: %d rank%s, batch %d each, %.24s allreduce",
                         "%.40s on %.40s: %d ranks%s, batch %d each, %.24s allreduce", m->ranks),
             s->model, m->hosts, m->ranks, device, s->batch, s->algo);
    canvas_text(c, line.row, line.col + 1, line.cols - 2, ROLE_TITLE, ATTR_BOLD, text);
}

void run_draw_sim(struct run_view *v, struct canvas *c, struct rect area)
{
    const struct run_model *m = &v->m;
    int used = run_draw_state(v, c, area);
    rect_cut_rows(&area, used);
    if (area.rows < 4)
        return;
    if (m->job.sim.ask) { /* no training: the lines that say why are all there is */
        draw_why(v, c, area);
        return;
    }
    draw_head(m, c, rect_cut_rows(&area, 1));
    canvas_format(c, area.row, area.col + 1, area.cols - 2, ROLE_WARN, 0,
                  _("Simulated (network: %s), without incast, PFC, congestion control."),
                  *m->tier ? m->tier : "-");
    rect_cut_rows(&area, 1);
    area = run_draw_overlays(v, c, area);
    if (v->pane == PANE_TIME) {
        run_draw_time(v, c, area);
    } else if (v->pane == PANE_SCALING) {
        run_draw_scaling(v, c, area);
    } else if (v->pane == PANE_SPEED) {
        run_fit_axes(v);
        run_draw_curve(v, c, area, CURVE_SPEED);
    } else if (v->pane == PANE_RANKS) {
        run_draw_ranks(
            v, c, rect_inset(canvas_box(c, area, _("Ranks (the others are like these)"), ROLE_BORDER), 0, 1));
    } else if (v->pane == PANE_NOTES) {
        run_draw_notes(v, c, rect_inset(canvas_box(c, area, _("Notes"), ROLE_BORDER), 0, 1));
    } else if (area.rows < 14 || area.cols < 60) {
        draw_why(v, c, area);
    } else {
        struct rect top = rect_cut_rows(&area, area.rows >= 30 ? 14 : 10);
        struct rect step = rect_cut_cols(&top, -top.cols * 45 / 100);
        run_fit_axes(v);
        run_draw_curve(v, c, top, CURVE_SPEED);
        draw_step(m, c, step);
        draw_why(v, c, area);
    }
}
