/*
 * resume.h - a job that begins where another run stands: `--resume RUN` goes on training, `--eval RUN` tests.
 */
#ifndef RINGSIDE_LAUNCH_RESUME_H
#define RINGSIDE_LAUNCH_RESUME_H

#include "engine/spec/job.h"

/*
 * The job of a training run (named as rundir_find_trained takes it), for the caller to change: model, data, recipe
 * and ranks are that run's; label and parent are empty. What is asked for is for the caller to say: resume or
 * eval = dir.
 */
bool resume_job(const char *run, struct job *job, char dir[PATH_MAX], struct error *e);

/* Other ranks than before: the batch of each is such that the global batch stays. */
bool resume_keep_global_batch(struct job *job, int ranks_before, struct error *e);

#endif
