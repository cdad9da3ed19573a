/*
 * lua_vector.h - the vectors of a rank script: float32, with views.
 *
 *     x:chunk(i, n)   piece i (from 0) of n, a view: writing to it writes to x; the first #x % n pieces have one
 *                     element more, so a piece may be empty
 *     x:clone()       a copy of its own
 *     x:add(y)        x[i] = x[i] + y[i];  x:copy(y)  x[i] = y[i]; lengths must be equal; both return x
 *     #x, x[i]        i from 1 to #x
 *
 * A view keeps its vector alive. Elements are counted against the sandbox's memory.
 */
#ifndef RINGSIDE_BASE_LUA_VECTOR_H
#define RINGSIDE_BASE_LUA_VECTOR_H

#include <lua.h>

struct lua_vector {
    float *data;
    long length;
    int chunk; /* which piece of the whole it was made as; -1: it is no piece of a piece-wise vector */
};

/* Makes the type known to a state. These raise Lua errors: call them protected. */
void lua_vector_open(lua_State *L);
/* Pushes a vector of zeros. */
struct lua_vector *lua_vector_new(lua_State *L, long length);
/* The vector at `arg` of the function called `function`, or a Lua error that says what was expected. */
struct lua_vector *lua_vector_check(lua_State *L, int arg, const char *function);

#endif
