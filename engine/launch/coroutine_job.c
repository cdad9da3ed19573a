/*
 * coroutine_job.c - rank scripts on coroutines: each case in turn, judged as on real ranks.
 */
#include "engine/launch/coroutine.h"

#include "engine/base/event.h"
#include "engine/base/lua_guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sandbox's own clock gets the first word. */
#define GUARD_GRACE_S 1.5

/* One case: its ranks and how they stand. */
struct stage {
    struct coroutine_world *world;
    struct lua_rank **ranks;
    struct lua_report *reports;
    int count;
};

static void stage_clear(struct stage *s)
{
    for (int r = 0; s->ranks && r < s->count; r++)
        lua_rank_close(s->ranks[r]);
    free(s->ranks);
    free(s->reports);
    coroutine_world_free(s->world);
}

static bool stage_open(struct stage *s, const struct lua_rank_script *script, const struct lua_case *c,
                       struct lua_guard *guard, struct error *e)
{
    *s = (struct stage){.count = c->ranks, .world = coroutine_world_new(c->ranks, e)};
    if (!s->world)
        return false;
    s->ranks = calloc((size_t)c->ranks, sizeof(struct lua_rank *));
    s->reports = calloc((size_t)c->ranks, sizeof *s->reports);
    if (!s->ranks || !s->reports)
        return error_set(e, ERROR_FAILED, "out of memory for %d ranks", c->ranks);
    for (int r = 0; r < c->ranks; r++) {
        lua_guard_enter(guard, r);
        s->ranks[r] = lua_rank_open(coroutine_transport(s->world, r), script, 0, c->length, e);
        lua_guard_leave(guard);
        if (!s->ranks[r])
            return false;
        lua_judge_fill(lua_rank_data(s->ranks[r]), c, r);
    }
    return true;
}

/* Lets the ranks take turns until all have ended, one has failed, or none can go on. */
static bool take_turns(struct stage *s, struct lua_guard *guard, struct lua_deadlock *deadlock)
{
    struct lua_wait waits[LUA_WAIT_MAX];
    for (;;) {
        int ended = 0;
        bool moved = false;
        for (int r = 0; r < s->count; r++) {
            unsigned before = lua_rank_progress(s->ranks[r]);
            struct lua_wait wait = lua_rank_wait(s->ranks[r]);
            bool starts = !wait.finished && !wait.sending && !wait.receiving;
            lua_guard_enter(guard, r);
            enum lua_rank_state state = lua_rank_step(s->ranks[r]);
            lua_guard_leave(guard);
            if (state == LUA_RANK_FAILED)
                return false;
            ended += state == LUA_RANK_FINISHED;
            moved |= starts || lua_rank_progress(s->ranks[r]) != before;
        }
        if (ended == s->count)
            return false;
        if (moved)
            continue;
        for (int r = 0; r < s->count; r++)
            waits[r] = lua_rank_wait(s->ranks[r]);
        /* A pair that has just met needs one more turn; it is not counted as moved until it is done. */
        if (lua_wait_deadlock(waits, s->count, deadlock))
            return true;
    }
}

bool coroutine_case(const struct lua_rank_script *script, const struct lua_case *c, struct event_sink *sink,
                    struct lua_guard *guard, struct lua_verdict *verdict, struct error *e)
{
    struct stage stage;
    struct lua_deadlock deadlock;
    bool done = stage_open(&stage, script, c, guard, e);
    if (done) {
        const struct lua_deadlock *stuck = take_turns(&stage, guard, &deadlock) ? &deadlock : NULL;
        for (int r = 0; r < c->ranks; r++)
            lua_judge_rank(stage.ranks[r], c, r, &stage.reports[r]);
        lua_verdict_add(verdict, c, stage.reports, stuck);
        for (int r = 0; r < c->ranks && c->draw_hops && done; r++) {
            const struct lua_tally *tally = lua_rank_tally(stage.ranks[r]);
            done = lua_judge_hops(sink, c, tally->hops, tally->hop_count, e);
        }
        if (stuck)
            done = done && sink_emit(sink, lua_judge_fault(sink, c, stuck, verdict), e);
        done = done && sink_emit(sink, lua_judge_event(sink, c, stage.reports, stuck), e);
    }
    stage_clear(&stage);
    return done;
}

static void print_line(lua_State *L, void *self, const char *text)
{
    (void)L, (void)self;
    fprintf(stderr, "%s\n", text);
}

static bool announce(const struct job *job, struct event_sink *sink, int ranks, struct error *e)
{
    char host[256] = "localhost";
    gethostname(host, sizeof host - 1);
    json_t *event = sink_event(sink, "run"), *hosts = json_array();
    json_array_append_new(hosts, json_string(host));
    event_set_text(event, "origin", "real");
    event_set_text(event, "job", job_kind_name(job->kind));
    event_set_integer(event, "ranks", ranks);
    json_object_set_new(event, "hosts", hosts);
    event_set_text(event, "device", "cpu");
    event_set_text(event, "mode", "coroutines");
    if (!sink_emit(sink, event, e))
        return false;
    return sink_note(sink, "info",
                     "the ranks are coroutines in one process, without MPI; the checks are the same", e);
}

bool coroutine_job(const struct job *job, struct event_sink *sink, struct lua_verdict *verdict,
                   struct error *e)
{
    const struct job_ranks *j = &job->rank_script;
    struct lua_case cases[JOB_MAX_COUNTS * JOB_MAX_SIZES];
    int n = lua_cases(j->counts, j->count_total, j->lengths, j->length_total, cases,
                      JOB_MAX_COUNTS * JOB_MAX_SIZES);
    for (int i = 0; i < j->count_total; i++)
        if (j->counts[i] > LUA_WAIT_MAX)
            return error_set(e, ERROR_INPUT, "a rank script runs on at most %d ranks, not on %d",
                             LUA_WAIT_MAX, j->counts[i]);
    size_t length;
    char *text = lua_script_read(j->script, &length, e);
    if (!text)
        return false;
    struct lua_rank_script script = {.text = text,
                                     .length = length,
                                     .shown = *j->shown ? j->shown : j->script,
                                     .entry = j->entry,
                                     .limits = {LUA_RANK_MEMORY, lua_sandbox_seconds()},
                                     .started = sink->started,
                                     .print = print_line};
    struct lua_guard *guard = lua_guard_start(sink, lua_sandbox_seconds() + GUARD_GRACE_S, e);
    bool done = guard && announce(job, sink, j->counts[j->count_total - 1], e);
    for (int i = 0; i < n && done && !verdict->stop; i++)
        done = coroutine_case(&script, &cases[i], sink, guard, verdict, e);
    lua_guard_stop(guard);
    free(text);
    return done;
}

int coroutine_main(int argc, char **argv)
{
    (void)argc;
    struct error e = {0};
    struct job job;
    struct fd_sink out;
    struct lua_verdict verdict = {.ok = true};
    sink_fd_init(&out, STDOUT_FILENO);
    job_defaults(&job, JOB_RANKS);
    if (!job_load(&job, argv[0], &e) || !coroutine_job(&job, &out.sink, &verdict, &e)) {
        verdict.ok = false;
        verdict.exit_code = (int)e.kind;
        snprintf(verdict.sentence, sizeof verdict.sentence, "%.990s", e.text);
    }
    job_clear(&job);
    if (!verdict.ok)
        fprintf(stderr, "%s\n", verdict.sentence);
    lua_verdict_emit(&verdict, &out.sink, NULL);
    sink_fd_clear(&out);
    return verdict.ok ? 0 : 1;
}
