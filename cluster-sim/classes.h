/*
 * classes.h - the jobs that wait for a priority, in classes of one partition, one size and, where usage counts, one user.
 *
 * What a priority is made of (priority.h) is the same for all jobs of a class but for the age, and the list is in the
 * order of submission: so within a class the order of the list is that of the priorities, whenever they are worked out.
 * A pass looks at the first of every class instead of at every job that waits; there are far fewer classes than jobs.
 */
#ifndef RINGSIDE_CLUSTER_SIM_CLASSES_H
#define RINGSIDE_CLUSTER_SIM_CLASSES_H

#include "cluster-sim/scheduler.h"
#include "cluster-sim/waiting.h"

struct job_class {
    int partition, user, procs;
    const int *job; /* its jobs, by their places: in the order of the list */
    int head;       /* the first place where one waits; -1: nobody does */
    int active;     /* where the class is among those of its partition in which somebody waits; -1: nowhere */
    struct waiting queue; /* by place */
};

struct classes {
    struct job_class *list;
    int count;
    int *of, *place; /* by job: its class, and its place there */
    int *sorted;     /* the jobs, class by class */
    struct {
        int *list, count; /* classes in which somebody waits, in no order */
        int jobs;         /* who waits */
    } active[SCHED_MAX_PARTITIONS];
};

/* All jobs, of which none waits yet. by_user: users are told apart. */
bool classes_make(struct classes *c, const struct sched_job *jobs, int count, bool by_user, struct error *e);
void classes_free(struct classes *c);

/* The job waits, or no longer. */
void classes_put(struct classes *c, const struct sched_job *jobs, int job);
void classes_take(struct classes *c, int job);

/* The first job of a class, and its priority. */
struct candidate {
    double priority;
    int job;
};

/* The higher priority goes first, then who is first in the list. */
bool candidate_before(const struct candidate *a, const struct candidate *b);
/* A binary heap with the best at 0: makes one of what is there, adds one, takes the best out. */
void candidates_order(struct candidate *heap, int count);
void candidates_push(struct candidate *heap, int *count, struct candidate x);
struct candidate candidates_pop(struct candidate *heap, int *count);

#endif
