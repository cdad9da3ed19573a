/*
 * sched_explain.h - why a schedule is as it is: the formulas with their numbers, and where the capacity went.
 */
#ifndef RINGSIDE_CLUSTER_SIM_SCHED_EXPLAIN_H
#define RINGSIDE_CLUSTER_SIM_SCHED_EXPLAIN_H

#include "cluster-sim/scheduler.h"

/* What kept jobs waiting most: "processors" (most were busy), "holes" (most were idle and fitted nobody's request)
 * or "nothing" (less than one second of wait a job). */
const char *sched_bottleneck(const struct sched_result *r);

/* Lines with their newlines, which the caller frees; NULL where memory is short. */
char *sched_explain(const struct sched_config *c, const struct sched_job *jobs, const struct sched_result *r,
                    struct error *e);

/* What became of one job, and what it met when it was submitted: who ran, who was before it. As above. */
char *sched_explain_job(const struct sched_config *c, const struct sched_job *jobs,
                        const struct sched_result *r, int job, struct error *e);

#endif
