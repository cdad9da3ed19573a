#include "engine/launch/site.h"

#include "engine/base/lua_sandbox.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/launch/plan.h"

#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SITE_STEPS = 1000000, SITE_MAX_RANKS = 4096, SITE_DEFAULT_RANKS = 8 };

static void stop_script(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    luaL_error(L, "it runs for too long");
}

static bool take_ranks(struct site *s, const char *where, double value, struct error *e)
{
    if (!(value >= 1 && value <= SITE_MAX_RANKS && value == (int)value))
        return error_set(e, ERROR_INPUT, "%s: local_ranks: expected a whole number from 1 to %d", where,
                         SITE_MAX_RANKS);
    s->local_ranks = (int)value;
    return true;
}

static bool read_file(struct site *s, const char *path, struct error *e)
{
    if (access(path, F_OK) != 0)
        return true;
    size_t size;
    char *text = lua_script_read(path, &size, e), at[PATH_MAX + 1];
    if (!text)
        return false;
    lua_State *L = luaL_newstate();
    if (!L) {
        free(text);
        return error_set(e, ERROR_FAILED, "out of memory");
    }
    snprintf(at, sizeof at, "@%s", path);
    lua_sethook(L, stop_script, LUA_MASKCOUNT, SITE_STEPS);
    bool ok = luaL_loadbufferx(L, text, size, at, "t") == LUA_OK && lua_pcall(L, 0, 0, 0) == LUA_OK;
    free(text);
    if (!ok) {
        error_set(e, ERROR_INPUT, "the settings in %s cannot be read: %s", path, lua_tostring(L, -1));
    } else {
        int type = lua_getglobal(L, "local_ranks");
        if (type != LUA_TNIL)
            ok = take_ranks(s, path, type == LUA_TNUMBER ? lua_tonumber(L, -1) : -1, e);
    }
    lua_close(L);
    return ok;
}

bool site_read(struct site *s, struct error *e)
{
    int cores = machine_cores();
    s->local_ranks = cores > SITE_DEFAULT_RANKS ? cores : SITE_DEFAULT_RANKS;
    char home[PATH_MAX], path[PATH_MAX];
    if (!read_file(s, "/etc/ringside/site.lua", e))
        return false;
    if (!ringside_home(home, e) || !path_join(path, home, "site.lua", e) || !read_file(s, path, e))
        return false;
    const char *given = getenv("RINGSIDE_LOCAL_RANKS");
    if (given && *given) {
        char *end;
        double value = strtod(given, &end);
        return take_ranks(s, "RINGSIDE_LOCAL_RANKS", *end ? -1 : value, e);
    }
    return true;
}
