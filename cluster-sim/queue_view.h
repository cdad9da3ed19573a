/*
 * queue_view.h - a simulated queue as the commands of three batch systems would print it.
 *
 * squeue and sinfo as Slurm prints them without options (squeue(1), sinfo(1): the default formats), pbs as `qstat -a` of
 * OpenPBS, sge as `qstat` of Grid Engine. Widths, cuts and the order of lines are theirs; users and programs have the
 * numbers of the trace for names. Nothing here says that it is simulated: who prints it does.
 */
#ifndef RINGSIDE_CLUSTER_SIM_QUEUE_VIEW_H
#define RINGSIDE_CLUSTER_SIM_QUEUE_VIEW_H

#include "cluster-sim/queue_state.h"

enum queue_view { QUEUE_SQUEUE, QUEUE_SINFO, QUEUE_PBS, QUEUE_SGE };

/* False where there is none of that name: squeue, sinfo, pbs, sge. */
bool queue_view_named(const char *name, enum queue_view *view);

/* The whole text, lines with their newlines, which the caller frees; NULL where memory is short. */
char *queue_view_text(const struct queue_state *q, enum queue_view view, struct error *e);

#endif
