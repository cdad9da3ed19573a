/*
 * scheduler.h - which job starts when: a batch scheduler's decisions for a list of jobs on a cluster.
 *
 * A job asks for a number of processors and a time limit, and runs for as long as it runs; the scheduler knows the
 * limit only. Processors are a number: any free ones will do. The processors are split into partitions, each with a
 * queue of its own.
 *
 * Policies. fifo: in the order of submission, and nobody overtakes. easy: the same, but while the first of the queue
 * waits, others may start that do not delay it (D. Lifka, The ANL/IBM SP scheduling system, JSSPP 1995): the first gets
 * a reservation at the earliest time when, by the limits of those that run, it has its processors; another may start if
 * it ends by then by its limit, or asks for no more than what the first leaves over then. priority and fairshare: the
 * same with the queue in the order of a priority (priority.h) that is worked out anew at every pass.
 *
 * Rules for ties, so that the same input gives the same schedule, bit by bit. At one instant: first all completions, then
 * all submissions, then one pass over the partitions in their order, which starts jobs. Jobs submitted together, or of
 * the same priority, go in the order of the list. All running jobs that end by the reservation, and at it, leave their
 * processors to it. A job that has overrun its limit (where limits are not enforced) is expected to end now.
 *
 * Of a job array at most `array_limit` tasks run or are eligible at once; the others are held, in no queue. One that is let
 * go takes the place of its submission, which may be before the first.
 */
#ifndef RINGSIDE_CLUSTER_SIM_SCHEDULER_H
#define RINGSIDE_CLUSTER_SIM_SCHEDULER_H

#include "cluster-sim/priority.h"
#include "engine/base/error.h"

enum sched_policy { POLICY_FIFO, POLICY_EASY, POLICY_PRIORITY, POLICY_FAIRSHARE };
enum { SCHED_MAX_PARTITIONS = 16, SCHED_MAX_PROCS = 100000000, SCHED_YOU = -2 };

struct sched_job {
    long long id;
    double submit_s;
    double run_s;    /* how long it really runs */
    double limit_s;  /* how long it asked for: all that the scheduler knows */
    int procs;       /* 1 or more */
    int user;        /* from 0 on, without gaps */
    int partition;   /* an index */
    long long array; /* tasks of one array share a number > 0 and follow each other in the list; 0: of none */
    int task;        /* which task */
    int array_limit; /* how many of them may run at once; 0: all */
    int line;        /* where a file told of it; 0: none did */
    long long owner; /* the user and the program as the trace numbers them, for people; -1: unknown;
                      * SCHED_YOU: who asks what would be */
    long long program;
};

struct sched_partition {
    char name[32];
    int procs;
    double max_time_s; /* that a job may ask for; 0: any */
    double tier;       /* a factor of the priority: 0 ... 1 */
};

struct sched_config {
    enum sched_policy policy;
    bool backfill;       /* EASY's; sched_defaults sets what belongs to the policy */
    bool enforce_limits; /* a job is killed when it reaches its limit; else it runs on */
    struct priority_weights weights;
    struct sched_partition partition[SCHED_MAX_PARTITIONS];
    int partitions;
};

/* What became of a job. */
struct sched_record {
    double start_s, end_s;
    double promised_s; /* the first reservation it got while it was the first of its queue; NAN: none */
    double priority;   /* when it started; 0 where the policy knows none */
    bool backfilled;   /* it overtook somebody */
    bool killed;       /* at its limit */
};

struct sched_result {
    struct sched_record *jobs; /* as many as there were, in their order */
    int count;
    double mean_wait_s, median_wait_s, longest_wait_s;
    int longest; /* who waited longest */
    double bounded_slowdown;
    double utilisation;   /* busy processor-seconds / (processors x makespan) */
    double makespan_s;    /* from the first submission to the last end */
    double busy_proc_s;   /* processor-seconds that ran */
    double queued_proc_s; /* processor-seconds, busy or not, of partitions while jobs waited there ... */
    double idle_queued_s; /* ... and those of them that were idle */
    int backfilled, killed;
    int procs; /* of all partitions */
};

const char *sched_policy_name(enum sched_policy policy);
/* False where there is none of that name. */
bool sched_policy_named(const char *name, enum sched_policy *policy);

/* One partition "batch" of that many processors, backfilling for all policies but fifo, the policy's weights. */
void sched_defaults(struct sched_config *c, enum sched_policy policy, int procs);

/* The whole schedule. ERROR_INPUT where a job cannot ever run (it asks for more than its partition has), or the list
 * is not in the order of submission; trace names the file for that (NULL: none). */
bool sched_run(const struct sched_config *c, const struct sched_job *jobs, int count, const char *trace,
               struct sched_result *r, struct error *e);
void sched_result_free(struct sched_result *r);

/* A job's response time over its run time, which counts as 10 s where it is shorter, and at least 1 (D. Feitelson, L.
 * Rudolph, U. Schwiegelshohn and others, Theory and practice in parallel job scheduling, JSSPP 1997). */
double sched_bounded_slowdown(double wait_s, double run_s);

#endif
