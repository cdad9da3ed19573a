/*
 * lua_guard.h - ends a process whose learner's code never comes back.
 *
 * A text pattern can run for ever inside one instruction, where the sandbox's hook does not look at the clock. The guard
 * is a thread that does: it touches neither Lua nor the transport, writes the last words (fault and done) through the
 * sink and ends the process. Whoever runs learner's code says so with enter and leave.
 */
#ifndef RINGSIDE_BASE_LUA_GUARD_H
#define RINGSIDE_BASE_LUA_GUARD_H

#include "engine/base/sink.h"

struct lua_guard;

/* The sink must take events from several threads. seconds: how long code may stay between enter and leave. */
struct lua_guard *lua_guard_start(struct event_sink *sink, double seconds, struct error *e);
/* Stops the thread; NULL is fine. */
void lua_guard_stop(struct lua_guard *g);

/* Code of this rank runs from now on. g may be NULL. */
void lua_guard_enter(struct lua_guard *g, int rank);
void lua_guard_leave(struct lua_guard *g);

/* "rank 2 has computed for 13 s without ..." */
void lua_guard_sentence(int rank, double seconds, char *text, size_t size);
/* {"ev":"fault","kind":"stuck", ...} with that sentence. */
json_t *lua_guard_fault(const struct event_sink *sink, int rank, double seconds);

#endif
