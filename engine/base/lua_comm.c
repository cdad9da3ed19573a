#include "engine/base/lua_comm.h"

#include "engine/base/sink.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_HEADER = 0, TAG_DATA = 1 };

bool lua_comm_init(struct lua_comm *c, struct transport *t, int tag, double started, struct error *e)
{
    *c = (struct lua_comm){.transport = t, .tag = tag, .started = started};
    c->tally = calloc(1, sizeof *c->tally);
    return c->tally || error_set(e, ERROR_FAILED, "out of memory for rank %d", t->rank);
}

void lua_comm_clear(struct lua_comm *c)
{
    free(c->tally);
    c->tally = NULL;
}

static double now(const struct lua_comm *c)
{
    double t = sink_clock() - c->started;
    return t > 0 ? t : 0;
}

/* --- operations -------------------------------------------------------------------------------------------- */

static bool start_send(struct lua_comm *c, struct error *e)
{
    struct transport *t = c->transport;
    struct lua_comm_half *h = &c->send;
    h->t0 = now(c);
    h->header[0] = h->vector.length;
    h->header[1] = h->vector.chunk;
    h->busy = true;
    return t->ops->send_start(t, h->peer, c->tag + TAG_HEADER, h->header, sizeof h->header, false,
                              &h->header_pending, e) &&
           t->ops->send_start(t, h->peer, c->tag + TAG_DATA, h->vector.data,
                              (size_t)h->vector.length * sizeof(float), true, &h->data_pending, e);
}

static bool start_recv(struct lua_comm *c, struct error *e)
{
    struct transport *t = c->transport;
    struct lua_comm_half *h = &c->recv;
    h->busy = true;
    h->matched = false;
    return t->ops->recv_start(t, h->peer, c->tag + TAG_HEADER, h->header, sizeof h->header,
                              &h->header_pending, e);
}

static void count_sent(struct lua_comm *c)
{
    const struct lua_comm_half *h = &c->send;
    struct lua_tally *tally = c->tally;
    int rank = c->transport->rank, size = c->transport->size;
    long bytes = h->vector.length * (long)sizeof(float);
    if (tally->hop_count < LUA_RANK_HOPS)
        tally->hops[tally->hop_count++] = (struct lua_hop){.from = rank,
                                                           .to = h->peer,
                                                           .hop = (int)tally->messages,
                                                           .chunk = h->vector.chunk,
                                                           .bytes = bytes,
                                                           .t0 = h->t0,
                                                           .t1 = now(c)};
    tally->messages++;
    tally->bytes += bytes;
    if (h->peer != (rank + 1) % size && h->peer != (rank + size - 1) % size)
        tally->strangers++;
}

static enum progress test_send(struct lua_comm *c, struct error *e)
{
    struct transport *t = c->transport;
    struct lua_comm_half *h = &c->send;
    enum progress header = t->ops->test(t, &h->header_pending, e);
    enum progress data = header == PROGRESS_FAILED ? header : t->ops->test(t, &h->data_pending, e);
    if (header != PROGRESS_DONE || data != PROGRESS_DONE)
        return header == PROGRESS_FAILED || data == PROGRESS_FAILED ? PROGRESS_FAILED : PROGRESS_BUSY;
    h->busy = false;
    c->completed++;
    count_sent(c);
    return PROGRESS_DONE;
}

static enum progress test_recv(struct lua_comm *c, struct error *e)
{
    struct transport *t = c->transport;
    struct lua_comm_half *h = &c->recv;
    if (!h->matched) {
        enum progress header = t->ops->test(t, &h->header_pending, e);
        if (header != PROGRESS_DONE)
            return header;
        if (h->header[0] != h->vector.length) {
            error_set(e, ERROR_FAILED,
                      "rank %d sent %lld elements, but rank %d receives into a vector of %ld; both must take "
                      "pieces of the same length",
                      h->peer, (long long)h->header[0], t->rank, h->vector.length);
            return PROGRESS_FAILED;
        }
        h->matched = true;
        if (!t->ops->recv_start(t, h->peer, c->tag + TAG_DATA, h->vector.data,
                                (size_t)h->vector.length * sizeof(float), &h->data_pending, e))
            return PROGRESS_FAILED;
    }
    enum progress data = t->ops->test(t, &h->data_pending, e);
    if (data != PROGRESS_DONE)
        return data;
    h->busy = false;
    c->completed++;
    return PROGRESS_DONE;
}

bool lua_comm_test(struct lua_comm *c)
{
    struct error e = {0};
    if ((c->send.busy && test_send(c, &e) == PROGRESS_FAILED) ||
        (c->recv.busy && test_recv(c, &e) == PROGRESS_FAILED)) {
        snprintf(c->failure, sizeof c->failure, "%.380s", e.text);
        return true;
    }
    return !c->send.busy && !c->recv.busy;
}

