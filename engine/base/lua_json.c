#include "engine/base/lua_json.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct walk {
    struct error *e;
    int depth;
    long values;
};

static json_t *convert(lua_State *L, int index, struct walk *w);

static json_t *fail(struct walk *w, const char *what)
{
    error_set(w->e, ERROR_INPUT, "%s", what);
    return NULL;
}

/* Whether the keys are 1..n and no others. */
static bool is_list(lua_State *L, int index)
{
    lua_Unsigned n = lua_rawlen(L, index), keys = 0;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        if (!lua_isinteger(L, -2) || ++keys > n) {
            lua_pop(L, 2);
            return false;
        }
    }
    return keys == n;
}

static json_t *convert_list(lua_State *L, int index, struct walk *w)
{
    json_t *list = json_array();
    lua_Integer n = (lua_Integer)lua_rawlen(L, index);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, index, i);
        json_t *item = convert(L, lua_gettop(L), w);
        lua_pop(L, 1);
        if (!item || json_array_append_new(list, item) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* The key under the value on top, as text; lua_tolstring would change it under lua_next's feet. */
static bool key_text(lua_State *L, char *text, size_t size)
{
    if (lua_isinteger(L, -2))
        snprintf(text, size, "%lld", (long long)lua_tointeger(L, -2));
    else if (lua_type(L, -2) == LUA_TNUMBER)
        snprintf(text, size, "%.14g", lua_tonumber(L, -2));
    else if (lua_type(L, -2) == LUA_TSTRING && lua_rawlen(L, -2) < size)
        snprintf(text, size, "%s", lua_tostring(L, -2));
    else
        return false;
    return true;
}

static json_t *convert_object(lua_State *L, int index, struct walk *w)
{
    json_t *object = json_object();
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        char key[128];
        json_t *item = key_text(L, key, sizeof key)
                           ? convert(L, lua_gettop(L), w)
                           : fail(w, "a key of a table is neither a short text nor a number");
        if (!item || json_object_set_new(object, key, item) != 0) {
            lua_pop(L, 2);
            json_decref(object);
            if (item)
                fail(w, "a text is not valid UTF-8");
            return NULL;
        }
    }
    return object;
}

static json_t *convert(lua_State *L, int index, struct walk *w)
{
    if (++w->values > LUA_JSON_VALUES)
        return fail(w, "the table has too many entries");
    if (!lua_checkstack(L, 8))
        return fail(w, "memory is short");
    switch (lua_type(L, index)) {
    case LUA_TNIL: return json_null();
    case LUA_TBOOLEAN: return json_boolean(lua_toboolean(L, index));
    case LUA_TNUMBER:
        if (lua_isinteger(L, index))
            return json_integer(lua_tointeger(L, index));
        return isfinite(lua_tonumber(L, index)) ? json_real(lua_tonumber(L, index)) : json_null();
    case LUA_TSTRING: {
        size_t length;
        const char *text = lua_tolstring(L, index, &length);
        if (memchr(text, 0, length)) /* JSON's readers refuse it */
            return fail(w, "a text has a zero byte in it");
        json_t *string = json_stringn(text, length);
        return string ? string : fail(w, "a text is not valid UTF-8");
    }
    case LUA_TTABLE: {
        if (++w->depth > LUA_JSON_DEPTH)
            return fail(w, "the table contains itself, or is nested too deeply");
        json_t *value = is_list(L, index) ? convert_list(L, index, w) : convert_object(L, index, w);
        w->depth--;
        return value;
    }
    default: {
        char what[80];
        snprintf(what, sizeof what, "a %s cannot be handed on", luaL_typename(L, index));
        return fail(w, what);
    }
    }
}

json_t *lua_to_json(lua_State *L, int index, struct error *e)
{
    struct walk walk = {.e = e};
    int top = lua_gettop(L);
    json_t *value = convert(L, lua_absindex(L, index), &walk);
    lua_settop(L, top);
    return value;
}

void lua_push_json(lua_State *L, const json_t *value)
{
    luaL_checkstack(L, 4, "nested too deeply");
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_OBJECT: {
        const char *key;
        json_t *item;
        lua_newtable(L);
        json_object_foreach((json_t *)value, key, item)
        {
            lua_push_json(L, item);
            lua_setfield(L, -2, key);
        }
        break;
    }
    case JSON_ARRAY:
        lua_newtable(L);
        for (size_t i = 0; i < json_array_size(value); i++) {
            lua_push_json(L, json_array_get(value, i));
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case JSON_STRING: lua_pushlstring(L, json_string_value(value), json_string_length(value)); break;
    case JSON_INTEGER: lua_pushinteger(L, json_integer_value(value)); break;
    case JSON_REAL: lua_pushnumber(L, json_real_value(value)); break;
    case JSON_TRUE:
    case JSON_FALSE: lua_pushboolean(L, json_is_true(value)); break;
    case JSON_NULL: lua_pushnil(L); break;
    }
}

void lua_show_nul(lua_State *L)
{
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    if (!memchr(text, 0, length))
        return;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (const char *end = text + length; text < end; text++) {
        if (*text)
            luaL_addchar(&b, *text);
        else
            luaL_addstring(&b, "\xef\xbf\xbd");
    }
    luaL_pushresult(&b);
    lua_remove(L, -2);
}

static void copy(lua_State *from, int index, lua_State *to, lua_copy_function *function, void *self,
                 int depth)
{
    size_t length;
    const char *text;
    luaL_checkstack(to, 8, "nested too deeply");
    if (depth > LUA_JSON_DEPTH || !lua_checkstack(from, 8)) {
        lua_pushnil(to);
        return;
    }
    switch (lua_type(from, index)) {
    case LUA_TBOOLEAN: lua_pushboolean(to, lua_toboolean(from, index)); break;
    case LUA_TNUMBER:
        if (lua_isinteger(from, index))
            lua_pushinteger(to, lua_tointeger(from, index));
        else
            lua_pushnumber(to, lua_tonumber(from, index));
        break;
    case LUA_TSTRING:
        text = lua_tolstring(from, index, &length);
        lua_pushlstring(to, text, length);
        break;
    case LUA_TFUNCTION:
        if (function)
            function(from, index, to, self);
        else
            lua_pushnil(to);
        break;
    case LUA_TTABLE: {
        lua_newtable(to);
        int table = lua_gettop(to); /* absolute: both may be the same state */
        for (lua_pushnil(from); lua_next(from, index); lua_pop(from, 1)) {
            int top = lua_gettop(from), type = lua_type(from, top - 1);
            /* As keys only what has the same meaning in the other state. */
            if (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN)
                continue;
            copy(from, top - 1, to, NULL, NULL, depth + 1);
            copy(from, top, to, function, self, depth + 1);
            lua_rawset(to, table);
        }
        break;
    }
    default: lua_pushnil(to);
    }
}

void lua_copy_value(lua_State *from, int index, lua_State *to, lua_copy_function *function, void *self)
{
    copy(from, lua_absindex(from, index), to, function, self, 0);
}
