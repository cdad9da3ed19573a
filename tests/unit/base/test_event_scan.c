/*
 * The scanner of plain lines against the JSON library: whatever it takes it must read exactly as that does, bit by
 * bit, and what is no JSON it must not take. Lines by hand, lines of every kind of event of the fixtures, and
 * twenty thousand damaged ones.
 */
#include "engine/base/event.h"
#include "engine/base/event_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_bits(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

/* Whether the scanner took the line; fails where it then says anything else than the library. */
static bool agree(const char *line, size_t length)
{
    struct event_record record;
    if (!event_scan(line, length, &record))
        return false;
    json_t *event = event_parse(line, length);
    if (!event)
        fail_msg("no JSON, but taken: %.*s", (int)length, line);
    const struct event_any fast = {.record = &record}, slow = {.json = event};
    assert_int_equal(record.count, json_object_size(event));
    const char *key;
    json_t *value;
    json_object_foreach(event, key, value)
    {
        char a[4096] = "?", b[4096] = "?";
        assert_true(same_bits(any_number(&fast, key, NAN), any_number(&slow, key, NAN)));
        assert_int_equal(any_integer(&fast, key, -77), any_integer(&slow, key, -77));
        assert_int_equal(any_true(&fast, key), any_true(&slow, key));
        assert_int_equal(any_text(&fast, key, a, sizeof a), any_text(&slow, key, b, sizeof b));
        assert_string_equal(a, b);
    }
    assert_int_equal(any_is(&fast, "step"), any_is(&slow, "step"));
    assert_int_equal(any_integer(&fast, "no such key", 5), 5);
    json_decref(event);
    return true;
}

static bool taken(const char *line)
{
    return agree(line, strlen(line));
}

static void plain_lines(void **state)
{
    (void)state;
    assert_true(taken("{\"t\":1.5,\"ev\":\"step\",\"step\":12,\"loss\":0.123456789012,\"slow\":true}"));
    assert_true(taken(" { \"t\" : 1 , \"ev\" : \"rank\" , \"a\":null,\"b\":false} \r"));
    assert_true(taken("{\"a\":-0,\"b\":-0.0,\"c\":1e22,\"d\":1E-22,\"e\":0.1e+3,\"f\":123456789012345678}"));
    assert_true(taken("{\"a\":9007199254740992e-22,\"b\":0.3,\"c\":2.3025850929940,\"text\":\"\"}"));
}

static void left_to_the_library(void **state)
{
    (void)state;
    static const char *const LINES[] = {
        "",
        "{",
        "{}",
        "[]",
        "null",
        "{\"a\":1",
        "{\"a\":1}}",
        "{\"a\":1} x",
        "{\"a\":1,}",
        "{,\"a\":1}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":}",
        "{\"a\":tru}",
        "{\"a\":truest}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":5.}",
        "{\"a\":1e}",
        "{\"a\":1e+}",
        "{\"a\":0x10}",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":[1]}",
        "{\"a\":{\"b\":1}}",
        "{\"a\":\"\\n\"}",
        "{\"a\":\"\xC3\xA4\"}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"open}",
        "{\"a\":1234567890123456789}",
        "{\"a\":99999999999999999999}",
        "{\"a\":1e400}",
        "{\"a\":2.30258509299404568402}",
        "{\"a\":1e23}",
        "{\"a\":1e-23}",
        "{\"a\":1;\"b\":2}",
    };
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
        if (taken(LINES[i]))
            fail_msg("taken: %s", LINES[i]);
    char many[2048] = "{\"k0\":0";
    for (int i = 1; i <= EVENT_MAX_FIELDS; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ",\"k%d\":%d", i, i);
    snprintf(many + strlen(many), sizeof many - strlen(many), "}");
    assert_false(taken(many)); /* one more than fit */
}

/* Numbers as the writer of the stream writes them, and of any length. */
static void numbers_to_the_last_bit(void **state)
{
    (void)state;
    int plain = 0;
    srand(7);
    for (int i = 0; i < 20000; i++) {
        char line[128];
        double value = ldexp((double)rand() / RAND_MAX - 0.5, rand() % 60 - 30);
        snprintf(line, sizeof line, "{\"ev\":\"step\",\"x\":%.*g}", i % 2 ? 12 : 1 + rand() % 20, value);
        plain += taken(line);
    }
    assert_true(plain > 15000); /* those of twelve digits do not need the library */
}

static void damaged_lines(void **state)
{
    (void)state;
    static const char LINE[] =
        "{\"t\":12.25,\"ev\":\"step\",\"step\":400,\"loss\":0.0312,\"lr\":1e-05,\"algo\":\"ring\","
        "\"slow\":false,\"x\":null}";
    static const char BYTES[] = "{}[]\":,.0129eE+-tfn\\ \t\x01\x80 a";
    srand(11);
    for (int i = 0; i < 20000; i++) {
        char line[sizeof LINE];
        memcpy(line, LINE, sizeof LINE);
        size_t length = sizeof LINE - 1;
        for (int k = rand() % 3; k >= 0; k--)
            line[(size_t)rand() % length] = BYTES[(size_t)rand() % sizeof BYTES]; /* its last one is a 0 */
        if (rand() % 4 == 0)
            length = (size_t)rand() % length;
        agree(line, length);
    }
}

/* Every line of the recordings: hops, checks, texts, samples ... */
static void lines_of_the_fixtures(void **state)
{
    (void)state;
    static const char *const RUNS[] = {"train-done",  "train-four",  "allreduce", "check",
                                       "ranks-star",  "script",      "model",     "samples-text",
                                       "samples-gan", "train-failed"};
    long lines = 0, plain = 0;
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++) {
        char path[256], *line = NULL;
        size_t room = 0;
        snprintf(path, sizeof path, "tests/fixtures/runs/%s/events.jsonl", RUNS[i]);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        for (ssize_t n; (n = getline(&line, &room, f)) > 0; lines++)
            plain += agree(line, (size_t)n - (line[n - 1] == '\n'));
        free(line);
        fclose(f);
    }
    assert_true(lines > 500 && plain > lines / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lines),
        cmocka_unit_test(left_to_the_library),
        cmocka_unit_test(numbers_to_the_last_bit),
        cmocka_unit_test(damaged_lines),
        cmocka_unit_test(lines_of_the_fixtures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
