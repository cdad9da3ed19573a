/*
 * lua_api_model.c - model{} and its layers: tables that describe, in the words of model.h.
 */
#include "engine/base/lua_api_internal.h"
#include "engine/base/lua_args.h"

#include <string.h>

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

static int described(lua_State *L, const char *key, const char *value)
{
    lua_settop(L, 1);
    lua_pushstring(L, value);
    lua_setfield(L, 1, key);
    return 1;
}

static int need(lua_State *L, const char *function, const char *key, const char *usage)
{
    if (lua_getfield(L, 1, key) == LUA_TNIL)
        return luaL_error(L, "%s{...} lacks its %s; write %s", function, key, usage);
    lua_pop(L, 1);
    return 0;
}

static int api_conv2d(lua_State *L)
{
    static const struct lua_arg known[] = {{"1", LUA_ARG_WHOLE},
                                           {"2", LUA_ARG_WHOLE},
                                           {"channels", LUA_ARG_WHOLE},
                                           {"kernel", LUA_ARG_WHOLE},
                                           {"stride", LUA_ARG_WHOLE},
                                           {"padding", LUA_ARG_WHOLE},
                                           {NULL, 0}};
    lua_args_check(L, "conv2d", known);
    rename_position(L, 1, "channels");
    rename_position(L, 2, "kernel");
    need(L, "conv2d", "channels", "conv2d{32, 3}");
    need(L, "conv2d", "kernel", "conv2d{32, 3}");
    return described(L, "kind", "conv2d");
}

static int api_maxpool(lua_State *L)
{
    static const struct lua_arg known[] = {{"1", LUA_ARG_WHOLE}, {"size", LUA_ARG_WHOLE}, {NULL, 0}};
    lua_args_check(L, "maxpool", known);
    rename_position(L, 1, "size");
    need(L, "maxpool", "size", "maxpool{2}");
    return described(L, "kind", "maxpool");
}

static int api_dense(lua_State *L)
{
    static const struct lua_arg known[] = {{"1", LUA_ARG_WHOLE}, {"units", LUA_ARG_WHOLE}, {NULL, 0}};
    lua_args_check(L, "dense", known);
    rename_position(L, 1, "units");
    need(L, "dense", "units", "dense{10}");
    return described(L, "kind", "dense");
}

static const struct lua_arg nothing[] = {{NULL, 0}};

static int api_relu(lua_State *L)
{
    lua_args_check(L, "relu", nothing);
    return described(L, "kind", "relu");
}

static int api_flatten(lua_State *L)
{
    lua_args_check(L, "flatten", nothing);
    return described(L, "kind", "flatten");
}

static int api_model(lua_State *L)
{
    if (!lua_istable(L, 1))
        return luaL_error(
            L, "model takes its layers in braces; write model{ conv2d{32, 3}, relu{}, ..., dense{10} }");
    lua_settop(L, 1);
    lua_newtable(L);
    lua_newtable(L); /* 3: the layers */
    lua_Integer layers = 0;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        if (lua_isinteger(L, -2)) {
            layers++;
            continue;
        }
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        if ((strcmp(key, "input") != 0 || !lua_istable(L, -1)) &&
            (strcmp(key, "name") != 0 || !lua_isstring(L, -1)))
            return luaL_error(L,
                              "model{...} does not know '%s'; beside the layers it takes input = {1, 28, 28} "
                              "and name = \"...\"",
                              key);
        lua_pushvalue(L, -1);
        lua_setfield(L, 2, key);
    }
    for (lua_Integer i = 1; i <= layers; i++) {
        if (lua_rawgeti(L, 1, i) != LUA_TTABLE || lua_getfield(L, -1, "kind") != LUA_TSTRING)
            return luaL_error(L,
                              "layer %I of model{...} is no layer; there are conv2d{}, relu{}, maxpool{}, "
                              "flatten{} and dense{}",
                              i);
        lua_pop(L, 1);
        lua_rawseti(L, 3, i);
    }
    if (layers == 0)
        return luaL_error(L,
                          "model{...} has no layers; write model{ flatten{}, dense{10} } for the smallest");
    lua_setfield(L, 2, "layers");
    return 1;
}

const luaL_Reg lua_api_model_functions[] = {
    {"model", api_model},     {"conv2d", api_conv2d}, {"relu", api_relu}, {"maxpool", api_maxpool},
    {"flatten", api_flatten}, {"dense", api_dense},   {NULL, NULL},
};
