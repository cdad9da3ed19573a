/*
 * lua_api_model.c - model{} and its layers: tables that describe, in the words of model.h.
 *
 * A layer is a table with its kind and what it was given by name or position. Wherever layers are expected, a list of
 * layers stands for the layers in it, so that a function can return a block: model{ block(64), block(128) }.
 */
#include "engine/base/lua_api_internal.h"
#include "engine/base/lua_args.h"
#include "engine/base/lua_json.h"

#include <stdio.h>
#include <string.h>

static int described_key; /* its address: what model{} or gan{} made last, in the registry */

/* --- layers ------------------------------------------------------------------------------------------------ */

enum { PAIR = LUA_ARG_WHOLE | LUA_ARG_TABLE, MAX_KEYS = 10, MAX_POSITIONS = 3 };

struct words {
    const char *name;
    const char *positions[MAX_POSITIONS]; /* what values without a name are */
    int needed;                           /* so many of them must be there */
    const char *usage;                    /* shown where one is not */
    struct lua_arg known[MAX_KEYS];
};

static const struct words layers[] = {
    {"conv2d",
     {"channels", "kernel"},
     2,
     "conv2d{32, 3}",
     {{"1", LUA_ARG_WHOLE},
      {"2", PAIR},
      {"channels", LUA_ARG_WHOLE},
      {"kernel", PAIR},
      {"stride", PAIR},
      {"padding", PAIR},
      {"dilation", PAIR},
      {"groups", LUA_ARG_WHOLE},
      {"bias", LUA_ARG_BOOLEAN}}},
    {"maxpool",
     {"size"},
     1,
     "maxpool{2}",
     {{"1", PAIR}, {"size", PAIR}, {"stride", PAIR}, {"padding", PAIR}}},
    {"avgpool",
     {"size"},
     1,
     "avgpool{2}",
     {{"1", PAIR}, {"size", PAIR}, {"stride", PAIR}, {"padding", PAIR}}},
    {"global_avgpool", {NULL}, 0, NULL, {{NULL, 0}}},
    {"batchnorm",
     {NULL},
     0,
     NULL,
     {{"sync", LUA_ARG_BOOLEAN}, {"epsilon", LUA_ARG_NUMBER}, {"momentum", LUA_ARG_NUMBER}}},
    {"layernorm", {NULL}, 0, NULL, {{"epsilon", LUA_ARG_NUMBER}}},
    {"dropout", {"rate"}, 1, "dropout{0.5}", {{"1", LUA_ARG_NUMBER}, {"rate", LUA_ARG_NUMBER}}},
    {"relu", {NULL}, 0, NULL, {{NULL, 0}}},
    {"leaky_relu", {"slope"}, 0, NULL, {{"1", LUA_ARG_NUMBER}, {"slope", LUA_ARG_NUMBER}}},
    {"gelu", {NULL}, 0, NULL, {{NULL, 0}}},
    {"tanh", {NULL}, 0, NULL, {{NULL, 0}}},
    {"sigmoid", {NULL}, 0, NULL, {{NULL, 0}}},
    {"dense",
     {"units"},
     1,
     "dense{10}",
     {{"1", LUA_ARG_WHOLE}, {"units", LUA_ARG_WHOLE}, {"bias", LUA_ARG_BOOLEAN}}},
    {"embedding",
     {"vocabulary", "units"},
     2,
     "embedding{10000, 128}",
     {{"1", LUA_ARG_WHOLE}, {"2", LUA_ARG_WHOLE}, {"vocabulary", LUA_ARG_WHOLE}, {"units", LUA_ARG_WHOLE}}},
    {"simple_rnn",
     {"units"},
     1,
     "simple_rnn{64}",
     {{"1", LUA_ARG_WHOLE}, {"units", LUA_ARG_WHOLE}, {"last", LUA_ARG_BOOLEAN}}},
    {"lstm",
     {"units"},
     1,
     "lstm{128}",
     {{"1", LUA_ARG_WHOLE}, {"units", LUA_ARG_WHOLE}, {"last", LUA_ARG_BOOLEAN}}},
    {"flatten", {NULL}, 0, NULL, {{NULL, 0}}},
};

/* Moves the value at position `from` to the key `to`, unless that was given by name. */
static void rename_position(lua_State *L, int from, const char *to)
{
    lua_rawgeti(L, 1, from);
    if (!lua_isnil(L, -1) && lua_getfield(L, 1, to) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_setfield(L, 1, to);
    } else {
        lua_pop(L, lua_isnil(L, -1) ? 1 : 2);
    }
    lua_pushnil(L);
    lua_rawseti(L, 1, from);
}

/* Argument 1 is a layer of that kind; its line is kept for messages about what only shows later. */
static int described(lua_State *L, const char *kind)
{
    lua_settop(L, 1);
    lua_pushstring(L, kind);
    lua_setfield(L, 1, "kind");
    int line = lua_sandbox_line(L);
    if (line > 0) {
        lua_pushinteger(L, line);
        lua_setfield(L, 1, "line");
    }
    return 1;
}

