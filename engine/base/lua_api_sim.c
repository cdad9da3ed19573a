/*
 * lua_api_sim.c - simulate{ cluster =, job = }: a training job on a cluster that is described, not had; or a question to
 * the simulator that is no training: simulate{ storage = | checkpoint = | schedule = }.
 *
 * The job's table is one that train{} takes, too; what a simulation has no use for is left alone.
 */
#include "engine/base/lua_api_internal.h"
#include "engine/base/lua_args.h"

#include <math.h>

static const struct lua_arg job_known[] = {{"model", LUA_ARG_TEXT | LUA_ARG_TABLE},
                                           {"ranks", LUA_ARG_WHOLE},
                                           {"batch", LUA_ARG_WHOLE},
                                           {"steps", LUA_ARG_WHOLE},
                                           {"allreduce", LUA_ARG_TEXT},
                                           {"algo", LUA_ARG_TEXT},
                                           {"bucket", LUA_ARG_NUMBER},
                                           {"first_bucket", LUA_ARG_NUMBER},
                                           {"overlap", LUA_ARG_BOOLEAN},
                                           {"tensor", LUA_ARG_WHOLE},
                                           {"pipeline", LUA_ARG_WHOLE},
                                           {"microbatches", LUA_ARG_WHOLE},
                                           {"optimizer", LUA_ARG_TEXT | LUA_ARG_TABLE},
                                           {"dtype", LUA_ARG_TEXT},
                                           {"rate", LUA_ARG_NUMBER},
                                           {"input", LUA_ARG_NUMBER},
                                           {"straggler", LUA_ARG_TABLE},
                                           {"seed", LUA_ARG_WHOLE},
                                           {"data", LUA_ARG_TEXT | LUA_ARG_TABLE},
                                           /* of train{} alone */
                                           {"epochs", LUA_ARG_WHOLE},
                                           {"seconds", LUA_ARG_NUMBER},
                                           {"lr", LUA_ARG_NUMBER},
                                           {"schedule", LUA_ARG_TEXT},
                                           {"warmup", LUA_ARG_NUMBER},
                                           {"clip", LUA_ARG_NUMBER},
                                           {"scale_lr", LUA_ARG_WHOLE},
                                           {"threads", LUA_ARG_WHOLE},
                                           {"device", LUA_ARG_TEXT},
                                           {"label", LUA_ARG_TEXT},
                                           {NULL, 0}};

/* The table at 1 of the stack, which lua_args_check looks at, is the job's for the time being. */
static void check_job(lua_State *L, bool finite)
{
    lua_getfield(L, 1, "job");
    lua_insert(L, 1);
    lua_args_check(L, "job", job_known);
    if (finite)
        lua_args_finite(L, "job");
    lua_remove(L, 1);
}

static void need(lua_State *L, const char *key)
{
    if (lua_getfield(L, 1, key) == LUA_TNIL)
        luaL_error(
            L,
            "simulate{...} lacks %s: a training takes cluster = and job =; what else can be asked is one "
            "of storage =, checkpoint = and schedule =",
            key);
    lua_pop(L, 1);
}

/* What a check sees in place of a simulation that was only recorded. */
static int recorded(lua_State *L)
{
    static const char *const numbers[] = {"samples_per_s", "step_s", "compute_s", "comm_s", "exposed_comm_s",
                                          "data_s", "efficiency", "memory_bytes", "ranks",
                                          /* of questions that are no training */
                                          "files_per_s", "bytes_per_s", "read_s", "total_s", "data_share",
                                          "mtbf_s", "young_s", "daly_s", "best_s", "interval_s", "expected_s",
                                          "goodput", "mean_wait_s", "bounded_slowdown", "utilisation",
                                          "makespan_s", "jobs", NULL};
    lua_newtable(L);
    for (const char *const *key = numbers; *key; key++) {
        lua_pushnumber(L, (lua_Number)NAN);
        lua_setfield(L, -2, *key);
    }
    static const char *const lists[] = {"steps", "collectives", "explain", "schedule", NULL};
    for (const char *const *list = lists; *list; list++) {
        lua_newtable(L);
        lua_setfield(L, -2, *list);
    }
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "bottleneck");
    lua_pushliteral(L, "");
    lua_setfield(L, -2, "run");
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "ok");
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "fits");
    return 1;
}

int lua_api_simulate(lua_State *L)
{
    static const char *const asks[] = {"storage", "checkpoint", "schedule"};
    static const struct lua_arg asked[] = {
        {"storage", LUA_ARG_TABLE},  {"checkpoint", LUA_ARG_TABLE},
        {"schedule", LUA_ARG_TABLE}, {"cluster", LUA_ARG_TEXT | LUA_ARG_TABLE},
        {"label", LUA_ARG_TEXT},     {NULL, 0}};
    static const struct lua_arg known[] = {{"cluster", LUA_ARG_TEXT | LUA_ARG_TABLE},
                                           {"job", LUA_ARG_TABLE},
                                           {"steps", LUA_ARG_WHOLE},
                                           {"tier", LUA_ARG_TEXT},
                                           {"seed", LUA_ARG_WHOLE},
                                           {"label", LUA_ARG_TEXT},
                                           {NULL, 0}};
    struct lua_api *api = lua_api_of(L);
    int questions = 0;
    for (size_t i = 0; lua_istable(L, 1) && i < sizeof asks / sizeof *asks; i++) {
        questions += lua_getfield(L, 1, asks[i]) != LUA_TNIL;
        lua_pop(L, 1);
    }
    if (questions > 1)
        return luaL_error(L, "simulate: one question at a time: storage, checkpoint or schedule");
    lua_args_check(L, "simulate", questions ? asked : known);
    lua_settop(L, 1);
    if (!questions) {
        need(L, "cluster");
        need(L, "job");
        check_job(L, api->channel != NULL);
    }
    lua_api_record(L, api, "simulate");
    if (!api->channel)
        return recorded(L);
    lua_args_finite(L, "simulate");
    lua_api_request(L, api, "simulate");
    return 1;
}
