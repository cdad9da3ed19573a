/*
 * The scheduler: for every policy a handful of jobs whose starts are worked out by hand, what a script of its own finds
 * for random ones (tests/golden/make_schedules.py), and what must hold for any list of jobs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster-sim/scheduler.h"
#include "engine/base/random.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct sched_result run(const struct sched_config *c, const struct sched_job *jobs, int count)
{
    struct sched_result r;
    struct error e = {0};
    if (!sched_run(c, jobs, count, NULL, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

/* Holds the starts to those given, and frees the result. */
static void hold_starts(const struct sched_config *c, const struct sched_job *jobs, int count,
                        const double *starts)
{
    struct sched_result r = run(c, jobs, count);
    for (int i = 0; i < count; i++)
        if (r.jobs[i].start_s != starts[i])
            fail_msg("job %d starts at %g, expected %g", i + 1, r.jobs[i].start_s, starts[i]);
    sched_result_free(&r);
}

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

/*
 * Four processors. Jobs 1 and 2 fill them at 0. Job 3 wants all four, which are free when job 1 ends, at 10; 4 and 5 are
 * behind it. First come, first served: 3 runs from 10 to 14, then 4 and 5. EASY: job 3 is promised 10. When job 2 ends
 * at 5, two processors are idle until then: job 4 (1 s) and job 5 (2 s) are over at 6 and 7, so they start at 5.
 */
static void test_fifo_and_easy(void **state)
{
    (void)state;
    const struct sched_job jobs[] = {
        {.id = 1, .submit_s = 0, .run_s = 10, .limit_s = 10, .procs = 2},
        {.id = 2, .submit_s = 0, .run_s = 5, .limit_s = 5, .procs = 2},
        {.id = 3, .submit_s = 1, .run_s = 4, .limit_s = 4, .procs = 4},
        {.id = 4, .submit_s = 2, .run_s = 1, .limit_s = 1, .procs = 1},
        {.id = 5, .submit_s = 3, .run_s = 2, .limit_s = 2, .procs = 1},
    };
    struct sched_config c;
    sched_defaults(&c, POLICY_FIFO, 4);
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 0, 10, 14, 14});
    sched_defaults(&c, POLICY_EASY, 4);
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 0, 10, 5, 5});

    /* Waits 0, 0, 9, 3, 2: mean 2.8. Every run counts as 10 s: (0+10)/10, then 1 (5/10 is less), 13/10, 1 (4/10), 1
     * (4/10): mean 1.06. Busy 20 + 10 + 16 + 1 + 2 = 49 of 4 x 14 processor-seconds. */
    struct sched_result r = run(&c, jobs, COUNT(jobs));
    assert_float_equal(r.mean_wait_s, 2.8, 1e-12);
    assert_float_equal(r.median_wait_s, 2, 1e-12);
    assert_float_equal(r.bounded_slowdown, 1.06, 1e-12);
    assert_float_equal(r.utilisation, 49.0 / 56, 1e-12);
    assert_float_equal(r.makespan_s, 14, 1e-12);
    assert_int_equal(r.backfilled, 2);
    assert_int_equal(r.longest, 2);
    assert_true(r.jobs[2].promised_s == 10);
    /* Idle while job 3 waited: none from 5 to 6 beside jobs 4 and 5, one from 6 to 7, two from 7 to 10. */
    assert_float_equal(r.idle_queued_s, 1 * 1 + 2 * 3, 1e-12);
    assert_float_equal(r.queued_proc_s, 4 * (10 - 1), 1e-12);
    sched_result_free(&r);
}

/*
 * Ten processors. Job 1 has six until 100. Job 2 wants eight: promised 100, when all ten are free, so it leaves two. Job
 * 3 takes those two at once for 200 s: at 100 they are not needed. Job 4 is the same and would be in the way: nothing is
 * left over any more. Job 5 ends exactly at 100, which is in time. Job 6 finds nothing free. At 100 jobs 1 and 5 end: job
 * 2 runs 100-150 beside job 3, then jobs 4 and 6.
 */
