#include "engine/base/lua_args.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 40 };

/* Edit distance (Levenshtein), short names only. */
static int distance(const char *a, const char *b)
{
    int row[NAME_MAX_LENGTH + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > NAME_MAX_LENGTH || m > NAME_MAX_LENGTH)
        return NAME_MAX_LENGTH;
    for (size_t j = 0; j <= m; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[m];
}

static const struct lua_arg *nearest(const char *key, const struct lua_arg *known)
{
    const struct lua_arg *best = NULL;
    int best_distance = 3; /* further away is no misspelling */
    for (const struct lua_arg *k = known; k->key; k++) {
        int d = distance(key, k->key);
        size_t n = strlen(k->key);
        if (n >= 3 && !strncmp(key, k->key, n)) /* batch_size, learning rates ... */
            d = 1;
        if (d < best_distance)
            best = k, best_distance = d;
    }
    return best;
}

static void unknown_key(lua_State *L, const char *function, const char *key, const struct lua_arg *known)
{
    const struct lua_arg *near = nearest(key, known);
    if (near)
        luaL_error(L, "%s{...} does not know '%s'; did you mean '%s'?", function, key, near->key);
    luaL_Buffer list;
    luaL_buffinit(L, &list);
    for (const struct lua_arg *k = known; k->key; k++) {
        if (k != known)
            luaL_addstring(&list, ", ");
        luaL_addstring(&list, k->key);
    }
    luaL_pushresult(&list);
    luaL_error(L, "%s{...} does not know '%s'; it knows: %s", function, key,
               known->key ? lua_tostring(L, -1) : "nothing");
}

bool lua_args_fit(lua_State *L, int types)
{
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: return types & LUA_ARG_TEXT;
    case LUA_TBOOLEAN: return types & LUA_ARG_BOOLEAN;
    case LUA_TTABLE: return types & LUA_ARG_TABLE;
    case LUA_TNUMBER: {
        int whole;
        lua_tointegerx(L, -1, &whole);
        return (types & LUA_ARG_NUMBER) || ((types & LUA_ARG_WHOLE) && whole);
    }
    default: return false;
    }
}

static void describe(int types, char *text, size_t size)
{
    static const struct {
        int type;
        const char *name;
    } names[] = {{LUA_ARG_TEXT, "a text in quotes"},
                 {LUA_ARG_WHOLE, "a whole number"},
                 {LUA_ARG_NUMBER, "a number"},
                 {LUA_ARG_TABLE, "a table { }"},
                 {LUA_ARG_BOOLEAN, "true or false"}};
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (types & names[i].type)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " or " : "", names[i].name);
}

/* "the number 10.5", "the text "two"", "a function": the value at the top, as messages name it. */
static const char *describe_value(lua_State *L, char *text, size_t size)
{
    double n = lua_tonumber(L, -1);
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        if (isnan(n)) /* the sign of a NaN means nothing */
            snprintf(text, size, "the number nan");
        else if (lua_isinteger(L, -1))
            snprintf(text, size, "the number %lld", (long long)lua_tointeger(L, -1));
        else
            snprintf(text, size, "the number %.14g", n);
        break;
    case LUA_TSTRING: snprintf(text, size, "the text \"%.40s\"", lua_tostring(L, -1)); break;
    case LUA_TBOOLEAN: snprintf(text, size, "%s", lua_toboolean(L, -1) ? "true" : "false"); break;
    default: snprintf(text, size, "a %s", luaL_typename(L, -1));
    }
    return text;
}

void lua_args_finite(lua_State *L, const char *function)
{
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        char key[64], got[80];
        if (lua_type(L, -1) != LUA_TNUMBER || isfinite(lua_tonumber(L, -1)))
            continue;
        describe_value(L, got, sizeof got);
        if (lua_type(L, -2) == LUA_TSTRING)
            snprintf(key, sizeof key, "%s", lua_tostring(L, -2));
        else
            snprintf(key, sizeof key, "%lld", (long long)lua_tointeger(L, -2));
        luaL_error(L, "%s{ %s = ... } needs a finite number, but got %s", function, key, got);
    }
}

void lua_args_check(lua_State *L, const char *function, const struct lua_arg *known)
{
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    if (!lua_istable(L, 1))
        luaL_error(L, "%s takes a table in braces, but got a %s; write %s{ name = value, ... }", function,
                   luaL_typename(L, 1), function);
    luaL_checkstack(L, 8, NULL);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        char key[64] = "?";
        if (lua_type(L, -2) == LUA_TSTRING)
            snprintf(key, sizeof key, "%s", lua_tostring(L, -2));
        else if (lua_isinteger(L, -2))
            snprintf(key, sizeof key, "%lld", (long long)lua_tointeger(L, -2));
        const struct lua_arg *k = known;
        while (k->key && strcmp(k->key, key) != 0)
            k++;
        if (!k->key && lua_isinteger(L, -2))
            luaL_error(L, "%s{...} has a value without a name (number %s); write name = value", function,
                       key);
        if (!k->key)
            unknown_key(L, function, key, known);
        if (!lua_args_fit(L, k->types)) {
            char expected[120], got[80];
            describe(k->types, expected, sizeof expected);
            luaL_error(L, "%s{ %s = ... } needs %s, but got %s", function, key, expected,
                       describe_value(L, got, sizeof got));
        }
    }
    for (const struct lua_arg *k = known; k->key; k++) {
        if (!(k->types & LUA_ARG_NEEDED))
            continue;
        bool positional = k->key[0] >= '1' && k->key[0] <= '9';
        bool there =
            positional ? lua_rawgeti(L, 1, atoi(k->key)) != LUA_TNIL : lua_getfield(L, 1, k->key) != LUA_TNIL;
        lua_pop(L, 1);
        if (!there)
            luaL_error(L, "%s{...} lacks %s%s", function, positional ? "value number " : "", k->key);
    }
}
