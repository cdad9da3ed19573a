/*
 * lua_comm.h - the `comm` of a rank script: send, recv and sendrecv on a struct transport.
 *
 * Each call starts its operations and yields; the driver calls lua_comm_test until all are done and resumes. send
 * is synchronous: it is done when the receiver has taken the message, so that a deadlock shows at every size.
 * The pieces live here and not in Lua, so nothing the learner does moves a buffer that MPI reads.
 */
#ifndef RINGSIDE_BASE_LUA_COMM_H
#define RINGSIDE_BASE_LUA_COMM_H

#include "engine/base/lua_rank.h"
#include "engine/base/lua_vector.h"

struct lua_comm_half {
    bool busy;
    int peer;
    int64_t header[2]; /* elements; piece */
    struct pending header_pending, data_pending;
    struct lua_vector vector; /* a copy of the learner's: data stays, whatever happens to the object */
    bool matched;             /* recv: the header is there, the data is on its way */
    double t0;
};

struct lua_comm {
    struct transport *transport;
    int tag;
    double started;
    struct lua_comm_half send, recv;
    unsigned completed;
    struct lua_tally *tally;
    char failure[400]; /* raised at the learner's call when it goes on */
};

bool lua_comm_init(struct lua_comm *c, struct transport *t, int tag, double started, struct error *e);
void lua_comm_clear(struct lua_comm *c);
/* Pushes the table comm. Raises Lua errors: call it protected. */
void lua_comm_push(lua_State *L, struct lua_comm *c);
/* Never blocks. True: nothing is being waited for (or it failed: the learner's call will raise that). */
bool lua_comm_test(struct lua_comm *c);

#endif