/* Upvalue 1: the layer's words. */
static int api_layer(lua_State *L)
{
    const struct words *w = lua_touserdata(L, lua_upvalueindex(1));
    lua_args_check(L, w->name, w->known);
    for (int i = 0; i < MAX_POSITIONS && w->positions[i]; i++)
        rename_position(L, i + 1, w->positions[i]);
    lua_args_finite(L, w->name);
    for (int i = 0; i < w->needed; i++) {
        if (lua_getfield(L, 1, w->positions[i]) == LUA_TNIL)
            return luaL_error(L, "%s{...} lacks its %s; write %s", w->name, w->positions[i], w->usage);
        lua_pop(L, 1);
    }
    return described(L, w->name);
}

/* reshape{c, h, w}: a list of numbers becomes the field shape. */
static int api_reshape(lua_State *L)
{
    static const struct lua_arg known[] = {
        {"1", LUA_ARG_WHOLE | LUA_ARG_NEEDED}, {"2", LUA_ARG_WHOLE}, {"3", LUA_ARG_WHOLE}, {NULL, 0}};
    lua_args_check(L, "reshape", known);
    lua_settop(L, 1);
    lua_newtable(L);
    lua_insert(L, 1);
    lua_setfield(L, 1, "shape");
    return described(L, "reshape");
}

/* --- lists of layers --------------------------------------------------------------------------------------- */

enum { LIST_DEPTH = 16, LIST_MAX = 4096 };

static bool is_layer(lua_State *L, int index)
{
    bool layer = lua_istable(L, index) && lua_getfield(L, index, "kind") == LUA_TSTRING;
    if (lua_istable(L, index))
        lua_pop(L, 1);
    return layer;
}

/* Appends the layers of the list at `list` to the one at `to`, those of lists in it included. */
static void append_layers(lua_State *L, int list, int to, const char *function, int depth)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, list);
    luaL_checkstack(L, 8, NULL);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, list, i);
        int item = lua_gettop(L);
        if (is_layer(L, item)) {
            if (lua_rawlen(L, to) >= LIST_MAX)
                luaL_error(L, "%s{...} has more than %d layers", function, LIST_MAX);
            lua_rawseti(L, to, (lua_Integer)lua_rawlen(L, to) + 1);
            continue;
        }
        if (!lua_istable(L, item) || lua_rawlen(L, item) == 0 || depth == LIST_DEPTH)
            luaL_error(L,
                       "layer %I of %s{...} is no layer; there are conv2d{}, relu{}, maxpool{}, flatten{}, "
                       "dense{} and others ('ringside run --help' lists them)",
                       i, function);
        append_layers(L, item, to, function, depth + 1);
        lua_pop(L, 1);
    }
}

/* Checks that argument 1 is a table whose keys are 1..n and those known; n. */
static lua_Integer check_list(lua_State *L, const char *function, const struct lua_arg *known,
                              const char *advice)
{
    if (!lua_istable(L, 1))
        luaL_error(L, "%s takes its layers in braces; %s", function, advice);
    lua_settop(L, 1);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        if (lua_isinteger(L, -2)) {
            n++;
            continue;
        }
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        const struct lua_arg *k = known;
        while (k->key && strcmp(k->key, key) != 0)
            k++;
        if (!k->key || !lua_args_fit(L, k->types))
            luaL_error(L, "%s{...} does not know '%s'%s; %s", function, key, k->key ? " of that type" : "",
                       advice);
    }
    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_rawgeti(L, 1, i) == LUA_TNIL)
            luaL_error(L, "layer %I of %s{...} is nil; is its name spelt right?", i, function);
        lua_pop(L, 1);
    }
    return n;
}

/* A new table at position 2 with the layers of argument 1 as its field "layers". */
static void begin_list(lua_State *L, const char *function)
{
    lua_newtable(L);
    lua_newtable(L);
    append_layers(L, 1, 3, function, 0);
    lua_setfield(L, 2, "layers");
}

static int api_residual(lua_State *L)
{
    static const struct lua_arg known[] = {{"shortcut", LUA_ARG_TABLE}, {NULL, 0}};
    const char *advice = "write residual{ conv2d{64, 3, padding = 1}, relu{}, ..., shortcut = {...} }";
    if (check_list(L, "residual", known, advice) == 0)
        return luaL_error(L, "residual{...} has no layers; %s", advice);
    begin_list(L, "residual");
    if (lua_getfield(L, 1, "shortcut") == LUA_TTABLE) {
        lua_newtable(L);
        if (is_layer(L, 3)) {
            lua_insert(L, 3);
            lua_rawseti(L, 3, 1);
        } else {
            append_layers(L, 3, 4, "shortcut", 0);
        }
        lua_setfield(L, 2, "shortcut");
    }
    lua_settop(L, 2);
    lua_remove(L, 1);
    return described(L, "residual");
}

