/*
 * lua_args.h - checks the table of named arguments that a script hands to a function.
 */
#ifndef RINGSIDE_BASE_LUA_ARGS_H
#define RINGSIDE_BASE_LUA_ARGS_H

#include <lua.h>
#include <stdbool.h>

/* What a key may hold; several may be joined with |. */
enum {
    LUA_ARG_TEXT = 1,
    LUA_ARG_WHOLE = 2,
    LUA_ARG_NUMBER = 4,
    LUA_ARG_TABLE = 8,
    LUA_ARG_BOOLEAN = 16,
    LUA_ARG_NEEDED = 32, /* must be there */
};

struct lua_arg {
    const char *key; /* "1", "2": by position; NULL ends the list */
    int types;
};

/* Raises a Lua error unless argument 1 is a table that fits. Absent (nil) counts as an empty table, and is replaced. */
void lua_args_check(lua_State *L, const char *function, const struct lua_arg *known);
/* Raises a Lua error where a value of the table at 1 is NaN or infinite, which a job cannot hold. */
void lua_args_finite(lua_State *L, const char *function);
/* Whether the value at the top is of one of the types. */
bool lua_args_fit(lua_State *L, int types);

#endif
