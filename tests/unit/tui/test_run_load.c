/*
 * Long runs: curves in bounded memory that lose no peak, plain lines without the JSON library that change nothing,
 * and a model opened by its ends that becomes the one read from the beginning.
 */
#include "engine/base/event.h"
#include "tui/run_detail.h"
#include "tui/run_model.h"

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

static void series_keeps_peaks(void **state)
{
    (void)state;
    enum { SAMPLES = 100000, PEAK = 61803, DIP = 31415 };
    struct run_series s = {0};
    double sum = 0, lo, hi;
    for (int i = 0; i < SAMPLES; i++) {
        double y = i == PEAK ? 9 : i == DIP ? -9 : sin(i / 500.0);
        sum += y;
        assert_true(run_series_add(&s, i, y));
        assert_true(s.count <= RUN_SERIES_MAX);
    }
    assert_true(s.count > RUN_SERIES_MAX / 2 - 1 && s.stride == 32);
    assert_int_equal(s.samples, SAMPLES);
    assert_float_equal(s.x_last, SAMPLES - 1, 0);
    assert_true(run_series_range(&s, &lo, &hi));
    assert_float_equal(lo, -9, 0);
    assert_float_equal(hi, 9, 0);
    /* The buckets' means, weighed by their samples, are the mean of all. */
    double weighed = 0;
    for (int i = 0; i < s.count; i++)
        weighed += s.y[i] * (double)(i + 1 < s.count ? s.stride : s.in_last);
    assert_float_equal(weighed, sum, 1e-6);
    int at = run_series_nearest(&s, PEAK);
    assert_true(fabs(s.x[at] - PEAK) <= 16 && s.hi[at] == 9);
    assert_true(run_series_range_within(&s, PEAK - 100, PEAK + 100, &lo, &hi) && hi == 9 && lo > -2);
    assert_false(run_series_range_within(&s, 2 * SAMPLES, 3 * SAMPLES, &lo, &hi));
    run_series_free(&s);
    assert_int_equal(run_series_nearest(&s, 1), -1);
}

static void series_passes_over_holes(void **state)
{
    (void)state;
    struct run_series s = {0};
    for (int i = 0; i < 2 * RUN_SERIES_MAX + 1; i++)
        run_series_add(&s, i, i % 2 ? NAN : 3);
    assert_true(s.stride > 1 && s.count <= RUN_SERIES_MAX);
    for (int i = 0; i < s.count; i++)
        assert_float_equal(s.y[i], 3, 0);
    run_series_free(&s);
}

/* --- two models, however they were read ------------------------------------------------------------------------- */

static void same_series(const struct run_series *a, const struct run_series *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->samples, b->samples);
    size_t bytes = (size_t)a->count * sizeof *a->x;
    if (bytes)
        assert_true(!memcmp(a->x, b->x, bytes) && !memcmp(a->y, b->y, bytes) &&
                    !memcmp(a->lo, b->lo, bytes) && !memcmp(a->hi, b->hi, bytes));
}

static void same_number(double a, double b)
{
    assert_true(a == b || (isnan(a) && isnan(b)));
}

