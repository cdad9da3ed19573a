/*
 * queue_simulated.c - a made-up day of jobs, scheduled by the simulator, as what a batch system would tell at a moment.
 */
#include "cluster-sim/queue_state.h"
#include "cluster-sim/workload.h"
#include "tui/axis.h"
#include "tui/queue_info.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS = 400, SEED = 7 };
#define LOAD 0.9 /* of what the processors could do */

struct simulated_queue {
    int nodes, procs_per_node;
    struct swf trace;
    struct workload jobs;
    struct sched_config config;
    struct sched_result result;
};

struct simulated_queue *simulated_queue_new(int nodes, int procs_per_node, const char *policy,
                                            struct error *e)
{
    struct simulated_queue *s = calloc(1, sizeof *s);
    enum sched_policy which;
    if (!s) {
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    s->nodes = nodes;
    s->procs_per_node = procs_per_node;
    struct workload_model model = {.jobs = JOBS, .procs = nodes * procs_per_node, .load = LOAD, .seed = SEED};
    bool ok = sched_policy_named(policy, &which) ||
              error_set(e, ERROR_INPUT, "there is no scheduling policy \"%s\"", policy);
    if (ok)
        sched_defaults(&s->config, which, model.procs);
    ok = ok && workload_make_up(&model, &s->trace, e) &&
         workload_from_trace(&s->trace, 1, false, &s->jobs, e) &&
         sched_run(&s->config, s->jobs.jobs, s->jobs.count, NULL, &s->result, e);
    if (ok)
        return s;
    simulated_queue_free(s);
    return NULL;
}

void simulated_queue_free(struct simulated_queue *s)
{
    if (!s)
        return;
    swf_free(&s->trace);
    workload_free(&s->jobs);
    sched_result_free(&s->result);
    free(s);
}

double simulated_queue_end(const struct simulated_queue *s)
{
    double end = 0;
    for (int i = 0; i < s->result.count; i++)
        end = fmax(end, s->result.jobs[i].end_s);
    return end;
}

double simulated_queue_utilisation(const struct simulated_queue *s)
{
    return s->result.utilisation;
}

double simulated_queue_mean_wait(const struct simulated_queue *s)
{
    return s->result.mean_wait_s;
}

static void add_job(struct queue_info *q, const struct queue_entry *x, double now_s)
{
    static const char *const reasons[] = {"", "Resources", "Priority", "JobArrayTaskLimit"};
    struct queue_job *j = queue_add_job(q);
    if (!j)
        return;
    snprintf(j->id, sizeof j->id, "%lld", x->job->id);
    snprintf(j->user, sizeof j->user, "user%d", x->job->user);
    snprintf(j->partition, sizeof j->partition, "batch");
    snprintf(j->name, sizeof j->name, "job%lld", x->job->id);
    j->running = x->running;
    snprintf(j->state, sizeof j->state, "%s", x->running ? "RUNNING" : "PENDING");
    j->nodes = x->nodes;
    j->cpus = x->job->procs;
    format_clock(x->running ? now_s - x->start_s : now_s - x->job->submit_s, j->time, sizeof j->time);
    if (x->running && x->nodes > 0 && x->node)
        snprintf(j->reason, sizeof j->reason, x->nodes > 1 ? "n%d ... n%d" : "n%d", x->node[0],
                 x->node[x->nodes - 1]);
    else
        snprintf(j->reason, sizeof j->reason, "(%s)", reasons[x->reason]);
}

bool simulated_queue_at(const struct simulated_queue *s, double now_s, struct queue_info *q, struct error *e)
{
    struct queue_state state;
    *q = (struct queue_info){0};
    if (!queue_state_at(&s->config, s->jobs.jobs, &s->result, now_s, s->procs_per_node, &state, e))
        return false;
    for (int p = 0; p < state.partitions; p++)
        for (int i = 0; i < state.partition[p].nodes; i++) {
            struct queue_node *n = queue_add_node(q);
            if (!n)
                break;
            snprintf(n->name, sizeof n->name, "n%d", state.partition[p].first_node + i);
            n->cpus = s->procs_per_node;
            n->busy = state.partition[p].busy[i];
            n->state = n->busy == 0 ? NODE_FREE : n->busy >= n->cpus ? NODE_BUSY : NODE_MIXED;
        }
    for (int i = 0; i < state.count; i++)
        add_job(q, &state.entry[i], now_s);
    queue_state_free(&state);
    queue_sort(q);
    return true;
}
