#include "engine/rank/rank_script.h"

#include "engine/base/activity.h"
#include "engine/base/event.h"
#include "engine/base/lua_guard.h"
#include "engine/base/rundir.h"
#include "engine/base/timing.h"
#include "engine/rank/rank.h"

#include <lauxlib.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NEWS_EVERY_S 0.2
#define LOOK_EVERY_S 0.1
enum { CASES_MAX = JOB_MAX_COUNTS * JOB_MAX_SIZES, PRINT_LINES = 2000, GO_STOP = -1 };

/* This rank's part of the job. */
struct worker {
    struct transport *all; /* over all ranks of the job */
    struct lua_rank_script script;
    struct lua_case cases[CASES_MAX];
    int case_count;
    struct event_sink *sink;
    const char *rundir;
    struct comm *comm;

    /* the present case */
    struct transport transport; /* over its ranks */
    struct lua_rank *rank;      /* NULL: it is not in this case, or its script does not run */
    struct rank_news news;
    double waiting_since; /* 0: it has just moved */
    double last_sent;
    struct rank_news outgoing; /* on its way */
    struct pending send;
    int printed; /* lines */

    /* rank 0 */
    struct referee *referee;
    struct lua_verdict verdict;
    double last_look;
    struct lua_guard *guard;
};

/*
 * The core goes to whoever has something to do: with more ranks than cores the partner may be waiting for it. idle.h
 * spins and yields far longer, which is right for a training and wrong for eight ranks of a few bytes on two cores.
 */
static void step_aside(unsigned *polls)
{
    unsigned n = (*polls)++;
    if (n < 50)
        sched_yield();
    else
        nanosleep(&(struct timespec){0, n < 200 ? 20000 : n < 2000 ? 100000 : 1000000}, NULL);
}

static void print_line(lua_State *L, void *self, const char *text)
{
    struct worker *w = self;
    if (++w->printed > PRINT_LINES)
        luaL_error(L, "rank %d prints too much (at most %d lines); print less, or only every hundredth time",
                   w->all->rank, PRINT_LINES);
    fprintf(stderr, "[rank %d] %s\n", w->all->rank, text);
}

/* --- one rank in one case ---------------------------------------------------------------------------------- */

static void open_case(struct worker *w, const struct lua_case *c)
{
    struct error e = {0};
    memset(&w->news, 0, sizeof w->news);
    w->news.case_number = c->number;
    w->waiting_since = w->last_sent = 0;
    activity_learner(comm_activity(w->comm), 0, -1, -1);
    w->transport = *w->all;
    w->transport.size = c->ranks;
    lua_guard_enter(w->guard, w->all->rank);
    w->rank = lua_rank_open(&w->transport, &w->script, TAG_DATA + 2 * c->number, c->length, &e);
    lua_guard_leave(w->guard);
    if (w->rank) {
        lua_judge_fill(lua_rank_data(w->rank), c, w->all->rank);
        return;
    }
    w->news.ended = 1;
    w->news.report.rank = w->all->rank;
    snprintf(w->news.report.failure, sizeof w->news.report.failure, "%.690s", e.text);
}

/* Goes on with the learner's function and keeps the news up to date. Returns whether it moved. */
static bool step(struct worker *w, const struct lua_case *c)
{
    if (w->news.ended)
        return false;
    lua_guard_enter(w->guard, w->all->rank);
    enum lua_rank_state state = lua_rank_step(w->rank);
    lua_guard_leave(w->guard);
    unsigned progress = lua_rank_progress(w->rank);
    bool moved = progress != w->news.progress || state != LUA_RANK_WAITING || w->waiting_since <= 0;
    w->news.progress = progress;
    w->news.wait = lua_rank_wait(w->rank);
    if (moved) {
        w->waiting_since = timing_now();
        activity_learner(comm_activity(w->comm), lua_rank_line(w->rank),
                         w->news.wait.sending ? w->news.wait.to : -1,
                         w->news.wait.receiving ? w->news.wait.from : -1);
    }
    w->news.waited_s = timing_now() - w->waiting_since;
    if (state != LUA_RANK_WAITING) {
        w->news.ended = 1;
        activity_enter(comm_activity(w->comm), ACTIVITY_RETURNED, 0);
        lua_judge_rank(w->rank, c, w->all->rank, &w->news.report);
    } else if (w->news.waited_s > NEWS_EVERY_S) {
        /* How far it has come, should it not come further. */
        lua_judge_rank(w->rank, c, w->all->rank, &w->news.report);
    }
    return moved;
}

