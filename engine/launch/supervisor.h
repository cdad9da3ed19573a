/*
 * supervisor.h - what a supervisor knows of its run; shared by supervise.c (the loop), supervise_events.c (what goes
 * into the stream) and supervise_end.c (how it ends).
 */
#ifndef RINGSIDE_LAUNCH_SUPERVISOR_H
#define RINGSIDE_LAUNCH_SUPERVISOR_H

#include "engine/base/rundir.h"
#include "engine/launch/lines.h"
#include "engine/launch/mpirun_log.h"
#include "engine/launch/plan.h"
#include "engine/launch/runlog.h"
#include "engine/launch/stream.h"
#include "engine/launch/worker.h"

/* How far the worker's end has come. */
enum stage { STAGE_RUN, STAGE_ASKED, STAGE_TERM, STAGE_KILL };

struct supervisor {
    const char *dir;
    const struct plan *plan;
    struct stream stream;
    struct run_status status;
    struct worker worker;
    struct lines out, err;
    struct runlog log;
    struct mpirun_log mpirun;
    int signals; /* signalfd */
    enum stage stage;
    double stage_since, last_alive, last_beat, last_turn, ended_at; /* monotonic; 0: not yet */
    bool cancelled;
    bool heartbeats;    /* rank 0 sends them: its silence means something */
    bool stream_broken; /* the disk is full: only the last words are tried */
    int status_failures;
    json_t *done;          /* held back */
    char sentence[1024];   /* why it fails, as the worker or we know it */
    int fault_rank;        /* of the last fault, -1 */
    char waiting_for[400]; /* what the ranks have said that they wait for rank 0 for */
    pid_t *rank_pids;      /* by rank, 0: not found yet */
    double *rank_stopped;  /* since when, 0: it is not */
    int ranks_found;
};

/* supervise_events.c */

/* Goes on to a later stage, with the signal that belongs to it. */
void supervisor_go_to(struct supervisor *s, enum stage stage);
/* The run cannot go on. The first sentence counts. */
void supervisor_give_up(struct supervisor *s, const char *sentence);
/* Appends to the stream and drops the reference; a disk that is full makes the run give up. */
void supervisor_append(struct supervisor *s, json_t *event);
void supervisor_note(struct supervisor *s, const char *level, const char *text);
/* A new `job` event; t < 0: now. */
json_t *supervisor_job_event(enum run_state state, double t, const char *reason);
/* host "": this one; waiting_for "": not known. The text gets it, too. */
void supervisor_fault(struct supervisor *s, int rank, const char *host, const char *kind,
                      const char *waiting_for, const char *text);
/* Writes status.json. */
bool supervisor_beat(struct supervisor *s, enum run_state state);
/* Lines of the worker's standard output and standard error. */
void supervisor_take_event(void *self, char *line, size_t length);
void supervisor_take_text(void *self, char *line, size_t length);

/* supervise_end.c: the final job and done events and the last status. Returns whether the run went well. */
bool supervisor_conclude(struct supervisor *s);

#endif
