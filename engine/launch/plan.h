/*
 * plan.h - what a supervisor is to start: the worker's command line and environment, and how it is looked
 * after.
 *
 * plan_make resolves a job for this machine; its text arguments are owned by the plan. Notes are sentences
 * for the learner that the supervisor writes into the stream at the start.
 */
#ifndef RINGSIDE_LAUNCH_PLAN_H
#define RINGSIDE_LAUNCH_PLAN_H

#include "engine/base/error.h"
#include "engine/spec/job.h"
#include "engine/spec/slow_link.h"

enum { PLAN_ARGS = 48, PLAN_NOTES = 4 };

struct plan {
    char *argv[PLAN_ARGS]; /* ends with NULL */
    int argc;
    char *env[PLAN_ARGS]; /* "NAME=value", beside what the supervisor has */
    int env_count;
    char *notes[PLAN_NOTES]; /* "level text" */
    int note_count;
    int ranks;                   /* processes that mpirun starts; 0: the worker is one process of ours */
    int slots;                   /* of this node's cap on ranks; 0: exempt */
    int nice;                    /* 0: as it is */
    char slowed[SLOW_LINK_TEXT]; /* what every event says of a link slowed on purpose, or "" */
    bool check;                  /* of an exercise: that it ends with "no" is no failure of the run */
    bool replay;                 /* events keep the recording's times */
    bool simulated;              /* events keep the simulation's times */
    double silent_s;             /* rank 0 may be silent this long */
    double stop_s;               /* between a stop file and TERM */
    double kill_s;               /* between TERM and KILL */
};

/* The waits above, as they are where no test shortens them. */
void plan_init(struct plan *p);
bool plan_make(struct plan *p, const struct job *job, const char *dir, struct error *e);
void plan_arg(struct plan *p, const char *text);
void plan_env(struct plan *p, const char *name, const char *value);
void plan_note(struct plan *p, const char *level, const char *text);
void plan_clear(struct plan *p);

/* Whether this machine can start the job's ranks at all; ERROR_MISSING says what to install or load. */
bool plan_check_machine(const struct job *job, struct error *e);

/* The cores that this process may use. */
int machine_cores(void);
/* A program in PATH. */
bool machine_find(const char *name, char path[PATH_MAX]);
/* Free bytes of the shared memory that ranks of one host exchange data through; -1: there is no /dev/shm. */
long long machine_shm_free(void);

/* How to install Open MPI here, as part of a sentence. */
extern const char machine_mpi_cure[];

#endif
