#include "cluster-sim/sched_explain.h"

#include "cluster-sim/explanation.h"
#include "cluster-sim/queue_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_policy(FILE *f, const struct sched_config *c)
{
    const struct priority_weights *w = &c->weights;
    if (c->policy == POLICY_FIFO || c->policy == POLICY_EASY)
        fputs("order: first come, first served\n", f);
    else
        fprintf(f,
                "order: priority = %g min(1, wait / %g s) + %g processors / all + %g 2^-(U/S) + %g tier, the "
                "highest "
                "first\n"
                "  U: the user's part of all usage, which counts half after %g s; S: 1 / users\n",
                w->age, w->age_max_s, w->size, w->fairshare, w->tier, w->half_life_s);
    if (c->backfill)
        fputs("backfilling (EASY): while the first waits, it has a reservation at the earliest time when, by "
              "the "
              "limits of\n"
              "  those that run, its processors are free; others start before it if they end by then, or use "
              "what it "
              "leaves over\n",
              f);
    else
        fputs("no backfilling: while the first waits, everybody waits\n", f);
    fprintf(f, "limits: %s\n",
            c->enforce_limits ? "a job is killed when it reaches what it asked for"
                              : "jobs run for as long as they did, even beyond what they asked for");
    fputs("ties: completions, then submissions, then starts; equal jobs in the order of the trace\n", f);
}

const char *sched_bottleneck(const struct sched_result *r)
{
    if (r->mean_wait_s < 1)
        return "nothing";
    /* while jobs wait, what is busy is what they lack, and what is idle is of no use to them */
    return 2 * r->idle_queued_s > r->queued_proc_s ? "holes" : "processors";
}

char *sched_explain(const struct sched_config *c, const struct sched_job *jobs, const struct sched_result *r,
                    struct error *e)
{
    struct explanation why;
    FILE *f = explanation_open(&why, e);
    if (!f)
        return NULL;
    print_policy(f, c);
    double capacity = r->procs * r->makespan_s, idle = capacity - r->busy_proc_s;
    fprintf(f, "mean wait = sum of (start - submit) / jobs = %.0f s / %d = %.1f s\n",
            r->mean_wait_s * r->count, r->count, r->mean_wait_s);
    fprintf(f, "bounded slowdown = mean of max(1, (wait + run) / max(run, 10 s)) = %.3f\n",
            r->bounded_slowdown);
    if (capacity > 0) {
        fprintf(
            f,
            "utilisation = busy processor-seconds / (processors x makespan) = %.6g / (%d x %.6g) = %.2f %%\n",
            r->busy_proc_s, r->procs, r->makespan_s, 100 * r->utilisation);
        fprintf(f,
                "idle %.2f %%: %.2f %% while nobody waited, %.2f %% in holes that fitted nobody who waited\n",
                100 * idle / capacity, 100 * (idle - r->idle_queued_s) / capacity,
                100 * r->idle_queued_s / capacity);
    }
    if (r->queued_proc_s > 0)
        fprintf(f, "while jobs waited, %.2f %% of the processors were busy\n",
                100 * (1 - r->idle_queued_s / r->queued_proc_s));
    fprintf(f, "bottleneck: %s\n", sched_bottleneck(r));
    if (r->longest_wait_s > 0) {
        const struct sched_job *j = &jobs[r->longest];
        const struct sched_record *k = &r->jobs[r->longest];
        fprintf(
            f,
            "longest wait: job %lld, %.0f s: asked for %d processors of %d and %.0f s, submitted at %.0f, ",
            j->id, r->longest_wait_s, j->procs, c->partition[j->partition].procs, j->limit_s, j->submit_s);
        if (!isnan(k->promised_s))
            fprintf(f, "first reserved for %.0f, ", k->promised_s);
        fprintf(f, "started at %.0f\n", k->start_s);
    }
    return explanation_close(&why, e);
}

/* The queue at the moment of the submission, after its pass. */
static bool print_met(FILE *f, const struct sched_config *c, const struct sched_job *jobs,
                      const struct sched_result *r, int job, struct error *e)
{
    const struct sched_job *j = &jobs[job];
    struct queue_state q;
    if (!queue_state_at(c, jobs, r, j->submit_s, 1, &q, e))
        return false;
    int busy = 0, before = 0;
    double wanted = 0;
    bool reached = false;
    for (int i = 0; i < q.count; i++) {
        const struct queue_entry *x = &q.entry[i];
        if (x->job->partition != j->partition)
            continue;
        reached = reached || x->job == j;
        if (x->running)
            busy += x->job->procs;
        else if (!reached) {
            before++;
            wanted += x->job->procs;
        }
    }
    int all = c->partition[j->partition].procs;
    fprintf(f, "  then %d of %d processors were busy", busy, all);
    if (r->jobs[job].start_s > j->submit_s && before == 0)
        fputs(", and nobody was before it in the queue", f);
    else if (r->jobs[job].start_s > j->submit_s)
        fprintf(f, ", and %d job%s that want %.0f processors in all were before it in the queue", before,
                before == 1 ? "" : "s", wanted);
    fputc('\n', f);
    queue_state_free(&q);
    return true;
}

char *sched_explain_job(const struct sched_config *c, const struct sched_job *jobs,
                        const struct sched_result *r, int job, struct error *e)
{
    const struct sched_job *j = &jobs[job];
    const struct sched_record *k = &r->jobs[job];
    struct explanation why;
    FILE *f = explanation_open(&why, e);
    if (!f)
        return NULL;
    fprintf(f, "job %lld", j->id);
    if (j->array > 0)
        fprintf(f, ", task %d", j->task);
    fprintf(f, ": asked for %d processor%s and %.0f s at %.0f s\n", j->procs, j->procs > 1 ? "s" : "",
            j->limit_s, j->submit_s);
    bool ok = print_met(f, c, jobs, r, job, e);
    if (!isnan(k->promised_s))
        fprintf(f, "  as the first of the queue it was promised %.0f s\n", k->promised_s);
    fprintf(f, "  started at %.0f s, after %.0f s%s\n", k->start_s, k->start_s - j->submit_s,
            k->backfilled              ? ": it overtook others without delaying the first (backfilling)"
            : k->start_s > j->submit_s ? ": when it was its turn and its processors were free"
                                       : ": at once");
    fprintf(f, "  %s at %.0f s, after %.0f s of the %.0f s it asked for\n",
            k->killed ? "killed at its limit" : "ended", k->end_s, k->end_s - k->start_s, j->limit_s);
    char *text = explanation_close(&why, ok ? e : NULL);
    if (ok)
        return text;
    free(text);
    return NULL;
}