static void test_easy_spare(void **state)
{
    (void)state;
    const struct sched_job jobs[] = {
        {.id = 1, .submit_s = 0, .run_s = 100, .limit_s = 100, .procs = 6},
        {.id = 2, .submit_s = 1, .run_s = 50, .limit_s = 50, .procs = 8},
        {.id = 3, .submit_s = 2, .run_s = 200, .limit_s = 200, .procs = 2},
        {.id = 4, .submit_s = 3, .run_s = 300, .limit_s = 300, .procs = 2},
        {.id = 5, .submit_s = 4, .run_s = 96, .limit_s = 96, .procs = 2},
        {.id = 6, .submit_s = 5, .run_s = 95, .limit_s = 95, .procs = 2},
    };
    struct sched_config c;
    sched_defaults(&c, POLICY_EASY, 10);
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 100, 2, 150, 4, 150});
}

/*
 * Two processors. Job 1 asks for 100 s and ends after 30. Job 2 (both processors) is promised 100; job 3 asks for 98 at
 * 3: over at 101, too late; job 4 asks for 90: over at 94, so it starts at 4 and runs for 60, until 64. Job 1 ends at 30:
 * now job 4 (by its limit at 94) is what job 2 waits for, and job 3 may take the processor only if it ends by 94: 128 is
 * too late. At 64 job 2 starts, and after it job 3.
 */
static void test_easy_estimates(void **state)
{
    (void)state;
    const struct sched_job jobs[] = {
        {.id = 1, .submit_s = 0, .run_s = 30, .limit_s = 100, .procs = 1},
        {.id = 2, .submit_s = 2, .run_s = 10, .limit_s = 10, .procs = 2},
        {.id = 3, .submit_s = 3, .run_s = 20, .limit_s = 98, .procs = 1},
        {.id = 4, .submit_s = 4, .run_s = 60, .limit_s = 90, .procs = 1},
    };
    struct sched_config c;
    sched_defaults(&c, POLICY_EASY, 2);
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 64, 74, 4});
}

/*
 * One processor; job 1 runs for 20 s and asked for 10. Enforced, it is killed at 10, the moment when job 2 is submitted:
 * completions come first, so job 2 starts at once. Not enforced, job 2 waits until 20. With two processors and not
 * enforced: job 1 is overdue from 10 on and is expected to end now, so nothing fits before job 2 (both processors)
 * unless it takes no time: job 3 starts after it.
 */
static void test_limits(void **state)
{
    (void)state;
    struct sched_job jobs[] = {
        {.id = 1, .submit_s = 0, .run_s = 20, .limit_s = 10, .procs = 1},
        {.id = 2, .submit_s = 10, .run_s = 5, .limit_s = 10, .procs = 1},
        {.id = 3, .submit_s = 12, .run_s = 1, .limit_s = 1, .procs = 1},
    };
    struct sched_config c;
    sched_defaults(&c, POLICY_EASY, 1);
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 20, 25});
    c.enforce_limits = true;
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 10, 15});
    struct sched_result r = run(&c, jobs, COUNT(jobs));
    assert_int_equal(r.killed, 1);
    assert_true(r.jobs[0].killed && r.jobs[0].end_s == 10);
    sched_result_free(&r);
    sched_defaults(&c, POLICY_EASY, 2);
    jobs[1].procs = 2;
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 20, 25});
}

/*
 * Two processors, busy until 100. Then job 2 (one processor, submitted at 0) and job 3 (two, at 60). Age counts 1000 for
 * 200 s, size 400 for all processors. At 100: job 2 has 1000 x 100/200 + 400 x 1/2 = 700, job 3 has 1000 x 40/200 + 400 =
 * 600: job 2 first, job 3 at 110. With size counting 1000: 500 + 500 against 200 + 1000: job 3 first, job 2 at 110. And
 * job 4, which asks for 5 s on one processor, fills the hole beside job 2 in the first case: 100 + 5 <= 110.
 */
static void test_priority(void **state)
{
    (void)state;
    const struct sched_job jobs[] = {
        {.id = 1, .submit_s = 0, .run_s = 100, .limit_s = 100, .procs = 2},
        {.id = 2, .submit_s = 0, .run_s = 10, .limit_s = 10, .procs = 1},
        {.id = 3, .submit_s = 60, .run_s = 10, .limit_s = 10, .procs = 2},
        {.id = 4, .submit_s = 90, .run_s = 5, .limit_s = 5, .procs = 1},
    };
    struct sched_config c;
    sched_defaults(&c, POLICY_PRIORITY, 2);
    c.weights.age = 1000;
    c.weights.age_max_s = 200;
    c.weights.size = 400;
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 100, 110, 100});
    struct sched_result r = run(&c, jobs, COUNT(jobs));
    assert_float_equal(r.jobs[1].priority, 700, 1e-9);
    sched_result_free(&r);
    c.weights.size = 1000;
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 110, 100, 110});
}

