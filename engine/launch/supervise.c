#include "engine/launch/supervise.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/launch/lines.h"
#include "engine/launch/mpirun_log.h"
#include "engine/launch/processes.h"
#include "engine/launch/runlog.h"
#include "engine/launch/site.h"
#include "engine/launch/slots.h"
#include "engine/launch/stream.h"
#include "engine/launch/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TICK_MS = 250,
    QUEUE_TICK_MS = 500,
    STATUS_TRIES = 3, /* heartbeats that may fail to be written in a row */
};
/* Seconds that what is left of the worker's pipes may take once it has ended, and that a rank may stay
 * stopped. */
#define DRAIN_S 1.0
#define STOPPED_S 3.0
/* A loop that has not come round for so long was itself stopped: the ranks' silence in that time says
 * nothing. */
#define OWN_GAP_S 5.0

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
    json_t *done;         /* held back */
    char sentence[512];   /* why it fails, as the worker or we know it */
    int fault_rank;       /* of the last fault, -1 */
    pid_t *rank_pids;     /* by rank, 0: not found yet */
    double *rank_stopped; /* since when, 0: it is not */
    int ranks_found;
};

/* --- the stream
 * ------------------------------------------------------------------------------------------------ */

static void go_to(struct supervisor *s, enum stage stage)
{
    if (stage <= s->stage && stage != STAGE_KILL)
        return;
    s->stage = stage;
    s->stage_since = clock_monotonic();
    if (!s->worker.pid || s->worker.ended)
        return;
    if (stage == STAGE_TERM)
        kill(s->worker.pid, SIGTERM);
    else if (stage == STAGE_KILL)
        session_kill(SIGKILL);
}

/* The run cannot go on. The first sentence counts. */
static void give_up(struct supervisor *s, const char *sentence)
{
    if (!*s->sentence)
        snprintf(s->sentence, sizeof s->sentence, "%s", sentence);
    go_to(s, STAGE_TERM);
}

static void append(struct supervisor *s, json_t *event)
{
    struct error e = {0};
    if (s->stream_broken) {
        json_decref(event);
        return;
    }
    if (!stream_append(&s->stream, event, &e)) {
        s->stream_broken = true;
        give_up(s, e.text);
        runlog_line(&s->log, e.text, strlen(e.text));
    }
}

static void note(struct supervisor *s, const char *level, const char *text)
{
    json_t *event = event_new("note", -1);
    event_set_text(event, "level", level);
    event_set_text(event, "text", text);
    append(s, event);
}

/* t < 0: now. */
static json_t *job_event(enum run_state state, double t, const char *reason)
{
    json_t *event = event_new("job", t);
    event_set_text(event, "state", run_state_name(state));
    if (*reason)
        event_set_text(event, "reason", reason);
    return event;
}

static void fault(struct supervisor *s, int rank, const char *host, const char *kind, const char *text)
{
    json_t *event = event_new("fault", -1);
    event_set_integer(event, "rank", rank);
    event_set_text(event, "host", *host ? host : s->status.host);
    event_set_text(event, "kind", kind);
    event_set_text(event, "text", text);
    append(s, event);
    s->fault_rank = rank;
}

static bool beat(struct supervisor *s, enum run_state state)
{
    s->status.state = state;
    s->status.heartbeat = clock_wall();
    s->last_beat = clock_monotonic();
    struct error e = {0};
    if (run_status_write(s->dir, &s->status, &e)) {
        s->status_failures = 0;
        return true;
    }
    if (++s->status_failures >= STATUS_TRIES)
        give_up(s, e.text);
    return false;
}

/* --- what the worker prints
 * -------------------------------------------------------------------------------------- */

static void take_event(void *self, char *line, size_t length)
{
    struct supervisor *s = self;
    s->last_alive = clock_monotonic();
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
    bool is_fault = !strcmp(name, "fault");
    if (is_fault)
        s->fault_rank = (int)event_integer(event, "rank", -1);
    if (is_fault || (!strcmp(name, "note") && !strcmp(event_text(event, "level", ""), "error"))) {
        const char *text = event_text(event, "text", "");
        if (*text)
            snprintf(s->sentence, sizeof s->sentence, "%s", text);
    }
    append(s, event);
}

static void take_text(void *self, char *line, size_t length)
{
    struct supervisor *s = self;
    mpirun_log_line(&s->mpirun, line);
    runlog_line(&s->log, line, length);
}

/* --- ranks
 * ---------------------------------------------------------------------------------------------------------
 */