static void same_model(const struct run_model *a, const struct run_model *b)
{
    assert_int_equal(a->events, b->events);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->total_steps, b->total_steps);
    assert_int_equal(a->first_step, b->first_step);
    const struct run_series *sa[] = {&a->loss,          &a->speed,   &a->lr,      &a->eval_loss,
                                     &a->eval_accuracy, &a->loss_d,  &a->loss_g,  &a->d_real,
                                     &a->d_fake,        &a->compute, &a->exposed, &a->data};
    const struct run_series *sb[] = {&b->loss,          &b->speed,   &b->lr,      &b->eval_loss,
                                     &b->eval_accuracy, &b->loss_d,  &b->loss_g,  &b->d_real,
                                     &b->d_fake,        &b->compute, &b->exposed, &b->data};
    for (size_t i = 0; i < sizeof sa / sizeof *sa; i++)
        same_series(sa[i], sb[i]);
    const double na[] = {a->epoch,    a->last_loss,    a->samples_per_s, a->compute_s, a->exposed_comm_s,
                         a->comm_s,   a->data_s,       a->grad_norm,     a->last_lr,   a->sent_bytes,
                         a->t_last,   a->t_first_step, a->bucket,        a->wall_s,    a->final_accuracy,
                         a->bubble_s, a->straggler_s,  a->compress_error};
    const double nb[] = {b->epoch,    b->last_loss,    b->samples_per_s, b->compute_s, b->exposed_comm_s,
                         b->comm_s,   b->data_s,       b->grad_norm,     b->last_lr,   b->sent_bytes,
                         b->t_last,   b->t_first_step, b->bucket,        b->wall_s,    b->final_accuracy,
                         b->bubble_s, b->straggler_s,  b->compress_error};
    for (size_t i = 0; i < sizeof na / sizeof *na; i++)
        same_number(na[i], nb[i]);
    assert_string_equal(a->algo, b->algo);
    assert_string_equal(a->slowed, b->slowed);
    assert_int_equal(a->rank_count, b->rank_count);
    for (int i = 0; i < a->rank_count; i++) {
        const struct run_rank *ra = &a->rank_table[i], *rb = &b->rank_table[i];
        assert_int_equal(ra->rank, rb->rank);
        assert_string_equal(ra->host, rb->host);
        assert_int_equal(ra->straggler, rb->straggler);
        same_number(ra->samples_per_s, rb->samples_per_s);
        same_number(ra->rss_bytes, rb->rss_bytes);
        same_number(ra->exposed_comm_s, rb->exposed_comm_s);
    }
    assert_int_equal(a->note_count, b->note_count);
    for (int i = 0; i < a->note_count; i++)
        assert_string_equal(a->notes[i].text, b->notes[i].text);
    assert_int_equal(a->check_count, b->check_count);
    assert_int_equal(a->child_count, b->child_count);
    assert_int_equal(a->points_count, b->points_count);
    assert_int_equal(a->collective_count, b->collective_count);
    assert_int_equal(a->ops_seen, b->ops_seen);
    assert_int_equal(a->sample_count, b->sample_count);
    assert_int_equal(a->done, b->done);
}

/* Line by line into two models: as the reader does, and through the JSON library alone. */
static void feed_both(struct run_model *fast, struct run_model *slow, const char *line, size_t length)
{
    run_model_apply_line(fast, line, length);
    json_t *event = event_parse(line, length);
    if (event)
        run_model_apply(slow, event);
    json_decref(event);
}

static void fast_and_slow_are_one(void **state)
{
    (void)state;
    static const char *const RUNS[] = {"train-done",  "train-four",  "allreduce", "check",
                                       "ranks-star",  "script",      "model",     "samples-text",
                                       "samples-gan", "train-failed"};
    for (size_t i = 0; i < sizeof RUNS / sizeof *RUNS; i++) {
        struct run_model fast, slow;
        char path[256], *line = NULL;
        size_t room = 0;
        run_model_init(&fast);
        run_model_init(&slow);
        snprintf(path, sizeof path, "tests/fixtures/runs/%s/events.jsonl", RUNS[i]);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        for (ssize_t n; (n = getline(&line, &room, f)) > 0;)
            feed_both(&fast, &slow, line, (size_t)n);
        free(line);
        fclose(f);
        same_model(&fast, &slow);
        run_model_free(&fast);
        run_model_free(&slow);
    }
}

