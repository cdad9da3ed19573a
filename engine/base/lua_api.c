#include "engine/base/lua_api_internal.h"

#include "engine/base/event.h"
#include "engine/base/lua_args.h"
#include "engine/base/lua_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int calls_key; /* its address: the list of recorded calls in the registry */

struct lua_api *lua_api_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

void lua_api_emit(lua_State *L, struct lua_api *api, json_t *event)
{
    struct error e = {0};
    if (!api->channel->event(api->channel, event, &e))
        luaL_error(L, "%s", e.text);
}

void lua_api_request(lua_State *L, struct lua_api *api, const char *name)
{
    struct error e = {0};
    json_t *args = lua_to_json(L, lua_gettop(L), &e);
    if (!args)
        luaL_error(L, "%s: %s", name, e.text);
    json_t *request = json_object();
    json_object_set_new(request, "call", json_string(name));
    json_object_set_new(request, "args", args);
    lua_sandbox_clock_hold(api->sandbox);
    json_t *answer = api->channel->request(api->channel, request, &e);
    lua_sandbox_clock_go_on(api->sandbox);
    if (!answer)
        luaL_error(L, "%s", e.text);
    /* Where memory is too short for it the answer leaks, in a process that is about to end. */
    lua_push_json(L, answer);
    json_decref(answer);
}

/* --- recording, for the learner's file in a check ---------------------------------------------------------- */

void lua_api_record(lua_State *L, struct lua_api *api, const char *name)
{
    if (++api->calls > LUA_API_CALLS)
        luaL_error(L,
                   "more than %d calls of train, allreduce and the like; look for a loop that does not end",
                   LUA_API_CALLS);
    if (api->channel)
        return;
    int arguments = lua_gettop(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
    lua_createtable(L, arguments + 1, 0);
    lua_pushstring(L, name);
    lua_rawseti(L, -2, 1);
    for (int i = 1; i <= arguments; i++) {
        /* A copy: the script may change its table afterwards. */
        lua_copy_value(L, i, L, NULL, NULL);
        lua_rawseti(L, -2, i + 1);
    }
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_pop(L, 1);
}

void lua_api_push_calls(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
}

static void set_unknown(lua_State *L, const char *const *keys)
{
    for (; *keys; keys++) {
        lua_pushnumber(L, (lua_Number)NAN);
        lua_setfield(L, -2, *keys);
    }
}

static int recorded_training(lua_State *L)
{
    static const char *const numbers[] = {"accuracy", "loss", "samples_per_s", "wall_s", NULL};
    static const char *const lists[] = {"steps", "evals", "ranks", NULL};
    lua_newtable(L);
    set_unknown(L, numbers);
    for (const char *const *list = lists; *list; list++) {
        lua_newtable(L);
        lua_setfield(L, -2, *list);
    }
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "ok");
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "run");
    return 1;
}

static int recorded_allreduce(lua_State *L)
{
    static const char *const numbers[] = {
        "time_s", "busbw_bytes_per_s", "algbw_bytes_per_s", "predicted_s", "error", "bytes", NULL};
    /* As many results as sizes times algorithms, and in place and out of place, were asked for. */
    lua_Integer sizes = 1, algos = 1;
    if (lua_getfield(L, 1, "bytes") == LUA_TTABLE)
        sizes = (lua_Integer)lua_rawlen(L, -1);
    if (lua_getfield(L, 1, "algo") == LUA_TSTRING)
        for (const char *comma = lua_tostring(L, -1); (comma = strchr(comma, ',')); comma++)
            algos++;
    if (lua_getfield(L, 1, "place") == LUA_TSTRING && strcmp(lua_tostring(L, -1), "both") == 0)
        algos *= 2;
    lua_newtable(L);
    for (lua_Integer i = 1; i <= sizes * algos; i++) {
        lua_newtable(L);
        set_unknown(L, numbers);
        lua_pushliteral(L, "");
        lua_setfield(L, -2, "algo");
        lua_rawseti(L, -2, i);
    }
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "ok");
    return 1;
}

/* --- experiments ------------------------------------------------------------------------------------------- */