/* Looks for the processes of this host's ranks, until all are known. */
static void find_ranks(struct supervisor *s)
{
    struct process *list = malloc(PROCESSES_MAX * sizeof *list);
    if (!list)
        return;
    int n = session_list(list, PROCESSES_MAX);
    for (int i = 0; i < n; i++) {
        int rank = process_rank(list[i].pid);
        if (rank >= 0 && rank < s->plan->ranks && s->rank_pids[rank] == 0) {
            s->rank_pids[rank] = list[i].pid;
            s->ranks_found++;
        }
    }
    free(list);
}

/* A rank that is stopped holds up all others for ever, and neither MPI nor the ranks can tell. */
static void watch_ranks(struct supervisor *s, double now)
{
    if (s->ranks_found < s->plan->ranks)
        find_ranks(s);
    for (int rank = 0; rank < s->plan->ranks; rank++) {
        if (s->rank_pids[rank] == 0 || process_state(s->rank_pids[rank]) != 'T') {
            s->rank_stopped[rank] = 0;
        } else if (s->rank_stopped[rank] == 0) {
            s->rank_stopped[rank] = now;
        } else if (now - s->rank_stopped[rank] >= STOPPED_S) {
            char text[256];
            snprintf(text, sizeof text,
                     "rank %d on %.100s has been stopped (SIGSTOP): every other rank waits for it, so the "
                     "job ends",
                     rank, s->status.host);
            fault(s, rank, "", "stopped", text);
            give_up(s, text);
            return;
        }
    }
    if (s->heartbeats && now - s->last_alive > s->plan->silent_s) {
        char text[256];
        snprintf(text, sizeof text,
                 "rank 0 on %.100s has given no sign of life for %.0f s; it hangs or its host does, so the "
                 "job ends",
                 s->status.host, now - s->last_alive);
        fault(s, 0, "", "silent", text);
        give_up(s, text);
    }
}

/* --- the loop
 * ------------------------------------------------------------------------------------------------------ */

static void read_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            worker_reap(&s->worker);
        else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
            s->cancelled = true;
            go_to(s, STAGE_TERM);
        }
    }
}

static void check_stop(struct supervisor *s, double now)
{
    if (s->stage == STAGE_RUN && rundir_stop_requested(s->dir)) {
        s->cancelled = true;
        go_to(s, s->plan->ranks > 0 ? STAGE_ASKED : STAGE_TERM);
    }
    if (s->stage == STAGE_ASKED && now - s->stage_since > s->plan->stop_s)
        go_to(s, STAGE_TERM);
    if (s->stage == STAGE_TERM && now - s->stage_since > s->plan->kill_s)
        go_to(s, STAGE_KILL);
}

/* Waits for news at most `ms`, and keeps the heartbeat. */
static void turn(struct supervisor *s, int ms)
{
    struct pollfd fds[] = {{s->signals, POLLIN, 0}, {s->worker.out, POLLIN, 0}, {s->worker.err, POLLIN, 0}};
    poll(fds, 3, ms);
    double now = clock_monotonic();
    if (s->last_turn > 0 && now - s->last_turn > OWN_GAP_S)
        s->last_alive = now;
    s->last_turn = now;
    read_signals(s);
    if (fds[1].revents && !lines_read(&s->out, s->worker.out, take_event, s)) {
        lines_finish(&s->out, take_event, s);
        close(s->worker.out);
        s->worker.out = -1;
    }
    if (fds[2].revents && !lines_read(&s->err, s->worker.err, take_text, s)) {
        lines_finish(&s->err, take_text, s);
        close(s->worker.err);
        s->worker.err = -1;
    }
    check_stop(s, now);
}

/* Waits for a place under the node's cap; false: it was cancelled meanwhile. */
static bool wait_for_slots(struct supervisor *s, struct slots **slots)
{
    struct error e = {0};
    struct site site;
    *slots = NULL;
    if (!site_read(&site, &e) || !(*slots = slots_queue(s->plan->slots, site.local_ranks, &e))) {
        char text[sizeof e.text + 80];
        snprintf(text, sizeof text, "the node's cap on ranks is not kept: %s", e.text);
        note(s, "warn", text);
        return true;
    }
    int told = -1;
    for (int position; !slots_try(*slots, &position);) {
        if (position != told) {
            json_t *event = job_event(RUN_PENDING, 0, "");
            event_set_integer(event, "position", position + 1);
            append(s, event);
            told = position;
        }
        turn(s, QUEUE_TICK_MS);
        if (s->stage != STAGE_RUN)
            return false;
        if (clock_monotonic() - s->last_beat >= RUN_HEARTBEAT_S)
            beat(s, RUN_PENDING);
    }
    return true;
}

