/*
 * simulate{} where calls are recorded, not carried out: in a learner's file that a check runs.
 */
#include "engine/base/lua_api.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Runs a script without a channel; what: its first mistake. */
static bool recorded(const char *text, char what[512])
{
    const struct lua_limits limits = {16 << 20, 5};
    struct lua_api api = {0};
    struct lua_fault fault = {0};
    struct error e = {0};
    api.sandbox = lua_sandbox_open(&limits, &e);
    assert_non_null(api.sandbox);
    assert_true(lua_api_open(&api, &e));
    bool ok = lua_api_run(&api, text, strlen(text), "learner.lua", &fault);
    snprintf(what, 512, "%.511s", ok ? "" : fault.what);
    if (ok)
        assert_int_equal(api.calls, 1);
    lua_api_close(&api);
    lua_sandbox_close(api.sandbox);
    return ok;
}

static void a_recorded_simulation_answers_with_nothing_known(void **state)
{
    (void)state;
    char what[512];
    /* Each field that a real answer has is there, so that a script goes on; numbers are NaN. */
    if (!recorded(
            "local r = simulate{ cluster = 'teaching', job = { model = 'cnn', ranks = 4, lr = 0.1, data = "
            "'mnist' } }\n"
            "assert(r.ok and r.fits and r.run == '' and r.bottleneck == '')\n"
            "for _, key in ipairs{ 'samples_per_s', 'step_s', 'compute_s', 'comm_s', 'exposed_comm_s', "
            "'data_s',\n"
            "                      'efficiency', 'memory_bytes' } do assert(r[key] ~= r[key], key) end\n"
            "assert(#r.steps == 0 and #r.collectives == 0 and #r.explain == 0)\n",
            what))
        fail_msg("%s", what);
}

static void mistakes_are_told_there_too(void **state)
{
    (void)state;
    static const struct {
        const char *script, *told;
    } wrong[] = {{"simulate{ job = {} }", "lacks cluster"},
                 {"simulate{ cluster = 'x' }", "lacks job"},
                 {"simulate{ cluster = 'x', job = { rank = 4 } }", "job{...} does not know 'rank'"},
                 {"simulate{ cluster = 4, job = {} }", "needs a text in quotes or a table"},
                 {"simulate{ cluster = 'x', job = { overlap = 1 } }", "needs true or false"},
                 {"simulate{ cluster = 'x', job = { 'cnn' } }", "a value without a name"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char what[512];
        assert_false(recorded(wrong[i].script, what));
        if (!strstr(what, wrong[i].told))
            fail_msg("%s: %s", wrong[i].script, what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_simulation_answers_with_nothing_known),
        cmocka_unit_test(mistakes_are_told_there_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