static int api_train(lua_State *L)
{
    static const struct lua_arg known[] = {{"model", LUA_ARG_TEXT | LUA_ARG_TABLE},
                                           {"data", LUA_ARG_TEXT},
                                           {"ranks", LUA_ARG_WHOLE},
                                           {"batch", LUA_ARG_WHOLE},
                                           {"epochs", LUA_ARG_WHOLE},
                                           {"steps", LUA_ARG_WHOLE},
                                           {"seconds", LUA_ARG_NUMBER},
                                           {"accumulate", LUA_ARG_WHOLE},
                                           {"lr", LUA_ARG_NUMBER},
                                           {"optimizer", LUA_ARG_TEXT | LUA_ARG_TABLE},
                                           {"clip", LUA_ARG_NUMBER},
                                           {"schedule", LUA_ARG_TEXT},
                                           {"warmup", LUA_ARG_NUMBER},
                                           {"step_size", LUA_ARG_NUMBER},
                                           {"gamma", LUA_ARG_NUMBER},
                                           {"scale_lr", LUA_ARG_WHOLE},
                                           {"dtype", LUA_ARG_TEXT},
                                           {"allreduce", LUA_ARG_TEXT},
                                           {"bucket", LUA_ARG_WHOLE},
                                           {"autotune", LUA_ARG_BOOLEAN},
                                           {"threads", LUA_ARG_WHOLE},
                                           {"seed", LUA_ARG_WHOLE},
                                           {"reproducible", LUA_ARG_BOOLEAN},
                                           {"checkpoint_every", LUA_ARG_WHOLE},
                                           {"hash_every", LUA_ARG_WHOLE},
                                           {"resume", LUA_ARG_TEXT},
                                           {"eval", LUA_ARG_TEXT},
                                           {"shares", LUA_ARG_TABLE},
                                           {"trace", LUA_ARG_WHOLE},
                                           {"pause", LUA_ARG_NUMBER},
                                           {"device", LUA_ARG_TEXT},
                                           {"label", LUA_ARG_TEXT},
                                           {"compress", LUA_ARG_TEXT},
                                           {"link", LUA_ARG_TEXT},
                                           {"link_latency", LUA_ARG_TEXT},
                                           {"detach", LUA_ARG_BOOLEAN},
                                           {NULL, 0}};
    struct lua_api *api = lua_api_of(L);
    lua_args_check(L, "train", known);
    lua_settop(L, 1);
    lua_api_record(L, api, "train");
    if (!api->channel)
        return recorded_training(L); /* full of NaN, which may have become arguments here */
    lua_args_finite(L, "train");
    lua_api_request(L, api, "train");
    return 1;
}

static int api_allreduce(lua_State *L)
{
    static const struct lua_arg known[] = {
        {"ranks", LUA_ARG_WHOLE},       {"bytes", LUA_ARG_WHOLE | LUA_ARG_TABLE},
        {"algo", LUA_ARG_TEXT},         {"iters", LUA_ARG_WHOLE},
        {"check", LUA_ARG_BOOLEAN},     {"buffer", LUA_ARG_TEXT},
        {"collective", LUA_ARG_TEXT},   {"dtype", LUA_ARG_TEXT},
        {"place", LUA_ARG_TEXT},        {"label", LUA_ARG_TEXT},
        {"trace", LUA_ARG_WHOLE},       {"link", LUA_ARG_TEXT},
        {"link_latency", LUA_ARG_TEXT}, {NULL, 0}};
    struct lua_api *api = lua_api_of(L);
    lua_args_check(L, "allreduce", known);
    lua_settop(L, 1);
    lua_api_record(L, api, "allreduce");
    if (!api->channel)
        return recorded_allreduce(L);
    lua_api_request(L, api, "allreduce");
    /* { results = {...}, ok =, run = } becomes a list with fields beside it. */
    lua_getfield(L, -1, "results");
    for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "results") != 0) {
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_rawset(L, -5);
        }
    }
    return 1;
}

/* --- words and points -------------------------------------------------------------------------------------- */

