/*
 * run_model.c - what a run's figures say as a whole. run_load.c reads them, run_fold.c takes them in.
 */
#include "tui/run_model.h"

#include "tui/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void run_model_init(struct run_model *m)
{
    *m = (struct run_model){.step = -1, .first_step = -1};
    m->epoch = m->last_loss = m->samples_per_s = m->grad_norm = m->last_lr = NAN;
    m->sent_bytes = m->compress_error = NAN;
    m->compute_s = m->exposed_comm_s = m->comm_s = m->data_s = NAN;
    m->t_last = m->t_first_step = m->parameters = NAN;
    m->efficiency = m->memory_bytes = m->bubble_s = m->straggler_s = NAN;
    m->wall_s = m->final_accuracy = m->final_loss = m->final_samples_per_s = NAN;
}

void run_model_free(struct run_model *m)
{
    if (!m)
        return;
    run_model_free(m->exact);
    free(m->exact);
    free(m->index.step);
    free(m->index.offset);
    run_reader_free(m->reader);
    if (m->have_job)
        job_clear(&m->job);
    struct run_series *series[] = {&m->loss,          &m->speed,   &m->lr,      &m->eval_loss,
                                   &m->eval_accuracy, &m->loss_d,  &m->loss_g,  &m->d_real,
                                   &m->d_fake,        &m->compute, &m->exposed, &m->data};
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++)
        run_series_free(series[i]);
    for (int i = 0; i < m->op_count; i++)
        free(m->ops[i].hops);
    for (int i = 0; i < m->points_count; i++) {
        run_series_free(&m->points[i].xy);
        free(m->points[i].label);
    }
    for (int i = 0; i < m->check_count; i++) {
        free(m->checks[i].name);
        free(m->checks[i].measured);
        free(m->checks[i].accepted);
        free(m->checks[i].next);
    }
    for (int i = 0; i < m->note_count; i++)
        free(m->notes[i].text);
    for (int i = 0; i < m->case_count; i++)
        free(m->cases[i].error);
    free(m->cases);
    for (int i = 0; i < m->why_count; i++)
        free(m->whys[i].text);
    free(m->whys);
    for (int i = 0; i < m->sample_count; i++)
        sample_free(&m->samples[i]);
    free(m->samples);
    free(m->rank_table);
    free(m->collectives);
    free(m->points);
    free(m->checks);
    free(m->layers);
    free(m->children);
    run_model_init(m);
}

bool run_model_ended(const struct run_model *m)
{
    return m->done || run_state_ended(m->status.state);
}

const struct run_why *run_model_why(const struct run_model *m, const char *what)
{
    for (int i = 0; i < m->why_count; i++)
        if (!strcmp(m->whys[i].what, what))
            return &m->whys[i];
    return NULL;
}

bool run_model_simulated(const struct run_model *m)
{
    return !strcmp(m->origin, "sim") || (m->have_job && m->job.kind == JOB_SIM);
}

bool run_model_only_tests(const struct run_model *m)
{
    return m->have_job && m->job.kind == JOB_TRAIN && *m->job.train.eval;
}

double run_model_elapsed(const struct run_model *m, double now)
{
    if (m->done && isfinite(m->wall_s))
        return m->wall_s;
    if (run_state_ended(m->status.state) || !(m->status.started > 0))
        return isfinite(m->t_last) ? m->t_last : 0;
    double elapsed = now - m->status.started;
    return elapsed > 0 ? elapsed : 0;
}

double run_model_progress(const struct run_model *m, double now)
{
    if (m->done)
        return m->ok ? 1 : NAN;
    if (!m->have_job || m->job.kind != JOB_TRAIN)
        return NAN;
    double share = NAN;
    if (m->total_steps > 0 && m->step >= 0)
        share = (double)m->step / (double)m->total_steps;
    if (m->job.train.seconds > 0 && isfinite(m->t_first_step)) {
        double trained = run_model_elapsed(m, now) - m->t_first_step;
        double timed = trained / m->job.train.seconds;
        share = isfinite(share) ? fmax(share, timed) : timed;
    }
    return share > 1 ? 1 : share;
}

double run_model_remaining(const struct run_model *m, double now)
{
    if (run_model_ended(m) || !isfinite(m->t_first_step))
        return NAN;
    double share = run_model_progress(m, now), elapsed = run_model_elapsed(m, now) - m->t_first_step;
    if (m->job.train.seconds > 0)
        return fmax(0, m->job.train.seconds * (1 - share));
    double begun = m->total_steps > 0 ? (double)m->first_step / (double)m->total_steps : 0;
    if (!(share > begun) || elapsed < 0.5)
        return NAN;
    return elapsed * (1 - share) / (share - begun);
}

