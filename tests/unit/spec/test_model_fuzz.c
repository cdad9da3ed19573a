/*
 * Broken descriptions, thousands of them from a fixed seed: Lua files and JSON with bytes, words, values and whole
 * parts changed. Each must be refused with a sentence, or make a model that hangs together.
 */
#include "engine/base/lua_api.h"
#include "engine/base/random.h"
#include "engine/spec/model_lua.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_CASES = 4000, TEXT_CASES = 4000, LUA_CASES = 1500 };

static const char *const models[] = {"cnn", "resnet20", "text_lstm", "gan", "alexnet", "inception_v3"};
enum { MODELS = sizeof models / sizeof *models };

static int throw(struct random * r, int sides)
{
    return (int)random_below(r, (uint64_t)sides);
}

/* What a description says must be true of it. */
static void hangs_together(const json_t *object)
{
    struct model_spec m;
    size_t parameters = 0, states = 0;
    double flops = 0;
    assert_true(model_from_json(object, &m, NULL));
    for (int i = 0; i < m.layer_count; i++) {
        const struct layer_spec *l = &m.layers[i];
        char text[64], place[96];
        assert_true(model_shape_elements(l->out) > 0);
        assert_true(*layer_describe(l, text) && *model_shape_describe(l->out, text) &&
                    *layer_place(l->name, place));
        for (int k = 0; k < l->input_count; k++)
            assert_true(l->inputs[k] >= MODEL_INPUT && l->inputs[k] < i);
        for (int t = 0; t < l->tensor_count; t++) {
            assert_int_equal(l->tensors[t].offset, parameters);
            parameters += l->tensors[t].elements;
        }
        for (int t = 0; t < l->state_count; t++)
            states += l->state[t].elements;
        assert_true(isfinite(l->flops) && l->flops >= 0 && isfinite(l->bytes));
        flops += l->flops;
    }
    assert_int_equal(m.parameters, parameters);
    assert_int_equal(m.states, states);
    assert_float_equal(m.flops, flops, 1e-9 * flops);
    model_free(&m);
}

/* Returns whether it was taken. */
static bool judge(const json_t *object)
{
    struct error e = {0};
    if (!model_check(object, &e)) {
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_true(strlen(e.text) > 10);
        return false;
    }
    const json_t *generator = json_object_get(object, "generator");
    hangs_together(generator ? generator : object);
    if (generator)
        hangs_together(json_object_get(object, "discriminator"));
    return true;
}

/* --- JSON, value by value ---------------------------------------------------------------------------------- */

static json_t *odd_value(struct random *d)
{
    static const char *const texts[] = {"0",
                                        "-1",
                                        "1e308",
                                        "2147483648",
                                        "-9223372036854775808",
                                        "0.5",
                                        "\"\"",
                                        "null",
                                        "[]",
                                        "{}",
                                        "true",
                                        "[3, 3]",
                                        "\"cnn\"",
                                        "1e-9",
                                        "[[]]",
                                        "4096",
                                        "{\"kind\": \"relu\"}",
                                        "{\"kind\": \"residual\", \"layers\": []}"};
    return json_loads(texts[throw(d, sizeof texts / sizeof *texts)], JSON_DECODE_ANY, NULL);
}

/* Changes one value somewhere below; the deeper, the likelier. */
static void mutate(json_t *value, struct random *d, int depth)
{
    size_t n = json_is_array(value) ? json_array_size(value) : json_object_size(value);
    if (n == 0 || depth > 12)
        return;
    size_t at = (size_t) throw(d, (int)n), i = 0;
    json_t *child = NULL, *item;
    const char *key = NULL, *name;
    if (json_is_array(value))
        child = json_array_get(value, at);
    else
        json_object_foreach(value, name, item) if (i++ == at) key = name, child = item;
    if ((json_is_array(child) || json_is_object(child)) && throw(d, 8)) {
        mutate(child, d, depth + 1);
        return;
    }
    json_t *put = throw(d, 4) ? odd_value(d) : json_deep_copy(child);
    char other[16];
    snprintf(other, sizeof other, "%s%s", key ? key : "", throw(d, 2) ? "" : "s");
    switch (json_is_array(value) ? throw(d, 3) : 3 + throw(d, 3)) {
    case 0: json_array_set_new(value, at, put); return;
    case 1: json_array_insert_new(value, at, put); return;
    case 2: json_array_remove(value, at); break;
    case 3:
    case 4: json_object_set_new(value, other, put); return;
    default: json_object_del(value, key);
    }
    json_decref(put);
}

static void json_values(void **state)
{
    json_t **originals = *state;
    struct random d = random_stream(1, 0, 0);
    int taken = 0;
    for (int i = 0; i < JSON_CASES; i++) {
        json_t *copy = json_deep_copy(originals[throw(&d, MODELS)]);
        for (int changes = 1 + throw(&d, 3); changes > 0; changes--)
            mutate(copy, &d, 0);
        taken += judge(copy);
        json_decref(copy);
    }
    assert_in_range(taken, JSON_CASES / 50, JSON_CASES - JSON_CASES / 50); /* both ways are walked */
}