static void count_line(lua_State *L, struct lua_api *api, size_t bytes)
{
    api->lines++;
    api->bytes += (long)bytes;
    if (api->lines > LUA_API_LINES || api->bytes > LUA_API_BYTES)
        luaL_error(L,
                   "the script prints too much (at most %d lines and %d KiB are kept); print less, or only "
                   "every hundredth time",
                   LUA_API_LINES, LUA_API_BYTES >> 10);
}

static void emit_note(lua_State *L, struct lua_api *api, const char *text)
{
    count_line(L, api, strlen(text));
    if (!api->channel)
        return;
    json_t *event = event_new("note", -1);
    event_set_text(event, "level", "info");
    event_set_text(event, "text", text);
    event_set_text(event, "from", "script");
    lua_api_emit(L, api, event);
}

static void print_line(lua_State *L, void *self, const char *text)
{
    emit_note(L, self, text);
}

static int api_note(lua_State *L)
{
    struct lua_api *api = lua_api_of(L);
    luaL_tolstring(L, 1, NULL);
    lua_show_nul(L);
    emit_note(L, api, lua_tostring(L, -1));
    return 0;
}

static int api_predict(lua_State *L)
{
    struct lua_api *api = lua_api_of(L);
    if (lua_type(L, 1) != LUA_TSTRING || lua_isnoneornil(L, 2))
        return luaL_error(
            L, "predict takes a question and your guess; write predict(\"how many times as fast?\", 1.8)");
    lua_settop(L, 2);
    lua_api_record(L, api, "predict");
    if (!api->channel)
        return 1;
    if (++api->points > LUA_API_POINTS)
        return luaL_error(L, "more than %d points; plot fewer", LUA_API_POINTS);
    json_t *event = event_new("point", -1);
    event_set_text(event, "series", "predicted");
    event_set_text(event, "label", lua_tostring(L, 1));
    if (lua_type(L, 2) == LUA_TNUMBER)
        event_set_number(event, "y", lua_tonumber(L, 2));
    else
        event_set_text(event, "value", luaL_tolstring(L, 2, NULL));
    lua_api_emit(L, api, event);
    lua_settop(L, 2);
    return 1;
}

/* A number, or NaN: a recorded or failed measurement leaves a hole in the curve. */
static double coordinate(lua_State *L, int index, int item)
{
    double value = NAN;
    if (lua_rawgeti(L, index, item) == LUA_TNUMBER)
        value = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return value;
}