/* Until the worker has ended, its pipes are empty and no process of the session is left. */
static void watch(struct supervisor *s)
{
    while (!s->worker.ended || s->worker.out >= 0 || s->worker.err >= 0) {
        turn(s, TICK_MS);
        double now = clock_monotonic();
        if (s->worker.ended) {
            if (s->ended_at == 0)
                s->ended_at = now;
            else if (now - s->ended_at > DRAIN_S) {
                session_kill(SIGKILL); /* who holds the pipes has outlived mpirun */
                if (now - s->ended_at > 3 * DRAIN_S)
                    break;
            }
        }
        if (now - s->last_beat >= RUN_HEARTBEAT_S) {
            beat(s, RUN_RUNNING);
            if (s->plan->ranks > 0 && s->stage == STAGE_RUN && !s->worker.ended)
                watch_ranks(s, now);
        }
    }
    for (int i = 0; i < 100 && session_kill(SIGKILL) > 0; i++)
        poll(NULL, 0, 20);
    worker_reap(&s->worker);
}

/* --- the end
 * ------------------------------------------------------------------------------------------------------- */

/* The rank that mpirun names, unless the ranks themselves have told of a fault. */
static void name_dead_rank(struct supervisor *s)
{
    const struct mpirun_log *m = &s->mpirun;
    if (s->cancelled || !m->found || m->rank < 0 || s->fault_rank == m->rank || s->stage >= STAGE_TERM)
        return;
    if (m->signal == 0 && *s->sentence)
        return; /* it ended by itself, with a sentence */
    char text[512], tail[300] = "";
    const char *host = *m->host ? m->host : s->status.host;
    if (m->signal) {
        const char *name = strsignal(m->signal);
        snprintf(text, sizeof text, "rank %d on %.64s was ended by signal %d (%s): %s", m->rank, host,
                 m->signal, name,
                 m->signal == SIGKILL ? "somebody killed it, or the host ran out of memory"
                                      : "the program has a fault; the log says more");
    } else {
        runlog_tail(&s->log, tail, sizeof tail);
        snprintf(text, sizeof text, "rank %d on %.64s ended with exit code %d; the log is %.300s/log",
                 m->rank, host, m->exit_code, s->dir);
    }
    fault(s, m->rank, m->host, "dead", text);
    snprintf(s->sentence, sizeof s->sentence, "%s", text);
}

static void explain_failure(struct supervisor *s)
{
    if (*s->sentence)
        return;
    char tail[300], how[64];
    runlog_tail(&s->log, tail, sizeof tail);
    if (WIFSIGNALED(s->worker.status))
        snprintf(how, sizeof how, "was ended by signal %d (%s)", WTERMSIG(s->worker.status),
                 strsignal(WTERMSIG(s->worker.status)));
    else
        snprintf(how, sizeof how, "ended with exit code %d", WEXITSTATUS(s->worker.status));
    snprintf(s->sentence, sizeof s->sentence, "%s %s%s%s", rundir_id(s->plan->argv[0]), how,
             *tail ? "; its last words: " : " without a word", tail);
}

/* Writes the final job and done events and the last status. Returns whether the run went well. */
static bool conclude(struct supervisor *s)
{
    if (s->plan->ranks > 0)
        name_dead_rank(s);
    bool exited_well = s->worker.ended && WIFEXITED(s->worker.status) && WEXITSTATUS(s->worker.status) == 0;
    /* A script's own "no", or the recording of a run that failed: it ran to its end all the same. */
    bool answered = s->done && s->worker.ended && WIFEXITED(s->worker.status);
    bool ok = exited_well && json_object_get(s->done, "ok") != json_false() && !s->stream_broken;
    enum run_state state = ok ? RUN_DONE : RUN_FAILED;
    if ((s->plan->script || s->plan->replay) && answered && !s->stream_broken && s->stage == STAGE_RUN)
        state = RUN_DONE;
    if (s->cancelled && !s->stream_broken) {
        state = RUN_CANCELLED, ok = false;
        snprintf(s->sentence, sizeof s->sentence, "stopped on request");
    }
    if (s->stage >= STAGE_TERM && !s->cancelled)
        ok = false, state = RUN_FAILED;
    if (state == RUN_FAILED)
        explain_failure(s);
    else if (state == RUN_DONE)
        s->sentence[0] = 0;
    snprintf(s->status.reason, sizeof s->status.reason, "%.*s", (int)sizeof s->status.reason - 1, s->sentence);

    stream_release_reserve(&s->stream);
    s->stream_broken = false; /* the last words are tried again */
    append(s, job_event(state, -1, s->sentence));
    json_t *done = s->done ? s->done : event_new("done", -1);
    s->done = NULL;
    json_object_set_new(done, "ok", json_boolean(ok));
    if (!s->plan->replay) {
        json_object_del(done, "t");
        event_set_number(done, "wall_s", stream_now(&s->stream));
    }
    append(s, done);
    beat(s, state);
    return ok;
}

