/*
 * The sandbox holds: each attempt to get out, to eat memory or to run for ever ends with a sentence that names the line.
 */
#include "engine/base/lua_sandbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MEMORY = 128 << 20 };

/* Far above what anything needs that ends by itself; the endless ones are given less. */
static double seconds = 120;

/* Runs a script; the sentence of its failure, or "". */
static const char *run(const char *text)
{
    static char sentence[1500];
    struct error e = {0};
    struct lua_fault fault = {0};
    const struct lua_limits limits = {MEMORY, seconds};
    struct lua_sandbox *s = lua_sandbox_open(&limits, &e);
    assert_non_null(s);
    bool ok =
        lua_sandbox_load(s, text, strlen(text), "dir/mine.lua", &fault) && lua_sandbox_call(s, 0, 0, &fault);
    sentence[0] = 0;
    if (!ok)
        lua_fault_sentence(&fault, sentence, sizeof sentence);
    lua_sandbox_close(s);
    return sentence;
}

static void expect(const char *text, const char *part)
{
    const char *sentence = run(text);
    if (!strstr(sentence, part))
        print_error("script: %s\nsaid: %s\nexpected in it: %s\n", text, *sentence ? sentence : "(nothing)",
                    part);
    assert_non_null(strstr(sentence, part));
}

static void expect_runs(const char *text)
{
    const char *sentence = run(text);
    if (*sentence)
        print_error("script: %s\nsaid: %s\n", text, sentence);
    assert_int_equal(*sentence, 0);
}

static void test_no_way_out(void **state)
{
    (void)state;
    static const char *const missing[] = {"os.execute('true')",
                                          "io.open('/etc/passwd')",
                                          "debug.getregistry()",
                                          "require('os')",
                                          "package.loadlib('x', '*')",
                                          "dofile('/etc/passwd')",
                                          "load('return 1')",
                                          "loadstring('return 1')",
                                          "loadfile('x')",
                                          "io.popen('true')",
                                          "os.exit()",
                                          "os.getenv('HOME')"};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        expect(missing[i], "is not available");
    expect("string.dump(print)", "there is no function 'dump'");
    expect("x = 1\nlocal f = _G['os'].time", "dir/mine.lua:2: 'os' is not available");
    /* Through every table that is there. */
    expect_runs(
        "for _, name in ipairs{'os','io','debug','package','require','load','dofile','loadfile','warn'} do\n"
        "  assert(rawget(_G, name) == nil, name)\n"
        "end\n"
        "assert(string.dump == nil and getmetatable('').__index == string)");
    expect("\27Lua", "dir/mine.lua");
    expect("setmetatable({}, {__gc = function() while true do end end})", "a finalizer");
    expect("collectgarbage('stop')", "only \"collect\" and \"count\"");
    expect_runs("assert(collectgarbage('count') > 0) collectgarbage()");
}

static void test_limits(void **state)
{
    (void)state;
    seconds = 0.3;
    expect("while true do end", "without coming to an end");
    expect("local n = 0\nwhile true do\n  n = n + 1\nend", "dir/mine.lua:");
    expect("while true do pcall(function() while true do end end) end", "without coming to an end");
    expect("while true do xpcall(function() while true do end end, function() while true do end end) end",
           "without coming to an end");
    expect("local co = coroutine.wrap(function() while true do end end)\nco()", "without coming to an end");
    seconds = 120;
    expect("local t = {} while true do t[#t + 1] = {} end", "more memory than the 128 MiB");
    expect("local s = string.rep('x', 1e10)", "more memory than the 128 MiB");
    expect("local s = 'x' while true do s = s .. s end", "more memory than the 128 MiB");
    expect("local t = table.pack(('x'):rep(1e6):byte(1, -1))", "mine.lua");
    expect("local function f() return 1 + f() end f()", "functions call each other without end");
    expect("local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x", "mine.lua");
    expect("local s = ('('):rep(300) .. ')' return string.find('x', s)", "mine.lua");
    expect("error()", "an error that is no text");
    expect("error({})", "an error that is no text");
    expect("error(setmetatable({}, {__tostring = function() while true do end end}))",
           "an error that is no text");
    /* A pcall may catch the memory error; that it goes on is its own affair. */
    expect_runs("local ok = pcall(string.rep, 'x', 1e10) assert(not ok)");
}