/* Other ranks: tells rank 0 while it waits, and when it has ended. True once that is known there. */
static bool tell(struct worker *w, bool *told, struct error *e)
{
    struct transport *t = w->all;
    enum progress progress = t->ops->test(t, &w->send, e);
    if (progress == PROGRESS_FAILED)
        return false;
    if (progress == PROGRESS_BUSY)
        return true;
    if (w->outgoing.ended && w->outgoing.case_number == w->news.case_number) {
        *told = true;
        return true;
    }
    double now = timing_now();
    if (!w->news.ended && (w->news.waited_s < NEWS_EVERY_S || now - w->last_sent < NEWS_EVERY_S))
        return true;
    w->last_sent = now;
    w->outgoing = w->news;
    return t->ops->send_start(t, 0, TAG_NEWS, &w->outgoing, sizeof w->outgoing, false, &w->send, e);
}

/* Blocks politely until an operation is done. */
static bool complete(struct worker *w, struct pending *p, struct error *e)
{
    unsigned polls = 0;
    for (;;) {
        enum progress progress = w->all->ops->test(w->all, p, e);
        if (progress != PROGRESS_BUSY)
            return progress == PROGRESS_DONE;
        step_aside(&polls);
    }
}

static bool run_case(struct worker *w, const struct lua_case *c, struct error *e)
{
    bool told = false;
    unsigned polls = 0;
    w->outgoing.case_number = -1;
    open_case(w, c);
    while (!told) {
        if (step(w, c))
            polls = 0;
        else
            step_aside(&polls);
        if (!tell(w, &told, e))
            return false;
    }
    const struct lua_tally *tally = w->rank ? lua_rank_tally(w->rank) : NULL;
    if (tally && c->draw_hops && tally->hop_count > 0) {
        struct pending p;
        if (!w->all->ops->send_start(w->all, 0, TAG_HOPS, tally->hops,
                                     (size_t)tally->hop_count * sizeof *tally->hops, false, &p, e) ||
            !complete(w, &p, e))
            return false;
    }
    lua_rank_close(w->rank);
    w->rank = NULL;
    return true;
}

static bool follow_referee(struct worker *w, struct error *e)
{
    for (;;) {
        int number = GO_STOP;
        struct pending p;
        if (!w->all->ops->recv_start(w->all, 0, TAG_GO, &number, sizeof number, &p, e) || !complete(w, &p, e))
            return false;
        if (number < 0 || number >= w->case_count)
            return true;
        if (w->all->rank < w->cases[number].ranks && !run_case(w, &w->cases[number], e))
            return false;
    }
}

/* --- rank 0 ------------------------------------------------------------------------------------------------ */

static bool say_go(struct worker *w, int number, struct error *e)
{
    for (int i = 1; i < w->all->size; i++) {
        struct pending p;
        if (!w->all->ops->send_start(w->all, i, TAG_GO, &number, sizeof number, false, &p, e) ||
            !complete(w, &p, e))
            return false;
    }
    return true;
}

