/*
 * follow_report.c - the report at the end of a run, as text, and what its lines are made with.
 */
#include "cluster-sim/collective.h"
#include "engine/base/units.h"
#include "tui/axis.h"
#include "tui/follow.h"

#include "tui/axis.h"
#include "tui/sample_view.h"
#include "tui/text_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void text_grouped(char *text, size_t size, double value)
{
    char digits[32];
    if (!isfinite(value)) {
        snprintf(text, size, "-");
        return;
    }
    snprintf(digits, sizeof digits, "%.0f", value);
    size_t n = strlen(digits), used = 0;
    for (size_t i = 0; i < n && used + 2 < size; i++) {
        text[used++] = digits[i];
        if (i + 1 < n && (n - 1 - i) % 3 == 0 && digits[i] != '-')
            text[used++] = ' ';
    }
    text[used] = 0;
}

int follow_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* What its GPU has told of itself last. */
static void report_gpu(FILE *to, const struct run_rank *r)
{
    char used[32], total[32];
    if (!isfinite(r->util) && !isfinite(r->gpu_used_bytes) && !isfinite(r->power_w))
        return;
    fprintf(to, "%5d  GPU", r->rank);
    if (isfinite(r->util))
        fprintf(to, "  busy %.0f %%", 100 * r->util);
    if (isfinite(r->gpu_used_bytes)) {
        units_show_bytes(r->gpu_used_bytes, used, sizeof used);
        units_show_bytes(r->gpu_total_bytes, total, sizeof total);
        fprintf(to, "  memory %s of %s", used, total);
    }
    if (isfinite(r->power_w))
        fprintf(to, "  %.0f W", r->power_w);
    fputc('\n', to);
}

static void report_ranks(FILE *to, const struct run_model *m)
{
    if (m->rank_count == 0)
        return;
    int host_width = 4, device_width = 10;
    for (int i = 0; i < m->rank_count; i++) {
        const struct run_rank *r = &m->rank_table[i];
        host_width = (int)strlen(r->host) > host_width ? (int)strlen(r->host) : host_width;
        device_width = (int)strlen(r->device) > device_width ? (int)strlen(r->device) : device_width;
    }
    fprintf(to, "\n%5s  %-*s  %-*s %10s %9s %9s %9s\n", "rank", host_width, "host", device_width, "device",
            "samples/s", "compute", "comm", "data");
    for (int i = 0; i < m->rank_count; i++) {
        const struct run_rank *r = &m->rank_table[i];
        char speed[32];
        text_grouped(speed, sizeof speed, r->samples_per_s);
        double seconds[] = {r->compute_s, run_rank_exposed(r), r->data_s};
        fprintf(to, "%5d  %-*s  %-*s %10s", r->rank, host_width, r->host, device_width, r->device, speed);
        for (int k = 0; k < 3; k++) {
            if (isfinite(seconds[k]))
                fprintf(to, " %6.2f ms", 1e3 * seconds[k]);
            else
                fprintf(to, " %9s", "-");
        }
        fputc('\n', to);
    }
    for (int i = 0; i < m->rank_count; i++)
        report_gpu(to, &m->rank_table[i]);
}

void follow_simulated(FILE *to, const struct run_model *m)
{
    char speed[32], step[32], bytes[32];
    const struct run_why *bottleneck = run_model_why(m, "bottleneck"), *whole = run_model_why(m, "step");
    if (!whole)
        return; /* it failed, and has said why */
    text_grouped(speed, sizeof speed, m->final_samples_per_s);
    units_show_bytes(m->memory_bytes, bytes, sizeof bytes);
    fprintf(to, "\nsimulated, not measured (network: %s): %s on %s, %d ranks\n", m->tier, m->job.sim.model,
            m->hosts, m->ranks);
    if (m->step >= 0) {
        format_seconds(whole->time_s, step, sizeof step);
        fprintf(to, "%-14s %s\n%-14s %s\n%-14s %.1f %%\n", "samples/s", speed, "a step", step, "efficiency",
                100 * m->efficiency);
    }
    fprintf(to, "%-14s %s a rank\n", "memory", bytes);
    if (bottleneck)
        fprintf(to, "%-14s %s\n", "bottleneck", bottleneck->text);
    fprintf(to, "%s\n", sim_not_modelled);
}

