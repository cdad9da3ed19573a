/*
 * block_figures.c - what a run has measured, for the block that started it: figures by name, a line of text, a plot.
 */
#include "engine/base/units.h"
#include "tui/axis.h"
#include "tui/block_run.h"
#include "tui/plot.h"
#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- figures ------------------------------------------------------------------------------------------------------ */

static double accuracy(const struct run_model *m)
{
    if (isfinite(m->final_accuracy))
        return m->final_accuracy;
    return m->eval_accuracy.count ? m->eval_accuracy.y[m->eval_accuracy.count - 1] : NAN;
}

static double speed(const struct run_model *m)
{
    return isfinite(m->final_samples_per_s) && m->final_samples_per_s > 0 ? m->final_samples_per_s
                                                                          : m->samples_per_s;
}

/* The collective of the largest buffer, of an algorithm or of any ("" or NULL). */
static const struct run_collective *largest(const struct run_model *m, const char *algo)
{
    const struct run_collective *best = NULL;
    for (int i = 0; i < m->collective_count; i++) {
        const struct run_collective *k = &m->collectives[i];
        if ((!algo || !*algo || !strcmp(k->algo, algo)) && (!best || k->bytes >= best->bytes))
            best = k;
    }
    return best;
}

static double of_collective(const struct run_model *m, const char *what)
{
    const char *algo = strchr(what, ' ');
    size_t length = algo ? (size_t)(algo - what) : strlen(what);
    const struct run_collective *k = largest(m, algo ? algo + 1 : NULL);
    if (!k)
        return NAN;
    if (length == 5 && !strncmp(what, "busbw", 5))
        return k->busbw_bytes_per_s / 1e9;
    return length == 7 && !strncmp(what, "time_us", 7) ? k->time_s * 1e6 : NAN;
}

double block_run_measure(const struct run_model *m, const char *what)
{
    double share[3];
    for (int i = 0; i < m->points_count; i++)
        if (!strcmp(m->points[i].name, what) && m->points[i].xy.count)
            return m->points[i].xy.y[m->points[i].xy.count - 1];
    if (!strcmp(what, "loss"))
        return m->last_loss;
    if (!strcmp(what, "accuracy"))
        return accuracy(m) * 100;
    if (!strcmp(what, "samples_per_s"))
        return speed(m);
    if (!strcmp(what, "wall_s"))
        return m->wall_s;
    if (!strcmp(what, "steps_per_s"))
        return m->wall_s > 0 ? (double)m->step / m->wall_s : NAN;
    if (!strcmp(what, "comm_percent"))
        return run_model_shares(m, share) ? share[1] * 100 : NAN;
    return of_collective(m, what);
}

void block_run_figures(const struct run_model *m, char *text, size_t size)
{
    char part[96], host[64] = "", loss[24];
    *text = '\0';
    if (m->have_job && m->job.kind == JOB_TRAIN && m->step >= 0) {
        double right = accuracy(m);
        if (m->total_steps > 0 && !run_model_ended(m))
            snprintf(text, size, _("step %ld of %ld"), m->step, m->total_steps);
        else
            snprintf(text, size, _("step %ld"), m->step);
        format_loss(m->last_loss, loss, sizeof loss);
        snprintf(part, sizeof part, _(", loss %s"), loss);
        if (isfinite(m->last_loss))
            strncat(text, part, size - strlen(text) - 1);
        snprintf(part, sizeof part, _(", accuracy %.1f %%"), right * 100);
        if (isfinite(right))
            strncat(text, part, size - strlen(text) - 1);
        snprintf(part, sizeof part, _(", %.0f samples/s"), speed(m));
        if (isfinite(speed(m)))
            strncat(text, part, size - strlen(text) - 1);
        if (m->rank_count)
            snprintf(host, sizeof host, "%s", m->rank_table[0].host);
        snprintf(part, sizeof part, _(", on %.60s"), host);
        if (*host)
            strncat(text, part, size - strlen(text) - 1);
        return;
    }
    for (int i = 0; i < m->collective_count; i++) {
        const struct run_collective *k = &m->collectives[i];
        char time[24], bytes[24];
        if (k != largest(m, k->algo))
            continue;
        block_seconds(k->time_s, time, sizeof time);
        units_show_bytes(k->bytes, bytes, sizeof bytes);
        snprintf(part, sizeof part, "%s%s %s: %s", *text ? ", " : "", k->algo, bytes, time);
        strncat(text, part, size - strlen(text) - 1);
    }
    for (int i = 0; !*text && i < m->points_count && i < 4; i++) {
        const struct run_points *p = &m->points[i];
        if (!p->xy.count)
            continue;
        snprintf(part, sizeof part, "%s%.40s %.4g", i ? ", " : "", p->name, p->xy.y[p->xy.count - 1]);
        strncat(text, part, size - strlen(text) - 1);
    }
}