/*
 * One processor. User 0 has run for 100 s when jobs 2 and 3 (user 0) and 4 (user 1) compete: user 1 used nothing, so job
 * 4 goes first, from 100 to 110. Then user 0 has a part of 100/110 or less of all usage and user 1 the rest: still user 1
 * before user 0, so job 5 of user 1, though it came last; jobs 2 and 3 after it in the order of submission.
 */
static void test_fairshare(void **state)
{
    (void)state;
    const struct sched_job jobs[] = {
        {.id = 1, .submit_s = 0, .run_s = 100, .limit_s = 100, .procs = 1, .user = 0},
        {.id = 2, .submit_s = 1, .run_s = 10, .limit_s = 10, .procs = 1, .user = 0},
        {.id = 3, .submit_s = 2, .run_s = 10, .limit_s = 10, .procs = 1, .user = 0},
        {.id = 4, .submit_s = 3, .run_s = 10, .limit_s = 10, .procs = 1, .user = 1},
        {.id = 5, .submit_s = 4, .run_s = 10, .limit_s = 10, .procs = 1, .user = 1},
    };
    struct sched_config c;
    sched_defaults(&c, POLICY_FAIRSHARE, 1);
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 120, 130, 100, 110});
}

/* Of p processors for one half-life H, p H / (2 ln 2) is left: the integral of p 2^(-t/H). After two more idle half-lives
 * a quarter of that. Two users of whom one used all: 2^-(1 / (1/2)) = 1/4 against 1; equal use: 1/2 each. */
static void test_usage_decays(void **state)
{
    (void)state;
    struct fairshare f;
    struct error e = {0};
    const double h = 1000;
    assert_true(fairshare_make(&f, 2, h, &e));
    assert_float_equal(fairshare_factor(&f, 0, 5), 1, 0);
    fairshare_run(&f, 0, 8, 500);
    fairshare_run(&f, 0, -8, 500 + h);
    assert_float_equal(fairshare_usage(&f, 0, 500 + h), 8 * h / 2 / log(2), 1e-6);
    assert_float_equal(fairshare_usage(&f, -1, 500 + 3 * h), 2 * h / 2 / log(2), 1e-6);
    assert_float_equal(fairshare_factor(&f, 0, 2000), 0.25, 1e-12);
    assert_float_equal(fairshare_factor(&f, 1, 2000), 1, 1e-12);
    fairshare_run(&f, 1, 8, 500 + h);
    fairshare_run(&f, 1, -8, 500 + 2 * h);
    /* the same use one half-life later counts twice: 2/3 of all, and 2^-(4/3) */
    assert_float_equal(fairshare_factor(&f, 1, 500 + 2 * h), exp2(-4.0 / 3), 1e-12);
    fairshare_free(&f);
}

/*
 * Four processors; an array of five tasks of one processor and 10 s, at most two at once, and job 6 behind it. Tasks 0
 * and 1 run at 0, the others are held and are in nobody's way: job 6 (two processors) starts at once too. Tasks 2 and 3
 * follow at 10, task 4 at 20.
 */
static void test_array(void **state)
{
    (void)state;
    struct sched_job jobs[6];
    for (int i = 0; i < 5; i++)
        jobs[i] = (struct sched_job){
            .id = 7, .run_s = 10, .limit_s = 10, .procs = 1, .array = 7, .task = i, .array_limit = 2};
    jobs[5] = (struct sched_job){.id = 12, .run_s = 25, .limit_s = 30, .procs = 2};
    struct sched_config c;
    sched_defaults(&c, POLICY_FIFO, 4);
    hold_starts(&c, jobs, 6, (const double[]){0, 0, 10, 10, 20, 0});
    sched_defaults(&c, POLICY_FAIRSHARE, 4);
    hold_starts(&c, jobs, 6, (const double[]){0, 0, 10, 10, 20, 0});
    for (int i = 0; i < 5; i++)
        jobs[i].array_limit = 0; /* no limit: four at once, and job 6 waits for two of them */
    sched_defaults(&c, POLICY_FIFO, 4);
    hold_starts(&c, jobs, 6, (const double[]){0, 0, 0, 0, 10, 10});
}

