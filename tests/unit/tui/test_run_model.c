/*
 * A run's events folded: figures by hand, recordings of tests/fixtures/runs (made for tests), broken events.
 */
#include "engine/base/event.h"
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

static void feed(struct run_model *m, const char *line)
{
    json_t *event = event_parse(line, strlen(line));
    assert_non_null(event);
    run_model_apply(m, event);
    json_decref(event);
}

static void hidden_communication(void **state)
{
    (void)state;
    struct run_model m;
    double share[3];
    run_model_init(&m);
    feed(&m, "{\"t\":1,\"ev\":\"step\",\"step\":1,\"loss\":2,\"compute_s\":0.7,\"comm_s\":0.8,\"exposed_comm_"
             "s\":0.2,"
             "\"data_s\":0.1,\"bucket\":65536,\"buckets\":4,\"algo\":\"shm\"}");
    assert_float_equal(run_model_hidden(&m), 0.75, 1e-12);
    assert_true(run_model_shares(&m, share));
    assert_float_equal(share[1], 0.2, 1e-12); /* of compute, exposed communication and data */
    assert_string_equal(m.algo, "shm");
    feed(&m, "{\"t\":1,\"ev\":\"rank\",\"rank\":0,\"comm_s\":0.8,\"exposed_comm_s\":0.2}");
    feed(&m, "{\"t\":1,\"ev\":\"rank\",\"rank\":1,\"comm_s\":0.8}");
    assert_float_equal(run_rank_exposed(&m.rank_table[0]), 0.2, 1e-12);
    assert_float_equal(run_rank_exposed(&m.rank_table[1]), 0.8, 1e-12);
    feed(&m, "{\"t\":2,\"ev\":\"step\",\"step\":2,\"comm_s\":0.8,\"exposed_comm_s\":0.8}");
    assert_true(isnan(run_model_hidden(&m))); /* one allreduce again */
    run_model_free(&m);
}

static void steps_become_series(void **state)
{
    (void)state;
    struct run_model m;
    run_model_init(&m);
    feed(&m, "{\"t\":0.5,\"ev\":\"run\",\"origin\":\"real\",\"ranks\":2,\"hosts\":[\"a\",\"b\"],"
             "\"parameters\":93322}");
    feed(&m, "{\"t\":1,\"ev\":\"step\",\"step\":1,\"epoch\":1,\"loss\":2.3,\"samples_per_s\":100,\"compute_"
             "s\":0.6,"
             "\"exposed_comm_s\":0.3,\"data_s\":0.1}");
    feed(&m, "{\"t\":2,\"ev\":\"step\",\"step\":2,\"loss\":2.1,\"compute_s\":0.6,\"exposed_comm_s\":0.3,"
             "\"data_s\":0.1}");
    feed(&m, "{\"t\":2,\"ev\":\"eval\",\"step\":2,\"accuracy\":0.5,\"loss\":1.5}");
    assert_true(isnan(run_model_hidden(&m)));
    assert_int_equal(m.loss.count, 2);
    assert_float_equal(m.loss.x[1], 2, 0);
    assert_float_equal(m.loss.y[1], 2.1, 0);
    assert_int_equal(m.speed.count, 1); /* the second step had no such field */
    assert_int_equal(m.step, 2);
    assert_int_equal(m.ranks, 2);
    assert_string_equal(m.hosts, "a, b");
    assert_float_equal(m.parameters, 93322, 0);
    assert_float_equal(m.eval_accuracy.y[0], 0.5, 0);
    double share[3];
    assert_true(run_model_shares(&m, share));
    assert_float_equal(share[0], 0.6, 1e-12);
    assert_float_equal(share[1], 0.3, 1e-12);
    assert_float_equal(share[2], 0.1, 1e-12);
    assert_false(run_model_ended(&m));
    feed(&m, "{\"t\":3,\"ev\":\"done\",\"ok\":true,\"wall_s\":3.5,\"accuracy\":0.9}");
    assert_true(run_model_ended(&m) && m.ok);
    assert_float_equal(run_model_elapsed(&m, 1e9), 3.5, 0);
    run_model_free(&m);
}

static void the_slow_rank_is_marked(void **state)
{
    (void)state;
    struct run_model m;
    run_model_init(&m);
    for (int i = 0; i < 40; i++)
        for (int rank = 3; rank >= 0; rank--) {
            char line[160];
            snprintf(
                line, sizeof line,
                "{\"t\":%d,\"ev\":\"rank\",\"rank\":%d,\"host\":\"n%d\",\"compute_s\":%g,\"comm_s\":0.01%s}",
                i, rank, rank, i < 20 && rank == 2 ? 0.2 : 0.1, i < 20 && rank == 2 ? ",\"slow\":true" : "");
            feed(&m, line);
            if (i == 19 && rank == 0) {
                assert_int_equal(m.rank_count, 4);
                for (int k = 0; k < 4; k++) {
                    assert_int_equal(m.rank_table[k].rank, k); /* in order, though they came from behind */
                    assert_int_equal(m.rank_table[k].straggler, k == 2);
                }
            }
        }
    for (int k = 0; k < 4; k++)
        assert_false(m.rank_table[k].straggler); /* it has caught up */
    run_model_free(&m);
}

