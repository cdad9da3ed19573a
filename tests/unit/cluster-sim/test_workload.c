/*
 * Jobs from traces and made up, and the figures of a known trace: KTH-SP2 of the Parallel Workloads Archive, where it is
 * found as $RINGSIDE_SWF or as ../shared/data/swf/KTH-SP2-1996-2.1-cln.swf.gz beside the checkout.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster-sim/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_from_trace(void **state)
{
    (void)state;
    /* asked for 4 processors and 200 s; nothing asked; run time unknown; processors unknown */
    const char text[] = "1 10 -1 100 3 -1 -1 4 200 -1 1 30 1 -1 2 -1 -1 -1\n"
                        "2 11 -1  50 3 -1 -1 -1 -1 -1 1 10 1 -1 1  2 -1 -1\n"
                        "3 12 -1  -1 3 -1 -1 4 200 -1 5 20 1 -1 1 -1 -1 -1\n"
                        "4 13 -1  10 -1 -1 -1 -1 20 -1 1 30 1 -1 1 -1 -1 -1\n"
                        "5 14 -1  10 1 -1 -1 -1 20 -1 1 30 1 -1 0 -1 -1 -1\n";
    struct swf trace;
    struct workload w;
    struct error e = {0};
    assert_true(swf_parse(text, strlen(text), "t", &trace, &e));
    assert_true(workload_from_trace(&trace, 1, false, &w, &e));
    assert_int_equal(w.count, 3);
    assert_int_equal(w.left_out, 2);
    assert_int_equal(w.users, 2);
    assert_int_equal(w.jobs[0].procs, 4);
    assert_true(w.jobs[0].limit_s == 200 && w.jobs[0].run_s == 100 && w.jobs[0].line == 1);
    assert_int_equal(w.jobs[1].procs, 3);
    assert_true(w.jobs[1].limit_s == 50);
    assert_int_equal(w.jobs[0].user, 1); /* users 10 and 30 */
    assert_int_equal(w.jobs[1].user, 0);
    assert_int_equal(w.jobs[2].user, 1);
    assert_int_equal(w.jobs[0].partition, 0);
    workload_free(&w);
    assert_true(workload_from_trace(&trace, 2, true, &w, &e));
    assert_true(w.jobs[0].limit_s == 100);
    assert_int_equal(w.jobs[0].partition, 1); /* by its queue */
    assert_int_equal(w.jobs[1].partition, 1); /* by its partition */
    assert_int_equal(w.jobs[2].partition, 0);
    workload_free(&w);
    swf_free(&trace);
}

/* A job of somebody new goes behind those that were submitted with it or before; an array of three, too. Both come out as
 * lines of a trace. */
static void test_add(void **state)
{
    (void)state;
    const char text[] = "1 10 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1\n"
                        "7 20 -1 100 1 -1 -1 1 100 -1 1 2 1 1 1 1 -1 -1\n"
                        "3 30 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1\n";
    struct swf trace, out;
    struct workload w;
    struct sched_config c;
    struct sched_result r;
    struct error e = {0};
    int first;
    assert_true(swf_parse(text, strlen(text), "t", &trace, &e));
    assert_true(workload_from_trace(&trace, 1, false, &w, &e));
    const struct sched_job one = {.submit_s = 20, .run_s = 5, .limit_s = 60, .procs = 2, .owner = SCHED_YOU};
    assert_true(workload_add(&w, &one, 0, &first, &e));
    assert_int_equal(first, 2);
    assert_int_equal(w.jobs[2].id, 8);
    assert_int_equal(w.jobs[2].user, 2);
    assert_true(w.jobs[2].array == 0 && w.from[2] == -1 && w.from[3] == 2 && w.jobs[3].id == 3);
    const struct sched_job early = {.submit_s = 0, .run_s = 5, .limit_s = 60, .procs = 1, .array_limit = 1};
    assert_true(workload_add(&w, &early, 3, &first, &e));
    assert_int_equal(first, 0);
    assert_int_equal(w.count, 7);
    assert_true(w.jobs[0].array == 9 && w.jobs[2].array == 9 && w.jobs[2].task == 2 && w.jobs[3].id == 1);
    sched_defaults(&c, POLICY_EASY, 2);
    assert_true(sched_run(&c, w.jobs, w.count, "t", &r, &e));
    /* one task after the other: 0, 5, 10 */
    assert_true(r.jobs[0].start_s == 0 && r.jobs[1].start_s == 5 && r.jobs[2].start_s == 10);
    /* jobs 1 and 7 run from 10 and 20 and end at 110 and 120: the new one wants both processors, job 3 may not delay it */
    assert_true(r.jobs[5].start_s == 120 && r.jobs[6].start_s == 125);
    assert_true(workload_to_trace(&trace, &w, &c, &r, &out, &e));
    assert_true(out.jobs[5].number == 8 && out.jobs[5].wait_s == 100 && out.jobs[5].user == -1);
    assert_true(out.jobs[5].procs_asked == 2 && out.jobs[5].time_asked_s == 60 && out.jobs[6].number == 3);
    sched_result_free(&r);
    workload_free(&w);
    swf_free(&trace);
    swf_free(&out);
}

