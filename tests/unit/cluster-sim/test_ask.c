/* Questions as descriptions: what is answered, and what is refused with which sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster-sim/ask.h"
#include "engine/base/event.h"
#include "engine/base/random.h"

#include <stdlib.h>
#include <string.h>

static json_t *parse(const char *text)
{
    json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);
    if (!o)
        fail_msg("no JSON: %s", text);
    return o;
}

/* The answer's event: a new reference. */
static json_t *answer(const char *question, const char *cluster)
{
    struct error e = {0};
    json_t *ask = parse(question), *on = cluster ? parse(cluster) : NULL, *event = event_new("done", 0);
    char *why = NULL;
    if (!ask_answer(ask, on, event, &why, &e))
        fail_msg("%s", e.text);
    assert_true(why && strlen(why) > 100);
    free(why);
    json_decref(ask);
    json_decref(on);
    return event;
}

static void refused(const char *question, const char *words)
{
    struct error e = {0};
    json_t *ask = parse(question), *event = event_new("done", 0);
    char *why = NULL;
    assert_false(ask_answer(ask, NULL, event, &why, &e));
    assert_null(why);
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, words))
        fail_msg("'%s' does not say '%s'", e.text, words);
    json_decref(ask);
    json_decref(event);
}

/* The jobs of test_scheduler.c's first case: starts 0, 0, 10, 5, 5. */
static void test_schedule(void **state)
{
    (void)state;
    static const double starts[] = {0, 0, 10, 5, 5};
    json_t *r = answer("{\"schedule\": {\"procs\": 4, \"jobs\": [{\"run\": 10, \"procs\": 2}, {\"run\": "
                       "\"5s\", \"procs\": 2},"
                       "{\"submit\": 1, \"run\": 4, \"procs\": 4}, {\"submit\": 2, \"run\": 1}, {\"submit\": "
                       "3, \"run\": 2}]}}",
                       NULL);
    assert_float_equal(event_number(r, "mean_wait_s", -1), 2.8, 1e-12);
    assert_int_equal(event_integer(r, "jobs", 0), 5);
    const json_t *jobs = json_object_get(r, "schedule");
    assert_int_equal(json_array_size(jobs), 5);
    for (size_t i = 0; i < 5; i++)
        assert_float_equal(event_number(json_array_get(jobs, i), "start_s", -1), starts[i], 0);
    assert_true(json_is_true(json_object_get(json_array_get(jobs, 3), "backfilled")));
    json_decref(r);
    /* three tasks, one at a time, in the second partition */
    r = answer(
        "{\"schedule\": {\"policy\": \"fairshare\", \"weights\": {\"age\": 0, \"fairshare\": 10}, "
        "\"partitions\": ["
        "{\"name\": \"a\", \"procs\": 1}, {\"name\": \"b\", \"procs\": 4, \"limit\": \"1h\"}], \"jobs\": ["
        "{\"run\": 5, \"limit\": 4, \"tasks\": 3, \"at_once\": 1, \"partition\": 2}], \"enforce_limits\": "
        "true}}",
        NULL);
    jobs = json_object_get(r, "schedule");
    assert_int_equal(json_array_size(jobs), 3);
    assert_float_equal(event_number(json_array_get(jobs, 2), "start_s", -1), 8, 0);
    assert_int_equal(event_integer(r, "killed", 0), 3);
    json_decref(r);
    r = answer("{\"schedule\": {\"trace\": \"made-up:500:0.8:3\", \"procs\": 64, \"policy\": \"fifo\"}}",
               NULL);
    assert_int_equal(event_integer(r, "jobs", 0), 500);
    assert_null(json_object_get(r, "schedule")); /* too many to tell */
    json_decref(r);
}

static void test_storage_and_checkpoint(void **state)
{
    (void)state;
    json_t *r = answer(
        "{\"storage\": {\"kind\": \"nfs\", \"files\": 5000, \"file_bytes\": \"28MB\", \"clients\": 8}}",
        NULL);
    assert_string_equal(event_text(r, "bottleneck", ""), "server link");
    assert_float_equal(event_number(r, "bytes_per_s", 0), 1.25e9, 1);
    json_decref(r);
    r = answer("{\"storage\": {\"files\": 5000, \"file_bytes\": \"28MB\"}}",
               "{\"nodes\": 4, \"topology\": \"switch\", \"network\": \"10GbE\", \"storage\": {\"kind\": "
               "\"nfs\", \"read\": "
               "\"500MB/s\", \"link\": \"10Gb/s\"}}");
    assert_string_equal(event_text(r, "bottleneck", ""), "target");
    assert_float_equal(event_number(r, "bytes_per_s", 0), 5e8, 1);
    json_decref(r);
    r = answer("{\"checkpoint\": {\"cost\": \"5min\", \"mtbf\": \"24h\", \"work\": \"500h\"}}", NULL);
    assert_float_equal(event_number(r, "daly_s", 0) / 60, 117, 0.5);
    json_decref(r);
    r = answer("{\"checkpoint\": {\"cost\": \"3TB\", \"write\": \"10GB/s\", \"nodes\": 16, \"runs\": 0}}",
               NULL);
    assert_float_equal(event_number(r, "checkpoint_s", 0), 300, 1e-9);
    assert_null(json_object_get(r, "simulated_s"));
    json_decref(r);
}