/* Wrapped in ever more residuals and branches: refused before the stack is in danger. */
static void json_depth(void **state)
{
    (void)state;
    for (int depth = 1; depth <= 400; depth += 7) {
        json_t *layer = json_pack("{s:s}", "kind", "relu");
        for (int i = 0; i < depth; i++)
            layer = i % 2 ? json_pack("{s:s, s:[o]}", "kind", "residual", "layers", layer)
                          : json_pack("{s:s, s:[[o], []]}", "kind", "branches", "branches", layer);
        json_t *object = json_pack("{s:[o]}", "layers", layer);
        assert_int_equal(judge(object), depth < 4);
        json_decref(object);
    }
}

/* --- texts ------------------------------------------------------------------------------------------------- */

/* A byte, a digit, a stretch taken out or put in twice. Returns the new length; text has room for twice as much. */
static size_t scramble(char *text, size_t n, struct random *d)
{
    static const char likely[] = "{}[]()=,.'\"-+*0123456789eE \n";
    size_t at = (size_t) throw(d, (int)n), length = (size_t) throw(d, 40);
    length = at + length > n ? n - at : length;
    switch (throw(d, 5)) {
    case 0: text[at] = (char) throw(d, 256); return n;
    case 1: text[at] = likely[throw(d, sizeof likely - 1)]; return n;
    case 2: memmove(text + at, text + at + length, n - at - length); return n - length;
    case 3: memmove(text + at + length, text + at, n - at); return n + length;
    default:
        for (size_t i = at; i < n; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                text[i] = (char)('0' + throw(d, 10));
                break;
            }
        return n;
    }
}

static size_t scrambled(const char *original, size_t n, char *text, struct random *d)
{
    memcpy(text, original, n);
    for (int changes = 1 + throw(d, 4); changes > 0 && n > 1; changes--)
        n = scramble(text, n, d);
    return n;
}

static void json_texts(void **state)
{
    json_t **originals = *state;
    struct random d = random_stream(2, 0, 0);
    char *dumped[MODELS];
    for (int i = 0; i < MODELS; i++)
        dumped[i] = json_dumps(originals[i], JSON_COMPACT);
    for (int i = 0; i < TEXT_CASES; i++) {
        const char *original = dumped[throw(&d, 3)];
        char *text = malloc(2 * strlen(original) + 400);
        size_t n = scrambled(original, strlen(original), text, &d);
        json_t *object = json_loadb(text, n, 0, NULL);
        if (object)
            judge(object);
        json_decref(object);
        free(text);
    }
    for (int i = 0; i < MODELS; i++)
        free(dumped[i]);
}

/* What a process of model_lua.c does, without the process. */
static bool run_lua(const char *text, size_t n)
{
    const struct lua_limits limits = {16 << 20, 0.05};
    struct lua_api api = {0};
    struct lua_fault fault = {0};
    struct error e = {0};
    json_t *object = NULL;
    bool taken = false;
    api.sandbox = lua_sandbox_open(&limits, &e);
    assert_non_null(api.sandbox);
    assert_true(lua_api_open(&api, &e));
    if (!lua_api_run(&api, text, n, "fuzz.lua", &fault)) {
        assert_true(*fault.what);
    } else if (!(object = lua_api_description(&api, &e))) {
        assert_int_equal(e.kind, ERROR_INPUT);
    } else {
        taken = judge(object);
    }
    json_decref(object);
    lua_api_close(&api);
    lua_sandbox_close(api.sandbox);
    return taken;
}

static void lua_texts(void **state)
{
    (void)state;
    struct random d = random_stream(3, 0, 0);
    char *originals[MODELS];
    size_t lengths[MODELS];
    int taken = 0;
    for (int i = 0; i < MODELS; i++) {
        char path[80];
        snprintf(path, sizeof path, "exercises/models/%s.lua", models[i]);
        originals[i] = lua_script_read(path, &lengths[i], NULL);
        assert_non_null(originals[i]);
        assert_true(run_lua(originals[i], lengths[i]));
    }
    for (int i = 0; i < LUA_CASES; i++) {
        int which = throw(&d, MODELS);
        char *text = malloc(2 * lengths[which] + 400);
        size_t n = scrambled(originals[which], lengths[which], text, &d);
        taken += run_lua(text, n);
        free(text);
    }
    assert_in_range(taken, LUA_CASES / 50, LUA_CASES - LUA_CASES / 50);
    for (int i = 0; i < MODELS; i++)
        free(originals[i]);
}

int main(void)
{
    static json_t *originals[MODELS];
    struct error e = {0};
    for (int i = 0; i < MODELS; i++)
        if (!(originals[i] = model_description(models[i], &e))) {
            fprintf(stderr, "%s\n", e.text);
            return 1;
        }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(json_values, originals),
        cmocka_unit_test(json_depth),
        cmocka_unit_test_prestate(json_texts, originals),
        cmocka_unit_test(lua_texts),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < MODELS; i++)
        json_decref(originals[i]);
    return failed;
}