/* As stated: a quarter serial, most sizes powers of two, the load that was asked for, nobody asks for too little; and a
 * schedule of it that can be written, read and simulated again with the same waits. */
static void test_made_up(void **state)
{
    (void)state;
    struct swf trace, out;
    struct workload w;
    struct error e = {0};
    const struct workload_model model = {.jobs = 5000, .procs = 128, .load = 0.7, .seed = 1};
    assert_true(workload_make_up(&model, &trace, &e));
    int serial = 0, powers = 0;
    double work = 0, log_run = 0;
    for (int i = 0; i < trace.count; i++) {
        const struct swf_job *j = &trace.jobs[i];
        int size = (int)j->procs;
        assert_true(size >= 1 && size <= 128 && j->run_s >= 1 && j->time_asked_s >= j->run_s);
        serial += size == 1;
        powers += (size & (size - 1)) == 0;
        work += size * j->run_s;
        log_run += log(j->run_s) / trace.count;
    }
    /* a job is serial with probability 0.244, or has a size of 2^x with x from 0.8, which is never less than 1.7 */
    assert_true(fabs((double)serial / trace.count - 0.244) < 4 * sqrt(0.244 * 0.756 / 5000));
    assert_true((double)powers / trace.count > 0.244 + 0.576 - 0.03);
    assert_true(fabs(work / 128 / trace.jobs[trace.count - 1].submit_s - 0.7) < 0.001);
    /* the means of the gammas are 3.95 and 9.36, mixed by 0.78 - 0.0054 size */
    assert_true(log_run > 4.8 && log_run < 6.2);

    struct sched_config c;
    struct sched_result r, again;
    sched_defaults(&c, POLICY_EASY, 128);
    assert_true(workload_from_trace(&trace, 1, false, &w, &e));
    assert_true(sched_run(&c, w.jobs, w.count, "made up", &r, &e));
    assert_true(workload_to_trace(&trace, &w, &c, &r, &out, &e));
    assert_int_equal(out.count, 5000);
    for (int i = 0; i < out.count; i++)
        assert_true(out.jobs[i].wait_s == r.jobs[i].start_s - w.jobs[i].submit_s);
    struct workload w2;
    assert_true(workload_from_trace(&out, 1, false, &w2, &e));
    assert_true(sched_run(&c, w2.jobs, w2.count, "made up", &again, &e));
    assert_true(again.mean_wait_s == r.mean_wait_s && again.bounded_slowdown == r.bounded_slowdown);
    workload_free(&w);
    workload_free(&w2);
    sched_result_free(&r);
    sched_result_free(&again);
    swf_free(&trace);
    swf_free(&out);
    assert_false(workload_make_up(&(struct workload_model){.jobs = 0, .procs = 1, .load = 1}, &trace, &e));
}

static bool near(double value, double expected, double part)
{
    return fabs(value - expected) <= part * expected;
}

static void test_kth(void **state)
{
    (void)state;
    const char *path = getenv("RINGSIDE_SWF");
    if (!path)
        path = "../shared/data/swf/KTH-SP2-1996-2.1-cln.swf.gz";
    if (access(path, R_OK) != 0)
        skip();
    struct swf trace;
    struct workload w;
    struct sched_config c;
    struct sched_result r;
    struct error e = {0};
    assert_true(swf_read(path, &trace, &e));
    assert_true(swf_header_number(&trace, "MaxProcs", 0) == 100);
    assert_true(workload_from_trace(&trace, 1, false, &w, &e));
    assert_int_equal(w.count, 28475);
    assert_int_equal(w.left_out, 1); /* job 27313, whose processors are -1 */

    /* known: 114 minutes and about 91; beside them what make_schedules.py finds */
    sched_defaults(&c, POLICY_EASY, 100);
    assert_true(sched_run(&c, w.jobs, w.count, path, &r, &e));
    assert_true(near(r.mean_wait_s, 114 * 60, 0.01) && near(r.mean_wait_s, 6847.5031, 1e-7));
    assert_true(near(r.bounded_slowdown, 91, 0.03) && near(r.bounded_slowdown, 91.515091, 1e-7));
    assert_true(near(r.utilisation, 0.699238, 1e-5) && r.makespan_s == 28763776);
    sched_result_free(&r);

    sched_defaults(&c, POLICY_FIFO, 100);
    assert_true(sched_run(&c, w.jobs, w.count, path, &r, &e));
    assert_true(near(r.mean_wait_s, 389852.1671, 1e-7) && near(r.bounded_slowdown, 7518.738971, 1e-7));
    assert_true(r.makespan_s == 28779758);
    sched_result_free(&r);
    workload_free(&w);
    swf_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_trace),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_made_up),
        cmocka_unit_test(test_kth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
