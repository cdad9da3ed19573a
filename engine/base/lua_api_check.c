/*
 * lua_api_check.c - what check.lua has beside what every script has.
 *
 * The learner's file runs in a second sandbox, so that nothing it replaces (string.format, a metatable, the API
 * itself) reaches the check. Its globals come over as copies; a function comes over as one that calls the
 * original there.
 */
#include "engine/base/lua_api_internal.h"

#include "engine/base/event.h"
#include "engine/base/lua_args.h"
#include "engine/base/lua_json.h"

#include <stdlib.h>
#include <string.h>

/* --- calling a function of the learner's ------------------------------------------------------------------- */

struct far_call {
    lua_State *near; /* the check's state, with the arguments 1..count */
    int count, reference;
};

static int far_body(lua_State *L)
{
    struct far_call *call = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, call->reference);
    luaL_checkstack(L, call->count + 8, NULL);
    for (int i = 1; i <= call->count; i++)
        lua_copy_value(call->near, i, L, NULL, NULL);
    lua_call(L, call->count, LUA_MULTRET);
    return lua_gettop(L) - 1;
}

static void push_far_function(lua_State *from, int index, lua_State *to, void *self);

static int far_function(lua_State *L)
{
    struct lua_api *api = lua_api_of(L);
    lua_State *far = lua_sandbox_state(api->learner);
    struct far_call call = {L, lua_gettop(L), (int)lua_tointeger(L, lua_upvalueindex(2))};
    struct lua_fault fault;
    int base = lua_gettop(far);
    lua_pushcfunction(far, far_body);
    lua_pushlightuserdata(far, &call);
    lua_sandbox_clock_hold(api->sandbox);
    bool ok = lua_sandbox_call(api->learner, 1, LUA_MULTRET, &fault);
    lua_sandbox_clock_go_on(api->sandbox);
    if (!ok) {
        char text[1200];
        lua_fault_sentence(&fault, text, sizeof text);
        return luaL_error(L, "%s", text);
    }
    int results = lua_gettop(far) - base;
    for (int i = 1; i <= results; i++)
        lua_copy_value(far, base + i, L, push_far_function, api);
    lua_settop(far, base);
    return results;
}

static int make_reference(lua_State *L)
{
    lua_pushinteger(L, luaL_ref(L, LUA_REGISTRYINDEX));
    return 1;
}

static void push_far_function(lua_State *from, int index, lua_State *to, void *self)
{
    struct lua_api *api = self;
    struct lua_fault fault;
    lua_pushcfunction(from, make_reference);
    lua_pushvalue(from, index);
    if (!lua_sandbox_call(api->learner, 1, 1, &fault))
        luaL_error(to, "memory is short for the functions of your file");
    int reference = (int)lua_tointeger(from, -1);
    lua_pop(from, 1);
    lua_pushlightuserdata(to, api);
    lua_pushinteger(to, reference);
    lua_pushcclosure(to, far_function, 2);
}

/* --- learner() --------------------------------------------------------------------------------------------- */

static void say_it_does_not_run(lua_State *L, struct lua_api *api, const struct lua_fault *f)
{
    char sentence[1200];
    lua_fault_sentence(f, sentence, sizeof sentence);
    json_t *event = event_new("check", -1);
    event_set_text(event, "name", "your file runs");
    event_set_text(event, "result", "fail");
    event_set_text(event, "measured", sentence);
    event_set_text(event, "accepted", "a script that Lua can read and that runs to its end");
    event_set_text(event, "next", *f->todo ? f->todo : "mend that line and save");
    event_set_text(event, "file", f->file);
    event_set_integer(event, "line", f->line);
    event_set_text(event, "source", f->source);
    api->ended = true;
    lua_api_emit(L, api, event);
    luaL_error(L, "the check ends here");
}

static void run_learner(lua_State *L, struct lua_api *api)
{
    struct error e = {0};
    struct lua_fault fault = {0};
    const struct lua_limits limits = {LUA_SANDBOX_MEMORY, lua_sandbox_seconds()};
    api->learner = lua_sandbox_open(&limits, &e);
    api->learner_api = calloc(1, sizeof *api->learner_api);
    if (!api->learner || !api->learner_api) {
        luaL_error(L, "out of memory for your file");
        return; /* luaL_error does not */
    }
    api->learner_api->sandbox = api->learner;
    if (!lua_api_open(api->learner_api, &e))
        luaL_error(L, "%s", e.text);
    lua_sandbox_clock_hold(api->sandbox);
    bool ok =
        lua_api_run(api->learner_api, api->learner_text, api->learner_length, api->learner_shown, &fault);
    lua_sandbox_clock_go_on(api->sandbox);
    if (!ok)
        say_it_does_not_run(L, api, &fault);
}

