/*
 * workload.h - the jobs that a scheduler is given: from a trace, or made up; and a schedule as a trace again.
 *
 * A trace's job asks for the processors and the time that its fields 8 and 9 say; where they are unknown it asks for
 * what it had (fields 5 and 4). Its partition is field 16, or else field 15 (the queue), counted from 1; where both are
 * unknown the first. Jobs whose run time or processors nobody knows cannot be simulated: they are left out and counted.
 */
#ifndef RINGSIDE_CLUSTER_SIM_WORKLOAD_H
#define RINGSIDE_CLUSTER_SIM_WORKLOAD_H

#include "cluster-sim/scheduler.h"
#include "cluster-sim/swf.h"

#include <stdint.h>

struct workload {
    struct sched_job *jobs;
    int *from; /* which of the trace's jobs each is; -1: none, it was added */
    int count;
    int left_out;
    int users;
};

/* exact: jobs ask for the time that they run, as if everybody knew it. */
bool workload_from_trace(const struct swf *trace, int partitions, bool exact, struct workload *w,
                         struct error *e);
/* ERROR_INPUT where there is nothing to simulate. name: of the trace. */
bool workload_usable(const struct workload *w, const char *name, struct error *e);
void workload_free(struct workload *w);

/* Adds a job of a new user behind all that were submitted at the same time or before: so many tasks of an array, or a
 * single job (tasks 0). Its id is one more than the largest there is. *first: its place. */
bool workload_add(struct workload *w, const struct sched_job *job, int tasks, int *first, struct error *e);

/*
 * A made-up trace. Sizes and run times as in U. Lublin and D. Feitelson, The workload on parallel supercomputers, JPDC
 * 63(11), 2003, all jobs alike: a job is serial with probability 0.244, else its size is 2^x with x of a two-stage
 * uniform distribution (0.8, log2 P - 2.5, log2 P; 0.86), rounded to a whole number with probability 0.576 of all; ln of
 * its run time is hyper-gamma (4.2, 0.94; 312, 0.03) with the first's probability 0.78 - 0.0054 size. Of our own:
 * arrivals are a Poisson process without days and nights, at the rate that makes the offered load (processor-seconds
 * asked for over processors x the span of arrivals) what is given; users ask for 1 to 5 times what they need, rounded up
 * to a usual limit (D. Tsafrir, Y. Etsion, D. Feitelson, Modeling user runtime estimates, JSSPP 2005, found few values);
 * 64 users, the k-th less busy than the one before.
 */
struct workload_model {
    int jobs, procs;
    double load;
    uint64_t seed;
};
bool workload_make_up(const struct workload_model *m, struct swf *trace, struct error *e);

/* What came out, as a trace: waits, run times and processors as simulated, a header that says so. */
bool workload_to_trace(const struct swf *trace, const struct workload *w, const struct sched_config *c,
                       const struct sched_result *r, struct swf *to, struct error *e);

#endif