void follow_why(FILE *to, const struct run_model *m)
{
    if (m->why_count)
        fprintf(to, "\nwhy (%s)\n", m->id);
    for (int i = 0; i < m->why_count; i++) {
        char time[32] = "";
        if (isfinite(m->whys[i].time_s))
            format_seconds(m->whys[i].time_s, time, sizeof time);
        bool again = i > 0 && !strcmp(m->whys[i - 1].what, m->whys[i].what); /* said once */
        fprintf(to, "  %-16s %10s  %s\n", again ? "" : m->whys[i].what, time, m->whys[i].text);
    }
}

/* What travels, as what, and what that costs in exactness. */
static void report_traffic(FILE *to, const struct run_model *m)
{
    char sent[32];
    if (isfinite(m->sent_bytes) && m->sent_bytes > 0) {
        format_si(m->sent_bytes, sent, sizeof sent);
        fprintf(to, "%-14s %sB a step by each rank%s%s\n", "sent", sent,
                *m->compress ? ", gradients as " : "", m->compress);
    }
    if (*m->compress && isfinite(m->compress_error))
        fprintf(to, "%-14s %.1e of the gradients' sum, by sending %s\n", "error", m->compress_error,
                m->compress);
    if (*m->slowed)
        fprintf(to, "%-14s %s\n", "link", m->slowed);
}

void follow_report(FILE *to, const struct run_model *m, bool utf8)
{
    char speed[32], loss[24];
    double share[3];
    if (run_model_simulated(m) && m->have_job && m->job.kind == JOB_SIM) {
        follow_simulated(to, m);
        return;
    }
    if (m->loss.count == 0)
        return;
    fputc('\n', to);
    if (isfinite(m->final_accuracy))
        fprintf(to, "%-14s %.2f %%\n", "test accuracy", 100 * m->final_accuracy);
    format_loss(m->final_loss, loss, sizeof loss);
    if (isfinite(m->final_loss))
        fprintf(to, "%-14s %s\n", "test loss", loss);
    text_grouped(speed, sizeof speed, m->final_samples_per_s);
    fprintf(to, "%-14s %s (whole job, data and optimiser included)\n", "samples/s", speed);
    report_traffic(to, m);
    if (isfinite(m->wall_s))
        fprintf(to, "%-14s %.1f s\n", "wall time", m->wall_s);
    if (run_model_shares(m, share))
        fprintf(to, "%-14s compute %.0f %%, communication not hidden %.0f %%, data %.0f %%\n",
                "a step's time", 100 * share[0], 100 * share[1], 100 * share[2]);
    if (isfinite(run_model_hidden(m))) {
        char time[24], bytes[24];
        format_seconds(m->comm_s, time, sizeof time);
        format_bytes(m->bucket, bytes, sizeof bytes);
        fprintf(to, "%-14s %s a step in %d buckets of %s, %.0f %% of it hidden behind backward\n",
                "communication", time, m->buckets, bytes, 100 * run_model_hidden(m));
    }
    if (m->have_job && m->job.kind == JOB_TRAIN && m->job.train.reproducible && *m->hash)
        fprintf(to, "%-14s %s (the same for 1, 2, 4 and 8 ranks)\n", "parameters", m->hash);
    report_ranks(to, m);
    fputc('\n', to);
    text_plot(to, *m->slowed ? "training loss (slowed on purpose)" : "training loss", "step", m->loss.x,
              m->loss.y, m->loss.count, utf8);
    samples_print(to, m->samples, m->sample_count, utf8);
}
