/* Heartbeats made by hand, and what is to be concluded from them. */
#include "engine/comm/judge.h"
#include "engine/comm/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RANKS = 4 };

static struct activity activities[RANKS];
static struct order orders[RANKS];
static struct judged ranks[RANKS];
static struct verdict v;

static int begin(void **state)
{
    (void)state;
    memset(ranks, 0, sizeof ranks);
    memset(orders, 0, sizeof orders);
    for (int i = 0; i < RANKS; i++) {
        activity_init(&activities[i]);
        orders[i].mine = &activities[i];
    }
    return 0;
}

static void beat(int rank, enum beat_kind kind, double now)
{
    struct beat b;
    beat_fill(&b, kind, rank, &activities[rank]);
    snprintf(b.host, sizeof b.host, "n%d", rank);
    b.pid = 100 + rank;
    judge_take(&ranks[rank], &b, now);
}

static void beat_all(double now)
{
    for (int i = 0; i < RANKS; i++)
        beat(i, BEAT_ALIVE, now);
}

static void allreduce(int rank, size_t n)
{
    order_begin(&orders[rank], ALLREDUCE, "ring", &element_f32, n);
}

/* All but `but` wait for it in an allreduce of step 17. */
static void wait_for(int but)
{
    for (int i = 0; i < RANKS; i++) {
        activity_enter(&activities[i], ACTIVITY_BACKWARD, 17);
        if (i != but)
            allreduce(i, 1024);
    }
}

static void test_well(void **state)
{
    (void)state;
    wait_for(2);
    beat_all(10);
    assert_false(judge(ranks, RANKS, 10, &v));
    /* A rank that computes for an hour beats, and is no fault; nor is one that was never heard of. */
    for (int t = 10; t < 3610; t++) {
        beat_all(t);
        assert_false(judge(ranks, RANKS, t + 0.9, &v));
    }
    ranks[3].known = false;
    for (int t = 3610; t < 3640; t++) {
        for (int i = 0; i < 3; i++)
            beat(i, BEAT_ALIVE, t);
        assert_false(judge(ranks, RANKS, t, &v));
    }
}

static void test_dead(void **state)
{
    (void)state;
    wait_for(2);
    beat_all(10);
    ranks[2].gone = true;
    assert_true(judge(ranks, RANKS, 10.1, &v));
    assert_string_equal(v.kind, "dead");
    assert_int_equal(v.rank, 2);
    assert_string_equal(v.waiting_for, "allreduce (ring) of 1024 f32 elements, in step 17");
    assert_non_null(strstr(v.text, "rank 2 on n2 has died"));
    assert_non_null(strstr(v.text, v.waiting_for));
    /* One that has said that it ends has not died. */
    beat(2, BEAT_ENDED, 10.2);
    assert_false(judge(ranks, RANKS, 10.3, &v));
    assert_false(judge(ranks, RANKS, 30, &v) && v.rank == 2);
}

static void test_silent(void **state)
{
    (void)state;
    wait_for(3);
    activity_bucket(&activities[0], 2), activity_bucket(&activities[1], 2),
        activity_bucket(&activities[2], 2);
    beat_all(10);
    int half = 20; /* seconds */
    for (; half * 0.5 < 10 + JUDGE_SILENT_S; half++) {
        double t = half * 0.5;
        for (int i = 0; i < 3; i++)
            beat(i, BEAT_ALIVE, t);
        assert_false(judge(ranks, RANKS, t, &v));
    }
    double late = (half + 1) * 0.5;
    for (int i = 0; i < 3; i++)
        beat(i, BEAT_ALIVE, late);
    assert_true(judge(ranks, RANKS, late, &v));
    assert_string_equal(v.kind, "silent");
    assert_int_equal(v.rank, 3);
    assert_string_equal(v.waiting_for, "allreduce (ring) of 1024 f32 elements, bucket 2, in step 17");
    /* Rank 0 itself was away, as when a laptop sleeps: nobody is named, then or soon afterwards. */
    beat_all(20);
    judge_forgive(ranks, RANKS, 5000);
    assert_false(judge(ranks, RANKS, 5000, &v));
    assert_false(judge(ranks, RANKS, 5000 + JUDGE_SILENT_S - 1, &v));
}

