/*
 * rundir.h - a run: a directory with job.json, events.jsonl, status.json and log.
 *
 * Every activity (a training job, an allreduce, a check, a replay, later a simulation) is a run. Its
 * supervisor alone appends to events.jsonl and status.json; everybody else reads. Runs live under
 * $RINGSIDE_HOME/runs, RINGSIDE_HOME being ~/.local/share/ringside unless it is set. A run's id is the name
 * of its directory. A run that lies elsewhere (--out DIR) is found through a symbolic link in
 * $RINGSIDE_HOME/runs. A file named `stop` in the directory asks the run to end; ranks look at it at each
 * step; one named `bucket` asks a training for another size of bucket.
 */
#ifndef RINGSIDE_BASE_RUNDIR_H
#define RINGSIDE_BASE_RUNDIR_H

#include "engine/base/error.h"

#include <jansson.h>
#include <limits.h>
#include <sys/types.h>

enum { RUN_STREAM_VERSION = 1 };

/* A supervisor writes its heartbeat every RUN_HEARTBEAT_S; one older than RUN_STALE_S means it is lost. */
#define RUN_HEARTBEAT_S 2.0
#define RUN_STALE_S 15.0

enum run_state { RUN_PENDING, RUN_RUNNING, RUN_DONE, RUN_FAILED, RUN_CANCELLED, RUN_LOST };

struct run_status {
    enum run_state state; /* as written; run_status_read turns pending and running into lost where it must */
    char host[64];        /* where the supervisor runs */
    long pid;             /* the supervisor's */
    double started;       /* seconds since the epoch */
    double heartbeat;     /* seconds since the epoch */
    int version;          /* of the stream */
    char reason[256];     /* why it failed or was cancelled, "" otherwise */
    bool gone;            /* of a lost one: its supervisor is known to have ended */
};

const char *run_state_name(enum run_state state); /* "pending", "running", ... */

/* $RINGSIDE_HOME and $RINGSIDE_HOME/runs, made where they are missing. */
bool ringside_home(char path[PATH_MAX], struct error *e);
bool runs_root(char path[PATH_MAX], struct error *e);

/* The run's id: the last part of its path; points into dir. */
const char *rundir_id(const char *dir);

/* Makes a new run directory root/YYYYmmdd-HHMMSS-label (with -2, -3 ... where that is taken). root NULL:
 * runs_root. */
bool rundir_create(const char *root, const char *label, char dir[PATH_MAX], struct error *e);

/* Lets rundir_list and rundir_find know of a run that lies outside runs_root. */
bool rundir_link(const char *dir, const char *label, struct error *e);

/*
 * Finds a run by id, by label, by unique prefix or unique part of an id, by path, or as "last": the newest that is
 * no exercise's check and was not asked for by a script, or else simply the newest.
 */
bool rundir_find(const char *name, char dir[PATH_MAX], struct error *e);

/* The same, but "last" is the newest run that trained: by hand or asked for by a script, no test and no replay. */
bool rundir_find_trained(const char *name, char dir[PATH_MAX], struct error *e);

/* All runs, newest first: an array of malloc'ed directories; the caller frees each and the array. */
bool rundir_list(char ***dirs, int *count, struct error *e);
void rundir_list_free(char **dirs, int count);

/* Removes a run's directory with all that is in it (and what links to it in runs_root). The caller asks
 * first. */
bool rundir_delete(const char *dir, struct error *e);

/* Writes a file of the run whole or not at all (temporary file, fsync, rename). */
bool rundir_write(const char *dir, const char *file, const char *text, struct error *e);
/* Reads a JSON file of the run; a new reference, or NULL. */
json_t *rundir_read_json(const char *dir, const char *file, struct error *e);

bool run_status_read(const char *dir, struct run_status *status, struct error *e);
/* For those who show it: one that is there and cannot be read counts as lost, and its reason says why. False: there is none. */
bool run_status_look(const char *dir, struct run_status *status);
bool run_status_write(const char *dir, const struct run_status *status, struct error *e);
bool run_state_ended(enum run_state state); /* done, failed, cancelled or lost */

/* Asks the run to end by itself (the stop file). */
bool rundir_request_stop(const char *dir, struct error *e);
bool rundir_stop_requested(const char *dir);
/* Asks a training to cut its gradients into buckets of so many bytes (the bucket file); what was asked last, -1: nothing. */
bool rundir_request_bucket(const char *dir, long bytes, struct error *e);
long rundir_bucket_requested(const char *dir);

/*
 * A tolerant reader of events.jsonl: polls (shared filesystems send no notice), leaves a torn last line for
 * later, skips what is not an event and counts it, keeps unknown events and fields.
 */
struct run_reader;
struct run_reader *run_reader_open(const char *dir, struct error *e); /* the file may not exist yet */
json_t *run_reader_next(struct run_reader *reader); /* a new reference; NULL: nothing whole is there now */
/*
 * The same in two steps, for those who read plain lines by themselves (event_scan.h): the next line that is not empty,
 * good until the next call, and the event in it (NULL: it is none, and counts as skipped).
 */
bool run_reader_next_line(struct run_reader *reader, const char **line, size_t *length);
json_t *run_reader_event(struct run_reader *reader, const char *line, size_t length);
/* Goes on with the first line that begins at `offset` or behind it. */
void run_reader_seek(struct run_reader *reader, off_t offset);
/* Where the next line begins, and how long the file is now. */
off_t run_reader_offset(const struct run_reader *reader);
off_t run_reader_size(const struct run_reader *reader);
const char *run_reader_path(const struct run_reader *reader); /* of events.jsonl */
long run_reader_skipped(const struct run_reader *reader);
void run_reader_free(struct run_reader *reader);

/*
 * Who watched: each program that attaches to a run appends one line to attached.jsonl, so that lesson 01 can
 * tell that a job went on without its application. Failing to write it harms nobody.
 */
void rundir_note_attached(const char *dir, long step);

#endif
