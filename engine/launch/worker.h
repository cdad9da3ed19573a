/*
 * worker.h - the process that does a run's work, as a child of its supervisor with two pipes.
 */
#ifndef RINGSIDE_LAUNCH_WORKER_H
#define RINGSIDE_LAUNCH_WORKER_H

#include "engine/launch/plan.h"

#include <sys/types.h>

struct worker {
    pid_t pid;
    int out, err; /* read ends: event lines, text for the log; -1 at their end */
    bool ended;
    int status; /* as waitpid gives it, once ended */
};

/* Starts it at the plan's priority, without standard input; it gets TERM should the supervisor die. */
bool worker_start(struct worker *w, const struct plan *plan, double started, struct error *e);
/* Collects every child that has ended; sets w->ended when the worker is among them. */
void worker_reap(struct worker *w);
void worker_close(struct worker *w);

#endif