/* By a rule of its own the view would mark others than the run speaks of. A report is a mean already. */
static void reports_of_ranks_are_taken_as_they_are(void **state)
{
    (void)state;
    struct run_model m;
    run_model_init(&m);
    feed(&m, "{\"ev\":\"rank\",\"rank\":0,\"compute_s\":0.1,\"samples_per_s\":100}");
    feed(&m, "{\"ev\":\"rank\",\"rank\":1,\"compute_s\":0.19,\"samples_per_s\":100}");
    feed(&m, "{\"ev\":\"rank\",\"rank\":0,\"compute_s\":0.2,\"samples_per_s\":500}");
    assert_false(m.rank_table[0].straggler || m.rank_table[1].straggler);
    assert_float_equal(m.rank_table[0].compute_s, 0.2, 0);
    assert_float_equal(m.rank_table[0].samples_per_s, 500, 0);
    assert_float_equal(m.rank_table[1].compute_s, 0.19, 0);
    run_model_free(&m);
}

static void operations_are_kept_up_to_a_limit(void **state)
{
    (void)state;
    struct run_model m;
    run_model_init(&m);
    for (int op = 0; op < RUN_MAX_OPS + 5; op++)
        for (int from = 0; from < 3; from++) {
            char line[200];
            snprintf(line, sizeof line,
                     "{\"t\":1,\"ev\":\"hop\",\"op\":%d,\"algo\":\"ring\",\"phase\":\"allgather\",\"hop\":0,"
                     "\"from\":%d,\"to\":%d,\"chunk\":1,\"bytes\":64,\"t0\":0.5,\"t1\":0.6}",
                     op, from, (from + 1) % 3);
            feed(&m, line);
        }
    assert_int_equal(m.op_count, RUN_MAX_OPS);
    assert_int_equal(m.ops_seen, RUN_MAX_OPS + 5);
    assert_int_equal(m.ops[RUN_MAX_OPS - 1].op, RUN_MAX_OPS + 4);
    assert_int_equal(m.ops[0].count, 3);
    assert_int_equal(m.ops[0].ranks, 3);
    assert_null(run_model_op(&m, 0)); /* too old */
    assert_non_null(run_model_op(&m, RUN_MAX_OPS));
    run_model_free(&m);
}

static void trouble_is_told_in_words(void **state)
{
    (void)state;
    struct run_model m;
    run_model_init(&m);
    feed(&m, "{\"t\":1,\"ev\":\"fault\",\"rank\":1,\"host\":\"n3\",\"kind\":\"dead\"}");
    assert_string_equal(m.notes[0].text, "Rank 1 on n3 has ended unexpectedly.");
    feed(&m, "{\"t\":1,\"ev\":\"fault\",\"rank\":2,\"kind\":\"deadlock\",\"waiting_for\":0}");
    assert_string_equal(m.notes[1].text, "Rank 2 waits for ever; waiting for rank 0.");
    feed(&m, "{\"t\":1,\"ev\":\"note\",\"level\":\"warn\",\"text\":\"slow disk\"}");
    assert_int_equal(m.notes[2].level, NOTE_WARNING);
    for (int i = 0; i < 2 * RUN_MAX_NOTES; i++) {
        char line[80];
        snprintf(line, sizeof line, "{\"t\":1,\"ev\":\"note\",\"level\":\"info\",\"text\":\"n%d\"}", i);
        feed(&m, line);
    }
    assert_int_equal(m.note_count, RUN_MAX_NOTES);
    assert_string_equal(m.notes[RUN_MAX_NOTES - 1].text, "n399");
    run_model_free(&m);
}

static void nonsense_does_no_harm(void **state)
{
    (void)state;
    static const char *const LINES[] = {
        "{}",
        "{\"ev\":17}",
        "{\"ev\":\"unknown\",\"t\":\"x\"}",
        "{\"ev\":\"step\",\"step\":\"three\",\"loss\":[1]}",
        "{\"ev\":\"rank\",\"rank\":-1}",
        "{\"ev\":\"rank\",\"rank\":99999999}",
        "{\"ev\":\"hop\",\"from\":-3,\"to\":1}",
        "{\"ev\":\"hop\",\"from\":0,\"to\":99999999}",
        "{\"ev\":\"hop\",\"from\":0,\"to\":1,\"chunk\":-7,\"bytes\":-1}",
        "{\"ev\":\"sample\",\"data\":\"zz\"}",
        "{\"ev\":\"sample\",\"data\":[1,2],\"rows\":2,\"cols\":99}",
        "{\"ev\":\"collective\"}",
        "{\"ev\":\"point\"}",
        "{\"ev\":\"check\"}",
        "{\"ev\":\"case\"}",
        "{\"ev\":\"fault\",\"waiting_for\":{}}",
        "{\"ev\":\"note\"}",
        "{\"ev\":\"run\",\"hosts\":[1,null],\"ranks\":\"many\"}",
        "{\"ev\":\"done\"}",
    };
    struct run_model m;
    run_model_init(&m);
    for (int k = 0; k < 30; k++)
        for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++)
            feed(&m, LINES[i]);
    double share[3];
    assert_false(run_model_shares(&m, share));
    assert_int_equal(m.rank_count, 0);
    char text[512];
    run_model_state_text(&m, text, sizeof text);
    assert_true(strlen(text) > 0);
    run_model_free(&m);
    run_model_free(NULL);
}

