/*
 * sched_result.c - policies by name, checks of what a scheduler is given, and the figures of a schedule.
 */
#include "cluster-sim/sched_internal.h"
#include "engine/base/timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const policy_names[] = {"fifo", "easy", "priority", "fairshare"};

const char *sched_policy_name(enum sched_policy policy)
{
    return policy_names[policy];
}

bool sched_policy_named(const char *name, enum sched_policy *policy)
{
    for (int i = 0; i < (int)(sizeof policy_names / sizeof *policy_names); i++)
        if (!strcmp(name, policy_names[i])) {
            *policy = (enum sched_policy)i;
            return true;
        }
    return false;
}

void sched_defaults(struct sched_config *c, enum sched_policy policy, int procs)
{
    const double week = 7 * 86400.0;
    *c = (struct sched_config){.policy = policy, .backfill = policy != POLICY_FIFO, .partitions = 1};
    c->weights = (struct priority_weights){.age = 1000, .tier = 1000, .age_max_s = week, .half_life_s = week};
    if (policy == POLICY_PRIORITY)
        c->weights.size = 1000;
    if (policy == POLICY_FAIRSHARE)
        c->weights.fairshare = 10000;
    c->partition[0] = (struct sched_partition){.name = "batch", .procs = procs};
}

static bool check_partitions(const struct sched_config *c, struct error *e)
{
    if (c->partitions < 1 || c->partitions > SCHED_MAX_PARTITIONS)
        return error_set(e, ERROR_INPUT, "a cluster has 1 to %d partitions, got %d", SCHED_MAX_PARTITIONS,
                         c->partitions);
    for (int p = 0; p < c->partitions; p++) {
        const struct sched_partition *q = &c->partition[p];
        if (q->procs < 1 || q->procs > SCHED_MAX_PROCS)
            return error_set(e, ERROR_INPUT, "partition %s: expected 1 to %d processors, got %d", q->name,
                             SCHED_MAX_PROCS, q->procs);
        if (!(q->max_time_s >= 0) || !isfinite(q->max_time_s))
            return error_set(e, ERROR_INPUT, "partition %s: its time limit is %g s: expected more than 0",
                             q->name, q->max_time_s);
    }
    const struct priority_weights *w = &c->weights;
    if (!(w->half_life_s > 0) || !(w->age_max_s > 0) ||
        !(w->age >= 0 && w->size >= 0 && w->fairshare >= 0 && w->tier >= 0) ||
        !isfinite(w->age + w->size + w->fairshare + w->tier))
        return error_set(
            e, ERROR_INPUT,
            "a priority needs finite weights of 0 or more, a half-life and an age of more than 0 seconds");
    return true;
}

static bool check_job(const struct sched_config *c, const struct sched_job *j, struct error *e)
{
    if (!isfinite(j->submit_s) || !(j->run_s >= 0) || !isfinite(j->run_s))
        return error_set(e, ERROR_INPUT, "job %lld: expected a submit time and a run time of 0 or more",
                         j->id);
    if (!(j->limit_s >= 0) || !isfinite(j->limit_s))
        return error_set(e, ERROR_INPUT, "job %lld: expected a time limit of 0 or more", j->id);
    if (j->partition < 0 || j->partition >= c->partitions)
        return error_set(e, ERROR_INPUT, "job %lld: there is no partition number %d: there are %d", j->id,
                         j->partition + 1, c->partitions);
    const struct sched_partition *p = &c->partition[j->partition];
    if (j->procs < 1)
        return error_set(e, ERROR_INPUT, "job %lld asks for %d processors: expected 1 or more", j->id,
                         j->procs);
    if (j->procs > p->procs)
        return error_set(
            e, ERROR_INPUT,
            "job %lld asks for %d processors and %s has %d: it could never start; give the cluster more, or "
            "leave the job out",
            j->id, j->procs, c->partitions > 1 ? p->name : "the cluster", p->procs);
    if (p->max_time_s > 0 && j->limit_s > p->max_time_s)
        return error_set(e, ERROR_INPUT, "job %lld asks for %g s and partition %s allows %g s", j->id,
                         j->limit_s, p->name, p->max_time_s);
    if (j->user < 0 || j->user > 1 << 24 || j->array_limit < 0)
        return error_set(e, ERROR_INPUT, "job %lld: its user or its array's limit is no number from 0 on",
                         j->id);
    return true;
}

bool sched_check(const struct sched_config *c, const struct sched_job *jobs, int count, const char *trace,
                 struct error *e)
{
    if (!check_partitions(c, e))
        return false;
    for (int i = 0; i < count; i++) {
        const struct sched_job *j = &jobs[i];
        bool ok = check_job(c, j, e);
        if (ok && i > 0 && j->submit_s < j[-1].submit_s)
            ok = error_set(e, ERROR_INPUT, "job %lld is submitted before job %lld, which is above it", j->id,
                           j[-1].id);
        if (!ok && trace && j->line > 0)
            return error_wrap(e, "%s:%d", trace, j->line);
        if (!ok)
            return false;
    }
    return true;
}

double sched_bounded_slowdown(double wait_s, double run_s)
{
    return fmax(1, (wait_s + run_s) / fmax(run_s, 10));
}

bool sched_sum_up(const struct sched_config *c, const struct sched_job *jobs, struct sched_result *r,
                  struct error *e)
{
    for (int p = 0; p < c->partitions; p++)
        r->procs += c->partition[p].procs;
    if (r->count == 0)
        return true;
    double *waits = malloc((size_t)r->count * sizeof *waits), last = jobs[0].submit_s;
    if (!waits) {
        sched_result_free(r);
        return error_set(e, ERROR_FAILED, "not enough memory for the waits of the jobs");
    }
    for (int i = 0; i < r->count; i++) {
        const struct sched_record *k = &r->jobs[i];
        double wait = k->start_s - jobs[i].submit_s, run = k->end_s - k->start_s;
        waits[i] = wait;
        r->mean_wait_s += wait / r->count;
        r->bounded_slowdown += sched_bounded_slowdown(wait, run) / r->count;
        r->busy_proc_s += run * jobs[i].procs;
        r->backfilled += k->backfilled;
        r->killed += k->killed;
        last = fmax(last, k->end_s);
        if (wait > r->longest_wait_s) {
            r->longest_wait_s = wait;
            r->longest = i;
        }
    }
    r->makespan_s = last - jobs[0].submit_s;
    r->utilisation = r->makespan_s > 0 ? r->busy_proc_s / (r->procs * r->makespan_s) : 0;
    r->median_wait_s = timing_median(waits, r->count);
    free(waits);
    if (isfinite(r->busy_proc_s + r->mean_wait_s + r->bounded_slowdown + r->makespan_s))
        return true;
    sched_result_free(r);
    return error_set(e, ERROR_INPUT, "the jobs' times are too long to be added up");
}

void sched_result_free(struct sched_result *r)
{
    if (!r)
        return;
    free(r->jobs);
    *r = (struct sched_result){0};
}
