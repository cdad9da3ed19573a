/*
 * launch.h - how a job is started and looked after.
 *
 * launch_start makes the run directory and starts its supervisor: a small process of `ringside` under setsid,
 * without terminal, that starts the worker, alone appends to events.jsonl and status.json, and outlives the
 * application. A worker is a child of the supervisor that prints event lines on standard output and text for
 * the log on standard error: train, allreduce, ranks     mpirun ... ringside-rank DIR   (rank 0 alone writes
 * to standard output) ranks as coroutines         ringside --coroutine-ranks DIR script, check ringside
 * --lua-host DIR a replay of a recording     ringside --replay DIR The supervisor stamps events that have no
 * "t", writes the `job` events, drops `heartbeat` events (they prove that rank 0 is alive), holds back the
 * worker's `done` until the worker has ended, then writes the final `job` and `done`. RINGSIDE_STARTED
 * (seconds since the epoch) tells the worker when the run began. Where a stop is asked for, ranks look at the
 * stop file themselves and get TERM only after a grace; every other worker gets TERM at once.
 */
#ifndef RINGSIDE_LAUNCH_LAUNCH_H
#define RINGSIDE_LAUNCH_LAUNCH_H

#include "engine/base/error.h"
#include "engine/spec/job.h"

#include <limits.h>

/*
 * Starts the job; dir gets its run directory. Returns once the supervisor has written its first status, so
 * the run can be read at once. Fails (and leaves no run behind) where the job is invalid or the machine lacks
 * something (ERROR_MISSING: mpirun, ringside-rank).
 */
bool launch_start(const struct job *job, char dir[PATH_MAX], struct error *e);

/* As launch_start, in a directory of the caller's (--out DIR), which must not exist or be empty. */
bool launch_start_in(const struct job *job, const char *out, char dir[PATH_MAX], struct error *e);

/* Plays a run again, as a new run with origin "replay"; speed 2 is twice as fast, 0 as fast as it goes. */
bool launch_replay(const char *recording, double speed, char dir[PATH_MAX], struct error *e);

/* A run by what rundir_find takes, or a recording of the course (lessons/recordings/NAME) by its name. */
bool launch_find_recording(const char *name, char dir[PATH_MAX], struct error *e);

/*
 * Stops a run. The first call makes the stop file: the supervisor sees it, gives the ranks a grace, then
 * sends TERM and KILL at the very end. A second call sends TERM to the supervisor. Does not block.
 */
bool launch_stop(const char *dir, struct error *e);

/*
 * Asks a training that runs to cut its gradients into buckets of so many bytes (0: one allreduce after backward),
 * which it does between two steps. ERROR_INPUT where it has ended or trains nothing.
 */
bool launch_set_bucket(const char *dir, long bytes, struct error *e);

/* Whether argv is one of the hidden commands (--supervise, --lua-host, --coroutine-ranks ...); runs it if so.
 */
bool launch_worker(int argc, char **argv, int *code);

#endif
