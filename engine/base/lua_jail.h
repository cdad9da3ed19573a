/*
 * lua_jail.h - shuts in a process that is about to run a learner's Lua.
 *
 * From then on it can reach nothing but one descriptor: no files, no further processes, no core file. It ignores TERM and
 * INT: its parent ends it with KILL, on wall clock.
 */
#ifndef RINGSIDE_BASE_LUA_JAIL_H
#define RINGSIDE_BASE_LUA_JAIL_H

/* Keeps fd and standard error open. Call it in a forked child; there is no way back. */
void lua_jail_enter(int fd);

#endif