static void odd_lines_are_one(void **state)
{
    (void)state;
    static const char *const LINES[] = {
        "{\"ev\":\"step\"}",
        "{\"ev\":\"step\",\"step\":1.5,\"loss\":\"low\",\"lr\":true,\"t\":-1}",
        "{\"t\":2,\"ev\":\"step\",\"step\":7,\"compute_s\":1,\"comm_s\":2,\"algo\":\"a \\\"b\\\"\"}",
        "{\"t\":1,\"ev\":\"step\",\"step\":8,\"loss\":null,\"data_s\":-0.0,\"unknown\":[1,2]}",
        "{\"t\":3,\"ev\":\"step\",\"step\":9,\"loss\":2.302585092994045684,\"run\":\"child-1\"}",
        "{\"t\":4,\"ev\":\"rank\",\"rank\":1,\"host\":\"n\xC3\xA4\",\"slow\":true}",
        "{\"t\":4,\"ev\":\"rank\",\"rank\":0,\"host\":\"n1\",\"slow\":\"true\",\"samples_per_s\":10}",
        "{\"t\":4,\"ev\":\"rank\",\"rank\":-1}",
        "{\"t\":4,\"ev\":\"rank\"}",
        "{\"t\":5,\"ev\":\"step\",\"step\":10,\"slowed\":\"1 Gbit/s\",\"loss_g\":1,\"d_real\":0.5}",
        "{\"t\":6,\"ev\":\"step\",\"step\":11,\"slowed\":\"slowed on purpose: 2 Gbit/s\",\"bubble_s\":0.5}",
        "{\"t\":7,\"ev\":\"stepper\",\"step\":99}",
        "{\"t\":7,\"ev\":\"step\",\"step\":12,\"step\":13}",
        "{\"t\":7,\"ev\":\"step\",\"step\":14",
        "{\"t\":7,\"ev\":\"note\",\"text\":\"plain\"}",
        "{\"t\":8,\"ev\":\"step\",\"step\":123456789012345,\"loss\":1e-22,\"bucket\":65536,\"buckets\":3}",
    };
    struct run_model fast, slow;
    run_model_init(&fast);
    run_model_init(&slow);
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
        feed_both(&fast, &slow, LINES[i], strlen(LINES[i]));
    same_model(&fast, &slow);
    assert_int_equal(fast.child_count, 1);
    assert_int_equal(fast.rank_count, 2);
    run_model_free(&fast);
    run_model_free(&slow);
}

static void write_long_run(const char *dir, int steps)
{
    char path[PATH_MAX];
    mkdir(dir, 0777);
    assert_true(rundir_write(dir, "job.json", "{}\n", NULL));
    snprintf(path, sizeof path, "%s/events.jsonl", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "{\"t\":0,\"ev\":\"job\",\"state\":\"running\"}\n{\"t\":0.1,\"ev\":\"run\",\"origin\":\"real\","
            "\"ranks\":2,\"hosts\":[\"n1\"],\"steps\":%d}\n",
            steps);
    for (int i = 1; i <= steps; i++) {
        double t = 0.01 * i, loss = i == steps / 3 ? 50 : 2.0 / (1 + i / 1000.0) + 0.1 * sin(i * 1.7);
        fprintf(
            f,
            "{\"t\":%.12g,\"ev\":\"step\",\"step\":%d,\"epoch\":%.12g,\"loss\":%.12g,\"samples_per_s\":%.12g,"
            "\"compute_s\":0.0161,\"comm_s\":0.0031,\"exposed_comm_s\":0.0027,\"data_s\":0.0008,\"lr\":0.003}"
            "\n",
            t, i, i / 900.0, loss, 4000 + 100 * cos(i * 0.3));
        if (i % 50 == 0)
            fprintf(f,
                    "{\"t\":%.12g,\"ev\":\"rank\",\"rank\":%d,\"host\":\"n1\",\"samples_per_s\":2000,"
                    "\"slow\":%s}\n",
                    t, i / 50 % 2, i % 200 ? "false" : "true");
        if (i % 900 == 0)
            fprintf(f, "{\"t\":%.12g,\"ev\":\"eval\",\"step\":%d,\"loss\":0.5,\"accuracy\":%.4f}\n", t, i,
                    1 - 900.0 / (900 + i));
    }
    fprintf(f, "{\"t\":%.12g,\"ev\":\"done\",\"ok\":true,\"wall_s\":%.12g,\"accuracy\":0.9,\"loss\":0.1}\n",
            0.01 * steps, 0.01 * steps);
    fclose(f);
}

