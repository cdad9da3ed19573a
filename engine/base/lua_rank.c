#include "engine/base/lua_rank.h"

#include "engine/base/lua_api.h"
#include "engine/base/lua_comm.h"
#include "engine/base/lua_vector.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lua_rank {
    struct lua_sandbox *sandbox;
    struct lua_api
        api; /* without a channel: a train{} at the file's top level is not carried out by every rank */
    const struct lua_rank_script *script;
    lua_State *thread; /* the coroutine; kept alive by the registry */
    struct lua_vector *x;
    struct lua_comm comm;
    enum lua_rank_state state;
    int arguments; /* of the next resume */
    char failure[1400];
};

/* Pushes what the first resume needs on a new thread: the function, comm and x. Protected. */
static int prepare(lua_State *L)
{
    struct lua_rank *r = lua_touserdata(L, 1);
    long elements = (long)lua_tointeger(L, 2);
    const char *entry = r->script->entry;
    r->thread = lua_newthread(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, r);
    lua_vector_open(L);
    lua_pushglobaltable(L);
    lua_pushstring(L, entry);
    if (lua_rawget(L, -2) != LUA_TFUNCTION || lua_iscfunction(L, -1))
        return luaL_error(L, "the script defines no function '%s'; write: function %s(comm, x) ... end",
                          entry, entry);
    lua_comm_push(L, &r->comm);
    r->x = lua_vector_new(L, elements);
    r->x->chunk = -1;
    lua_xmove(L, r->thread, 3);
    return 0;
}

static int leave_out_coroutines(lua_State *L)
{
    /* A coroutine of the learner's own would take the yields that are meant for the driver. */
    lua_pushnil(L);
    lua_setglobal(L, "coroutine");
    return 0;
}

static bool run_chunk(struct lua_rank *r, long elements, struct lua_fault *f)
{
    lua_State *L = lua_sandbox_state(r->sandbox);
    lua_pushcfunction(L, leave_out_coroutines);
    if (!lua_sandbox_call(r->sandbox, 0, 0, f) ||
        !lua_sandbox_load(r->sandbox, r->script->text, r->script->length, r->script->shown, f) ||
        !lua_sandbox_call(r->sandbox, 0, 0, f))
        return false;
    lua_pushcfunction(L, prepare);
    lua_pushlightuserdata(L, r);
    lua_pushinteger(L, elements);
    return lua_sandbox_call(r->sandbox, 2, 0, f);
}

struct lua_rank *lua_rank_open(struct transport *t, const struct lua_rank_script *script, int tag,
                               long elements, struct error *e)
{
    struct lua_rank *r = calloc(1, sizeof *r);
    struct lua_fault fault;
    if (!r) {
        error_set(e, ERROR_FAILED, "out of memory for rank %d", t->rank);
        return NULL;
    }
    r->script = script;
    r->state = LUA_RANK_WAITING;
    r->arguments = 2;
    r->sandbox = lua_sandbox_open(&script->limits, e);
    r->api.sandbox = r->sandbox;
    if (!r->sandbox || !lua_api_open(&r->api, e) || !lua_comm_init(&r->comm, t, tag, script->started, e)) {
        lua_rank_close(r);
        return NULL;
    }
    lua_sandbox_print_to(r->sandbox, script->print, script->print_self);
    if (!run_chunk(r, elements, &fault)) {
        lua_fault_error(&fault, e);
        lua_rank_close(r);
        return NULL;
    }
    return r;
}

void lua_rank_close(struct lua_rank *r)
{
    if (!r)
        return;
    lua_sandbox_close(r->sandbox);
    lua_comm_clear(&r->comm);
    free(r);
}

float *lua_rank_data(struct lua_rank *r)
{
    return r->x->data;
}

static enum lua_rank_state fail(struct lua_rank *r, const char *message, int line)
{
    struct lua_fault fault;
    char text[sizeof r->failure - 40];
    lua_sandbox_explain(r->sandbox, message, line, &fault);
    lua_fault_sentence(&fault, text, sizeof text);
    snprintf(r->failure, sizeof r->failure, "rank %d: %s", r->comm.transport->rank, text);
    return r->state = LUA_RANK_FAILED;
}

enum lua_rank_state lua_rank_step(struct lua_rank *r)
{
    if (r->state != LUA_RANK_WAITING || !lua_comm_test(&r->comm))
        return r->state;
    int results = 0;
    lua_sandbox_clock_start(r->sandbox);
    int status = lua_resume(r->thread, lua_sandbox_state(r->sandbox), r->arguments, &results);
    r->arguments = 0;
    if (status == LUA_YIELD) {
        lua_pop(r->thread, results);
        return r->state;
    }
    if (status == LUA_OK)
        return r->state = LUA_RANK_FINISHED;
    const char *message = lua_tostring(r->thread, -1);
    return fail(r, message, status == LUA_ERRMEM ? 0 : lua_sandbox_line(r->thread));
}

struct lua_wait lua_rank_wait(const struct lua_rank *r)
{
    struct lua_wait w = {.finished = r->state != LUA_RANK_WAITING};
    w.sending = r->comm.send.busy, w.to = r->comm.send.peer;
    w.receiving = r->comm.recv.busy, w.from = r->comm.recv.peer;
    return w;
}

unsigned lua_rank_progress(const struct lua_rank *r)
{
    return r->comm.completed;
}

const struct lua_tally *lua_rank_tally(const struct lua_rank *r)
{
    return r->comm.tally;
}

bool lua_rank_expired(const struct lua_rank *r)
{
    return lua_sandbox_expired(r->sandbox);
}

const char *lua_rank_failure(const struct lua_rank *r)
{
    return r->failure;
}

int lua_rank_line(const struct lua_rank *r)
{
    return r->thread ? lua_sandbox_line(r->thread) : 0;
}
