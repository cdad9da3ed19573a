/*
 * Curves through measured times, and training runs predicted from made-up ones whose answer is known.
 */
#include "cluster-sim/calibrate.h"
#include "cluster-sim/collective.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void near(double got, double expected, double within, int line)
{
    if (!(fabs(got - expected) <= within))
        fail_msg("line %d: %.12g, expected %.12g", line, got, expected);
}
#define NEAR(a, b) near((a), (b), 1e-9 * (1 + fabs((double)(b))), __LINE__)

/* Eager up to 16 KiB, then slower to begin and faster to go on. */
static double two_protocols(double bytes)
{
    return bytes <= 16384 ? 1e-6 + bytes * 1e-9 : 11e-6 + bytes * 0.4e-9;
}

static void a_straight_line_is_one_piece(void **state)
{
    (void)state;
    struct curve_point p[20];
    struct curve c;
    struct error e;
    int n = 0;
    for (int bytes = 64; bytes <= 1 << 20; bytes *= 4)
        p[n++] = (struct curve_point){bytes, 2e-6 + bytes / 1e9};
    assert_true(curve_fit(&c, p, n, &e));
    assert_int_equal(c.knots, 2);
    double alpha, beta;
    curve_piece(&c, 0, &alpha, &beta);
    NEAR(alpha, 2e-6);
    NEAR(beta, 1e-9);
    NEAR(curve_seconds(&c, 100000), 2e-6 + 1e-4);
    NEAR(curve_seconds(&c, 1 << 22), 2e-6 + (1 << 22) / 1e9);
    NEAR(c.error, 0);
}

static void pieces_join_where_the_protocol_changes(void **state)
{
    (void)state;
    struct curve_point p[40], rest[40];
    struct curve c;
    struct error e;
    int n = 0, rests = 0;
    for (int bytes = 256; bytes <= 1 << 24; bytes *= 2) {
        p[n++] = (struct curve_point){bytes, two_protocols(bytes)};
        rest[rests++] = (struct curve_point){1.5 * bytes, two_protocols(1.5 * bytes)};
    }
    assert_true(curve_fit(&c, p, n, &e));
    assert_true(c.knots >= 3 && c.knots < n / 2);
    bool at_16k = false;
    for (int i = 0; i < c.knots; i++)
        at_16k |= c.point[c.knot[i]].bytes == 16384;
    assert_true(at_16k);
    /* Every measured size within the tolerance; sizes between within a few per cent. */
    for (int i = 0; i < n; i++)
        assert_true(fabs(curve_seconds(&c, p[i].bytes) / p[i].seconds - 1) <= CURVE_TOLERANCE + 1e-12);
    assert_true(curve_error(&c, rest, rests) < CURVE_TOLERANCE);
}

/* The simulator's ring on the fitted network takes what was measured. */
static void a_curve_becomes_a_network(void **state)
{
    (void)state;
    struct curve_point p[20];
    struct curve c;
    struct error e = {0};
    int n = 0;
    for (int bytes = 1024; bytes <= 1 << 24; bytes *= 4)
        p[n++] = (struct curve_point){bytes, two_protocols(bytes)};
    assert_true(curve_fit(&c, p, n, &e));
    json_t *object = curve_to_cluster(&c, 4);
    struct platform platform;
    if (!platform_from_json(object, &platform, &e))
        fail_msg("%s", e.text);
    json_decref(object);
    for (int i = 0; i < n; i++) {
        struct sim_result r;
        struct sim_request request = {.algo = "ring", .ranks = 4, .bytes = p[i].bytes};
        assert_true(sim_collective(&platform, &request, &r, &e));
        near(r.time_s / p[i].seconds, 1, CURVE_TOLERANCE + 1e-9, __LINE__);
    }
    platform_free(&platform);
}

/* Time that grows faster than size, or falls, would have a negative figure. */
static void no_figure_is_negative(void **state)
{
    (void)state;
    const struct curve_point grows[] = {{1000, 1e-6}, {2000, 5e-6}}, falls[] = {{1000, 4e-6}, {2000, 3e-6}};
    struct curve c;
    struct error e;
    double alpha, beta;
    assert_true(curve_fit(&c, grows, 2, &e));
    assert_false(curve_piece(&c, 0, &alpha, &beta));
    NEAR(alpha, 0);
    NEAR(1e9 * beta, 2.5);
    assert_true(curve_fit(&c, falls, 2, &e));
    assert_false(curve_piece(&c, 0, &alpha, &beta));
    NEAR(1e6 * alpha, 3);
    NEAR(beta, 0);
}

static void equal_sizes_count_once_by_their_median(void **state)
{
    (void)state;
    const struct curve_point p[] = {{2000, 9e-6}, {1000, 1e-6}, {1000, 50e-6}, {1000, 2e-6},
                                    {2000, 7e-6}, {0, 1},       {500, -1}};
    struct curve c;
    struct error e = {0};
    assert_true(curve_fit(&c, p, 7, &e));
    assert_int_equal(c.points, 2);
    NEAR(c.point[0].seconds, 2e-6);
    NEAR(c.point[1].seconds, 8e-6);
    assert_true(curve_seconds(&c, 1) > 0); /* the line would be below 0 there */
    assert_false(curve_fit(&c, p + 1, 3, &e));
    assert_non_null(strstr(e.text, "two different sizes"));
}

