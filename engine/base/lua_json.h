/*
 * lua_json.h - Lua values as JSON and back, and from one Lua state to another.
 *
 * A table with the keys 1..n and no others becomes an array, any other an object (an empty one is an array; numbers
 * as keys become text). JSON has no NaN and no infinity: they become null. What is neither data nor a table (a
 * function, a vector) is an error, and so is a text with a zero byte. Tables deeper than LUA_JSON_DEPTH are an error, which catches cycles too.
 */
#ifndef RINGSIDE_BASE_LUA_JSON_H
#define RINGSIDE_BASE_LUA_JSON_H

#include "engine/base/error.h"

#include <jansson.h>
#include <lua.h>

enum { LUA_JSON_DEPTH = 16, LUA_JSON_VALUES = 200000 };

/* A new reference; NULL and *e. Raises no Lua errors. */
json_t *lua_to_json(lua_State *L, int index, struct error *e);
/* Raises a Lua error where memory is short: call it protected. JSON's null becomes nil. */
void lua_push_json(lua_State *L, const json_t *value);

/* Puts U+FFFD for each NUL byte of the text at the top, which would end it in C. */
void lua_show_nul(lua_State *L);

/*
 * Pushes on `to` a copy of the value at `index` of `from`, NaN and all; to be called protected in `to`. Functions are
 * handed to `function`, which pushes what stands for them (NULL: they become nil).
 */
typedef void lua_copy_function(lua_State *from, int index, lua_State *to, void *self);
void lua_copy_value(lua_State *from, int index, lua_State *to, lua_copy_function *function, void *self);

#endif
