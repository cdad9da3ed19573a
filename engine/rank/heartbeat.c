#include "engine/rank/heartbeat.h"

#include "engine/base/event.h"
#include "engine/base/timing.h"
#include "engine/comm/beat.h"
#include "engine/comm/judge.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TICK_MS = 250, CONNECT_MS = 2000, SETTLE_MS = 1500, MPIRUN_MS = 3000, MOMENTS = 30, MOMENT_MS = 20 };
#define BEAT_S 0.5
#define SUPERVISOR_S 1.0
#define LATE_S 1.2    /* a rank whose beat is so late is looked at */
#define OWN_GAP_S 1.5 /* a loop that has not come round for so long says nothing about others */
#define RANK_0_SILENT_S 2.0
#define UNHEARD_S 20.0 /* until a rank that has never been heard of is mentioned */

struct heartbeat {
    struct event_sink *sink;
    const struct activity *activity;
    int rank, size;
    struct beat_place place;
    struct beat_server *server; /* rank 0 */
    struct judged *ranks;       /* rank 0: all of them */
    int wake, terms, both;      /* eventfd, signalfd, and an epoll of them */
    pthread_t thread;
    atomic_bool finished, failing, hurry, claimed;
    double last_turn, last_beat, last_line, began;
    bool unheard_told;
    double heard; /* of rank 0, by the others */
    bool told;    /* and that it is not */
};

/* --- both --- */

