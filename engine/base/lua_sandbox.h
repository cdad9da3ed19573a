/*
 * lua_sandbox.h - Lua 5.4 for code that a learner wrote.
 *
 * Without os, io, package, debug, load, dofile, string.dump and finalizers; memory is capped by the allocator
 * and a hook on the instruction count ends what runs too long, with a sentence. The hook is a courtesy: string
 * patterns escape it, so a sandbox belongs into a process that somebody else ends on wall clock.
 * Globals of other languages and of the missing libraries (None, len, os ...) raise an error that says what
 * Lua has instead; any other unknown global is nil, as always. math.random gives the same numbers each time.
 *
 * A failure is a `struct lua_fault`: file, line, the line's text, what is wrong and what to do about it.
 */
#ifndef RINGSIDE_BASE_LUA_SANDBOX_H
#define RINGSIDE_BASE_LUA_SANDBOX_H

#include "engine/base/error.h"

#include <lua.h>
#include <stddef.h>

struct lua_limits {
    size_t memory_bytes;
    double seconds; /* wall clock between lua_sandbox_clock_start and the end; 0: no limit */
};

enum { LUA_SANDBOX_MEMORY = 256 << 20, LUA_SANDBOX_SCRIPT_MAX = 4 << 20 };
#define LUA_SANDBOX_SECONDS 10.0

/* The limit here: LUA_SANDBOX_SECONDS, or RINGSIDE_SCRIPT_SECONDS where that is set. */
double lua_sandbox_seconds(void);

struct lua_fault {
    char file[512];   /* as the learner named it */
    int line;         /* 0: unknown */
    char source[200]; /* the text of the line, without blanks around it, cut where it is long */
    char what[512];   /* what is wrong: a sentence without its full stop */
    char todo[400];   /* what to do about it, or "" */
};

struct lua_sandbox;

struct lua_sandbox *lua_sandbox_open(const struct lua_limits *limits, struct error *e);
void lua_sandbox_close(struct lua_sandbox *s);
lua_State *lua_sandbox_state(struct lua_sandbox *s);
struct lua_sandbox *lua_sandbox_of(lua_State *L);

/* Where print goes. One call a line, without its newline; it may raise a Lua error. */
typedef void lua_print_function(lua_State *L, void *self, const char *text);
void lua_sandbox_print_to(struct lua_sandbox *s, lua_print_function *print, void *self);

/*
 * Compiles a script and leaves its function on the stack. `shown` is the name in messages. The text is kept for
 * the messages about later errors. False, nothing on the stack and *f: it does not compile.
 */
bool lua_sandbox_load(struct lua_sandbox *s, const char *text, size_t length, const char *shown,
                      struct lua_fault *f);

/* lua_pcall of what is on the stack, with the clock started anew. False and *f: it failed; nothing is left. */
bool lua_sandbox_call(struct lua_sandbox *s, int arguments, int results, struct lua_fault *f);

/* The time limit begins now; hold stops the clock while somebody else is waited for. */
void lua_sandbox_clock_start(struct lua_sandbox *s);
void lua_sandbox_clock_hold(struct lua_sandbox *s);
void lua_sandbox_clock_go_on(struct lua_sandbox *s);

/* Whether the limit was reached, and the code stopped for it. */
bool lua_sandbox_expired(const struct lua_sandbox *s);

/* Turns Lua's message (may be NULL) of an error at `line` (0: the message says) into a fault. */
void lua_sandbox_explain(struct lua_sandbox *s, const char *message, int line, struct lua_fault *f);
/* The line the innermost Lua function of a (failed) thread is in; 0: none. */
int lua_sandbox_line(lua_State *L);

/* Whether a global was there before any script ran and still has that value. Key at the top; leaves it. */
bool lua_sandbox_is_pristine(struct lua_sandbox *s, int key, int value);
/* Marks the present globals as the sandbox's own. */
void lua_sandbox_seal(struct lua_sandbox *s);

/* Reads a script whole. ERROR_INPUT where it cannot be read, is a folder or too large. The caller frees it. */
char *lua_script_read(const char *path, size_t *length, struct error *e);

/* "FILE:12: WHAT; ADVICE (line 12: SOURCE)" */
void lua_fault_sentence(const struct lua_fault *f, char *text, size_t size);
bool lua_fault_error(const struct lua_fault *f, struct error *e); /* as ERROR_INPUT; returns false */

#endif
