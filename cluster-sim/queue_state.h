/*
 * queue_state.h - what a batch system has at one moment of a simulated schedule: who runs where, who waits and why.
 *
 * The schedule knows processors as a number only; to name nodes, each is of so many processors, numbered through the
 * partitions, and a job gets the free processors of the lowest numbers when it starts. Jobs may share a node.
 */
#ifndef RINGSIDE_CLUSTER_SIM_QUEUE_STATE_H
#define RINGSIDE_CLUSTER_SIM_QUEUE_STATE_H

#include "cluster-sim/scheduler.h"

/* Why a job waits, with Slurm's names: it is the first and wants processors, it is behind that, its array is full. */
enum queue_reason { QUEUE_RUNS, QUEUE_RESOURCES, QUEUE_PRIORITY, QUEUE_ARRAY_LIMIT };

struct queue_entry {
    const struct sched_job *job;
    bool running;
    enum queue_reason reason;
    double start_s;  /* of one that runs */
    double priority; /* now; 0 where the policy knows none */
    int nodes;       /* that it has, or will have at least */
    int *node;       /* which, ascending, where it runs */
};

struct queue_partition {
    const struct sched_partition *partition;
    int first_node, nodes;
    int *busy; /* processors in use, by node of the partition */
};

struct queue_state {
    double now_s;   /* on the trace's clock */
    double epoch_s; /* when that stood at 0, in seconds since 1970 */
    int procs_per_node;
    int nodes;      /* in all */
    double weights; /* the most that a priority can be; 0 where the policy knows none */
    struct queue_entry
        *entry; /* by partition: those that wait in the order of the queue, then those that run */
    int count;
    struct queue_partition partition[SCHED_MAX_PARTITIONS];
    int partitions;
};

/* The state at now_s, after all that happens at that moment. It looks into c, jobs and r, which must outlive it. */
bool queue_state_at(const struct sched_config *c, const struct sched_job *jobs, const struct sched_result *r,
                    double now_s, int procs_per_node, struct queue_state *q, struct error *e);
void queue_state_free(struct queue_state *q);

#endif