static bool emit_hops(struct worker *w, const struct lua_case *c, struct error *e)
{
    const struct lua_report *reports = referee_reports(w->referee);
    const struct lua_tally *own = w->rank ? lua_rank_tally(w->rank) : NULL;
    if (own && !lua_judge_hops(w->sink, c, own->hops, own->hop_count, e))
        return false;
    struct lua_hop *hops = malloc(LUA_RANK_HOPS * sizeof *hops);
    bool ok = hops || error_set(e, ERROR_FAILED, "out of memory for the hops");
    for (int i = 1; ok && i < c->ranks; i++) {
        struct pending p;
        int count = reports[i].hop_count;
        if (count < 1 || count > LUA_RANK_HOPS)
            continue;
        ok = w->all->ops->recv_start(w->all, i, TAG_HOPS, hops, (size_t)count * sizeof *hops, &p, e) &&
             complete(w, &p, e) && lua_judge_hops(w->sink, c, hops, count, e);
    }
    free(hops);
    return ok;
}

/* Some rank will never come back: says what there is to say and ends the job. */
static _Noreturn void give_up(struct worker *w)
{
    lua_guard_stop(w->guard);
    lua_verdict_emit(&w->verdict, w->sink, NULL);
    comm_abort(w->comm, 1);
}

/* All ranks of a script are on this host. */
static void set_host(json_t *fault)
{
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    event_set_text(fault, "host", host);
}

static void set_waiting_for(const struct worker *w, json_t *fault, int rank)
{
    char waits[400];
    referee_waiting_for(w->referee, rank, waits, sizeof waits);
    event_set_text(fault, "waiting_for", waits);
}

/* A rank that was stopped by its own sandbox, whose sentence names file and line. */
static void tell_stuck(struct worker *w, const struct lua_case *c)
{
    const struct lua_report *reports = referee_reports(w->referee);
    for (int i = 0; i < c->ranks; i++) {
        if (!reports[i].stuck)
            continue;
        json_t *fault = sink_event(w->sink, "fault");
        event_set_integer(fault, "rank", i);
        set_host(fault);
        event_set_text(fault, "kind", "stuck");
        set_waiting_for(w, fault, i);
        char text[1500];
        snprintf(text, sizeof text, "%s; meanwhile %s", w->verdict.sentence,
                 event_text(fault, "waiting_for", ""));
        event_set_text(fault, "text", text);
        event_set_integer(fault, "case", c->number);
        sink_emit(w->sink, fault, NULL);
        w->verdict.told = true;
        return;
    }
}

static void end_in_deadlock(struct worker *w, const struct lua_case *c, const struct lua_deadlock *d)
{
    const struct lua_report *reports = referee_reports(w->referee);
    lua_verdict_add(&w->verdict, c, reports, d);
    json_t *fault = lua_judge_fault(w->sink, c, d, &w->verdict);
    set_host(fault);
    sink_emit(w->sink, fault, NULL);
    sink_emit(w->sink, lua_judge_event(w->sink, c, reports, d), NULL);
    give_up(w);
}

static void end_in_silence(struct worker *w, const struct lua_case *c, int rank, double seconds)
{
    struct lua_report *reports = calloc((size_t)c->ranks, sizeof *reports);
    json_t *fault = lua_guard_fault(w->sink, rank, seconds);
    event_set_integer(fault, "case", c->number);
    set_host(fault);
    set_waiting_for(w, fault, rank);
    sink_emit(w->sink, fault, NULL);
    if (reports) {
        memcpy(reports, referee_reports(w->referee), (size_t)c->ranks * sizeof *reports);
        lua_guard_sentence(rank, seconds, reports[rank].failure, sizeof reports[rank].failure);
        lua_verdict_add(&w->verdict, c, reports, NULL);
        w->verdict.told = true;
        sink_emit(w->sink, lua_judge_event(w->sink, c, reports, NULL), NULL);
    }
    give_up(w);
}