/* --- runs, written as a supervisor would --- */

static char scratch[] = "/tmp/ringside-calibrate-XXXXXX";

static void put(const char *run, const char *file, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, run);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", scratch, run, file);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* 100 weights into 10: 1 000 parameters and 10 biases, 4 040 bytes. */
static void train_run(const char *run, const char *origin, int ranks, double samples_per_s)
{
    char text[16384];
    struct job job;
    job_defaults(&job, JOB_TRAIN);
    job.ranks = ranks;
    job.train.batch = 32;
    job.train.layers = json_loads("{\"name\": \"one\", \"input\": [100, 1, 1], \"layers\": ["
                                  "{\"kind\": \"dense\", \"units\": 10}]}",
                                  0, NULL);
    json_t *object = job_to_json(&job);
    char *json = json_dumps(object, 0);
    put(run, "job.json", json);
    free(json);
    json_decref(object);
    job_clear(&job);
    int used =
        snprintf(text, sizeof text,
                 "{\"t\":0,\"ev\":\"run\",\"origin\":\"%s\",\"job\":\"train\",\"model\":\"one\",\"ranks\":%d,"
                 "\"threads\":1,\"algo\":\"ring\",\"parameters\":1010,\"global_batch\":%d}\n",
                 origin, ranks, 32 * ranks);
    for (int i = 1; i <= 20; i++) /* the first two are slow: they do not count */
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "{\"t\":%d,\"ev\":\"step\",\"step\":%d,\"samples_per_s\":%g,\"compute_s\":0.009,"
                         "\"comm_s\":0.002,\"data_s\":0.001}\n",
                         i, i, i <= 2 ? 1.0 : samples_per_s);
    put(run, "events.jsonl", text);
}

static void allreduce_run(const char *run)
{
    struct job job;
    job_defaults(&job, JOB_ALLREDUCE);
    json_t *object = job_to_json(&job);
    char *json = json_dumps(object, 0);
    put(run, "job.json", json);
    free(json);
    json_decref(object);
    put(run, "events.jsonl",
        "{\"t\":0,\"ev\":\"run\",\"origin\":\"real\",\"job\":\"allreduce\",\"ranks\":2}\n"
        "{\"t\":1,\"ev\":\"collective\",\"op\":\"allreduce\",\"algo\":\"ring\",\"buffer\":\"engine\","
        "\"bytes\":40,"
        "\"ranks\":2,\"time_s\":0.0010}\n"
        "{\"t\":2,\"ev\":\"collective\",\"op\":\"allreduce\",\"algo\":\"auto\",\"chosen\":\"ring\","
        "\"buffer\":\"engine\","
        "\"bytes\":8040,\"ranks\":2,\"time_s\":0.0030}\n");
}

static int start(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    return system(command); /* NOLINT(cert-env33-c): a folder of this test's own */
}

static bool add(struct calibration *c, const char *run, struct error *e)
{
    char dir[512];
    snprintf(dir, sizeof dir, "%s/%s", scratch, run);
    return calibration_add(c, dir, e);
}

static void two_ranks_are_predicted_from_one(void **state)
{
    (void)state;
    static struct calibration c;
    struct calibration_prediction p;
    struct error e = {0};
    train_run("one-a", "real", 1, 3200); /* 10 ms a step */
    train_run("two", "real", 2, 64 / 0.0125);
    train_run("sim", "sim", 2, 1);
    allreduce_run("sums");
    assert_true(add(&c, "two", &e));
    assert_false(calibration_predict(&c, &c.run[0], 2, &p, &e));
    assert_non_null(strstr(e.text, "no run of one rank"));
    assert_true(add(&c, "one-a", &e));
    assert_false(calibration_predict(&c, &c.run[0], 2, &p, &e));
    assert_non_null(strstr(e.text, "no allreduce run has the algorithm ring"));
    assert_true(add(&c, "sums", &e));
    assert_int_equal(c.curves, 1); /* what auto chose is what it is */
    if (!calibration_predict(&c, &c.run[0], 2, &p, &e))
        fail_msg("%s", e.text);
    /* 4 040 bytes lie in the middle of 40 and 8 040: 2 ms, after a step of 10 ms. */
    NEAR(p.alone_s, 0.010);
    NEAR(p.comm_s, 0.002);
    NEAR(p.step_s, 0.012);
    NEAR(p.samples_per_s, 64 / 0.012);
    NEAR(p.error, 0.0125 / 0.012 - 1);
    assert_false(p.overlap);
    assert_false(add(&c, "sim", &e));
    assert_non_null(strstr(e.text, "is no real run"));
    calibration_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straight_line_is_one_piece),
        cmocka_unit_test(pieces_join_where_the_protocol_changes),
        cmocka_unit_test(a_curve_becomes_a_network),
        cmocka_unit_test(no_figure_is_negative),
        cmocka_unit_test(equal_sizes_count_once_by_their_median),
        cmocka_unit_test(two_ranks_are_predicted_from_one),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