static void test_sentences(void **state)
{
    (void)state;
    /* What people who know Python write, and what they are told. */
    static const struct {
        const char *script, *part;
    } cases[] = {
        {"x = 1\nx += 1", "dir/mine.lua:2: Lua has no +="},
        {"x = 1\nx++", "Lua has no ++"},
        {"x = 1\nif x == 1:\nend", "does not end with a colon"},
        {"x = 1\nif x = 1 then\nend", "compare with =="},
        {"if x != 1 then end", "is written ~="},
        {"if a && b then end", "'and' and 'or'"},
        {"# a comment", "begin it with --"},
        {"x = 1 # a comment", "begin it with --"},
        {"def f(x):\n  return x", "does not begin with 'def'"},
        {"import os", "nothing to import"},
        {"for i in range(3):\n print(i)", "does not begin with a colon"},
        {"x = None + 1", "Lua's word for it is nil"},
        {"x = True", "Lua writes true"},
        {"n = len({1, 2})", "#x is the length"},
        {"x = [1, 2]", "{ 1, 2, 3 }"},
        {"if x then\n  y = 1\nelif z then\nend", "'elseif'"},
        {"function f()\n  if x then\n    y = 1\nend", "the 'function' of line 1 is never closed"},
        {"for i = 1, 3 do\n  y = 1\n", "an 'end' is missing"},
        {"x = 1\nend", "too many"},
        {"t = { 1, 2\nx = 3", "a comma or a closing }"},
        {"print(1", "closing )"},
        {"s = \"abc", "a text is not closed"},
        {"while x\n y = 1 end", "'do' is missing"},
        {"if x\n y = 1 end", "'then' is missing"},
        {"y = nothing + 1", "'nothing' is not defined"},
        {"t = {}\ny = t.a.b", "'a' is nil here"},
        {"t = {}\nt.go()", "there is no function 'go'"},
        {"t = {1}\ny = t[2] + 1", "an element that is not there"},
        {"y = {} + 1", "this is not a number"},
        {"y = {} < 1", "cannot be compared"},
        {"y = 'a' .. {}", ".. joins texts"},
        {"x = 3\nx()", "'x'"},
        {"x = 3x", "is not a number"},
        {"error('my own words')", "dir/mine.lua:1: my own words"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i].script, cases[i].part);
    /* The line's text is there. */
    expect("x = 1\n   y = nothing.at", "(line 2: y = nothing.at)");
}

static void test_ordinary(void **state)
{
    (void)state;
    expect_runs(
        "local t = {} for i = 1, 1000 do t[i] = i * i end table.sort(t, function(a, b) return a > b end)\n"
        "assert(t[1] == 1000000 and #t == 1000)\n"
        "assert(('%5.2f'):format(math.pi) == ' 3.14' and select('#', 1, 2) == 2)\n"
        "local ok, why = pcall(error, 'x') assert(not ok)\n"
        "assert(undefined_name == nil)\n"
        "local m = setmetatable({}, {__index = function() return 7 end}) assert(m.x == 7)\n"
        "assert(utf8.len('ab') == 2 and next({}) == nil and type(print) == 'function')");
    /* The same random numbers every time. */
    static char first[64], *kept = first;
    struct error e;
    for (int i = 0; i < 2; i++) {
        const struct lua_limits limits = {MEMORY, seconds};
        struct lua_sandbox *s = lua_sandbox_open(&limits, &e);
        struct lua_fault fault;
        assert_true(lua_sandbox_load(s, "return math.random(1000000)", 27, "r", &fault));
        assert_true(lua_sandbox_call(s, 0, 1, &fault));
        const char *text = lua_tostring(lua_sandbox_state(s), -1);
        if (i == 0)
            snprintf(kept, sizeof first, "%s", text);
        else
            assert_string_equal(text, kept);
        lua_sandbox_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_way_out),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_ordinary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