static void test_mistakes(void **state)
{
    (void)state;
    refused("{}", "expected one of storage, checkpoint and schedule");
    refused("{\"storage\": {}, \"checkpoint\": {}}", "expected one of");
    refused("{\"storage\": {}}", "storage: give kind = ");
    refused("{\"storage\": {\"kind\": \"floppy\"}}",
            "storage: kind: expected nvme, ssd, hdd, nfs or parallel, got floppy");
    refused("{\"storage\": {\"kind\": \"hdd\", \"order\": \"random\"}}",
            "order: expected sequential or shuffled");
    refused("{\"storage\": {\"kind\": \"hdd\", \"share\": 3}}", "share: expected own, new or all");
    refused("{\"storage\": {\"kind\": \"hdd\", \"stage\": 3}}", "stage: expected true or false");
    refused("{\"storage\": {\"kind\": \"hdd\", \"disk\": \"nfs\"}}", "disk: expected nvme, ssd or hdd");
    refused("{\"storage\": {\"kind\": \"hdd\", \"files\": -1}}", "files");
    refused("{\"storage\": {\"kind\": \"hdd\", \"flies\": 1}}", "it has no \"flies\"");
    refused("{\"checkpoint\": {}}", "checkpoint: give cost =, ");
    refused("{\"checkpoint\": {\"cost\": \"2TB\"}}", "cost must be seconds");
    refused("{\"schedule\": {\"procs\": 4}}", "jobs: expected a list");
    refused("{\"schedule\": {\"jobs\": [{\"run\": 1}]}}", "procs: how many processors");
    refused("{\"schedule\": {\"procs\": 4, \"jobs\": [{\"run\": 1}, {\"procs\": 3}]}}",
            "schedule: jobs[2]: give run =");
    refused("{\"schedule\": {\"procs\": 4, \"jobs\": [3]}}", "jobs[1]: expected a table");
    refused("{\"schedule\": {\"procs\": 4, \"policy\": \"best\", \"jobs\": [{\"run\": 1}]}}",
            "policy: expected fifo");
    refused("{\"schedule\": {\"procs\": 4, \"jobs\": [{\"run\": 1, \"procs\": 5}]}}",
            "job 1 asks for 5 processors");
    refused("{\"schedule\": {\"procs\": 4, \"trace\": \"made-up:0\"}}", "expected made-up:JOBS");
    refused("{\"schedule\": {\"procs\": 4, \"trace\": \"/nowhere\"}}", "cannot read the trace /nowhere");
    refused("{\"schedule\": {\"procs\": 4, \"jobs\": [{\"run\": 1}], \"weights\": {\"age\": -1}}}",
            "weights: age");
    refused("{\"schedule\": {\"partitions\": [], \"jobs\": [{\"run\": 1}]}}", "partitions: expected a list");
}

/* Descriptions in which one value was replaced by another of any type: answered, or refused with one sentence. */
static void test_any_value(void **state)
{
    (void)state;
    static const char *const questions[] = {
        "{\"storage\": {\"kind\": \"parallel\", \"files\": 10, \"file_bytes\": 1000, \"clients\": 2, "
        "\"readers\": 2, "
        "\"epochs\": 2, \"order\": \"shuffled\", \"share\": \"own\", \"cache\": 500, \"warm\": true, "
        "\"stage\": true, "
        "\"stripe\": 100, \"stripe_count\": 2, \"compute\": 5, \"prefetch\": false, \"seek\": 0.1, "
        "\"targets\": 3}}",
        "{\"checkpoint\": {\"cost\": 10, \"write\": 3, \"nodes\": 2, \"mtbf\": 1000, \"work\": 5000, "
        "\"restart\": 5, "
        "\"interval\": 50, \"runs\": 10, \"seed\": 4}}",
        "{\"schedule\": {\"procs\": 4, \"policy\": \"priority\", \"jobs\": [{\"submit\": 1, \"run\": 2, "
        "\"limit\": 3, "
        "\"procs\": 2, \"user\": 1, \"partition\": 1, \"tasks\": 3, \"at_once\": 2}], \"weights\": {\"age\": "
        "1}, "
        "\"half_life\": 100, \"backfill\": true, \"partitions\": [{\"name\": \"a\", \"procs\": 4, \"limit\": "
        "100, \"tier\": 1}]}}",
    };
    static const char *const values[] = {"null", "true",       "-1",    "0",         "1e300", "0.5",
                                         "1e9",  "\"\"",       "\"x\"", "\"5GB/s\"", "[]",    "[1]",
                                         "{}",   "{\"a\": 1}", "2",     "\"1h\""};
    struct random r = random_stream(11, 0, 0);
    for (int i = 0; i < 1000; i++) {
        struct error e = {0};
        char *why = NULL;
        json_t *ask = parse(questions[i % 3]), *event = event_new("done", 0), *at = ask;
        for (bool deeper = true; deeper;) {
            size_t n = json_is_object(at) ? json_object_size(at) : json_array_size(at);
            if (n == 0)
                break;
            size_t k = random_below(&r, n), seen = 0;
            json_t *value = NULL, *with;
            const char *key = NULL;
            if (json_is_object(at))
                json_object_foreach(at, key, value)
                {
                    if (seen++ == k)
                        break;
                }
            else
                value = json_array_get(at, k);
            deeper = (json_is_object(value) || json_is_array(value)) && random_below(&r, 8) > 0;
            if (deeper) {
                at = value;
                continue;
            }
            with = parse(values[random_below(&r, sizeof values / sizeof *values)]);
            if (json_is_object(at))
                json_object_set_new(at, key, with);
            else
                json_array_set_new(at, k, with);
        }
        if (ask_answer(ask, NULL, event, &why, &e))
            assert_non_null(why);
        else
            assert_true(e.kind == ERROR_INPUT && strlen(e.text) > 10 && !strchr(e.text, '\n'));
        free(why);
        json_decref(ask);
        json_decref(event);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule),
        cmocka_unit_test(test_storage_and_checkpoint),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_any_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
