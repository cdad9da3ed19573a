#include "engine/launch/supervise.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/timing.h"
#include "engine/launch/processes.h"
#include "engine/launch/site.h"
#include "engine/launch/slots.h"
#include "engine/launch/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { TICK_MS = 250, QUEUE_TICK_MS = 500 };
/* Seconds for what is left in the pipes of a worker that has ended, and for which a rank may stay stopped. */
#define DRAIN_S 1.0
#define STOPPED_S 3.0
/* Rank 0 notices that of all others, and knows what they hold up: it goes first. */
#define OTHERS_STOPPED_S 5.0
/* Longer, where the others have not yet said what they wait for rank 0 for. */
#define UNSAID_S 1.5
/* A loop that has not come round for so long was itself stopped: that time does not count for anybody. */
#define OWN_GAP_S 1.5

/* --- ranks --- */

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
    double unsaid = s->plan->ranks > 1 && !*s->waiting_for ? UNSAID_S : 0;
    for (int rank = 0; rank < s->plan->ranks; rank++) {
        if (s->rank_pids[rank] == 0 || process_state(s->rank_pids[rank]) != 'T') {
            s->rank_stopped[rank] = 0;
        } else if (s->rank_stopped[rank] == 0) {
            s->rank_stopped[rank] = now;
        } else if (now - s->rank_stopped[rank] >= (rank == 0 ? STOPPED_S : OTHERS_STOPPED_S) + unsaid) {
            char text[256];
            snprintf(text, sizeof text,
                     "rank %d on %.100s has been stopped (SIGSTOP): every other rank waits for it, so the "
                     "job ends",
                     rank, s->status.host);
            supervisor_fault(s, rank, "", "stopped", s->waiting_for, text);
            supervisor_give_up(s, text);
            return;
        }
    }
    if (s->heartbeats && now - s->last_alive > s->plan->silent_s) {
        char text[256];
        snprintf(text, sizeof text,
                 "rank 0 on %.100s has given no sign of life for %.0f s; it hangs or its host does, so the "
                 "job ends",
                 s->status.host, now - s->last_alive);
        supervisor_fault(s, 0, "", "silent", s->waiting_for, text);
        supervisor_give_up(s, text);
    }
}

/* --- the loop --- */

static void read_signals(struct supervisor *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            worker_reap(&s->worker);
        else if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) {
            s->cancelled = true;
            supervisor_go_to(s, STAGE_TERM);
        }
    }
}

static void check_stop(struct supervisor *s, double now)
{
    if (s->stage == STAGE_RUN && rundir_stop_requested(s->dir)) {
        s->cancelled = true;
        supervisor_go_to(s, s->plan->ranks > 0 ? STAGE_ASKED : STAGE_TERM);
    }
    if (s->stage == STAGE_ASKED && now - s->stage_since > s->plan->stop_s)
        supervisor_go_to(s, STAGE_TERM);
    if (s->stage == STAGE_TERM && now - s->stage_since > s->plan->kill_s)
        supervisor_go_to(s, STAGE_KILL);
}

/*
 * We were stopped for so long, and so may all others have been; some of them may still be: whatever is counted begins anew,
 * and what was given time gets it.
 */
static void forgive(struct supervisor *s, double gap, double now)
{
    s->last_alive = now;
    memset(s->rank_stopped, 0, (size_t)s->plan->ranks * sizeof *s->rank_stopped);
    s->stage_since += gap;
    s->ended_at += s->ended_at > 0 ? gap : 0;
}

/* Waits for news at most `ms`, and keeps the heartbeat. */
static void turn(struct supervisor *s, int ms)
{
    struct pollfd fds[] = {{s->signals, POLLIN, 0}, {s->worker.out, POLLIN, 0}, {s->worker.err, POLLIN, 0}};
    poll(fds, 3, ms);
    double now = timing_now();
    if (s->last_turn > 0 && now - s->last_turn > OWN_GAP_S)
        forgive(s, now - s->last_turn, now);
    s->last_turn = now;
    read_signals(s);
    if (fds[1].revents && !lines_read(&s->out, s->worker.out, supervisor_take_event, s)) {
        lines_finish(&s->out, supervisor_take_event, s);
        close(s->worker.out);
        s->worker.out = -1;
    }
    if (fds[2].revents && !lines_read(&s->err, s->worker.err, supervisor_take_text, s)) {
        lines_finish(&s->err, supervisor_take_text, s);
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
        supervisor_note(s, "warn", text);
        return true;
    }
    int told = -1;
    for (int position; !slots_try(*slots, &position);) {
        if (position != told) {
            json_t *event = supervisor_job_event(RUN_PENDING, 0, "");
            event_set_integer(event, "position", position + 1);
            supervisor_append(s, event);
            told = position;
        }
        turn(s, QUEUE_TICK_MS);
        if (s->stage != STAGE_RUN)
            return false;
        if (timing_now() - s->last_beat >= RUN_HEARTBEAT_S)
            supervisor_beat(s, RUN_PENDING);
    }
    return true;
}

/* Until the worker has ended, its pipes are empty and no process of the session is left. */
static void watch(struct supervisor *s)
{
    while (!s->worker.ended || s->worker.out >= 0 || s->worker.err >= 0) {
        turn(s, TICK_MS);
        double now = s->last_turn; /* and no later: we may have been stopped since */
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
            supervisor_beat(s, RUN_RUNNING);
            if (s->plan->ranks > 0 && s->stage == STAGE_RUN && !s->worker.ended)
                watch_ranks(s, now);
        }
    }
    for (int i = 0; i < 100 && session_kill(SIGKILL) > 0; i++)
        poll(NULL, 0, 20);
    worker_reap(&s->worker);
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
    s->stream.recorded = s->plan->replay || s->plan->simulated;
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
    s->last_beat = timing_now();
    return run_status_write(s->dir, &s->status, e);
}

static void run_worker(struct supervisor *s)
{
    struct error e = {0};
    s->status.started = s->stream.started = clock_wall();
    supervisor_append(s, supervisor_job_event(RUN_RUNNING, -1, ""));
    supervisor_beat(s, RUN_RUNNING);
    for (int i = 0; i < s->plan->note_count; i++) {
        char level[16] = "";
        size_t n = strcspn(s->plan->notes[i], " ");
        snprintf(level, sizeof level, "%.*s", (int)n, s->plan->notes[i]);
        supervisor_note(s, level, s->plan->notes[i] + n + 1);
    }
    if (!worker_start(&s->worker, s->plan, s->stream.started, &e)) {
        supervisor_give_up(s, e.text);
        runlog_line(&s->log, e.text, strlen(e.text));
        return;
    }
    if (s->stage >= STAGE_TERM) /* the disk was full from the start */
        kill(s->worker.pid, SIGTERM);
    s->last_alive = timing_now();
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
        ok = supervisor_conclude(&s);
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
