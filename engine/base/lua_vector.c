#include "engine/base/lua_vector.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char type_name[] = "vector";

static struct lua_vector *to_vector(lua_State *L, int arg)
{
    return luaL_testudata(L, arg, type_name);
}

struct lua_vector *lua_vector_check(lua_State *L, int arg, const char *function)
{
    struct lua_vector *v = to_vector(L, arg);
    if (!v)
        luaL_error(L, "%s needs a vector, but got %s; give it x, x:chunk(i, n) or x:clone()", function,
                   lua_isnoneornil(L, arg) ? "nothing (nil)" : luaL_typename(L, arg));
    return v;
}

/* A call with a dot instead of a colon passes something else as the first argument. */
static struct lua_vector *check_self(lua_State *L, const char *method, const char *usage)
{
    struct lua_vector *v = to_vector(L, 1);
    if (!v)
        luaL_error(L, "%s is called with a colon; write %s", method, usage);
    return v;
}

static struct lua_vector *push(lua_State *L, size_t elements)
{
    struct lua_vector *v = lua_newuserdatauv(L, sizeof *v + elements * sizeof(float), 1);
    *v = (struct lua_vector){(float *)(void *)(v + 1), (long)elements, -1};
    luaL_setmetatable(L, type_name);
    return v;
}

struct lua_vector *lua_vector_new(lua_State *L, long length)
{
    struct lua_vector *v = push(L, (size_t)length);
    memset(v->data, 0, (size_t)length * sizeof(float));
    return v;
}

/* The same rule as chunk_offset and chunk_length of engine/spec/schedule.h, which base may not use. */
static int vector_chunk(lua_State *L)
{
    struct lua_vector *v = check_self(L, "chunk", "x:chunk(i, n)");
    int whole_i, whole_n;
    lua_Integer i = lua_tointegerx(L, 2, &whole_i), n = lua_tointegerx(L, 3, &whole_n);
    if (!whole_i || !whole_n)
        return luaL_error(
            L,
            "x:chunk(i, n) needs two whole numbers, but got %s and %s; i is the piece, n how many there are",
            luaL_tolstring(L, 2, NULL), luaL_tolstring(L, 3, NULL));
    if (n < 1)
        return luaL_error(L, "x:chunk(%I, %I): there must be at least 1 piece", i, n);
    if (i < 0 || i >= n)
        return luaL_error(L,
                          "x:chunk(%I, %I): the pieces are numbered from 0 to %I; i %% n brings a number "
                          "back into that range",
                          i, n, n - 1);
    lua_Integer small = v->length / n, more = v->length % n;
    struct lua_vector *piece = push(L, 0);
    piece->data = v->data + i * small + (i < more ? i : more);
    piece->length = (long)(small + (i < more));
    piece->chunk = (int)i;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    return 1;
}

static int vector_clone(lua_State *L)
{
    struct lua_vector *v = check_self(L, "clone", "x:clone()");
    struct lua_vector *copy = push(L, (size_t)v->length);
    memcpy(copy->data, v->data, (size_t)v->length * sizeof(float));
    copy->chunk = v->chunk;
    return 1;
}

static struct lua_vector *check_other(lua_State *L, const struct lua_vector *v, const char *usage)
{
    struct lua_vector *other = lua_vector_check(L, 2, usage);
    if (other->length != v->length)
        luaL_error(L, "%s: x has %I elements and y has %I; both must be equally long", usage,
                   (lua_Integer)v->length, (lua_Integer)other->length);
    return other;
}

static int vector_add(lua_State *L)
{
    struct lua_vector *v = check_self(L, "add", "x:add(y)"), *other = check_other(L, v, "x:add(y)");
    for (long i = 0; i < v->length; i++)
        v->data[i] += other->data[i];
    lua_settop(L, 1);
    return 1;
}

static int vector_copy(lua_State *L)
{
    struct lua_vector *v = check_self(L, "copy", "x:copy(y)"), *other = check_other(L, v, "x:copy(y)");
    memmove(v->data, other->data, (size_t)v->length * sizeof(float));
    lua_settop(L, 1);
    return 1;
}

static const luaL_Reg methods[] = {{"chunk", vector_chunk},
                                   {"clone", vector_clone},
                                   {"add", vector_add},
                                   {"copy", vector_copy},
                                   {NULL, NULL}};

static long check_index(lua_State *L, const struct lua_vector *v)
{
    int whole;
    lua_Integer i = lua_tointegerx(L, 2, &whole);
    if (!whole)
        luaL_error(L, "x[%s]: an index of a vector is a whole number", luaL_tolstring(L, 2, NULL));
    if (v->length == 0)
        luaL_error(L, "x[%I]: this vector is empty; it has no elements", i);
    if (i < 1 || i > v->length)
        luaL_error(
            L, "x[%I]: the elements of this vector are x[1] to x[%I]; Lua counts from 1: for i = 1, #x do", i,
            (lua_Integer)v->length);
    return (long)i - 1;
}

static int vector_index(lua_State *L)
{
    struct lua_vector *v = to_vector(L, 1);
    if (!v)
        return luaL_error(L, "this is not a vector");
    if (lua_type(L, 2) == LUA_TSTRING) {
        const char *name = lua_tostring(L, 2);
        for (const luaL_Reg *m = methods; m->name; m++)
            if (!strcmp(m->name, name)) {
                lua_pushcfunction(L, m->func);
                return 1;
            }
        return luaL_error(L, "a vector has no '%s'; it has chunk, clone, add, copy, #x and x[i]", name);
    }
    lua_pushnumber(L, (lua_Number)v->data[check_index(L, v)]);
    return 1;
}

static int vector_newindex(lua_State *L)
{
    struct lua_vector *v = to_vector(L, 1);
    if (!v)
        return luaL_error(L, "this is not a vector");
    if (lua_type(L, 3) != LUA_TNUMBER)
        return luaL_error(L, "an element of a vector is a number, not a %s", luaL_typename(L, 3));
    long i = check_index(L, v);
    v->data[i] = (float)lua_tonumber(L, 3);
    return 0;
}

static int vector_len(lua_State *L)
{
    struct lua_vector *v = lua_vector_check(L, 1, "#x");
    lua_pushinteger(L, v->length);
    return 1;
}

static int vector_tostring(lua_State *L)
{
    enum { SHOWN = 12 };
    struct lua_vector *v = lua_vector_check(L, 1, "tostring");
    char text[SHOWN * 16 + 64];
    size_t used = (size_t)snprintf(text, sizeof text, "[");
    for (long i = 0; i < v->length && i < SHOWN; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%g", i ? " " : "", (double)v->data[i]);
    snprintf(text + used, sizeof text - used, "%s", v->length > SHOWN ? " ...]" : "]");
    lua_pushstring(L, text);
    return 1;
}

static int vector_arithmetic(lua_State *L)
{
    return luaL_error(L, "vectors are not added with + or other signs; write x:add(y), which changes x, or "
                         "use x[i] in a loop");
}

void lua_vector_open(lua_State *L)
{
    static const luaL_Reg metamethods[] = {{"__index", vector_index},    {"__newindex", vector_newindex},
                                           {"__len", vector_len},        {"__tostring", vector_tostring},
                                           {"__add", vector_arithmetic}, {"__sub", vector_arithmetic},
                                           {"__mul", vector_arithmetic}, {"__div", vector_arithmetic},
                                           {"__unm", vector_arithmetic}, {NULL, NULL}};
    luaL_newmetatable(L, type_name);
    luaL_setfuncs(L, metamethods, 0);
    lua_pushboolean(L, 0); /* getmetatable(x) gives false: nobody gets at the functions above */
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
