/*
 * lua_api_cluster.c - cluster{}: a table that describes a platform for the simulator.
 *
 * Here only the names and types of its fields are checked. What they mean is read where the simulator is
 * (cluster-sim/platform_json.c), which tells mistakes with the file and line that are noted here.
 */
#include "engine/base/event.h"
#include "engine/base/lua_api_internal.h"
#include "engine/base/lua_args.h"
#include "engine/base/lua_json.h"

#include <string.h>

static int cluster_key; /* its address: what cluster{} made last, in the registry */

enum { RATE = LUA_ARG_NUMBER | LUA_ARG_TEXT };

static void note_place(lua_State *L)
{
    lua_Debug at;
    if (!lua_getstack(L, 1, &at) || !lua_getinfo(L, "Sl", &at) || at.currentline <= 0)
        return;
    const char *file = at.source[0] == '@' || at.source[0] == '=' ? at.source + 1 : at.short_src;
    lua_pushstring(L, file);
    lua_setfield(L, 1, "file");
    lua_pushinteger(L, at.currentline);
    lua_setfield(L, 1, "line");
}

static int api_cluster(lua_State *L)
{
    static const struct lua_arg known[] = {{"name", LUA_ARG_TEXT},
                                           {"nodes", LUA_ARG_WHOLE | LUA_ARG_NEEDED},
                                           {"topology", LUA_ARG_TEXT},
                                           {"network", LUA_ARG_TEXT},
                                           {"bandwidth", RATE},
                                           {"latency", RATE},
                                           {"links", LUA_ARG_TABLE},
                                           {"hosts", LUA_ARG_TABLE},
                                           {"sockets", LUA_ARG_WHOLE},
                                           {"cores", LUA_ARG_WHOLE},
                                           {"core_flops", RATE},
                                           {"memory", RATE},
                                           {"memory_bandwidth", RATE},
                                           {"gpus", LUA_ARG_WHOLE},
                                           {"gpu", LUA_ARG_TEXT | LUA_ARG_TABLE},
                                           {"nvlink", RATE | LUA_ARG_BOOLEAN},
                                           {"nvlink_latency", RATE},
                                           {"pcie", RATE},
                                           {"pcie_latency", RATE},
                                           {"nics", LUA_ARG_WHOLE},
                                           {"ranks_per_node", LUA_ARG_WHOLE},
                                           {"protocol", LUA_ARG_TABLE},
                                           {"disk", LUA_ARG_TABLE},
                                           {"storage", LUA_ARG_TABLE},
                                           {NULL, 0}};
    lua_args_check(L, "cluster", known);
    lua_settop(L, 1);
    lua_args_finite(L, "cluster");
    lua_pushliteral(L, "cluster");
    lua_setfield(L, 1, "kind");
    note_place(L);
    lua_pushvalue(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &cluster_key);
    return 1;
}

const luaL_Reg lua_api_cluster_functions[] = {{"cluster", api_cluster}, {NULL, NULL}};

json_t *lua_api_cluster(struct lua_api *api, struct error *e)
{
    lua_State *L = lua_sandbox_state(api->sandbox);
    json_t *object = NULL;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &cluster_key) == LUA_TTABLE)
        object = lua_to_json(L, -1, e);
    else
        error_set(
            e, ERROR_INPUT,
            "it describes no cluster; let it end with return cluster{ nodes = 4, network = \"10GbE\" }");
    lua_pop(L, 1);
    return object;
}