/* Two partitions do not see each other: job 2 waits for job 1 in the first while the second is idle until job 3. */
static void test_partitions(void **state)
{
    (void)state;
    struct sched_job jobs[] = {
        {.id = 1, .submit_s = 0, .run_s = 10, .limit_s = 10, .procs = 4, .partition = 0},
        {.id = 2, .submit_s = 0, .run_s = 10, .limit_s = 10, .procs = 1, .partition = 0},
        {.id = 3, .submit_s = 1, .run_s = 10, .limit_s = 10, .procs = 2, .partition = 1},
    };
    struct sched_config c;
    struct sched_result r;
    struct error e = {0};
    sched_defaults(&c, POLICY_EASY, 4);
    c.partition[1] = (struct sched_partition){.name = "debug", .procs = 2, .max_time_s = 600};
    c.partitions = 2;
    hold_starts(&c, jobs, COUNT(jobs), (const double[]){0, 10, 1});
    jobs[2].limit_s = 601;
    jobs[2].line = 9;
    assert_false(sched_run(&c, jobs, COUNT(jobs), "a.swf", &r, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "a.swf:9: job 3 asks for 601 s and partition debug allows 600 s"));
    jobs[2].limit_s = 10;
    jobs[2].procs = 3;
    assert_false(sched_run(&c, jobs, COUNT(jobs), "a.swf", &r, &e));
    assert_non_null(strstr(e.text, "a.swf:9: job 3 asks for 3 processors and debug has 2"));
}

/* What the script of its own says, start by start. */
static void test_against_the_script(void **state)
{
    (void)state;
    json_error_t why;
    json_t *cases = json_load_file("tests/golden/schedules.json", 0, &why), *one;
    size_t index;
    assert_non_null(cases);
    assert_true(json_array_size(cases) > 3);
    json_array_foreach(cases, index, one)
    {
        json_t *list = json_object_get(one, "jobs");
        int n = (int)json_array_size(list), procs = (int)json_integer_value(json_object_get(one, "procs"));
        struct sched_job *jobs = calloc((size_t)n, sizeof *jobs);
        double *starts = calloc((size_t)n, sizeof *starts);
        assert_true(jobs && starts);
        for (int p = 0; p < 2; p++) {
            json_t *expected = json_object_get(one, p ? "easy" : "fifo");
            for (int i = 0; i < n; i++) {
                const json_t *j = json_array_get(list, (size_t)i);
                jobs[i] = (struct sched_job){
                    .id = i,
                    .submit_s = (double)json_integer_value(json_array_get(j, 0)),
                    .run_s = (double)json_integer_value(json_array_get(j, 1)),
                    .limit_s = (double)json_integer_value(json_array_get(j, 2)),
                    .procs = (int)json_integer_value(json_array_get(j, 3)),
                };
                starts[i] = (double)json_integer_value(json_array_get(expected, (size_t)i));
            }
            struct sched_config c;
            sched_defaults(&c, p ? POLICY_EASY : POLICY_FIFO, procs);
            hold_starts(&c, jobs, n, starts);
        }
        free(jobs);
        free(starts);
    }
    json_decref(cases);
}

enum { RANDOM_JOBS = 400 };

static void make_random(struct random *r, struct sched_job *jobs, int partitions, int procs)
{
    double at = 0;
    for (int i = 0; i < RANDOM_JOBS; i++) {
        at += (double)random_below(r, 30);
        double run_s = (double)random_below(r, 200);
        jobs[i] = (struct sched_job){
            .id = i,
            .submit_s = at,
            .run_s = run_s,
            .limit_s = run_s + (double)random_below(r, 300),
            .procs = 1 + (int)random_below(r, 1 + random_below(r, (uint64_t)procs)),
            .user = (int)random_below(r, 5),
            .partition = (int)random_below(r, (uint64_t)partitions),
            .array = i / 10 % 3 ? 0 : 1 + i / 10,
            .task = i % 10,
            .array_limit = i / 10 % 2 ? 3 : 0,
        };
    }
}

/* Processors in use in a partition at time t. */
static int used_at(const struct sched_job *jobs, const struct sched_result *r, int partition, double t)
{
    int used = 0;
    for (int i = 0; i < r->count; i++)
        if (jobs[i].partition == partition && r->jobs[i].start_s <= t && t < r->jobs[i].end_s)
            used += jobs[i].procs;
    return used;
}

