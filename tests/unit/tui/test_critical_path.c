/*
 * The critical path of traces made by hand, against chains worked out on paper. Times are milliseconds.
 */
#include "tui/critical_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MS = 1000000, MOST = 64 };

static struct trace_event events[MOST];
static struct trace_row rows[8];
static struct trace_data trace;

static void begin(int ranks)
{
    memset(events, 0, sizeof events);
    memset(rows, 0, sizeof rows);
    trace =
        (struct trace_data){.ranks = ranks, .first_step = 1, .last_step = 1, .rows = rows, .events = events};
}

static void row(int rank, int lane)
{
    rows[trace.row_count++] = (struct trace_row){.rank = rank, .tid = lane, .first = trace.count};
}

static void span(enum trace_kind kind, int depth, int bucket, double from, double to)
{
    events[trace.count++] = (struct trace_event){.t0 = llround(from * MS),
                                                 .t1 = llround(to * MS),
                                                 .self = llround((to - from) * MS),
                                                 .kind = (uint8_t)kind,
                                                 .depth = (int16_t)depth,
                                                 .bucket = bucket,
                                                 .step = 1,
                                                 .name = -1,
                                                 .algo = -1,
                                                 .bytes = -1,
                                                 .row = (int16_t)(trace.row_count - 1)};
    rows[trace.row_count - 1].count++;
}

/* Pieces as "rank/lane kind from-to", those that are expected. */
struct expected {
    int rank, lane, kind; /* kind -1: nothing recorded */
    double from, to;
};

static void expect(const struct expected *e, int count)
{
    struct critical_path p;
    assert_true(critical_path_find(&trace, 1, &p, NULL));
    double sum = 0;
    for (int i = 0; i < p.count; i++) {
        const struct path_piece *x = &p.pieces[i];
        int kind = x->event < 0 ? -1 : events[x->event].kind;
        if (i >= count || rows[x->row].rank != e[i].rank || rows[x->row].tid != e[i].lane ||
            kind != e[i].kind || x->t0 != llround(e[i].from * MS) || x->t1 != llround(e[i].to * MS))
            fail_msg("piece %d of %d: rank %d lane %d kind %d from %g to %g", i, p.count, rows[x->row].rank,
                     rows[x->row].tid, kind, 1e-6 * (double)x->t0, 1e-6 * (double)x->t1);
        assert_true(i == 0 || x->t0 == p.pieces[i - 1].t1);
        sum += 1e-6 * (double)(x->t1 - x->t0);
    }
    assert_int_equal(p.count, count);
    assert_true(fabs(sum - 1e-6 * (double)(p.end - p.begin)) < 1e-9);
    double classes = 0;
    for (int k = 0; k < TIME_CLASSES; k++)
        classes += p.seconds[k];
    assert_true(fabs(1e3 * classes - sum) < 1e-9);
    critical_path_free(&p);
}

/* One rank: all that it does, one after the other, and the gap. */
static void one_rank_is_its_own_path(void **state)
{
    (void)state;
    begin(1);
    row(0, TRACE_LANE_MAIN);
    span(TRACE_STEP, 0, -1, 0, 10);
    span(TRACE_DATA, 1, -1, 0, 2);
    span(TRACE_FORWARD, 1, -1, 2, 5);
    span(TRACE_LAYER_FORWARD, 2, -1, 2.5, 5);
    span(TRACE_OPTIMIZER, 1, -1, 6, 10);
    const struct expected e[] = {{0, 0, TRACE_DATA, 0, 2},
                                 {0, 0, TRACE_FORWARD, 2, 2.5},
                                 {0, 0, TRACE_LAYER_FORWARD, 2.5, 5},
                                 {0, 0, TRACE_STEP, 5, 6},
                                 {0, 0, TRACE_OPTIMIZER, 6, 10}};
    expect(e, 5);
}

/* Rank 1 computes until 6 while rank 0 waits in the allreduce from 4: the path is rank 1's, then the sum, then rank 0's end. */
static void a_collective_waits_for_its_last_rank(void **state)
{
    (void)state;
    begin(2);
    row(0, TRACE_LANE_MAIN);
    span(TRACE_STEP, 0, -1, 0, 10);
    span(TRACE_FORWARD, 1, -1, 0, 4);
    span(TRACE_ALLREDUCE, 1, 0, 4, 8);
    span(TRACE_OPTIMIZER, 1, -1, 8, 10);
    row(1, TRACE_LANE_MAIN);
    span(TRACE_STEP, 0, -1, 0.5, 9);
    span(TRACE_DATA, 1, -1, 0.5, 2);
    span(TRACE_FORWARD, 1, -1, 2, 6);
    span(TRACE_ALLREDUCE, 1, 0, 6, 8);
    span(TRACE_OPTIMIZER, 1, -1, 8, 9);
    const struct expected e[] = {{1, 0, -1, 0, 0.5},
                                 {1, 0, TRACE_DATA, 0.5, 2},
                                 {1, 0, TRACE_FORWARD, 2, 6},
                                 {0, 0, TRACE_ALLREDUCE, 6, 8},
                                 {0, 0, TRACE_OPTIMIZER, 8, 10}};
    expect(e, 5);
}

/*
 * Communication threads. Bucket 0 is ready at 4 on both ranks and takes until 7, since rank 1's thread comes at 4.5; bucket 1 is
 * ready at 6 and begins when bucket 0 ends: the wait from 6 to 9 is for it. So: rank 1's backward until 4.5, bucket 0, bucket 1.
 */