static void say_ready(int ready, const struct error *e)
{
    char text[sizeof e->text + 16];
    int n =
        e ? snprintf(text, sizeof text, "%d%s\n", (int)e->kind, e->text) : snprintf(text, sizeof text, "0\n");
    if (ready >= 0) {
        if (write(ready, text, (size_t)n) < 0)
            return; /* whoever started us is gone: the run goes on */
        close(ready);
    }
}

static bool open_signals(struct supervisor *s, struct error *e)
{
    sigset_t set;
    sigemptyset(&set);
    int taken[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        sigaddset(&set, taken[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signals >= 0 || error_errno(e, ERROR_FAILED, "no signals can be received");
}

static bool begin(struct supervisor *s, struct error *e)
{
    char log[PATH_MAX];
    gethostname(s->status.host, sizeof s->status.host - 1);
    s->status.pid = getpid();
    s->status.version = RUN_STREAM_VERSION;
    if (!path_join(log, s->dir, "log", e) || !open_signals(s, e) || !stream_open(&s->stream, s->dir, e))
        return false;
    s->stream.recorded = s->plan->replay;
    s->log.fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (s->log.fd < 0)
        return error_errno(e, ERROR_FAILED, "%s cannot be written", log);
    size_t ranks = (size_t)(s->plan->ranks > 0 ? s->plan->ranks : 1);
    s->rank_pids = calloc(ranks, sizeof *s->rank_pids);
    s->rank_stopped = calloc(ranks, sizeof *s->rank_stopped);
    if (!s->rank_pids || !s->rank_stopped)
        return error_set(e, ERROR_FAILED, "out of memory");
    s->status.state = s->plan->slots > 0 ? RUN_PENDING : RUN_RUNNING;
    s->status.started = s->stream.started;
    s->status.heartbeat = clock_wall();
    s->last_beat = clock_monotonic();
    return run_status_write(s->dir, &s->status, e);
}

static void run_worker(struct supervisor *s)
{
    struct error e = {0};
    s->status.started = s->stream.started = clock_wall();
    append(s, job_event(RUN_RUNNING, -1, ""));
    beat(s, RUN_RUNNING);
    for (int i = 0; i < s->plan->note_count; i++) {
        char level[16] = "";
        size_t n = strcspn(s->plan->notes[i], " ");
        snprintf(level, sizeof level, "%.*s", (int)n, s->plan->notes[i]);
        note(s, level, s->plan->notes[i] + n + 1);
    }
    if (!worker_start(&s->worker, s->plan, s->stream.started, &e)) {
        give_up(s, e.text);
        runlog_line(&s->log, e.text, strlen(e.text));
        return;
    }
    if (s->stage >= STAGE_TERM) /* the disk was full from the start */
        kill(s->worker.pid, SIGTERM);
    s->last_alive = clock_monotonic();
    watch(s);
}

int supervise(const char *dir, const struct plan *plan, int ready)
{
    struct supervisor s = {.dir = dir, .plan = plan, .signals = -1, .fault_rank = -1};
    s.stream.fd = s.log.fd = s.worker.out = s.worker.err = -1;
    mpirun_log_init(&s.mpirun);
    struct error e = {0};
    bool ok = false;
    /* Ranks that outlive mpirun become our children, so none of them is lost from sight. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (begin(&s, &e)) {
        say_ready(ready, NULL);
        struct slots *slots = NULL;
        if (plan->slots == 0 || wait_for_slots(&s, &slots))
            run_worker(&s);
        ok = conclude(&s);
        slots_free(slots);
    } else {
        say_ready(ready, &e);
    }
    stream_close(&s.stream);
    worker_close(&s.worker);
    lines_free(&s.out);
    lines_free(&s.err);
    json_decref(s.done);
    free(s.rank_pids);
    free(s.rank_stopped);
    if (s.log.fd >= 0)
        close(s.log.fd);
    if (s.signals >= 0)
        close(s.signals);
    return ok ? 0 : 1;
}