/* For every policy and random lists: each job runs once, not before it is submitted and for as long as it takes; never
 * more processors or tasks than there may be; the same again, bit by bit. */
static void test_invariants(void **state)
{
    (void)state;
    struct random r = random_stream(3, 0, 0);
    static struct sched_job jobs[RANDOM_JOBS];
    for (int round = 0; round < 12; round++) {
        struct sched_config c;
        sched_defaults(&c, (enum sched_policy)(round % 4), 16);
        c.partition[1] = (struct sched_partition){.name = "second", .procs = 20, .tier = 1};
        c.partitions = 1 + round % 2;
        make_random(&r, jobs, c.partitions, 16);
        struct sched_result a = run(&c, jobs, RANDOM_JOBS), b = run(&c, jobs, RANDOM_JOBS);
        for (int i = 0; i < RANDOM_JOBS; i++) {
            const struct sched_record *k = &a.jobs[i];
            assert_true(k->start_s >= jobs[i].submit_s);
            assert_true(k->end_s == k->start_s + jobs[i].run_s);
            assert_true(used_at(jobs, &a, jobs[i].partition, k->start_s) <=
                        c.partition[jobs[i].partition].procs);
            assert_memory_equal(&k->start_s, &b.jobs[i].start_s, sizeof k->start_s);
            int tasks = 0;
            for (int q = 0; q < RANDOM_JOBS && jobs[i].array > 0 && jobs[i].array_limit > 0; q++)
                tasks += jobs[q].array == jobs[i].array && a.jobs[q].start_s <= k->start_s &&
                         k->start_s < a.jobs[q].end_s;
            assert_true(jobs[i].array_limit == 0 || tasks <= jobs[i].array_limit);
        }
        sched_result_free(&a);
        sched_result_free(&b);
    }
}

/* Where limits hold and no array lets go of tasks, nobody who was promised a start gets it later: backfilling delays no reservation. */
static void test_reservations_hold(void **state)
{
    (void)state;
    struct random r = random_stream(4, 0, 0);
    static struct sched_job jobs[RANDOM_JOBS];
    int promised = 0, overtook = 0;
    for (int round = 0; round < 10; round++) {
        struct sched_config c;
        sched_defaults(&c, POLICY_EASY, 16);
        make_random(&r, jobs, 1, 16);
        for (int i = 0; i < RANDOM_JOBS; i++)
            jobs[i].array = jobs[i].array_limit = 0;
        struct sched_result a = run(&c, jobs, RANDOM_JOBS);
        for (int i = 0; i < RANDOM_JOBS; i++)
            if (!isnan(a.jobs[i].promised_s)) {
                promised++;
                assert_true(a.jobs[i].start_s <= a.jobs[i].promised_s);
            }
        overtook += a.backfilled;
        sched_result_free(&a);
    }
    assert_true(promised > 100 && overtook > 100);
}

static void test_mistakes(void **state)
{
    (void)state;
    struct sched_config c;
    struct sched_result r;
    struct error e = {0};
    struct sched_job jobs[] = {{.id = 1, .submit_s = 5, .procs = 1}, {.id = 2, .submit_s = 4, .procs = 1}};
    sched_defaults(&c, POLICY_EASY, 4);
    assert_false(sched_run(&c, jobs, 2, NULL, &r, &e));
    assert_non_null(strstr(e.text, "job 2 is submitted before job 1"));
    jobs[1].submit_s = 5;
    jobs[1].procs = 0;
    assert_false(sched_run(&c, jobs, 2, NULL, &r, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    c.partition[0].procs = 0;
    assert_false(sched_run(&c, jobs, 1, NULL, &r, &e));
    sched_defaults(&c, POLICY_EASY, 4);
    assert_true(sched_run(&c, jobs, 0, NULL, &r, &e));
    assert_int_equal(r.count, 0);
    sched_result_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifo_and_easy),  cmocka_unit_test(test_easy_spare),
        cmocka_unit_test(test_easy_estimates), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_priority),       cmocka_unit_test(test_fairshare),
        cmocka_unit_test(test_usage_decays),   cmocka_unit_test(test_array),
        cmocka_unit_test(test_partitions),     cmocka_unit_test(test_against_the_script),
        cmocka_unit_test(test_invariants),     cmocka_unit_test(test_reservations_hold),
        cmocka_unit_test(test_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
