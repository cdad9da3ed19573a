#include "cluster-sim/queue_state.h"

#include "cluster-sim/priority.h"

#include <stdlib.h>
#include <string.h>

/* A start or an end, in the order in which they are told again. */
struct change {
    double at_s;
    bool starts;
    int job;
};

struct replay {
    const struct sched_config *config;
    const struct sched_job *jobs;
    const struct sched_result *result;
    char *used[SCHED_MAX_PARTITIONS]; /* by processor */
    int **held;                       /* by job: the processors it has; NULL: none */
    struct fairshare usage;
};

static int by_time(const void *a, const void *b)
{
    const struct change *x = a, *y = b;
    if (x->at_s != y->at_s)
        return x->at_s < y->at_s ? -1 : 1;
    if (x->starts != y->starts)
        return x->starts ? 1 : -1; /* ends first */
    return (x->job > y->job) - (x->job < y->job);
}

static bool take_lowest(struct replay *t, int job, struct error *e)
{
    const struct sched_job *j = &t->jobs[job];
    int *held = malloc((size_t)j->procs * sizeof *held), size = t->config->partition[j->partition].procs;
    char *used = t->used[j->partition];
    if (!held)
        return error_set(e, ERROR_FAILED, "not enough memory for the processors of job %lld", j->id);
    t->held[job] = held;
    int at = 0;
    for (int k = 0; k < j->procs; k++) {
        const char *found = memchr(used + at, 0, (size_t)(size - at));
        if (!found)
            return error_set(e, ERROR_FAILED, "the schedule has more processors in use than there are");
        at = (int)(found - used);
        used[at] = 1;
        held[k] = at;
    }
    return true;
}

static void give_back(struct replay *t, int job)
{
    const struct sched_job *j = &t->jobs[job];
    for (int k = 0; k < j->procs; k++)
        t->used[j->partition][t->held[job][k]] = 0;
    free(t->held[job]);
    t->held[job] = NULL;
}

/* Tells all starts and ends up to now again. Jobs that take no time hold nothing. */
static bool replay_to(struct replay *t, double now_s, struct error *e)
{
    const struct sched_result *r = t->result;
    struct change *list = malloc(((size_t)r->count * 2 + 1) * sizeof *list);
    size_t n = 0;
    if (!list)
        return error_set(e, ERROR_FAILED, "not enough memory for %d jobs", r->count);
    for (int i = 0; i < r->count; i++) {
        if (r->jobs[i].start_s > now_s || r->jobs[i].end_s == r->jobs[i].start_s)
            continue;
        list[n++] = (struct change){r->jobs[i].start_s, true, i};
        if (r->jobs[i].end_s <= now_s)
            list[n++] = (struct change){r->jobs[i].end_s, false, i};
    }
    qsort(list, n, sizeof *list, by_time);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const struct sched_job *j = &t->jobs[list[i].job];
        if (list[i].starts)
            ok = take_lowest(t, list[i].job, e);
        else
            give_back(t, list[i].job);
        fairshare_run(&t->usage, j->user, list[i].starts ? j->procs : -j->procs, list[i].at_s);
    }
    free(list);
    return ok;
}

/* From processors to nodes, in place; both ascend. */
static int nodes_of(int *held, int procs, int first_node, int procs_per_node)
{
    int nodes = 0;
    for (int k = 0; k < procs; k++) {
        int node = first_node + held[k] / procs_per_node;
        if (nodes == 0 || held[nodes - 1] != node)
            held[nodes++] = node;
    }
    return nodes;
}