/* Now and then: is there any hope? */
static void look(struct worker *w, const struct lua_case *c)
{
    struct lua_deadlock deadlock;
    double seconds, now = timing_now();
    if (now - w->last_look < LOOK_EVERY_S)
        return;
    w->last_look = now;
    if (w->news.ended || w->news.waited_s > NEWS_EVERY_S)
        referee_own(w->referee, &w->news);
    if (rundir_stop_requested(w->rundir)) {
        w->verdict.ok = false;
        w->verdict.exit_code = 1;
        give_up(w);
    }
    if (referee_failed(w->referee)) {
        lua_verdict_add(&w->verdict, c, referee_reports(w->referee), NULL);
        tell_stuck(w, c);
        sink_emit(w->sink, lua_judge_event(w->sink, c, referee_reports(w->referee), NULL), NULL);
        give_up(w);
    }
    if (referee_deadlock(w->referee, &deadlock))
        end_in_deadlock(w, c, &deadlock);
    int silent = referee_silent(w->referee, &seconds);
    if (silent >= 0)
        end_in_silence(w, c, silent, seconds);
}

static bool referee_case(struct worker *w, const struct lua_case *c, struct error *e)
{
    unsigned polls = 0;
    if (!say_go(w, c->number, e))
        return false;
    referee_begin(w->referee, c);
    open_case(w, c);
    if (w->news.ended)
        referee_own(w->referee, &w->news);
    while (!referee_all_ended(w->referee)) {
        bool moved = step(w, c);
        if (moved && w->news.ended)
            referee_own(w->referee, &w->news);
        if (!referee_listen(w->referee, e))
            return false;
        if (moved)
            polls = 0;
        else
            step_aside(&polls);
        look(w, c);
    }
    const struct lua_report *reports = referee_reports(w->referee);
    lua_verdict_add(&w->verdict, c, reports, NULL);
    bool ok = (!c->draw_hops || emit_hops(w, c, e)) &&
              sink_emit(w->sink, lua_judge_event(w->sink, c, reports, NULL), e);
    lua_rank_close(w->rank);
    w->rank = NULL;
    return ok;
}

static bool lead(struct worker *w, struct error *e)
{
    /* Rank 0 stuck in a text pattern could watch nobody. */
    w->guard = lua_guard_start(w->sink, RANK_SCRIPT_SHARE * lua_sandbox_seconds() + RANK_SCRIPT_GRACE_S, e);
    w->referee = w->guard ? referee_new(w->all, e) : NULL;
    bool ok = w->referee != NULL;
    w->verdict.ok = true;
    for (int i = 0; i < w->case_count && ok && !w->verdict.stop; i++)
        ok = referee_case(w, &w->cases[i], e);
    ok = ok && say_go(w, GO_STOP, e) && lua_verdict_emit(&w->verdict, w->sink, e);
    lua_guard_stop(w->guard);
    referee_free(w->referee);
    return ok;
}

bool rank_script(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                 bool *right, struct error *e)
{
    const struct job_ranks *j = &job->rank_script;
    if (!rank_announce(job, "cpu", comm, sink, e))
        return false;
    struct worker *w = calloc(1, sizeof *w);
    size_t length = 0;
    char *text = lua_script_read(j->script, &length, e);
    bool ok = false;
    if (!w) {
        error_set(e, ERROR_FAILED, "out of memory for a rank script");
    } else if (text) {
        w->all = comm_transport_mpi(comm);
        w->script =
            (struct lua_rank_script){.text = text,
                                     .length = length,
                                     .shown = *j->shown ? j->shown : j->script,
                                     .entry = j->entry,
                                     .limits = {LUA_RANK_MEMORY, RANK_SCRIPT_SHARE * lua_sandbox_seconds()},
                                     .started = sink_started(),
                                     .print = print_line,
                                     .print_self = w};
        w->case_count =
            lua_cases(j->counts, j->count_total, j->lengths, j->length_total, w->cases, CASES_MAX);
        w->sink = sink;
        w->rundir = rundir;
        w->comm = comm;
        ok = w->all->rank == 0 ? lead(w, e) : follow_referee(w, e);
        if (ok && w->all->rank == 0)
            *right = w->verdict.ok;
    }
    free(text);
    free(w);
    return ok;
}
