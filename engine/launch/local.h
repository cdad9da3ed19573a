/*
 * local.h - starts ranks on this host with Open MPI's mpirun.
 */
#ifndef RINGSIDE_LAUNCH_LOCAL_H
#define RINGSIDE_LAUNCH_LOCAL_H

#include "engine/launch/plan.h"

/* mpirun and ringside-rank are there, and the job fits under the node's cap on ranks. */
bool local_check(const struct job *job, struct error *e);
/* Fills in the command line of mpirun and what goes with it. */
bool local_plan(struct plan *p, const struct job *job, const char *dir, struct error *e);

/*
 * Really starts two ranks that greet each other through MPI: the answer of `ringside-rank --probe` from rank 0, a
 * new reference. NULL and *e, which quotes what mpirun said.
 */
json_t *local_probe(struct error *e);

#endif