static int by_queue(const void *a, const void *b)
{
    const struct queue_entry *x = a, *y = b;
    if (x->job->partition != y->job->partition)
        return x->job->partition < y->job->partition ? -1 : 1;
    if (x->running != y->running)
        return x->running ? 1 : -1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

/* Where a task's array has as many running or before it in the queue as it may. */
static bool array_full(const struct queue_state *q, int index)
{
    const struct sched_job *j = q->entry[index].job;
    int before = 0;
    if (j->array <= 0 || j->array_limit <= 0)
        return false;
    for (int i = 0; i < q->count; i++) {
        const struct queue_entry *x = &q->entry[i];
        before += x->job->array == j->array && (x->running || (i < index && x->reason != QUEUE_ARRAY_LIMIT));
    }
    return before >= j->array_limit;
}

static void find_reasons(struct queue_state *q)
{
    int partition = -1;
    for (int i = 0; i < q->count; i++) {
        struct queue_entry *x = &q->entry[i];
        if (x->running)
            continue;
        x->reason = QUEUE_PRIORITY;
        if (array_full(q, i))
            x->reason = QUEUE_ARRAY_LIMIT;
        else if (x->job->partition != partition) {
            x->reason = QUEUE_RESOURCES;
            partition = x->job->partition;
        }
    }
}

static bool collect(const struct replay *t, struct queue_state *q, struct error *e)
{
    const struct sched_result *r = t->result;
    const struct priority_weights *w = &t->config->weights;
    q->entry = malloc(((size_t)r->count + 1) * sizeof *q->entry);
    if (!q->entry)
        return error_set(e, ERROR_FAILED, "not enough memory for %d jobs", r->count);
    for (int i = 0; i < r->count; i++) {
        const struct sched_job *j = &t->jobs[i];
        const struct sched_record *k = &r->jobs[i];
        bool running = t->held[i] != NULL;
        if (!running && (j->submit_s > q->now_s || k->start_s <= q->now_s))
            continue;
        struct queue_entry *x = &q->entry[q->count++];
        *x = (struct queue_entry){.job = j, .running = running, .start_s = k->start_s};
        if (running) {
            const struct queue_partition *p = &q->partition[j->partition];
            x->node = t->held[i];
            t->held[i] = NULL;
            for (int n = 0; n < j->procs; n++)
                p->busy[x->node[n] / q->procs_per_node]++;
            x->nodes = nodes_of(x->node, j->procs, p->first_node, q->procs_per_node);
        } else
            x->nodes = (j->procs + q->procs_per_node - 1) / q->procs_per_node;
        if (q->weights > 0)
            x->priority = running ? k->priority
                                  : priority_of(w, q->now_s - j->submit_s, j->procs,
                                                t->config->partition[j->partition].procs,
                                                fairshare_factor(&t->usage, j->user, q->now_s),
                                                t->config->partition[j->partition].tier);
    }
    qsort(q->entry, (size_t)q->count, sizeof *q->entry, by_queue);
    find_reasons(q);
    return true;
}

static bool make_partitions(struct replay *t, struct queue_state *q, struct error *e)
{
    for (int i = 0; i < t->config->partitions; i++) {
        struct queue_partition *p = &q->partition[q->partitions++];
        p->partition = &t->config->partition[i];
        p->first_node = q->nodes;
        p->nodes = (p->partition->procs + q->procs_per_node - 1) / q->procs_per_node;
        q->nodes += p->nodes;
        p->busy = calloc((size_t)p->nodes, sizeof *p->busy);
        t->used[i] = calloc((size_t)p->partition->procs, 1);
        if (!p->busy || !t->used[i])
            return error_set(e, ERROR_FAILED, "not enough memory for %d nodes", p->nodes);
    }
    return true;
}

bool queue_state_at(const struct sched_config *c, const struct sched_job *jobs, const struct sched_result *r,
                    double now_s, int procs_per_node, struct queue_state *q, struct error *e)
{
    *q = (struct queue_state){.now_s = now_s, .procs_per_node = procs_per_node};
    struct replay t = {.config = c, .jobs = jobs, .result = r};
    int users = 0;
    for (int i = 0; i < r->count; i++)
        if (jobs[i].user >= users)
            users = jobs[i].user + 1;
    if (c->policy == POLICY_PRIORITY || c->policy == POLICY_FAIRSHARE)
        q->weights = c->weights.age + c->weights.size + c->weights.fairshare + c->weights.tier;
    t.held = calloc((size_t)r->count + 1, sizeof *t.held);
    bool ok = t.held || error_set(e, ERROR_FAILED, "not enough memory for %d jobs", r->count);
    ok = ok && make_partitions(&t, q, e) && fairshare_make(&t.usage, users, c->weights.half_life_s, e) &&
         replay_to(&t, now_s, e) && collect(&t, q, e);
    for (int i = 0; t.held && i < r->count; i++)
        free(t.held[i]);
    free(t.held);
    for (int i = 0; i < c->partitions; i++)
        free(t.used[i]);
    fairshare_free(&t.usage);
    if (!ok)
        queue_state_free(q);
    return ok;
}

void queue_state_free(struct queue_state *q)
{
    if (!q)
        return;
    for (int i = 0; i < q->count; i++)
        free(q->entry[i].node);
    free(q->entry);
    for (int i = 0; i < q->partitions; i++)
        free(q->partition[i].busy);
    *q = (struct queue_state){0};
}