/* Looked at closely, the steps that buckets have merged come back one by one. */
static void steps_come_back(const struct run_model *whole)
{
    struct run_detail d = {0};
    bool changed = false;
    double from = 20000, to = 20200;
    assert_true(whole->loss.stride > 1);
    assert_ptr_equal(run_detail_best(&d, whole, from, to), whole);
    for (int i = 0; i < 10000 && !changed; i++)
        run_detail_tick(&d, whole, from, to, 600, &changed);
    assert_true(changed);
    assert_false(run_detail_tick(&d, whole, from, to, 600, &changed));
    const struct run_model *best = run_detail_best(&d, whole, from, to);
    assert_ptr_not_equal(best, whole);
    assert_int_equal(best->loss.stride, 1);
    int at = run_series_nearest(&best->loss, from);
    for (int i = 0; i <= 200; i++) {
        int step = 20000 + i;
        assert_float_equal(best->loss.x[at + i], step, 0);
        assert_float_equal(best->loss.y[at + i], 2.0 / (1 + step / 1000.0) + 0.1 * sin(step * 1.7), 1e-9);
    }
    /* Beyond what was read: the whole run again, until that part has been read, too. */
    assert_ptr_equal(run_detail_best(&d, whole, 30000, 30200), whole);
    /* All steps: buckets do. */
    assert_false(run_detail_tick(&d, whole, 0, 40000, 600, &changed));
    run_detail_free(&d);
    run_detail_free(NULL);
}

static void ends_first_then_all(void **state)
{
    (void)state;
    enum { STEPS = 40000 };
    char dir[] = "/tmp/ringside-test-XXXXXX", run[64];
    assert_non_null(mkdtemp(dir));
    setenv("RINGSIDE_HOME", dir, 1);
    snprintf(run, sizeof run, "%s/long", dir);
    write_long_run(run, STEPS);
    struct run_model quick, whole;
    struct error e = {0};
    double share, lo, hi;
    assert_true(run_model_open_quickly(&quick, run, &e));
    /* Before anything was read from the beginning: the last events, and a curve over the whole run. */
    assert_true(run_model_reading(&quick, &share) && share < 0.5);
    run_model_poll(&quick, 8000);
    if (run_model_reading(&quick, &share)) { /* not read within one slice, of which a test must not be sure */
        assert_int_equal(quick.step, STEPS);
        assert_true(quick.done);
        assert_int_equal(quick.total_steps, STEPS);
        assert_true(quick.loss.count > 500 && quick.loss.x[0] == 1);
    }
    for (int i = 0; i < 100000 && run_model_reading(&quick, &share); i++)
        run_model_poll(&quick, 8000);
    assert_false(run_model_reading(&quick, &share));
    assert_float_equal(share, 1, 0);
    assert_true(run_model_open(&whole, run, &e));
    while (run_model_poll(&whole, 8000))
        ;
    same_model(&quick, &whole);
    assert_int_equal(whole.loss.samples, STEPS);
    assert_true(run_series_range(&whole.loss, &lo, &hi) && hi == 50);
    /* Each entry of the index is where its step's line begins. */
    assert_true(whole.index.count > RUN_INDEX_MAX / 2 - 1 && whole.index.count <= RUN_INDEX_MAX);
    char path[PATH_MAX], line[64];
    snprintf(path, sizeof path, "%s/events.jsonl", run);
    FILE *f = fopen(path, "r");
    for (int i = 0; i < whole.index.count; i += 97) {
        double step;
        fseek(f, whole.index.offset[i], SEEK_SET);
        assert_non_null(fgets(line, sizeof line, f));
        const char *at = strstr(line, "\"step\":");
        assert_non_null(at);
        step = atof(at + 7);
        assert_float_equal(step, whole.index.step[i], 0);
    }
    fclose(f);
    steps_come_back(&whole);
    run_model_free(&quick);
    run_model_free(&whole);
    assert_true(rundir_delete(run, &e));
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(series_keeps_peaks),    cmocka_unit_test(series_passes_over_holes),
        cmocka_unit_test(fast_and_slow_are_one), cmocka_unit_test(odd_lines_are_one),
        cmocka_unit_test(ends_first_then_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