/* Pushes the globals that the file has made or changed. */
static void push_globals(lua_State *L, struct lua_api *api)
{
    lua_State *from = lua_sandbox_state(api->learner);
    lua_newtable(L);
    lua_pushglobaltable(from);
    int globals = lua_gettop(from);
    for (lua_pushnil(from); lua_next(from, globals); lua_pop(from, 1)) {
        int value = lua_gettop(from);
        if (lua_type(from, value - 1) != LUA_TSTRING ||
            lua_sandbox_is_pristine(api->learner, value - 1, value))
            continue;
        lua_copy_value(from, value - 1, L, NULL, NULL);
        lua_copy_value(from, value, L, push_far_function, api);
        lua_rawset(L, -3);
    }
    lua_pop(from, 1);
}

static int api_learner(lua_State *L)
{
    struct lua_api *api = lua_api_of(L);
    lua_settop(L, 0);
    if (!api->learner)
        run_learner(L, api);
    push_globals(L, api);
    lua_State *from = lua_sandbox_state(api->learner);
    lua_api_push_calls(from);
    lua_copy_value(from, -1, L, push_far_function, api);
    lua_pop(from, 1);
    lua_setfield(L, -2, "calls");
    return 1;
}

/* --- the judge's tools ------------------------------------------------------------------------------------- */

static int api_rank_script(lua_State *L)
{
    static const struct lua_arg known[] = {{"entry", LUA_ARG_TEXT},
                                           {"counts", LUA_ARG_TABLE | LUA_ARG_NEEDED},
                                           {"lengths", LUA_ARG_TABLE | LUA_ARG_NEEDED},
                                           {NULL, 0}};
    lua_args_check(L, "rank_script", known);
    lua_settop(L, 1);
    lua_api_request(L, lua_api_of(L), "rank_script");
    return 1;
}

static int api_run_info(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_api_request(L, lua_api_of(L), "run_info");
    return 1;
}

static int api_attachments(lua_State *L)
{
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_api_request(L, lua_api_of(L), "attachments");
    return 1;
}

static int api_check(lua_State *L)
{
    static const struct lua_arg known[] = {{"name", LUA_ARG_TEXT | LUA_ARG_NEEDED},
                                           {"pass", LUA_ARG_BOOLEAN},
                                           {"result", LUA_ARG_TEXT},
                                           {"measured", LUA_ARG_TEXT | LUA_ARG_NUMBER},
                                           {"accepted", LUA_ARG_TEXT | LUA_ARG_NUMBER},
                                           {"next", LUA_ARG_TEXT},
                                           {NULL, 0}};
    static const char *const texts[] = {"name", "measured", "accepted", "next"};
    struct lua_api *api = lua_api_of(L);
    lua_args_check(L, "check", known);
    lua_settop(L, 1);
    const char *result = NULL;
    if (lua_getfield(L, 1, "pass") == LUA_TBOOLEAN)
        result = lua_toboolean(L, -1) ? "pass" : "fail";
    if (lua_getfield(L, 1, "result") == LUA_TSTRING)
        result = lua_tostring(L, -1);
    if (!result ||
        (strcmp(result, "pass") != 0 && strcmp(result, "fail") != 0 && strcmp(result, "inconclusive") != 0))
        return luaL_error(
            L, "check{...} needs pass = true or false, or result = \"pass\", \"fail\" or \"inconclusive\"");
    json_t *event = event_new("check", -1);
    event_set_text(event, "result", result);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (lua_getfield(L, 1, texts[i]) != LUA_TNIL)
            event_set_text(event, texts[i], luaL_tolstring(L, -1, NULL));
        lua_settop(L, 3);
    }
    lua_api_emit(L, api, event);
    return 0;
}

const luaL_Reg lua_api_check_functions[] = {
    {"learner", api_learner},   {"rank_script", api_rank_script},
    {"run_info", api_run_info}, {"attachments", api_attachments},
    {"check", api_check},       {NULL, NULL},
};
