/*
 * Runs side by side: groups, bases, speed-up and efficiency by hand, and the table's text.
 */
#include "engine/base/event.h"
#include "tui/compare.h"
#include "tui/compare_plot.h"
#include "tui/compare_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char home[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(home, sizeof home, "/tmp/ringside-test-XXXXXX");
    if (!mkdtemp(home))
        return -1;
    setenv("RINGSIDE_HOME", home, 1);
    return 0;
}

/* One run that ended: of 500 steps on a host; recording: it is a replay of that. */
static void add_run(struct comparison *c, const char *name, int ranks, int batch, int seed,
                    double samples_per_s, const char *host, const char *recording)
{
    char dir[128], path[160], text[512];
    struct run_model m;
    struct error e = {0};
    snprintf(dir, sizeof dir, "%s/%s", home, name);
    mkdir(dir, 0777);
    snprintf(
        text, sizeof text,
        "{\"version\":1,\"kind\":\"train\",\"label\":\"%s\",\"ranks\":%d,\"train\":{\"model\":\"cnn\","
        "\"data\":"
        "\"mnist\",\"batch\":%d,\"epochs\":2,\"optimizer\":\"adam\",\"schedule\":\"onecycle\",\"lr\":0.003,"
        "\"algo\":\"ring\",\"device\":\"auto\",\"seed\":%d}}\n",
        name, ranks, batch, seed);
    assert_true(rundir_write(dir, "job.json", text, &e));
    snprintf(path, sizeof path, "%s/events.jsonl", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(
        f,
        "{\"t\":0.1,\"ev\":\"run\",\"origin\":\"%s\",\"ranks\":%d,\"hosts\":[\"%s\"],\"device\":\"cpu\"}\n"
        "{\"t\":1,\"ev\":\"step\",\"step\":500,\"epoch\":2,\"loss\":0.5,\"samples_per_s\":77}\n"
        "{\"t\":9,\"ev\":\"done\",\"ok\":true,\"wall_s\":9,\"samples_per_s\":%g,\"accuracy\":0.98,\"loss\":0."
        "05}\n",
        recording ? "replay" : "real", ranks, host, samples_per_s);
    fclose(f);
    snprintf(text, sizeof text, "{\"recording\": \"%s\", \"speed\": 1}\n", recording ? recording : "");
    if (recording)
        assert_true(rundir_write(dir, "replay.json", text, &e));
    assert_true(run_model_open(&m, dir, &e));
    m.attached = true;
    run_model_poll(&m, 0);
    assert_true(compare_add(c, &m));
    run_model_free(&m);
    rundir_delete(dir, &e);
}

static void add(struct comparison *c, const char *name, int ranks, int batch, int seed, double samples_per_s)
{
    add_run(c, name, ranks, batch, seed, samples_per_s, "n1", NULL);
}

/* Replays of one recording are not measured again; those of another one are. */
static void replays_count_once(void **state)
{
    (void)state;
    struct comparison c = {0};
    struct compare_table t;
    add_run(&c, "r1", 2, 32, 1, 100, "n1", "/recordings/first");
    add_run(&c, "r2", 2, 32, 1, 100, "n1", "/recordings/first");
    add_run(&c, "r3", 2, 32, 1, 100, "n1", "/recordings/first");
    assert_true(compare_finish(&c));
    assert_int_equal(c.group_count, 1);
    assert_int_equal(c.groups[0].runs, 1);
    assert_int_equal(c.groups[0].again, 2);
    assert_true(isnan(c.groups[0].figure[COMPARE_SPEED].half));
    assert_true(compare_table_build(&t, &c, true));
    assert_non_null(strstr(t.note, "count once"));
    compare_table_free(&t);
    add_run(&c, "r4", 2, 32, 2, 110, "n1", "/recordings/second");
    assert_true(compare_finish(&c));
    assert_int_equal(c.groups[0].runs, 2);
    assert_float_equal(c.groups[0].figure[COMPARE_SPEED].mean, 105, 1e-9);
    assert_true(isfinite(c.groups[0].figure[COMPARE_SPEED].half));
    add(&c, "measured", 4, 32, 1, 400);
    assert_true(compare_finish(&c));
    assert_false(compare_scales(&c)); /* ranks differ, but not they alone */
    compare_free(&c);
}

/* More nodes of one kind scale; another kind of host, or an origin, is no base. */
static void no_speed_up_between_unlike_runs(void **state)
{
    (void)state;
    struct comparison c = {0};
    struct compare_table t;
    add_run(&c, "one", 1, 32, 1, 100, "n1", NULL);
    add_run(&c, "two", 2, 32, 1, 190, "n1\",\"n2", NULL);
    add_run(&c, "other", 4, 32, 1, 900, "laptop", NULL);
    add_run(&c, "replayed", 8, 32, 1, 700, "n1", "/recordings/first");
    assert_true(compare_finish(&c));
    assert_int_equal(c.group_count, 4);
    assert_float_equal(c.groups[1].figure[COMPARE_EFFICIENCY].mean, 0.95, 1e-9);
    for (int g = 2; g < 4; g++) {
        assert_false(c.groups[g].related);
        assert_true(isnan(c.groups[g].figure[COMPARE_SPEEDUP].mean));
        assert_true(isnan(c.groups[g].figure[COMPARE_EFFICIENCY].mean));
    }
    assert_true(compare_table_build(&t, &c, true));
    assert_true(compare_scales(&c)); /* from one to two */
    assert_non_null(strstr(t.note, "(C: hosts; D: origin)"));
    compare_table_free(&t);
    compare_free(&c);
}

static void groups_and_bases(void **state)
{
    (void)state;
    struct comparison c = {0};
    add(&c, "four", 4, 32, 1, 300);
    add(&c, "one-a", 1, 32, 1, 100);
    add(&c, "two", 2, 32, 1, 180);
    add(&c, "one-b", 1, 32, 2, 104); /* another seed: the same configuration */
    add(&c, "large", 2, 64, 1, 150);
    assert_true(compare_finish(&c));
    assert_int_equal(c.group_count, 4); /* by ranks: one (2 runs), two, large, four */
    assert_int_equal(c.groups[0].ranks, 1);
    assert_int_equal(c.groups[0].runs, 2);
    assert_int_equal(c.runs[1].group, 0);
    assert_int_equal(c.runs[3].group, 0);
    assert_int_equal(c.groups[3].ranks, 4);
    assert_float_equal(c.groups[0].figure[COMPARE_SPEED].mean, 102, 1e-9);
    /* s = 2 sqrt 2, t(1) = 12.706: half = 12.706 * 2 */
    assert_float_equal(c.groups[0].figure[COMPARE_SPEED].half, 25.412, 0.001);
    assert_int_equal(c.groups[3].base, 0);
    assert_float_equal(c.groups[3].figure[COMPARE_SPEEDUP].mean, 300.0 / 102, 1e-9);
    assert_float_equal(c.groups[3].figure[COMPARE_EFFICIENCY].mean, 300.0 / 102 / 4, 1e-9);
    assert_true(isnan(c.groups[3].figure[COMPARE_SPEEDUP].half)); /* four ran once */
    /* A step is the global batch / samples/s; 500 steps are 2 epochs. */
    assert_float_equal(c.groups[3].figure[COMPARE_STEP].mean, 128.0 / 300, 1e-9);
    assert_float_equal(c.groups[3].figure[COMPARE_EPOCH].mean, 128.0 / 300 * 250, 1e-9);
    assert_float_equal(c.groups[3].figure[COMPARE_ACCURACY].mean, 0.98, 0);
    assert_int_equal(c.difference_count, 2);
    assert_string_equal(c.differences[0], "ranks");
    assert_string_equal(c.differences[1], "batch");
    assert_string_equal(compare_value(&c.runs[0], "device"), "cpu"); /* what it was, not what was asked for */
    assert_string_equal(compare_value(&c.runs[0], "no such thing"), "-");
    assert_true(compare_scales(&c));
    compare_free(&c);
}

static void same_again(void **state)
{
    (void)state;
    struct comparison c = {0};
    add(&c, "a", 2, 32, 1, 100);
    add(&c, "b", 2, 32, 1, 110);
    assert_true(compare_finish(&c));
    assert_int_equal(c.group_count, 1);
    assert_int_equal(c.difference_count, 0);
    assert_false(compare_scales(&c));
    assert_float_equal(c.groups[0].figure[COMPARE_SPEEDUP].mean, 1, 0);
    compare_free(&c);
}

static void as_text(void **state)
{
    (void)state;
    struct comparison c = {0};
    char *text = NULL;
    size_t size;
    add(&c, "one", 1, 32, 1, 100);
    add(&c, "two-a", 2, 32, 1, 180);
    add(&c, "two-b", 2, 32, 5, 182);
    assert_true(compare_finish(&c));
    FILE *f = open_memstream(&text, &size);
    compare_write(f, &c, 80, false);
    fclose(f);
    assert_non_null(strstr(text, "A: one (measured)\nB: two-a (measured) two-b (measured)\n"));
    assert_non_null(strstr(text, "181 +- 13")); /* s = sqrt 2, half = 12.706 */
    assert_non_null(strstr(text, "1 (base)"));
    assert_true(strstr(text, "ranks") < strstr(text, "samples/s"));
    for (const char *p = text, *end; (end = strchr(p, '\n')); p = end + 1)
        assert_true(end - p <= 80);
    free(text);
    compare_free(&c);
    compare_free(NULL);
}

/* Too narrow for all columns: the rest follows below, each with its labels. */
static void in_parts(void **state)
{
    (void)state;
    struct comparison c = {0};
    char *text = NULL;
    size_t size;
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "run%d", i);
        add(&c, name, 1 << i, 32, 1, 100 * (i + 1));
    }
    assert_true(compare_finish(&c));
    FILE *f = open_memstream(&text, &size);
    compare_write(f, &c, 60, true);
    fclose(f);
    int heads = 0;
    for (const char *p = text; (p = strstr(p, "\nranks")); p++)
        heads++;
    assert_true(heads > 1);
    assert_non_null(strstr(text, "\nF: run5 (measured)"));
    free(text);
    compare_free(&c);
}

static int tear_down(void **state)
{
    (void)state;
    char exports[80];
    snprintf(exports, sizeof exports, "%s/runs", home);
    rmdir(exports);
    rmdir(home);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_and_bases),
        cmocka_unit_test(replays_count_once),
        cmocka_unit_test(no_speed_up_between_unlike_runs),
        cmocka_unit_test(same_again),
        cmocka_unit_test(as_text),
        cmocka_unit_test(in_parts),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
