#include "cluster-sim/classes.h"

#include <stdlib.h>

/* What makes a class, and the job. */
struct key {
    int partition, user, procs, job;
};

static int by_class(const void *a, const void *b)
{
    const int *x = a, *y = b;
    for (int i = 0; i < 4; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static bool same_class(const struct key *a, const struct key *b)
{
    return a->partition == b->partition && a->user == b->user && a->procs == b->procs;
}

/* Gives every run of equal keys a class. */
static bool split(struct classes *c, const struct key *key, int count, struct error *e)
{
    for (int i = 0; i < count;) {
        int end = i;
        struct job_class *k = &c->list[c->count];
        *k = (struct job_class){.partition = key[i].partition,
                                .user = key[i].user,
                                .procs = key[i].procs,
                                .job = c->sorted + i,
                                .head = -1,
                                .active = -1};
        for (; end < count && same_class(&key[end], &key[i]); end++) {
            c->sorted[end] = key[end].job;
            c->of[key[end].job] = c->count;
            c->place[key[end].job] = end - i;
        }
        if (!waiting_make(&k->queue, end - i, e))
            return false;
        c->count++;
        i = end;
    }
    for (int i = 0; i < c->count; i++) {
        int p = c->list[i].partition;
        c->active[p].count++;
    }
    for (int p = 0; p < SCHED_MAX_PARTITIONS; p++) {
        c->active[p].list = malloc(((size_t)c->active[p].count + 1) * sizeof(int));
        if (!c->active[p].list)
            return error_set(e, ERROR_FAILED, "not enough memory for %d classes of jobs", c->count);
        c->active[p].count = 0;
    }
    return true;
}

bool classes_make(struct classes *c, const struct sched_job *jobs, int count, bool by_user, struct error *e)
{
    size_t n = (size_t)count + 1;
    struct key *key = malloc(n * sizeof *key);
    *c = (struct classes){.list = malloc(n * sizeof *c->list),
                          .of = malloc(n * sizeof *c->of),
                          .place = malloc(n * sizeof *c->place),
                          .sorted = malloc(n * sizeof *c->sorted)};
    bool ok = key && c->list && c->of && c->place && c->sorted;
    if (!ok)
        error_set(e, ERROR_FAILED, "not enough memory for %d jobs", count);
    for (int i = 0; ok && i < count; i++)
        key[i] = (struct key){jobs[i].partition, by_user ? jobs[i].user : 0, jobs[i].procs, i};
    if (ok) {
        qsort(key, (size_t)count, sizeof *key, by_class);
        ok = split(c, key, count, e);
    }
    free(key);
    return ok;
}

void classes_free(struct classes *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++)
        waiting_free(&c->list[i].queue);
    for (int p = 0; p < SCHED_MAX_PARTITIONS; p++)
        free(c->active[p].list);
    free(c->list);
    free(c->of);
    free(c->place);
    free(c->sorted);
    *c = (struct classes){0};
}

void classes_put(struct classes *c, const struct sched_job *jobs, int job)
{
    struct job_class *k = &c->list[c->of[job]];
    int place = c->place[job], p = k->partition;
    waiting_put(&k->queue, place, jobs[job].procs, jobs[job].limit_s);
    if (k->head < 0 || place < k->head)
        k->head = place;
    if (k->active < 0) {
        k->active = c->active[p].count++;
        c->active[p].list[k->active] = c->of[job];
    }
    c->active[p].jobs++;
}

void classes_take(struct classes *c, int job)
{
    struct job_class *k = &c->list[c->of[job]];
    int place = c->place[job], p = k->partition;
    waiting_take(&k->queue, place);
    if (place == k->head)
        k->head = waiting_first(&k->queue, place + 1);
    if (k->head < 0) { /* the last of those takes its place */
        int last = c->active[p].list[--c->active[p].count];
        c->active[p].list[k->active] = last;
        c->list[last].active = k->active;
        k->active = -1;
    }
    c->active[p].jobs--;
}

/* --- candidates --- */

bool candidate_before(const struct candidate *a, const struct candidate *b)
{
    return a->priority > b->priority || (a->priority == b->priority && a->job < b->job);
}

/* Puts x where it belongs below a hole in the heap. */
static void sink(struct candidate *heap, int count, int at, struct candidate x)
{
    for (int child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && candidate_before(&heap[child + 1], &heap[child]))
            child++;
        if (!candidate_before(&heap[child], &x))
            break;
        heap[at] = heap[child];
    }
    heap[at] = x;
}

void candidates_order(struct candidate *heap, int count)
{
    for (int i = count / 2 - 1; i >= 0; i--)
        sink(heap, count, i, heap[i]);
}

void candidates_push(struct candidate *heap, int *count, struct candidate x)
{
    int at = (*count)++;
    for (; at > 0 && candidate_before(&x, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = x;
}

struct candidate candidates_pop(struct candidate *heap, int *count)
{
    struct candidate best = heap[0];
    --*count;
    if (*count > 0)
        sink(heap, *count, 0, heap[*count]);
    return best;
}
