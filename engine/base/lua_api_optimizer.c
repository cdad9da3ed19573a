/*
 * lua_api_optimizer.c - the optimisers: tables that describe, with the names of a training job's fields.
 */
#include "engine/base/lua_api_internal.h"
#include "engine/base/lua_args.h"

static int described(lua_State *L, const char *name, const struct lua_arg *known)
{
    lua_args_check(L, name, known);
    lua_settop(L, 1);
    if (lua_api_of(L)->channel) /* what is only recorded may come from a recorded training, full of NaN */
        lua_args_finite(L, name);
    lua_pushstring(L, name);
    lua_setfield(L, 1, "name");
    return 1;
}

static int api_sgd(lua_State *L)
{
    static const struct lua_arg known[] = {{"lr", LUA_ARG_NUMBER},
                                           {"momentum", LUA_ARG_NUMBER},
                                           {"nesterov", LUA_ARG_BOOLEAN},
                                           {"weight_decay", LUA_ARG_NUMBER},
                                           {NULL, 0}};
    return described(L, "sgd", known);
}

static int api_lars(lua_State *L)
{
    static const struct lua_arg known[] = {
        {"lr", LUA_ARG_NUMBER}, {"momentum", LUA_ARG_NUMBER}, {"weight_decay", LUA_ARG_NUMBER}, {NULL, 0}};
    return described(L, "lars", known);
}

static const struct lua_arg moments[] = {{"lr", LUA_ARG_NUMBER}, {"weight_decay", LUA_ARG_NUMBER}, {NULL, 0}};

static int api_adam(lua_State *L)
{
    return described(L, "adam", moments);
}

static int api_adamw(lua_State *L)
{
    return described(L, "adamw", moments);
}

static int api_lamb(lua_State *L)
{
    return described(L, "lamb", moments);
}

const luaL_Reg lua_api_optimizer_functions[] = {
    {"sgd", api_sgd},   {"adam", api_adam}, {"adamw", api_adamw},
    {"lars", api_lars}, {"lamb", api_lamb}, {NULL, NULL},
};