static int api_branches(lua_State *L)
{
    static const struct lua_arg known[] = {{NULL, 0}};
    const char *advice = "write branches{ {conv2d{64, 1}}, {conv2d{64, 3, padding = 1}, relu{}} }";
    lua_Integer n = check_list(L, "branches", known, advice);
    lua_newtable(L);
    lua_newtable(L);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_newtable(L);
        if (lua_rawgeti(L, 1, i) != LUA_TTABLE)
            return luaL_error(L, "branch %I of branches{...} is a %s; %s", i, luaL_typename(L, -1), advice);
        if (is_layer(L, 5)) {
            lua_rawseti(L, 4, 1);
        } else {
            append_layers(L, 5, 4, "branches", 0);
            lua_pop(L, 1);
        }
        lua_rawseti(L, 3, i);
    }
    lua_setfield(L, 2, "branches");
    lua_remove(L, 1);
    return described(L, "branches");
}

/* --- models ------------------------------------------------------------------------------------------------ */

static int describe_last(lua_State *L)
{
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &described_key);
    return 1;
}

static int api_model(lua_State *L)
{
    static const struct lua_arg known[] = {{"input", LUA_ARG_TABLE},
                                           {"name", LUA_ARG_TEXT},
                                           {"loss", LUA_ARG_TEXT},
                                           {"label_smoothing", LUA_ARG_NUMBER},
                                           {NULL, 0}};
    if (!lua_istable(L, 1))
        return luaL_error(
            L, "model takes its layers in braces; write model{ conv2d{32, 3}, relu{}, ..., dense{10} }");
    if (check_list(L, "model", known,
                   "beside the layers it takes input = {1, 28, 28} or {tokens = 100}, name = \"...\", loss = "
                   "\"...\" and label_smoothing = 0.1") == 0)
        return luaL_error(L,
                          "model{...} has no layers; write model{ flatten{}, dense{10} } for the smallest");
    begin_list(L, "model");
    for (const struct lua_arg *k = known; k->key; k++) {
        lua_getfield(L, 1, k->key);
        lua_setfield(L, 2, k->key);
    }
    return describe_last(L);
}

static int api_gan(lua_State *L)
{
    static const struct lua_arg known[] = {{"generator", LUA_ARG_TABLE | LUA_ARG_NEEDED},
                                           {"discriminator", LUA_ARG_TABLE | LUA_ARG_NEEDED},
                                           {"name", LUA_ARG_TEXT},
                                           {NULL, 0}};
    lua_args_check(L, "gan", known);
    lua_settop(L, 1);
    for (int i = 0; i < 2; i++) {
        lua_getfield(L, 1, known[i].key);
        if (lua_getfield(L, -1, "layers") != LUA_TTABLE)
            return luaL_error(L, "gan{ %s = ... } must be a model; write %s = model{...}", known[i].key,
                              known[i].key);
        lua_pop(L, 2);
    }
    return describe_last(L);
}

void lua_api_model_open(lua_State *L)
{
    static const luaL_Reg functions[] = {{"model", api_model},       {"gan", api_gan},
                                         {"residual", api_residual}, {"branches", api_branches},
                                         {"reshape", api_reshape},   {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        lua_pushlightuserdata(L, (void *)&layers[i]);
        lua_pushcclosure(L, api_layer, 1);
        lua_setfield(L, -2, layers[i].name);
    }
}

int lua_api_model_returned(lua_State *L)
{
    struct lua_api *api = lua_touserdata(L, 1);
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "layers");
        lua_pushliteral(L, "generator");
        if (lua_rawget(L, 2) == LUA_TTABLE || (lua_pop(L, 1), lua_rawget(L, 2)) == LUA_TTABLE) {
            lua_pushvalue(L, 2);
            lua_rawsetp(L, LUA_REGISTRYINDEX, &described_key);
            return 0;
        }
    }
    if (!lua_isnil(L, 2))
        snprintf(api->returned, sizeof api->returned, "%s", luaL_typename(L, 2));
    return 0;
}

bool lua_api_describes(struct lua_api *api)
{
    lua_State *L = lua_sandbox_state(api->sandbox);
    bool described = lua_rawgetp(L, LUA_REGISTRYINDEX, &described_key) == LUA_TTABLE;
    lua_pop(L, 1);
    return described;
}

json_t *lua_api_description(struct lua_api *api, struct error *e)
{
    lua_State *L = lua_sandbox_state(api->sandbox);
    json_t *object = NULL, *cluster = lua_api_cluster(api, NULL);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &described_key) == LUA_TTABLE)
        object = lua_to_json(L, -1, e);
    else if (cluster)
        error_set(
            e, ERROR_INPUT,
            "it describes a cluster, no model; ask the simulator about it with ringside sim --allreduce all "
            "--cluster FILE, or hand it to simulate{ cluster =, job = }");
    else if (*api->returned)
        error_set(e, ERROR_INPUT, "it returns a %s, which is no model; let it end with return model{ ... }",
                  api->returned);
    else
        error_set(e, ERROR_INPUT, "it describes no model; let it end with return model{ ... }");
    lua_pop(L, 1);
    json_decref(cluster);
    return object;
}