static void test_stopped(void **state)
{
    (void)state;
    wait_for(1);
    beat_all(10);
    ranks[1].stopped = 10.5;
    assert_false(judge(ranks, RANKS, 10.5 + JUDGE_STOPPED_S - 0.1, &v)); /* it may be continued */
    assert_true(judge(ranks, RANKS, 10.5 + JUDGE_STOPPED_S + 0.1, &v));
    assert_string_equal(v.kind, "stopped");
    assert_int_equal(v.rank, 1);
    assert_non_null(strstr(v.text, "kill -CONT 101"));
    assert_null(strstr(v.text, "so has"));
    ranks[3].stopped = 12; /* a second one, too */
    assert_true(judge(ranks, RANKS, 13.2, &v));
    assert_int_equal(v.rank, 1);
    assert_non_null(strstr(v.text, "; so has rank 3 (kill -CONT 103); the others wait for"));
    ranks[3].stopped = 0;
    ranks[1].stopped = 0;
    beat_all(13.2);
    assert_false(judge(ranks, RANKS, 13.2, &v));
}

static void test_mismatch(void **state)
{
    (void)state;
    for (int i = 0; i < RANKS; i++)
        allreduce(i, 64), activity_end(&activities[i]);
    for (int i = 0; i < RANKS; i++)
        allreduce(i, i == 2 ? 1025 : 1024);
    beat_all(10);
    assert_true(judge(ranks, RANKS, 10, &v));
    assert_string_equal(v.kind, "mismatch");
    assert_int_equal(v.rank, 2);
    assert_non_null(strstr(v.text, "collective number 2 is"));
    assert_non_null(strstr(v.text, "1024 f32 elements on rank 0"));
    assert_non_null(strstr(v.text, "1025 f32 elements on rank 2"));
    begin(NULL);
    /* Another order; one is ahead by several, which are still known. */
    for (int i = 0; i < RANKS; i++)
        order_begin(&orders[i], i == 3 ? BROADCAST : ALLREDUCE, i == 3 ? "" : "ring", &element_f32, 1024);
    activity_end(&activities[3]);
    for (int k = 0; k < ACTIVITY_KEPT - 3; k++)
        allreduce(3, 8), activity_end(&activities[3]);
    beat_all(10);
    assert_true(judge(ranks, RANKS, 10, &v));
    assert_int_equal(v.rank, 3);
    assert_non_null(strstr(v.text,
                           "collective number 1 is allreduce (ring) of 1024 f32 elements on rank 0, but "
                           "broadcast of 1024 f32 elements on rank 3"));
    begin(NULL);
    /* The same length, other types and algorithms: all are other collectives. */
    order_begin(&orders[0], ALLREDUCE, "ring", &element_f32, 8);
    order_begin(&orders[1], ALLREDUCE, "ring", &element_bf16, 8);
    order_begin(&orders[2], ALLREDUCE, "hierarchical:2", &element_f32, 8);
    order_begin(&orders[3], ALLREDUCE, "hierarchical:4", &element_f32, 8);
    beat_all(10);
    for (int a = 0; a < RANKS; a++)
        for (int b = 0; b < RANKS; b++)
            assert_int_equal(order_difference(&ranks[a].view, &ranks[b].view), a == b ? 0 : 1);
}

static void test_never_meets(void **state)
{
    (void)state;
    /* Rank 1 has finished, the others wait for it in another barrier. */
    for (int i = 0; i < RANKS; i++) {
        order_begin(&orders[i], ORDER_WAIT, "", NULL, 0), activity_end(&activities[i]);
        if (i != 1)
            order_begin(&orders[i], ORDER_WAIT, "", NULL, 0);
    }
    beat_all(10);
    beat(1, BEAT_FINISHED, 10);
    for (int half = 20; half < 30; half++) {
        assert_false(judge(ranks, RANKS, half * 0.5, &v));
        beat_all(half * 0.5);
    }
    beat_all(15.5);
    assert_true(judge(ranks, RANKS, 15.5, &v));
    assert_string_equal(v.kind, "deadlock");
    assert_int_equal(v.rank, 1);
    assert_string_equal(v.waiting_for, "barrier");
    begin(NULL);
    /* Rank 0 is so far ahead that what they differ in is forgotten. */
    for (int i = 0; i < 3 * ACTIVITY_KEPT; i++)
        allreduce(0, 1), activity_end(&activities[0]);
    for (int i = 0; i < RANKS; i++)
        allreduce(i, 2);
    for (int half = 20; half < 32; half++)
        beat_all(half * 0.5);
    assert_true(judge(ranks, RANKS, 16, &v));
    assert_string_equal(v.kind, "mismatch");
    assert_non_null(strstr(v.text, "number 1, "));
    assert_non_null(strstr(v.text, "number 25, "));
}