static void emit_point(lua_State *L, struct lua_api *api, const char *series, double x, double y)
{
    static const char *const fields[][2] = {{"title", "title"}, {"x", "xlabel"}, {"y", "ylabel"}};
    if (++api->points > LUA_API_POINTS)
        luaL_error(L, "more than %d points; plot fewer", LUA_API_POINTS);
    if (!api->channel || !isfinite(x) || !isfinite(y))
        return;
    json_t *event = event_new("point", -1);
    event_set_text(event, "series", series);
    event_set_number(event, "x", x);
    event_set_number(event, "y", y);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (lua_getfield(L, 1, fields[i][0]) == LUA_TSTRING)
            event_set_text(event, fields[i][1], lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_api_emit(L, api, event);
}

/* The series at the top of the stack: pairs {x, y}, or numbers (then x counts from 1). */
static void plot_series(lua_State *L, struct lua_api *api, const char *name)
{
    int list = lua_gettop(L);
    if (!lua_istable(L, list))
        luaL_error(L, "plot: the series '%s' is a %s; it must be a list of points { {x, y}, ... }", name,
                   luaL_typename(L, list));
    lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        if (lua_type(L, -1) == LUA_TNUMBER)
            emit_point(L, api, name, (double)i, lua_tonumber(L, -1));
        else if (lua_istable(L, -1))
            emit_point(L, api, name, coordinate(L, list + 1, 1), coordinate(L, list + 1, 2));
        else
            luaL_error(L, "plot: point %I of the series '%s' is a %s; it must be {x, y}", i, name,
                       luaL_typename(L, -1));
        lua_pop(L, 1);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int api_plot(lua_State *L)
{
    enum { SERIES_MAX = 32 };
    static const struct lua_arg known[] = {{"title", LUA_ARG_TEXT},
                                           {"x", LUA_ARG_TEXT},
                                           {"y", LUA_ARG_TEXT},
                                           {"series", LUA_ARG_TABLE | LUA_ARG_NEEDED},
                                           {NULL, 0}};
    struct lua_api *api = lua_api_of(L);
    lua_args_check(L, "plot", known);
    lua_settop(L, 1);
    lua_api_record(L, api, "plot");
    lua_getfield(L, 1, "series");
    const char *names[SERIES_MAX];
    int n = 0;
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            return luaL_error(
                L, "plot: each series needs a name; write series = { measured = { {x, y}, ... } }");
        if (n == SERIES_MAX)
            return luaL_error(L, "plot: more than %d series in one plot", SERIES_MAX);
        names[n++] = lua_tostring(L, -2); /* kept alive by the table */
    }
    qsort(names, (size_t)n, sizeof *names, by_name); /* the order of lua_next differs from run to run */
    for (int i = 0; i < n; i++) {
        lua_getfield(L, 2, names[i]);
        plot_series(L, api, names[i]);
        lua_settop(L, 2);
    }
    return 0;
}

static const luaL_Reg functions[] = {
    {"train", api_train}, {"allreduce", api_allreduce},   {"plot", api_plot}, {"predict", api_predict},
    {"note", api_note},   {"simulate", lua_api_simulate}, {NULL, NULL}};

/* --- opening and running ----------------------------------------------------------------------------------- */

static int open_functions(lua_State *L)
{
    struct lua_api *api = lua_touserdata(L, 1);
    lua_pushglobaltable(L);
    const luaL_Reg *lists[] = {functions, lua_api_optimizer_functions, lua_api_cluster_functions,
                               api->learner_text ? lua_api_check_functions : NULL, NULL};
    for (int i = 0; lists[i]; i++) {
        lua_pushlightuserdata(L, api);
        luaL_setfuncs(L, lists[i], 1);
    }
    lua_api_model_open(L);
    if (api->learner_text) {
        lua_pushboolean(L, api->instant);
        lua_setfield(L, -2, "instant");
    }
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &calls_key);
    return 0;
}

bool lua_api_open(struct lua_api *api, struct error *e)
{
    lua_State *L = lua_sandbox_state(api->sandbox);
    struct lua_fault fault;
    lua_pushcfunction(L, open_functions);
    lua_pushlightuserdata(L, api);
    if (!lua_sandbox_call(api->sandbox, 1, 0, &fault))
        return error_set(e, ERROR_FAILED, "out of memory for the functions of a script");
    lua_sandbox_print_to(api->sandbox, print_line, api);
    lua_sandbox_seal(api->sandbox);
    return true;
}

void lua_api_close(struct lua_api *api)
{
    if (!api)
        return;
    lua_sandbox_close(api->learner);
    free(api->learner_api);
    api->learner = NULL;
    api->learner_api = NULL;
}

bool lua_api_run(struct lua_api *api, const char *text, size_t length, const char *shown, struct lua_fault *f)
{
    lua_State *L = lua_sandbox_state(api->sandbox);
    if (!lua_sandbox_load(api->sandbox, text, length, shown, f) || !lua_sandbox_call(api->sandbox, 0, 1, f))
        return api->ended;
    lua_pushcfunction(L, lua_api_model_returned);
    lua_pushlightuserdata(L, api);
    lua_rotate(L, -3, 2);
    return lua_sandbox_call(api->sandbox, 2, 0, f);
}

static int push_global(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_pushvalue(L, 1);
    lua_rawget(L, -2);
    return 1;
}

bool lua_api_defines_only(struct lua_api *api, const char *name)
{
    lua_State *L = lua_sandbox_state(api->sandbox);
    struct lua_fault fault;
    if (api->calls > 0)
        return false;
    lua_pushcfunction(L, push_global);
    lua_pushstring(L, name);
    if (!lua_sandbox_call(api->sandbox, 1, 1, &fault))
        return false;
    bool own = lua_isfunction(L, -1) && !lua_iscfunction(L, -1);
    lua_pop(L, 1);
    return own;
}
