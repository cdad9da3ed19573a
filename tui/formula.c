#include "tui/formula.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INSTRUCTIONS = 100000, TEXT_MAX = 400 };

struct formula {
    lua_State *L; /* the function is the only thing on its stack */
};

static void too_long(lua_State *L, lua_Debug *unused)
{
    (void)unused;
    luaL_error(L, "the formula runs too long");
}

/* The names of math as globals, and nothing else: what they cannot do, a formula cannot. */
static void functions(lua_State *L)
{
    static const char *const names[] = {"sqrt", "log", "exp", "floor", "ceil", "min", "max", "abs", "pi"};
    luaL_requiref(L, "math", luaopen_math, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lua_getfield(L, -1, names[i]);
        lua_setglobal(L, names[i]);
    }
    lua_settop(L, 0);
}

struct formula *formula_new(const char *text, const char *variable, struct error *e)
{
    struct formula *f = calloc(1, sizeof *f);
    char chunk[TEXT_MAX + 100];
    if (!f || !(f->L = luaL_newstate())) {
        formula_free(f);
        error_set(e, ERROR_FAILED, "out of memory");
        return NULL;
    }
    functions(f->L);
    lua_sethook(f->L, too_long, LUA_MASKCOUNT, INSTRUCTIONS);
    snprintf(chunk, sizeof chunk, "local %.20s = ... return %.*s", variable, TEXT_MAX, text);
    if (luaL_loadbufferx(f->L, chunk, strlen(chunk), "=formula", "t") == LUA_OK && isfinite(formula_at(f, 3)))
        return f;
    error_set(e, ERROR_INPUT, "'%.80s' is no formula of %.20s", text, variable);
    formula_free(f);
    return NULL;
}

void formula_free(struct formula *f)
{
    if (!f)
        return;
    if (f->L)
        lua_close(f->L);
    free(f);
}

double formula_at(struct formula *f, double x)
{
    double value = NAN;
    int number = 0;
    lua_pushvalue(f->L, 1);
    lua_pushnumber(f->L, x);
    if (lua_pcall(f->L, 1, 1, 0) == LUA_OK) {
        value = lua_tonumberx(f->L, -1, &number);
        if (!number)
            value = NAN;
    }
    lua_settop(f->L, 1);
    return value;
}