/* --- plots -------------------------------------------------------------------------------------------------------- */

static bool draw_series(const struct run_model *m, const struct run_series *s, enum axis_unit unit,
                        struct canvas *c, struct rect area)
{
    double lo, hi;
    if (s->count < 2 || !run_series_range(s, &lo, &hi))
        return false;
    if (!c)
        return true;
    struct axis x = {0}, y = {.unit = unit,
                              .zero = unit != AXIS_PERCENT,
                              .lo_limit = 0,
                              .hi_limit = unit == AXIS_PERCENT ? 1 : 0};
    if (m->total_steps > 0)
        x.hi = fmax((double)m->total_steps, (double)m->step);
    else
        axis_fit_filling(&x, 64, s->x[s->count - 1]);
    axis_fit(&y, unit == AXIS_PERCENT ? lo - 0.01 : lo, hi);
    struct plot_series line = {.x = s->x, .y = s->y, .count = s->count, .fill = true, .last = true};
    plot_draw(c, area, &(struct plot){.series = &line, .count = 1, .x = &x, .y = &y, .x_label = _("step")});
    return true;
}

/* Time of each algorithm by the buffer's size. */
static bool draw_collectives(const struct run_model *m, struct canvas *c, struct rect area)
{
    struct plot_series series[PLOT_MAX_SERIES] = {0};
    double xs[PLOT_MAX_SERIES][64], ys[PLOT_MAX_SERIES][64], lo = INFINITY, hi = 0, x0 = INFINITY, x1 = 0;
    int count = 0;
    for (int i = 0; i < m->collective_count; i++) {
        const struct run_collective *k = &m->collectives[i];
        int s = 0;
        while (s < count && strcmp(series[s].name, k->algo) != 0)
            s++;
        if (s == PLOT_MAX_SERIES || !(k->time_s > 0) || series[s].count == 64)
            continue;
        if (s == count)
            series[count++] = (struct plot_series){.name = k->algo, .x = xs[s], .y = ys[s], .points = true};
        xs[s][series[s].count] = k->bytes;
        ys[s][series[s].count++] = k->time_s;
        lo = fmin(lo, k->time_s), hi = fmax(hi, k->time_s);
        x0 = fmin(x0, k->bytes), x1 = fmax(x1, k->bytes);
    }
    if (!count || x1 <= x0)
        return false;
    if (!c)
        return true;
    struct axis x = {.unit = AXIS_BYTES, .log = true}, y = {.unit = AXIS_SECONDS, .log = true};
    axis_fit(&x, x0, x1);
    axis_fit(&y, lo, hi);
    plot_draw(c, area, &(struct plot){.series = series, .count = count, .x = &x, .y = &y});
    return true;
}

/* The series of a script that share the first one's plot. */
static bool draw_points(const struct run_model *m, struct canvas *c, struct rect area)
{
    struct plot_series series[PLOT_MAX_SERIES] = {0};
    double lo = INFINITY, hi = -INFINITY, x0 = INFINITY, x1 = -INFINITY;
    int count = 0;
    for (int i = 0; i < m->points_count && count < PLOT_MAX_SERIES; i++) {
        const struct run_points *p = &m->points[i];
        double low, high;
        if (strcmp(p->title, m->points[0].title) != 0 || !run_series_range(&p->xy, &low, &high))
            continue;
        series[count++] = (struct plot_series){
            .name = p->name, .x = p->xy.x, .y = p->xy.y, .count = p->xy.count, .points = true};
        lo = fmin(lo, low), hi = fmax(hi, high);
        x0 = fmin(x0, p->xy.x[0]), x1 = fmax(x1, p->xy.x[p->xy.count - 1]);
    }
    if (!count || x1 <= x0)
        return false;
    if (!c)
        return true;
    struct axis x = {.log = x0 > 0 && x1 / x0 >= 16}, y = {.zero = lo > 0 && lo < hi / 2};
    x.twos = x.log;
    axis_fit(&x, x0, x1);
    axis_fit(&y, lo, hi);
    plot_draw(
        c, area,
        &(struct plot){.series = series, .count = count, .x = &x, .y = &y, .x_label = m->points[0].x_label});
    return true;
}

bool block_run_plot(const struct run_model *m, const char *shows, struct canvas *c, struct rect area)
{
    if (shows && !strcmp(shows, "nothing"))
        return false;
    if (shows && !strcmp(shows, "accuracy"))
        return draw_series(m, &m->eval_accuracy, AXIS_PERCENT, c, area);
    if (shows && !strcmp(shows, "speed"))
        return draw_series(m, &m->speed, AXIS_NUMBER, c, area);
    if (m->points_count)
        return draw_points(m, c, area);
    if (m->collective_count)
        return draw_collectives(m, c, area);
    return draw_series(m, &m->loss, AXIS_NUMBER, c, area);
}
