#include "cluster-sim/scheduler.h"

#include "cluster-sim/classes.h"
#include "cluster-sim/sched_internal.h"
#include "cluster-sim/waiting.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A running job as the scheduler sees it. */
struct running {
    double expected_s; /* its start plus its limit */
    int job;
};

/* A partition with its queue. */
struct machine {
    const struct sched_partition *partition;
    int free, total;
    struct waiting queue;
    int *at;                 /* which job waits at a place of the queue */
    int least;               /* with a priority: no job that waits asks for fewer processors */
    int jobs;                /* of the list, all in all */
    struct running *running; /* by expected end, then job */
    int runnings;
};

struct sched {
    const struct sched_config *config;
    const struct sched_job *jobs;
    int count, arrived;
    struct sched_record *record;
    struct machine machine[SCHED_MAX_PARTITIONS];
    int *place; /* a job's place in its queue */
    int *heap;  /* running jobs, the next to end first */
    int heaped;
    struct fairshare usage;
    struct fair {
        double at_s, factor;
    } * fair;    /* by user */
    bool ranked; /* who waits goes in the order of a priority, not of submission: */
    struct classes classes;
    struct candidate *heap_of_classes;
    /* of a job array, at its first task: how many tasks run or are eligible, and the next that is held */
    int *first, *active, *next;
    double now, queued_proc_s, idle_queued_s;
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* --- who ends next: a binary heap by end, then by job --- */

static bool ends_before(const struct sched *s, int a, int b)
{
    double x = s->record[a].end_s, y = s->record[b].end_s;
    return x < y || (x == y && a < b);
}

static void heap_push(struct sched *s, int job)
{
    int at = s->heaped++;
    for (; at > 0 && ends_before(s, job, s->heap[(at - 1) / 2]); at = (at - 1) / 2)
        s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = job;
}

static int heap_pop(struct sched *s)
{
    int top = s->heap[0], last = s->heap[--s->heaped], at = 0;
    for (int child; (child = 2 * at + 1) < s->heaped; at = child) {
        if (child + 1 < s->heaped && ends_before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!ends_before(s, s->heap[child], last))
            break;
        s->heap[at] = s->heap[child];
    }
    s->heap[at] = last;
    return top;
}

/* --- what runs in a partition --- */

/* Where among the running a job with that expected end is, or belongs. */
static int running_index(const struct machine *m, double expected_s, int job)
{
    int low = 0, high = m->runnings;
    while (low < high) {
        int middle = (low + high) / 2;
        const struct running *r = &m->running[middle];
        if (r->expected_s < expected_s || (r->expected_s == expected_s && r->job < job))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void start(struct sched *s, struct machine *m, int job)
{
    const struct sched_job *j = &s->jobs[job];
    struct sched_record *r = &s->record[job];
    bool kill = s->config->enforce_limits && j->run_s > j->limit_s;
    r->start_s = s->now;
    r->killed = kill;
    r->end_s = s->now + (kill ? j->limit_s : j->run_s);
    m->free -= j->procs;
    if (s->ranked)
        classes_take(&s->classes, job);
    else
        waiting_take(&m->queue, s->place[job]);
    double expected = s->now + j->limit_s;
    int at = running_index(m, expected, job);
    memmove(m->running + at + 1, m->running + at, (size_t)(m->runnings - at) * sizeof *m->running);
    m->running[at] = (struct running){expected, job};
    m->runnings++;
    heap_push(s, job);
    if (s->ranked)
        fairshare_run(&s->usage, j->user, j->procs, s->now);
}

static int waiting_jobs(const struct sched *s, const struct machine *m)
{
    return s->ranked ? s->classes.active[m - s->machine].jobs : m->queue.count;
}

/* The job is eligible: it waits in the queue of its partition. */
static void enqueue(struct sched *s, int job)
{
    struct machine *m = &s->machine[s->jobs[job].partition];
    if (s->ranked) {
        classes_put(&s->classes, s->jobs, job);
        m->least = smaller(m->least, s->jobs[job].procs);
        return;
    }
    m->at[s->place[job]] = job;
    waiting_put(&m->queue, s->place[job], s->jobs[job].procs, s->jobs[job].limit_s);
}

static void arrive(struct sched *s, int job)
{
    const struct sched_job *j = &s->jobs[job];
    s->arrived = job + 1;
    if (j->array > 0 && j->array_limit > 0) {
        int first = s->first[job];
        if (s->active[first] >= j->array_limit)
            return; /* held until another task ends */
        s->active[first]++;
        s->next[first] = job + 1;
    }
    enqueue(s, job);
}

static void complete(struct sched *s, int job)
{
    const struct sched_job *j = &s->jobs[job];
    struct machine *m = &s->machine[j->partition];
    int at = running_index(m, s->record[job].start_s + j->limit_s, job);
    m->runnings--;
    memmove(m->running + at, m->running + at + 1, (size_t)(m->runnings - at) * sizeof *m->running);
    m->free += j->procs;
    if (s->ranked)
        fairshare_run(&s->usage, j->user, -j->procs, s->now);
    if (j->array > 0 && j->array_limit > 0) {
        int first = s->first[job], held = s->next[first];
        if (held < s->arrived && s->first[held] == first) {
            s->next[first]++;
            enqueue(s, held);
        } else
            s->active[first]--;
    }
}

/* --- a pass over a queue --- */

/* The user's fair-share factor, worked out once an instant. */
static double fair_to(struct sched *s, int user)
{
    if (s->config->weights.fairshare == 0)
        return 0;
    if (s->fair[user].at_s != s->now)
        s->fair[user] = (struct fair){s->now, fairshare_factor(&s->usage, user, s->now)};
    return s->fair[user].factor;
}

/* When the first of the queue has its processors by the limits of those that run, and what it leaves over then. */
static double reserve(const struct sched *s, const struct machine *m, int procs, int *spare)
{
    int available = m->free, i = 0;
    double when = s->now;
    for (; i < m->runnings && available < procs; i++) {
        available += s->jobs[m->running[i].job].procs;
        when = fmax(s->now, m->running[i].expected_s);
    }
    for (; i < m->runnings && m->running[i].expected_s <= when; i++)
        available += s->jobs[m->running[i].job].procs;
    *spare = available - procs;
    return when;
}

/* What others may take while a job is the first of the queue: it gets its reservation. */
static struct hole hole_beside(struct sched *s, const struct machine *m, int first)
{
    int spare;
    double when = reserve(s, m, s->jobs[first].procs, &spare);
    if (isnan(s->record[first].promised_s))
        s->record[first].promised_s = when;
    return (struct hole){m->free, when - s->now, spare};
}

/* Starts a job that does not delay the first, and makes the hole smaller. hole->spare: it may be more than is free. */
static void start_beside(struct sched *s, struct machine *m, int job, struct hole *hole)
{
    if (s->jobs[job].limit_s > hole->window_s)
        hole->spare -= s->jobs[job].procs;
    s->record[job].backfilled = true;
    start(s, m, job);
    hole->procs = m->free;
}

static struct hole usable(struct hole hole)
{
    hole.spare = smaller(hole.spare, hole.procs);
    return hole;
}

/* Whether those behind the first may start, or it has yet to be promised its time. */
static bool backfills(const struct sched *s, const struct machine *m, int first)
{
    return s->config->backfill && (m->free > 0 || isnan(s->record[first].promised_s));
}

/* In the order of submission. */
static void pass_in_order(struct sched *s, struct machine *m)
{
    int place = waiting_first(&m->queue, 0);
    while (place >= 0 && s->jobs[m->at[place]].procs <= m->free) {
        start(s, m, m->at[place]);
        place = waiting_first(&m->queue, place + 1);
    }
    if (place < 0 || !backfills(s, m, m->at[place]))
        return;
    struct hole hole = hole_beside(s, m, m->at[place]);
    while (m->free > 0 && (place = waiting_fit(&m->queue, place + 1, usable(hole))) >= 0)
        start_beside(s, m, m->at[place], &hole);
}

static struct candidate candidate(struct sched *s, const struct machine *m, int job)
{
    const struct sched_job *j = &s->jobs[job];
    return (struct candidate){priority_of(&s->config->weights, s->now - j->submit_s, j->procs, m->total,
                                          fair_to(s, j->user), m->partition->tier),
                              job};
}

/*
 * The first of every class that could start now, as a heap; how many. Who asks for more than is free cannot start in this
 * pass: of those only the best matters, as the first that the others must not delay (*blocked; job -1: none).
 */
static int gather(struct sched *s, struct machine *m, struct candidate *blocked)
{
    int n = 0, p = (int)(m - s->machine);
    m->least = m->total;
    blocked->job = -1;
    for (int i = 0; i < s->classes.active[p].count; i++) {
        const struct job_class *k = &s->classes.list[s->classes.active[p].list[i]];
        struct candidate x = candidate(s, m, k->job[k->head]);
        m->least = smaller(m->least, k->procs);
        if (k->procs <= m->free)
            s->heap_of_classes[n++] = x;
        else if (blocked->job < 0 || candidate_before(&x, blocked))
            *blocked = x;
    }
    candidates_order(s->heap_of_classes, n);
    return n;
}

/* The first of a job's class, from its place (plus after) on, that fits; -1: none. */
static int next_of_class(const struct sched *s, int job, int after, struct hole hole)
{
    const struct job_class *k = &s->classes.list[s->classes.of[job]];
    int place = waiting_fit(&k->queue, s->classes.place[job] + after, hole);
    return place < 0 ? -1 : k->job[place];
}

static void start_ranked(struct sched *s, struct machine *m, struct candidate x, struct hole *hole)
{
    s->record[x.job].priority = x.priority;
    if (hole)
        start_beside(s, m, x.job, hole);
    else
        start(s, m, x.job);
}

/* In the order of the priorities now. */
static void pass_by_priority(struct sched *s, struct machine *m)
{
    const struct hole any = {INT_MAX - 1, INFINITY, INT_MAX - 1};
    struct candidate blocked, *heap = s->heap_of_classes, x;
    if (m->free == 0 || m->free < m->least)
        return;
    int n = gather(s, m, &blocked), next;
    while (n > 0 && s->jobs[heap[0].job].procs <= m->free &&
           (blocked.job < 0 || candidate_before(&heap[0], &blocked))) {
        x = candidates_pop(heap, &n);
        start_ranked(s, m, x, NULL);
        if ((next = next_of_class(s, x.job, 1, any)) >= 0)
            candidates_push(heap, &n, candidate(s, m, next));
    }
    if (n > 0 && (blocked.job < 0 || candidate_before(&heap[0], &blocked)))
        blocked = candidates_pop(heap, &n);
    if (blocked.job < 0 || !backfills(s, m, blocked.job))
        return;
    struct hole hole = hole_beside(s, m, blocked.job);
    int fit = 0; /* of each class the first that fits; the hole only gets smaller */
    for (int i = 0; i < n; i++)
        if ((next = next_of_class(s, heap[i].job, 0, usable(hole))) >= 0)
            heap[fit++] = next == heap[i].job ? heap[i] : candidate(s, m, next);
    n = fit;
    candidates_order(heap, n);
    while (m->free > 0 && n > 0) {
        x = candidates_pop(heap, &n);
        next = next_of_class(s, x.job, 0, usable(hole));
        if (next == x.job) {
            start_ranked(s, m, x, &hole);
            next = next_of_class(s, x.job, 1, usable(hole));
        }
        if (next >= 0)
            candidates_push(heap, &n, candidate(s, m, next));
    }
}

static void pass(struct sched *s, struct machine *m)
{
    if (waiting_jobs(s, m) == 0)
        return;
    if (s->ranked)
        pass_by_priority(s, m);
    else
        pass_in_order(s, m);
}

/* --- the whole schedule --- */

/* Time goes on; what is idle meanwhile although somebody waits is summed up. */
static void advance(struct sched *s, double to)
{
    for (int p = 0; p < s->config->partitions; p++) {
        const struct machine *m = &s->machine[p];
        if (waiting_jobs(s, m) > 0) {
            s->queued_proc_s += m->total * (to - s->now);
            s->idle_queued_s += m->free * (to - s->now);
        }
    }
    s->now = to;
}

static void simulate(struct sched *s)
{
    s->now = s->count > 0 ? s->jobs[0].submit_s : 0;
    for (int next = 0; next < s->count || s->heaped > 0;) {
        double t = INFINITY;
        if (s->heaped > 0)
            t = s->record[s->heap[0]].end_s;
        if (next < s->count)
            t = fmin(t, s->jobs[next].submit_s);
        advance(s, t);
        while (s->heaped > 0 && s->record[s->heap[0]].end_s <= t)
            complete(s, heap_pop(s));
        while (next < s->count && s->jobs[next].submit_s <= t)
            arrive(s, next++);
        for (int p = 0; p < s->config->partitions; p++)
            pass(s, &s->machine[p]);
    }
}

static bool make(struct sched *s, struct error *e)
{
    size_t n = (size_t)s->count + 1; /* none is of no bytes */
    int users = 0;
    s->record = calloc(n, sizeof *s->record);
    s->place = malloc(n * sizeof *s->place);
    s->heap = malloc(n * sizeof *s->heap);
    s->first = malloc(n * sizeof *s->first);
    s->active = calloc(n, sizeof *s->active);
    s->next = calloc(n, sizeof *s->next);
    if (!s->record || !s->place || !s->heap || !s->first || !s->active || !s->next)
        return error_set(e, ERROR_FAILED, "not enough memory for %d jobs", s->count);
    for (int i = 0; i < s->count; i++) {
        const struct sched_job *j = &s->jobs[i];
        s->place[i] = s->machine[j->partition].jobs++;
        s->first[i] = i > 0 && j->array > 0 && j[-1].array == j->array ? s->first[i - 1] : i;
        s->record[i].promised_s = s->record[i].start_s = NAN;
        if (j->user >= users)
            users = j->user + 1;
    }
    for (int p = 0; p < s->config->partitions; p++) {
        struct machine *m = &s->machine[p];
        size_t jobs = (size_t)m->jobs + 1;
        m->partition = &s->config->partition[p];
        m->free = m->total = m->partition->procs;
        m->at = malloc(jobs * sizeof *m->at);
        m->running = malloc(jobs * sizeof *m->running);
        if (!m->at || !m->running)
            return error_set(e, ERROR_FAILED, "not enough memory for %d jobs", s->count);
        if (!waiting_make(&m->queue, (int)jobs, e))
            return false;
    }
    s->heap_of_classes = malloc(n * sizeof *s->heap_of_classes);
    if (!s->heap_of_classes)
        return error_set(e, ERROR_FAILED, "not enough memory for %d jobs", s->count);
    if (s->ranked && !classes_make(&s->classes, s->jobs, s->count, s->config->weights.fairshare != 0, e))
        return false;
    s->fair = malloc(((size_t)users + 1) * sizeof *s->fair);
    if (!s->fair)
        return error_set(e, ERROR_FAILED, "not enough memory for %d users", users);
    for (int i = 0; i < users; i++)
        s->fair[i].at_s = NAN;
    return fairshare_make(&s->usage, users, s->config->weights.half_life_s, e);
}

bool sched_run(const struct sched_config *c, const struct sched_job *jobs, int count, const char *trace,
               struct sched_result *r, struct error *e)
{
    *r = (struct sched_result){0};
    if (!sched_check(c, jobs, count, trace, e))
        return false;
    struct sched s = {.config = c, .jobs = jobs, .count = count};
    s.ranked = c->policy == POLICY_PRIORITY || c->policy == POLICY_FAIRSHARE;
    bool ok = make(&s, e);
    if (ok) {
        simulate(&s);
        r->jobs = s.record;
        r->count = count;
        r->queued_proc_s = s.queued_proc_s;
        r->idle_queued_s = s.idle_queued_s;
        ok = sched_sum_up(c, jobs, r, e);
    } else
        free(s.record);
    for (int p = 0; p < c->partitions; p++) {
        waiting_free(&s.machine[p].queue);
        free(s.machine[p].at);
        free(s.machine[p].running);
    }
    classes_free(&s.classes);
    free(s.heap_of_classes);
    free(s.place);
    free(s.heap);
    free(s.first);
    free(s.active);
    free(s.next);
    free(s.fair);
    fairshare_free(&s.usage);
    return ok;
}