/* As a process that never heard of the signal. */
static _Noreturn void die_of_term(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    signal(SIGTERM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(SIGTERM);
    _exit(128 + SIGTERM);
}

static bool term_has_come(const struct heartbeat *h)
{
    struct signalfd_siginfo info;
    return h->terms >= 0 && read(h->terms, &info, sizeof info) == (ssize_t)sizeof info;
}

/* Empties the eventfd: whoever woke the thread has set a flag. */
static void take_wake(const struct heartbeat *h)
{
    uint64_t count;
    if (read(h->wake, &count, sizeof count) < 0)
        return;
}

static void wake(const struct heartbeat *h)
{
    uint64_t one = 1;
    if (write(h->wake, &one, sizeof one) < 0)
        return; /* it is awake, or will be in a moment */
}

/* --- rank 0 --- */

static void take_beat(void *self, const struct beat *b)
{
    struct heartbeat *h = self;
    judge_take(&h->ranks[b->rank], b, timing_now());
}

static void take_gone(void *self, int rank)
{
    struct heartbeat *h = self;
    h->ranks[rank].gone = true;
}

/* 'T' where it is stopped; 0: no such process here. */
static char process_state(long pid)
{
    char path[48], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : 0;
}

/* Ranks of this host whose beat is late: are they stopped? */
static void look_at_processes(struct heartbeat *h, double now)
{
    for (int i = 1; i < h->size; i++) {
        struct judged *r = &h->ranks[i];
        bool late = r->known && !r->gone && now - r->heard > LATE_S && !strcmp(r->host, h->ranks[0].host);
        char state = late ? process_state(r->pid) : 0;
        if (state != 'T')
            r->stopped = 0;
        else if (r->stopped <= 0)
            r->stopped = r->heard + BEAT_S;
    }
}

/*
 * A rank has just died, and the others are about to wait for it: what for is known in a moment. mpirun, which ends
 * the job by SIGTERM, leaves a second.
 */
static void let_them_wait(struct heartbeat *h, const struct beat_news *news, struct verdict *v)
{
    struct beat own;
    for (int i = 0; i < MOMENTS && !strcmp(v->kind, "dead"); i++) {
        beat_fill(&own, BEAT_ALIVE, 0, h->activity);
        judge_take(&h->ranks[0], &own, timing_now());
        if (judge_waits(&own.view))
            break;
        beat_serve(h->server, MOMENT_MS, -1, news);
    }
    judge(h->ranks, h->size, timing_now(), v);
}

static void emit_fault(struct heartbeat *h, const struct verdict *v)
{
    json_t *event = sink_event(h->sink, "fault");
    event_set_integer(event, "rank", v->rank);
    event_set_text(event, "host", h->ranks[v->rank].host);
    event_set_text(event, "kind", v->kind);
    event_set_text(event, "waiting_for", v->waiting_for);
    event_set_text(event, "text", v->text);
    sink_emit(h->sink, event, NULL);
    fprintf(stderr, "ringside-rank: %s\n", v->text);
}

static void end_job(struct heartbeat *h, const struct beat_news *news, struct verdict *v)
{
    if (!heartbeat_claim(h))
        return; /* the rank itself is saying why it ends */
    let_them_wait(h, news, v);
    emit_fault(h, v);
    /* Of a death mpirun knows the signal: it ends the job within two seconds, and says so. */
    struct pollfd term = {.fd = h->terms, .events = POLLIN};
    if (!strcmp(v->kind, "dead") && poll(&term, 1, MPIRUN_MS) == 1)
        die_of_term();
    json_t *done = sink_event(h->sink, "done");
    json_object_set_new(done, "ok", json_false());
    event_set_integer(done, "exit_code", ERROR_FAILED);
    sink_emit(h->sink, done, NULL);
    _exit(1);
}

static void mention_unheard(struct heartbeat *h, double now)
{
    if (h->unheard_told || now - h->began < UNHEARD_S)
        return;
    h->unheard_told = true;
    for (int i = 1; i < h->size; i++)
        if (!h->ranks[i].known) {
            char text[200];
            snprintf(
                text, sizeof text,
                "rank %d has not reached rank 0 over TCP (port %d): whether it is alive is not watched; a "
                "firewall between the hosts may be the cause",
                i, (int)h->place.port);
            sink_note(h->sink, "warn", text, NULL);
            return;
        }
}

static bool all_have_finished(const struct heartbeat *h)
{
    for (int i = 1; i < h->size; i++)
        if (h->ranks[i].known && !h->ranks[i].gone && !h->ranks[i].excused)
            return false;
    return true;
}

/* A job that is told to end (mpirun does so when a rank has died): first say who died before that. */
static _Noreturn void end_of_term(struct heartbeat *h, const struct beat_news *news)
{
    struct verdict v;
    for (int i = 0; h->server && i < 2; i++)
        beat_serve(h->server, 0, -1, news);
    if (judge(h->ranks, h->size, timing_now(), &v) && heartbeat_claim(h)) {
        let_them_wait(h, news, &v);
        emit_fault(h, &v);
    }
    die_of_term();
}

/*
 * Now; where that is long after the last time, rank 0 itself was stopped, and so others may have been: all begin anew.
 * Called after each wait, before anybody is judged by how long ago something was.
 */
static double come_round(struct heartbeat *h)
{
    double now = timing_now();
    if (h->last_turn > 0 && now - h->last_turn > OWN_GAP_S)
        judge_forgive(h->ranks, h->size, now);
    h->last_turn = now;
    return now;
}

static void *lead(void *argument)
{
    struct heartbeat *h = argument;
    struct beat_news news = {.beat = take_beat, .gone = take_gone, .self = h};
    struct beat own;
    struct verdict v;
    for (;;) {
        bool finished = atomic_load(&h->finished);
        beat_fill(&own, finished ? BEAT_FINISHED : BEAT_ALIVE, 0, h->activity);
        double now = come_round(h);
        judge_take(&h->ranks[0], &own, now);
        if (now - h->last_line >= SUPERVISOR_S) {
            h->last_line = now;
            sink_emit(h->sink, sink_event(h->sink, "heartbeat"),
                      NULL); /* nobody listening is no reason to stop */
        }
        if (h->server && (finished || now - h->last_beat >= BEAT_S)) {
            h->last_beat = now;
            beat_tell(h->server, &own);
        }
        if (finished && all_have_finished(h))
            return NULL;
        if (h->server) {
            beat_serve(h->server, TICK_MS, h->both, &news);
            now = come_round(h);
            look_at_processes(h, now);
            if (judge(h->ranks, h->size, now, &v))
                end_job(h, &news, &v);
            mention_unheard(h, now);
        } else {
            struct pollfd p = {.fd = h->both, .events = POLLIN};
            poll(&p, 1, TICK_MS);
        }
        take_wake(h);
        if (term_has_come(h))
            end_of_term(h, &news);
    }
}

/* --- the other ranks --- */

/* The supervisor reads this line and knows then what everybody waits for. */
static void say_unheard(struct heartbeat *h)
{
    struct activity_view view;
    char doing[300];
    if (h->told)
        return;
    h->told = true;
    activity_look(h->activity, &view);
    for (int i = 0; i < MOMENTS && !judge_waits(&view); i++) {
        poll(NULL, 0, MOMENT_MS);
        activity_look(h->activity, &view);
    }
    if (judge_waits(&view))
        judge_doing(&view, doing, sizeof doing);
    else
        judge_next(&view, h->rank, doing, sizeof doing);
    fprintf(stderr, "ringside-rank: rank %d hears nothing of rank 0 and waits for %s\n", h->rank, doing);
}

/* Takes in what rank 0 says. False: the connection is no more. */
static bool hear(struct heartbeat *h, int fd, struct beat *incoming, size_t *have, bool *over)
{
    for (;;) {
        ssize_t n = recv(fd, (char *)incoming + *have, sizeof *incoming - *have, MSG_DONTWAIT);
        if (n < 0)
            return true; /* nothing more now; a broken connection shows as its end, too */
        if (n == 0)
            return false;
        h->heard = timing_now();
        h->told = false;
        *have = (*have + (size_t)n) % sizeof *incoming;
        *over |= *have == 0 && incoming->kind != BEAT_ALIVE;
    }
}

static void *follow(void *argument)
{
    struct heartbeat *h = argument;
    struct beat own, incoming = {0};
    size_t have = 0;
    bool over = false, lost = false;
    int fd = -1;
    for (;;) {
        double now = timing_now();
        bool finished = atomic_load(&h->finished), hurry = atomic_exchange(&h->hurry, false);
        if (fd < 0 && !lost && !finished && h->place.port) {
            fd = beat_connect(&h->place, CONNECT_MS);
            h->heard = timing_now();
        }
        h->last_turn = now;
        if (fd >= 0 && (finished || hurry || now - h->last_beat >= BEAT_S)) {
            h->last_beat = now;
            enum beat_kind kind = finished                   ? BEAT_FINISHED
                                  : atomic_load(&h->failing) ? BEAT_ENDED
                                                             : BEAT_ALIVE;
            beat_fill(&own, kind, h->rank, h->activity);
            beat_send(fd, &h->place, &own);
        }
        if (finished)
            break;
        struct pollfd p[] = {{.fd = h->both, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        poll(p, 2, TICK_MS);
        take_wake(h);
        if (fd >= 0 && !hear(h, fd, &incoming, &have, &over)) {
            close(fd);
            fd = -1;
            lost = true;
        }
        now = timing_now();
        if (now - h->last_turn > OWN_GAP_S) /* stopped meanwhile, as rank 0 may have been */
            h->heard = now;
        if (!over && (lost || (fd >= 0 && now - h->heard > RANK_0_SILENT_S)))
            say_unheard(h);
        if (term_has_come(h)) {
            if (fd >= 0) {
                beat_fill(&own, BEAT_ENDED, h->rank, h->activity);
                beat_send(fd, &h->place, &own);
            }
            die_of_term();
        }
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* --- from outside --- */

static bool open_wakes(struct heartbeat *h)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    h->terms = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    h->both = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event ready = {.events = EPOLLIN};
    return h->wake >= 0 && h->terms >= 0 && h->both >= 0 &&
           epoll_ctl(h->both, EPOLL_CTL_ADD, h->wake, &ready) == 0 &&
           epoll_ctl(h->both, EPOLL_CTL_ADD, h->terms, &ready) == 0;
}

static void clear(struct heartbeat *h)
{
    int fds[] = {h->wake, h->terms, h->both};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    beat_server_free(h->server);
    free(h->ranks);
    free(h);
}

/* Rank 0 opens its port and tells all where. */
static void meet(struct heartbeat *h, struct comm *comm)
{
    struct error e = {0};
    if (h->rank == 0 && h->size > 1 &&
        !(h->server = beat_listen(h->size, comm_one_host(comm), &h->place, &e))) {
        char text[sizeof e.text + 100];
        snprintf(text, sizeof text, "%s: a rank that is stopped or silent may not be noticed", e.text);
        sink_note(h->sink, "warn", text, NULL);
    }
    if (h->size > 1)
        beat_meet(comm, &h->place, &e);
}

/* Nobody takes SIGTERM: it is to end the process, as ever. */
static struct heartbeat *go_without(struct heartbeat *h)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (h)
        clear(h);
    return NULL;
}

struct heartbeat *heartbeat_start(struct comm *comm, struct event_sink *sink)
{
    struct heartbeat *h = calloc(1, sizeof *h);
    if (!h) {
        struct beat_place nowhere = {0};
        beat_meet(comm, &nowhere, NULL); /* the others wait for it */
        return go_without(NULL);
    }
    h->sink = sink;
    h->activity = comm_activity(comm);
    h->rank = comm_rank(comm);
    h->size = comm_size(comm);
    h->began = timing_now();
    h->wake = h->terms = h->both = -1;
    h->ranks = calloc((size_t)h->size, sizeof *h->ranks);
    bool ok = open_wakes(h) && h->ranks;
    meet(h, comm);
    if (!ok || pthread_create(&h->thread, NULL, h->rank == 0 ? lead : follow, h) != 0)
        return go_without(h);
    return h;
}

bool heartbeat_claim(struct heartbeat *h)
{
    return !h || !atomic_exchange(&h->claimed, true);
}

void heartbeat_settle(struct heartbeat *h)
{
    struct activity_view view;
    if (!h || h->size == 1)
        return;
    atomic_store(&h->failing, true);
    atomic_store(&h->hurry, true);
    wake(h);
    activity_look(h->activity, &view);
    if (h->rank == 0 && activity_in_collective(&view)) /* else it has failed by itself */
        poll(NULL, 0, SETTLE_MS);
}

void heartbeat_stop(struct heartbeat *h)
{
    if (!h)
        return;
    atomic_store(&h->finished, true);
    wake(h);
    pthread_join(h->thread, NULL);
    clear(h);
}