static void buckets_queue_on_their_thread(void **state)
{
    (void)state;
    begin(2);
    for (int r = 0; r < 2; r++) {
        row(r, TRACE_LANE_MAIN);
        span(TRACE_STEP, 0, -1, 0, 10);
        span(TRACE_BACKWARD, 1, -1, 0, 6);
        span(TRACE_WAIT, 1, 1, 6, 9);
        span(TRACE_OPTIMIZER, 1, -1, 9, r ? 9.5 : 10);
        row(r, TRACE_LANE_COMM);
        span(TRACE_ALLREDUCE, 0, 0, r ? 4.5 : 4, 7);
        span(TRACE_ALLREDUCE, 0, 1, 7, 9);
    }
    const struct expected e[] = {{1, 0, TRACE_BACKWARD, 0, 4.5},
                                 {0, 1, TRACE_ALLREDUCE, 4.5, 7},
                                 {0, 1, TRACE_ALLREDUCE, 7, 9},
                                 {0, 0, TRACE_OPTIMIZER, 9, 10}};
    expect(e, 4);
    struct exposed_part parts[EXPOSED_PARTS];
    double sum;
    assert_int_equal(exposed_of_step(&trace, 1, parts, EXPOSED_PARTS, &sum), 1);
    assert_int_equal(parts[0].bucket, 1);
    assert_true(fabs(sum - 0.003) < 1e-12 && fabs(parts[0].seconds - 0.003) < 1e-12);
}

/* Bucket 1 comes long after bucket 0 has ended: what held it up is backward, not the thread. Part of the wait is for waking up. */
static void a_late_bucket_waits_for_backward(void **state)
{
    (void)state;
    begin(1);
    row(0, TRACE_LANE_MAIN);
    span(TRACE_STEP, 0, -1, 0, 10);
    span(TRACE_BACKWARD, 1, -1, 0, 6);
    span(TRACE_WAIT, 1, 1, 6, 9);
    span(TRACE_OPTIMIZER, 1, -1, 9, 10);
    row(0, TRACE_LANE_COMM);
    span(TRACE_ALLREDUCE, 0, 0, 2, 3);
    span(TRACE_ALLREDUCE, 0, 1, 5.5, 8.5);
    const struct expected e[] = {{0, 0, TRACE_BACKWARD, 0, 5.5},
                                 {0, 1, TRACE_ALLREDUCE, 5.5, 8.5},
                                 {0, 0, TRACE_WAIT, 8.5, 9},
                                 {0, 0, TRACE_OPTIMIZER, 9, 10}};
    expect(e, 4);
    /* A wait that says no bucket is for what is summed meanwhile; the rest is nobody's. */
    events[2].bucket = -1;
    struct exposed_part parts[EXPOSED_PARTS];
    double sum;
    assert_int_equal(exposed_of_step(&trace, 1, parts, EXPOSED_PARTS, &sum), 2);
    assert_int_equal(parts[0].bucket, 1);
    assert_int_equal(parts[1].bucket, -1);
    assert_true(fabs(sum - 0.003) < 1e-12 && fabs(parts[0].seconds - 0.0025) < 1e-12);
}

/* No communication thread: a wait is for the rank that comes to it last. */
static void a_barrier_waits_for_its_last_rank(void **state)
{
    (void)state;
    begin(2);
    row(0, TRACE_LANE_MAIN);
    span(TRACE_STEP, 0, -1, 0, 9);
    span(TRACE_COMPUTE, 1, -1, 0, 3);
    span(TRACE_WAIT, 1, -1, 3, 8);
    span(TRACE_COMPUTE, 1, -1, 8, 9);
    row(1, TRACE_LANE_MAIN);
    span(TRACE_STEP, 0, -1, 0, 8.5);
    span(TRACE_COMPUTE, 1, -1, 0, 7);
    span(TRACE_WAIT, 1, -1, 7, 8);
    const struct expected e[] = {
        {1, 0, TRACE_COMPUTE, 0, 7}, {0, 0, TRACE_WAIT, 7, 8}, {0, 0, TRACE_COMPUTE, 8, 9}};
    expect(e, 3);
}

/* Clocks that disagree, spans that overlap, an empty step: always an end. */
static void nonsense_ends(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        begin(3);
        for (int r = 0; r < 3; r++)
            for (int lane = 0; lane < 2; lane++) {
                row(r, lane);
                if (lane == 0)
                    span(TRACE_STEP, 0, -1, 0, 20);
                double t = 0;
                for (int i = 0; i < 6; i++) {
                    t += rand_r(&seed) % 4 * 0.3;
                    double to = t + rand_r(&seed) % 5;
                    span((enum trace_kind)(rand_r(&seed) % TRACE_HOP), 1, rand_r(&seed) % 3 - 1, t, to);
                }
            }
        struct critical_path p;
        assert_true(critical_path_find(&trace, 1, &p, NULL));
        for (int i = 1; i < p.count; i++)
            assert_true(p.pieces[i].t0 == p.pieces[i - 1].t1);
        assert_true(p.count > 0 && p.pieces[0].t0 == p.begin && p.pieces[p.count - 1].t1 == p.end);
        critical_path_free(&p);
    }
    struct critical_path p;
    struct error e = {0};
    assert_false(critical_path_find(&trace, 7, &p, &e));
    assert_non_null(strstr(e.text, "no step 7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_is_its_own_path),
        cmocka_unit_test(a_collective_waits_for_its_last_rank),
        cmocka_unit_test(buckets_queue_on_their_thread),
        cmocka_unit_test(a_late_bucket_waits_for_backward),
        cmocka_unit_test(a_barrier_waits_for_its_last_rank),
        cmocka_unit_test(nonsense_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
