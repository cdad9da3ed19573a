/*
 * supervise_events.c - what a supervisor writes: the worker's events, its own, the status, the log.
 */
#include "engine/launch/supervisor.h"

#include "engine/base/event.h"
#include "engine/base/timing.h"
#include "engine/launch/processes.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Heartbeats that may fail to be written in a row. */
enum { STATUS_TRIES = 3 };

void supervisor_go_to(struct supervisor *s, enum stage stage)
{
    if (stage <= s->stage && stage != STAGE_KILL)
        return;
    s->stage = stage;
    s->stage_since = timing_now();
    if (!s->worker.pid || s->worker.ended)
        return;
    if (stage == STAGE_TERM)
        kill(s->worker.pid, SIGTERM);
    else if (stage == STAGE_KILL)
        session_kill(SIGKILL);
}

void supervisor_give_up(struct supervisor *s, const char *sentence)
{
    if (!*s->sentence)
        snprintf(s->sentence, sizeof s->sentence, "%s", sentence);
    supervisor_go_to(s, STAGE_TERM);
}

void supervisor_append(struct supervisor *s, json_t *event)
{
    struct error e = {0};
    if (*s->plan->slowed &&
        !json_object_get(event, "slowed")) /* our own; those of the ranks say so already */
        event_set_text(event, "slowed", s->plan->slowed);
    if (s->stream_broken) {
        json_decref(event);
        return;
    }
    if (!stream_append(&s->stream, event, &e)) {
        s->stream_broken = true;
        supervisor_give_up(s, e.text);
        runlog_line(&s->log, e.text, strlen(e.text));
    }
}

void supervisor_note(struct supervisor *s, const char *level, const char *text)
{
    json_t *event = event_new("note", -1);
    event_set_text(event, "level", level);
    event_set_text(event, "text", text);
    supervisor_append(s, event);
}

json_t *supervisor_job_event(enum run_state state, double t, const char *reason)
{
    json_t *event = event_new("job", t);
    event_set_text(event, "state", run_state_name(state));
    if (*reason)
        event_set_text(event, "reason", reason);
    return event;
}

void supervisor_fault(struct supervisor *s, int rank, const char *host, const char *kind,
                      const char *waiting_for, const char *text)
{
    char all[1024];
    snprintf(all, sizeof all, "%s%s%s", text, *waiting_for ? "; the others wait for: " : "", waiting_for);
    json_t *event = event_new("fault", -1);
    event_set_integer(event, "rank", rank);
    event_set_text(event, "host", *host ? host : s->status.host);
    event_set_text(event, "kind", kind);
    if (*waiting_for)
        event_set_text(event, "waiting_for", waiting_for);
    event_set_text(event, "text", all);
    supervisor_append(s, event);
    s->fault_rank = rank;
    snprintf(s->sentence, sizeof s->sentence, "%s", all);
}

bool supervisor_beat(struct supervisor *s, enum run_state state)
{
    s->status.state = state;
    s->status.heartbeat = clock_wall();
    s->last_beat = timing_now();
    struct error e = {0};
    if (run_status_write(s->dir, &s->status, &e)) {
        s->status_failures = 0;
        return true;
    }
    if (access(s->dir, F_OK) != 0 && errno == ENOENT) {
        snprintf(
            e.text, sizeof e.text,
            "the run's folder %.300s was removed while it ran, so the job ends and nothing of it is kept",
            s->dir);
        s->status_failures = STATUS_TRIES;
    }
    if (++s->status_failures >= STATUS_TRIES)
        supervisor_give_up(s, e.text);
    return false;
}

/* A run that this script asked for has failed: why is why the script does, where it says no more itself. */
static void take_nested(struct supervisor *s, const json_t *event)
{
    const char *reason = event_text(event, "reason", "");
    if (*reason)
        snprintf(s->sentence, sizeof s->sentence, "%s %s: %s", event_text(event, "kind", "run"),
                 event_text(event, "run", "?"), reason);
}

void supervisor_take_event(void *self, char *line, size_t length)
{
    struct supervisor *s = self;
    s->last_alive = timing_now();
    json_t *event = event_parse(line, length);
    const char *name = event ? event_name(event) : "";
    if (!*name) {
        json_decref(event);
        runlog_line(&s->log, line, length);
        return;
    }
    if (!strcmp(name, "heartbeat") || !strcmp(name, "job")) { /* the states of the run are ours to tell */
        s->heartbeats |= name[0] == 'h';
        json_decref(event);
        return;
    }
    if (!strcmp(name, "done")) {
        json_decref(s->done);
        s->done = event;
        return;
    }
    if (!strcmp(name, "nested") && json_is_false(json_object_get(event, "ok")))
        take_nested(s, event);
    bool is_fault = !strcmp(name, "fault") && strcmp(event_text(event, "kind", ""), "slow") != 0;
    if (is_fault && s->stage >= STAGE_TERM) { /* that ranks end now is no news */
        json_decref(event);
        return;
    }
    if (is_fault) {
        s->fault_rank = (int)event_integer(event, "rank", -1);
        snprintf(s->waiting_for, sizeof s->waiting_for, "%s", event_text(event, "waiting_for", ""));
    }
    if (is_fault || (!strcmp(name, "note") && !strcmp(event_text(event, "level", ""), "error"))) {
        const char *text = event_text(event, "text", "");
        if (*text)
            snprintf(s->sentence, sizeof s->sentence, "%s", text);
    }
    supervisor_append(s, event);
}

void supervisor_take_text(void *self, char *line, size_t length)
{
    struct supervisor *s = self;
    static const char sign[] = "hears nothing of rank 0 and waits for ";
    const char *waits = strstr(line, sign);
    if (waits && s->fault_rank < 0)
        snprintf(s->waiting_for, sizeof s->waiting_for, "%s", waits + strlen(sign));
    mpirun_log_line(&s->mpirun, line);
    runlog_line(&s->log, line, length);
}
