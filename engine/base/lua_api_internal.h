/*
 * lua_api_internal.h - what the files of the API share.
 */
#ifndef RINGSIDE_BASE_LUA_API_INTERNAL_H
#define RINGSIDE_BASE_LUA_API_INTERNAL_H

#include "engine/base/lua_api.h"

#include <lauxlib.h>

/* The functions find their api as upvalue 1. */
struct lua_api *lua_api_of(lua_State *L);
/* Hands on an event; raises a Lua error where nobody listens. */
void lua_api_emit(lua_State *L, struct lua_api *api, json_t *event);
/* Sends {"call": name, "args": value at the top}, waits with the clock held, pushes the answer. */
void lua_api_request(lua_State *L, struct lua_api *api, const char *name);

/* Counts a call with the arguments on the stack; remembers it where calls are only recorded. */
void lua_api_record(lua_State *L, struct lua_api *api, const char *name);
int lua_api_simulate(lua_State *L); /* lua_api_sim.c */

/* Pushes the list of recorded calls. */
void lua_api_push_calls(lua_State *L);

/* lua_api_model.c: sets the functions that describe models as fields of the table at the top. */
void lua_api_model_open(lua_State *L);
/* Called with the api and what a script returned: where that is a model, it is what the script describes. */
int lua_api_model_returned(lua_State *L);

extern const luaL_Reg lua_api_optimizer_functions[]; /* lua_api_optimizer.c */
extern const luaL_Reg lua_api_cluster_functions[];   /* lua_api_cluster.c */
extern const luaL_Reg lua_api_check_functions[];     /* lua_api_check.c */

#endif