static void test_learner(void **state)
{
    (void)state;
    char text[200];
    activity_learner(&activities[0], 12, -1, 2);
    activity_learner(&activities[1], 14, 2, 0);
    activity_learner(&activities[2], 0, -1, -1);
    beat_all(10);
    judge_doing(&ranks[0].view, text, sizeof text);
    assert_string_equal(text, "rank 2 to send (line 12)");
    judge_doing(&ranks[1].view, text, sizeof text);
    assert_string_equal(text, "rank 2 to receive and rank 0 to send (line 14)");
    judge_doing(&ranks[2].view, text, sizeof text);
    assert_string_equal(text, "is in the learner's function");
    /* Where nobody waits, what somebody does. */
    begin(NULL);
    activity_enter(&activities[0], ACTIVITY_FORWARD, 3);
    beat_all(10);
    judge_waiting_for(ranks, RANKS, 1, text, sizeof text);
    assert_string_equal(text, "nothing yet (rank 0 computes forward, in step 3)");
}

/* A collective that is timed is named with its iteration, whether or not it is waited for yet. */
static void test_timed(void **state)
{
    (void)state;
    char text[200];
    uint64_t word = order_word(&orders[0], ALLREDUCE, "ring", &element_f32, 1024);
    activity_enter(&activities[0], ACTIVITY_MEASURE, 0);
    beat_all(10);
    judge_waiting_for(ranks, RANKS, 1, text, sizeof text);
    assert_string_equal(text, "the measurement of the links between ranks, in which rank 0 is");
    activity_measure(&activities[0], word, 0);
    beat_all(10);
    judge_waiting_for(ranks, RANKS, 1, text, sizeof text);
    assert_string_equal(text,
                        "allreduce (ring) of 1024 f32 elements, before iteration 1 (rank 0 prepares it)");
    activity_measure(&activities[0], word, 3);
    order_begin(&orders[0], ORDER_WAIT, "", NULL, 0);
    beat_all(10);
    judge_waiting_for(ranks, RANKS, 1, text, sizeof text);
    assert_string_equal(text, "barrier beside allreduce (ring) of 1024 f32 elements, iteration 3");
    activity_end(&activities[0]);
    allreduce(0, 1024);
    beat_all(10);
    judge_waiting_for(ranks, RANKS, 1, text, sizeof text);
    assert_string_equal(text, "allreduce (ring) of 1024 f32 elements, iteration 3");
}

/* Words that are being written while they are looked at are never taken for others. */
static void test_kept(void **state)
{
    (void)state;
    struct activity_view view;
    uint64_t word;
    for (uint64_t i = 1; i <= 100; i++) {
        activity_begin(&activities[0], 1000 + i);
        activity_look(&activities[0], &view);
        assert_int_equal(view.begun, i);
        int known = 0;
        for (uint64_t s = 0; s <= i + 1; s++)
            if (activity_collective(&view, s, &word)) {
                assert_int_equal(word, 1000 + s);
                known++;
            }
        assert_int_equal(known, i < ACTIVITY_KEPT ? i : ACTIVITY_KEPT - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_well, begin),     cmocka_unit_test_setup(test_dead, begin),
        cmocka_unit_test_setup(test_silent, begin),   cmocka_unit_test_setup(test_stopped, begin),
        cmocka_unit_test_setup(test_mismatch, begin), cmocka_unit_test_setup(test_never_meets, begin),
        cmocka_unit_test_setup(test_learner, begin),  cmocka_unit_test_setup(test_kept, begin),
        cmocka_unit_test_setup(test_timed, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
