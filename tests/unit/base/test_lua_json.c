/*
 * Lua values to JSON and back, and copies from one state to another.
 */
#include "engine/base/lua_json.h"

#include <lauxlib.h>
#include <lualib.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static lua_State *evaluate(const char *expression)
{
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    lua_pushfstring(L, "return %s", expression);
    assert_int_equal(luaL_dostring(L, lua_tostring(L, -1)), LUA_OK);
    return L;
}

static void expect(const char *expression, const char *json)
{
    struct error e = {0};
    lua_State *L = evaluate(expression);
    int top = lua_gettop(L);
    json_t *value = lua_to_json(L, -1, &e);
    assert_int_equal(lua_gettop(L), top);
    if (!json) {
        assert_null(value);
        assert_true(*e.text);
    } else {
        assert_non_null(value);
        char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        assert_string_equal(text, json);
        free(text);
        /* And back: the same again. */
        lua_push_json(L, value);
        json_t *again = lua_to_json(L, -1, &e);
        if (!strstr(json, "null")) /* nil is no entry of a table */
            assert_true(json_equal(value, again));
        json_decref(again);
    }
    json_decref(value);
    lua_close(L);
}

static void test_values(void **state)
{
    (void)state;
    expect("{}", "[]");
    expect("{1, 2.5, 'x', true}", "[1,2.5,\"x\",true]");
    expect("{a = 1, b = {c = {}}}", "{\"a\":1,\"b\":{\"c\":[]}}");
    expect("{1, 2, x = 3}", "{\"1\":1,\"2\":2,\"x\":3}");
    expect("{[1] = 1, [3] = 3}", "{\"1\":1,\"3\":3}");
    expect("{0/0, 1/0}", "[null,null]");
    expect("{f = print}", NULL);
    expect("{[{}] = 1}", NULL);
    expect("'\\xff'", NULL);
    expect("'a\\0b'", NULL);
    expect("(function() local t = {} t.t = t return t end)()", NULL);
    expect("(function() local t = {} for i = 1, 300000 do t[i] = i end return t end)()", NULL);
}

static void count_function(lua_State *from, int index, lua_State *to, void *self)
{
    (void)from, (void)index;
    ++*(int *)self;
    lua_pushliteral(to, "function");
}

static void test_copies(void **state)
{
    (void)state;
    int functions = 0;
    lua_State *from = evaluate("{n = 0/0, list = {1, 2}, f = print, [2.5] = true}"), *to = luaL_newstate();
    lua_copy_value(from, -1, to, count_function, &functions);
    assert_int_equal(functions, 1);
    lua_getfield(to, -1, "n");
    assert_true(isnan(lua_tonumber(to, -1)));
    lua_getfield(to, -2, "f");
    assert_string_equal(lua_tostring(to, -1), "function");
    lua_getfield(to, -3, "list");
    assert_int_equal(lua_rawlen(to, -1), 2);
    lua_pushnumber(to, 2.5);
    lua_gettable(to, -5);
    assert_true(lua_toboolean(to, -1));
    lua_close(from);
    lua_close(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
