/*
 * lua_host.h - `ringside --lua-host DIR`: the worker of a script or a check.
 *
 * A parent and a child. The child holds the sandbox: no files, no further processes, a cap on memory; it talks over a
 * socketpair in JSON lines and nothing else. The parent, which runs no code of the learner's, kills it on wall clock
 * (time in which a request is served does not count) and serves its requests: train{}, allreduce{} and rank_script{}
 * become runs of their own whose events it follows and answers from.
 *
 *   child -> parent   {"event": {...}}   {"call": NAME, "args": ...}   {"end": true, "ok": ..., "fault": {...},
 *                     "model": {...}} (of a script that describes one and calls nothing; "unusable": "sentence"
 *                     where that is none, "idle": true where there is nothing at all)
 *   parent -> child   {"value": ...} or {"error": "sentence"}, in answer to a call
 *
 * TERM or a stop file ends the child and stops the runs it asked for. The last event is `done` with ok and, after
 * a mistake in a script, "exit_code": 2.
 */
#ifndef RINGSIDE_LAUNCH_LUA_HOST_H
#define RINGSIDE_LAUNCH_LUA_HOST_H

#include "engine/base/error.h"
#include "engine/base/lua_sandbox.h"

#include <jansson.h>
#include <limits.h>
#include <sys/types.h>

/* What the child runs. */
struct lua_host_script {
    const char *text;
    size_t length;
    const char *shown;
    const char *learner_text; /* of a check; else NULL */
    size_t learner_length;
    const char *learner_shown;
    bool instant, record; /* record: nothing is carried out (lua_host_probe) */
    double seconds;       /* of its own; 0: lua_sandbox_seconds() */
};

/* --- lua_host_child.c -------------------------------------------------------------------------------------- */

/* Forks the child; *fd gets the parent's end of the socketpair. The caller kills and waits. */
bool lua_host_fork(const struct lua_host_script *script, pid_t *pid, int *fd, struct error *e);
/* The limit that holds for this script. */
double lua_host_seconds(const struct lua_host_script *script);

/* --- lua_host_serve.c -------------------------------------------------------------------------------------- */

struct event_sink;

struct lua_host {
    char dir[PATH_MAX], id[256]; /* of the script's own run */
    struct event_sink *sink;
    char learner[PATH_MAX]; /* the learner's file: what rank_script{} runs */
    char shown[PATH_MAX];   /* its name in messages */
    bool instant;
    bool nested_failed; /* a run that the script asked for did not end well */
    struct {            /* asked while a request is served */
        bool (*interrupted)(struct lua_host *h);
        int signals, child; /* descriptors */
    } watch;
};

/* Answers a call; a new reference. NULL and *e: refused (the child raises the sentence at the call). */
json_t *lua_host_serve(struct lua_host *h, const json_t *request, struct error *e);

/* --- lua_host_query.c: about other runs -------------------------------------------------------------------- */

json_t *lua_host_run_info(struct lua_host *h, const json_t *args, struct error *e);
json_t *lua_host_attachments(struct lua_host *h, const json_t *args, struct error *e);

/* --- lua_host_job.c: arguments as jobs --------------------------------------------------------------------- */

struct job;
bool lua_host_train_job(const json_t *args, struct job *job, struct error *e);
bool lua_host_allreduce_job(const json_t *args, struct job *job, struct error *e);
bool lua_host_ranks_job(const json_t *args, struct job *job, struct error *e);
bool lua_host_sim_job(const json_t *args, struct job *job, struct error *e); /* lua_host_sim.c */

/* --- lua_host_model.c -------------------------------------------------------------------------------------- */

/* A model or a gan as `layer` events, one a layer; checked whole before the first. */
bool lua_host_describe(struct event_sink *sink, const json_t *model, struct error *e);

/* --- lua_host.c -------------------------------------------------------------------------------------------- */

/* How a file is named in messages: without the working directory, or by its name alone where it is the learner's. */
const char *lua_host_shown(const char *path);

/* argv[0] is the run's directory. Returns the exit code. */
int lua_host_main(int argc, char **argv);

enum lua_host_kind { LUA_HOST_SCRIPT, LUA_HOST_RANK_SCRIPT };

/*
 * What a file is, without carrying anything out: a rank script defines allreduce(comm, x) and calls nothing. False:
 * it cannot be read or does not compile; any other mistake shows when it runs.
 */
bool lua_host_probe(const char *file, enum lua_host_kind *kind, struct error *e);

#endif
