/*
 * sched_internal.h - what the scheduler does before and after its work: it looks at what it is given, and sums up.
 */
#ifndef RINGSIDE_CLUSTER_SIM_SCHED_INTERNAL_H
#define RINGSIDE_CLUSTER_SIM_SCHED_INTERNAL_H

#include "cluster-sim/scheduler.h"

/* ERROR_INPUT where partitions or a job cannot be. */
bool sched_check(const struct sched_config *c, const struct sched_job *jobs, int count, const char *trace,
                 struct error *e);

/* Means, utilisation and makespan from r's records; frees r where it fails. */
bool sched_sum_up(const struct sched_config *c, const struct sched_job *jobs, struct sched_result *r,
                  struct error *e);

#endif