bool run_model_shares(const struct run_model *m, double share[3])
{
    double exposed = isfinite(m->exposed_comm_s) ? m->exposed_comm_s : m->comm_s;
    double parts[3] = {m->compute_s, exposed, m->data_s}, total = 0;
    for (int i = 0; i < 3; i++) {
        parts[i] = isfinite(parts[i]) && parts[i] > 0 ? parts[i] : 0;
        total += parts[i];
    }
    for (int i = 0; i < 3; i++)
        share[i] = total > 0 ? parts[i] / total : 0;
    return total > 0;
}

double run_model_hidden(const struct run_model *m)
{
    double hidden = 1 - m->exposed_comm_s / m->comm_s;
    if (m->buckets < 2 || !isfinite(hidden))
        return NAN;
    return hidden > 0 ? hidden : 0; /* waking the thread up may take longer than its work */
}

double run_rank_exposed(const struct run_rank *r)
{
    return isfinite(r->exposed_comm_s) ? r->exposed_comm_s : r->comm_s;
}

static const char *last_trouble(const struct run_model *m)
{
    for (int i = m->note_count - 1; i >= 0; i--)
        if (m->notes[i].level >= NOTE_ERROR)
            return m->notes[i].text;
    return NULL;
}

void run_model_state_text(const struct run_model *m, char *text, size_t size)
{
    const char *trouble = last_trouble(m);
    const char *reason = m->status.reason[0] ? m->status.reason : trouble;
    switch (m->status.state) {
    case RUN_PENDING:
        if (m->queue_position > 0)
            snprintf(text, size, _("Waiting for its turn: number %d in the queue of this host."),
                     m->queue_position);
        else if (reason)
            snprintf(text, size, _("Waiting to start: %s."), reason);
        else
            snprintf(text, size, "%s", _("Waiting to start."));
        return;
    case RUN_RUNNING:
        snprintf(text, size, "%s", m->started ? _("Running.") : _("The ranks are starting."));
        return;
    case RUN_DONE:
        if (m->done && !m->ok)
            snprintf(text, size, "%s",
                     m->have_job && m->job.kind == JOB_CHECK   ? _("Not passed yet.")
                     : m->have_job && m->job.kind == JOB_RANKS ? _("Not right in every case yet.")
                     : trouble                                 ? trouble
                                                               : _("Ended, and the answer is no."));
        else
            snprintf(text, size, "%s", _("Done."));
        return;
    case RUN_FAILED:
        snprintf(text, size, _("Failed: %s"), reason ? reason : _("its log (l) says more."));
        return;
    case RUN_CANCELLED:
        if (reason)
            snprintf(text, size, _("Stopped: %s"), reason);
        else
            snprintf(text, size, "%s", _("Stopped."));
        return;
    case RUN_LOST:
        if (m->status.pid == 0 && reason) { /* its status cannot be read */
            snprintf(text, size, _("Lost: %s. What came before is shown."), reason);
            return;
        }
        if (m->status.gone) {
            snprintf(
                text, size,
                _("Lost: its supervisor (process %ld on %s) has ended before it. What came before is shown."),
                m->status.pid, m->status.host);
            return;
        }
        snprintf(text, size,
                 _("Lost: its supervisor on %s has written nothing for more than %.0f s, so nobody knows "
                   "whether it still runs. What came before is shown."),
                 m->status.host[0] ? m->status.host : _("its host"), RUN_STALE_S);
        return;
    }
    snprintf(text, size, "-");
}

bool run_model_gaps_text(const struct run_model *m, char *text, size_t size)
{
    long skipped = m->reader ? run_reader_skipped(m->reader) : 0;
    char lines[128] = "";
    if (skipped > 0)
        snprintf(lines, sizeof lines, _("Lines of its events.jsonl that cannot be read: %ld."), skipped);
    snprintf(text, size, "%s%s%s",
             m->cut ? _("Its record ends early: events.jsonl lacks the run's last line, `done`.") : "",
             m->cut && *lines ? " " : "", lines);
    return m->cut || skipped > 0;
}

const struct run_op *run_model_op(const struct run_model *m, long op)
{
    for (int i = 0; i < m->op_count; i++)
        if (m->ops[i].op == op)
            return &m->ops[i];
    return NULL;
}