/* The whole of a recorded run: what the events say at the end. */
static void recordings_are_read(void **state)
{
    (void)state;
    struct run_model m;
    struct error e = {0};
    assert_true(run_model_open(&m, "tests/fixtures/runs/train-done", &e));
    while (run_model_poll(&m, 100)) {
    }
    assert_true(m.have_job);
    assert_int_equal(m.job.kind, JOB_TRAIN);
    assert_int_equal(m.status.state, RUN_DONE);
    assert_true(m.done && m.ok);
    assert_int_equal(m.total_steps, 60000 / 128 * 2);
    assert_int_equal(m.eval_accuracy.count, 2);
    assert_float_equal(m.eval_accuracy.y[1], 0.9891, 0);
    assert_int_equal(m.rank_count, 2);
    assert_int_equal(m.sample_count, 8);
    assert_int_equal(m.samples[0].rows, 28);
    assert_string_equal(m.samples[7].predicted, "7");
    assert_int_equal(m.op_count, 1);
    assert_int_equal(m.ops[0].count, 4); /* 2 ranks: 2(N-1) messages each */
    assert_float_equal(run_model_progress(&m, 0), 1, 0);
    assert_false(m.attached); /* it had ended: nobody attached to it */
    run_model_free(&m);
    assert_true(run_model_open(&m, "tests/fixtures/runs/train-pending", &e));
    run_model_poll(&m, 1000);
    assert_int_equal(m.queue_position, 3);
    run_model_free(&m);
    assert_true(run_model_open(&m, "tests/fixtures/runs/train-lost", &e));
    run_model_poll(&m, 100000);
    assert_int_equal(m.status.state, RUN_LOST);
    char text[512];
    run_model_state_text(&m, text, sizeof text);
    assert_non_null(strstr(text, "Lost"));
    assert_non_null(strstr(text, "node1"));
    run_model_free(&m);
}

/* What cannot be read is said: lines that are no events, a record without its end, a status that is none. */
static void gaps_are_told(void **state)
{
    (void)state;
    char dir[] = "/tmp/ringside-gaps-XXXXXX", text[512];
    struct run_model m;
    assert_non_null(mkdtemp(dir));
    assert_true(rundir_write(dir, "job.json", "{\"kind\":\"train\"}", NULL));
    assert_true(rundir_write(dir, "status.json", "{\"state\":\"done\",\"pid\":1}", NULL));
    assert_true(rundir_write(dir, "events.jsonl",
                             "{\"t\":1,\"ev\":\"step\",\"step\":1,\"loss\":NaN}\nnoise\n"
                             "{\"t\":1,\"ev\":\"step\",\"step\":2,\"loss\":1}\n{\"t\":2,\"ev",
                             NULL));
    assert_true(run_model_open(&m, dir, NULL));
    while (run_model_poll(&m, 1000)) {
    }
    assert_true(run_model_gaps_text(&m, text, sizeof text));
    assert_non_null(strstr(text, "ends early"));
    assert_non_null(strstr(text, "cannot be read: 2."));
    run_model_free(&m);
    assert_true(rundir_write(dir, "status.json", "[[[[", NULL));
    assert_true(run_model_open(&m, dir, NULL));
    while (run_model_poll(&m, 1000)) {
    }
    run_model_state_text(&m, text, sizeof text);
    assert_non_null(strstr(text, "Lost: status.json, line 1: this is not JSON"));
    run_model_free(&m);
    assert_true(rundir_delete(dir, NULL));
    assert_true(run_model_open(&m, "tests/fixtures/runs/train-done", NULL));
    while (run_model_poll(&m, 1000)) {
    }
    assert_false(run_model_gaps_text(&m, text, sizeof text));
    run_model_free(&m);
}

static void a_missing_run_is_refused(void **state)
{
    (void)state;
    struct run_model m;
    struct error e = {0};
    assert_false(run_model_open(&m, "no-such-run-anywhere", &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    run_model_free(&m);
    assert_false(run_model_open(&m, NULL, &e));
    run_model_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_become_series),
        cmocka_unit_test(hidden_communication),
        cmocka_unit_test(the_slow_rank_is_marked),
        cmocka_unit_test(reports_of_ranks_are_taken_as_they_are),
        cmocka_unit_test(operations_are_kept_up_to_a_limit),
        cmocka_unit_test(trouble_is_told_in_words),
        cmocka_unit_test(nonsense_does_no_harm),
        cmocka_unit_test(recordings_are_read),
        cmocka_unit_test(gaps_are_told),
        cmocka_unit_test(a_missing_run_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