/* --- what Lua sees ----------------------------------------------------------------------------------------- */

static int go_on(lua_State *L, int status, lua_KContext context)
{
    (void)status, (void)context;
    struct lua_comm *c = lua_touserdata(L, lua_upvalueindex(1));
    if (!*c->failure)
        return 0;
    char text[sizeof c->failure];
    memcpy(text, c->failure, sizeof text);
    /* The failure stays: a pcall around it does not make the ranks fit together again. */
    return luaL_error(L, "%s", text);
}

static int wait_for_it(lua_State *L, struct lua_comm *c, bool started, const struct error *e)
{
    if (!started)
        snprintf(c->failure, sizeof c->failure, "%.380s", e->text);
    if (*c->failure)
        return go_on(L, LUA_OK, 0);
    return lua_yieldk(L, 0, 0, go_on);
}

static struct lua_comm *check_call(lua_State *L, const char *usage)
{
    struct lua_comm *c = lua_touserdata(L, lua_upvalueindex(1));
    if (lua_istable(L, 1))
        luaL_error(L, "the functions of comm are called with a dot, not with a colon; write %s", usage);
    if (*c->failure)
        luaL_error(L, "%s", c->failure);
    return c;
}

static int check_peer(lua_State *L, int arg, const struct lua_comm *c, const char *usage, const char *verb)
{
    int whole, rank = c->transport->rank, size = c->transport->size;
    lua_Integer peer = lua_tointegerx(L, arg, &whole);
    if (!whole)
        luaL_error(L,
                   "%s: a rank is a whole number from 0 to %d, but this is %s; for a ring use // and %% with "
                   "whole numbers",
                   usage, size - 1, lua_isnoneornil(L, arg) ? "nil" : luaL_tolstring(L, arg, NULL));
    if (peer < 0 || peer >= size)
        luaL_error(L,
                   "%s: there is no rank %I; the %d ranks are 0 to %d (the right neighbour is (comm.rank + "
                   "1) %% comm.size)",
                   usage, peer, size, size - 1);
    if (peer == rank)
        luaL_error(L, "%s: rank %d would %s itself, which would wait for ever; leave that out%s", usage, rank,
                   verb, size == 1 ? ": with one rank there is nothing to send" : "");
    return (int)peer;
}

static int comm_send(lua_State *L)
{
    static const char usage[] = "comm.send(to, v)";
    struct lua_comm *c = check_call(L, usage);
    struct error e = {0};
    c->send.peer = check_peer(L, 1, c, usage, "send to");
    c->send.vector = *lua_vector_check(L, 2, usage);
    return wait_for_it(L, c, start_send(c, &e), &e);
}

static int comm_recv(lua_State *L)
{
    static const char usage[] = "comm.recv(from, v)";
    struct lua_comm *c = check_call(L, usage);
    struct error e = {0};
    c->recv.peer = check_peer(L, 1, c, usage, "receive from");
    c->recv.vector = *lua_vector_check(L, 2, usage);
    return wait_for_it(L, c, start_recv(c, &e), &e);
}

static int comm_sendrecv(lua_State *L)
{
    static const char usage[] = "comm.sendrecv(to, a, from, b)";
    struct lua_comm *c = check_call(L, usage);
    struct error e = {0};
    int to = check_peer(L, 1, c, usage, "send to"), from = check_peer(L, 3, c, usage, "receive from");
    struct lua_vector *a = lua_vector_check(L, 2, usage), *b = lua_vector_check(L, 4, usage);
    if (a->length > 0 && b->length > 0 && a->data < b->data + b->length && b->data < a->data + a->length)
        return luaL_error(L,
                          "%s: a and b share elements, so what is sent would be overwritten; receive into "
                          "another piece or into a clone",
                          usage);
    c->send.peer = to, c->send.vector = *a;
    c->recv.peer = from, c->recv.vector = *b;
    return wait_for_it(L, c, start_recv(c, &e) && start_send(c, &e), &e);
}

static int comm_unknown(lua_State *L)
{
    return luaL_error(L, "comm has no '%s'; it has rank, size, send, recv and sendrecv",
                      luaL_tolstring(L, 2, NULL));
}

void lua_comm_push(lua_State *L, struct lua_comm *c)
{
    static const luaL_Reg functions[] = {
        {"send", comm_send}, {"recv", comm_recv}, {"sendrecv", comm_sendrecv}, {NULL, NULL}};
    lua_newtable(L);
    lua_pushlightuserdata(L, c);
    luaL_setfuncs(L, functions, 1);
    lua_pushinteger(L, c->transport->rank);
    lua_setfield(L, -2, "rank");
    lua_pushinteger(L, c->transport->size);
    lua_setfield(L, -2, "size");
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, comm_unknown);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}
