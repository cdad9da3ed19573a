/* A small schedule at one moment, as the commands of three batch systems would print it: every character. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster-sim/queue_view.h"

#include <stdlib.h>
#include <string.h>

/* Partition batch: eight processors on four nodes; debug: two on one. An array of five tasks, two at once. */
static const struct sched_job jobs[] = {
    {.id = 1, .submit_s = 0, .run_s = 90000, .limit_s = 100000, .procs = 3, .owner = 12, .program = 5},
    {.id = 2, .submit_s = 0, .run_s = 100, .limit_s = 600, .procs = 1, .user = 1, .owner = 7, .program = -1},
    {.id = 40,
     .submit_s = 60,
     .run_s = 3000,
     .limit_s = 3600,
     .procs = 1,
     .array = 40,
     .task = 0,
     .array_limit = 2,
     .user = 1,
     .owner = 7,
     .program = 123456789},
    {.id = 40,
     .submit_s = 60,
     .run_s = 3000,
     .limit_s = 3600,
     .procs = 1,
     .array = 40,
     .task = 1,
     .array_limit = 2,
     .user = 1,
     .owner = 7,
     .program = 123456789},
    {.id = 40,
     .submit_s = 60,
     .run_s = 3000,
     .limit_s = 3600,
     .procs = 1,
     .array = 40,
     .task = 2,
     .array_limit = 2,
     .user = 1,
     .owner = 7,
     .program = 123456789},
    {.id = 40,
     .submit_s = 60,
     .run_s = 3000,
     .limit_s = 3600,
     .procs = 1,
     .array = 40,
     .task = 3,
     .array_limit = 2,
     .user = 1,
     .owner = 7,
     .program = 123456789},
    {.id = 40,
     .submit_s = 60,
     .run_s = 3000,
     .limit_s = 3600,
     .procs = 1,
     .array = 40,
     .task = 4,
     .array_limit = 2,
     .user = 1,
     .owner = 7,
     .program = 123456789},
    {.id = 3, .submit_s = 200, .run_s = 50, .limit_s = 86400, .procs = 8, .owner = 12, .program = 5},
    {.id = 4, .submit_s = 300, .run_s = 50, .limit_s = 200000, .procs = 4, .owner = -1, .program = 5},
    {.id = 9,
     .submit_s = 3695,
     .run_s = 60,
     .limit_s = 60,
     .procs = 1,
     .partition = 1,
     .owner = 12,
     .program = 5},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

/*
 * By first come, first served: job 1 takes processors 0-2 and job 2 processor 3 at 0; at 60 tasks 0 and 1 take 4 and 5
 * until 3060; then tasks 2 and 3, which were submitted before job 3, take the two lowest that are free: 3 (job 2's) and
 * 4. Task 4 is held. Job 3 waits for all eight, job 4 behind it. So nodes 1 (processors 0, 1) and 2 (2, 3) are full, of
 * node 3 (4, 5) one processor is busy, node 4 is idle; of node 5 (debug) one of two.
 */
static char *text_of(enum queue_view view, enum sched_policy policy)
{
    struct sched_config c;
    struct sched_result r;
    struct queue_state q;
    struct error e = {0};
    sched_defaults(&c, policy, 8);
    c.backfill = false;
    c.partition[1] = (struct sched_partition){.name = "debug", .procs = 2, .max_time_s = 1800};
    c.partitions = 2;
    if (!sched_run(&c, jobs, JOBS, NULL, &r, &e) || !queue_state_at(&c, jobs, &r, 3700, 2, &q, &e))
        fail_msg("%s", e.text);
    q.epoch_s = 843480031; /* 23 September 1996, 12:00:31 UTC */
    char *text = queue_view_text(&q, view, &e);
    assert_non_null(text);
    queue_state_free(&q);
    sched_result_free(&r);
    return text;
}

static void hold(enum queue_view view, const char *expected)
{
    char *text = text_of(view, POLICY_FIFO);
    assert_string_equal(text, expected);
    free(text);
}

static void test_squeue(void **state)
{
    (void)state;
    hold(QUEUE_SQUEUE,
         "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
         "          40_[4%2]     batch app12345    user7 PD       0:00      1 (JobArrayTaskLimit)\n"
         "                 3     batch     app5   user12 PD       0:00      4 (Resources)\n"
         "                 4     batch     app5   nobody PD       0:00      2 (Priority)\n"
         "                 1     batch     app5   user12  R    1:01:40      2 n[1-2]\n"
         "              40_2     batch app12345    user7  R      10:40      1 n2\n"
         "              40_3     batch app12345    user7  R      10:40      1 n3\n"
         "                 9     debug     app5   user12  R       0:05      1 n5\n");
}

static void test_sinfo(void **state)
{
    (void)state;
    hold(QUEUE_SINFO, "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
                      "batch*       up   infinite      1    mix n3\n"
                      "batch*       up   infinite      2  alloc n[1-2]\n"
                      "batch*       up   infinite      1   idle n4\n"
                      "debug        up      30:00      1    mix n5\n");
}

static void test_pbs(void **state)
{
    (void)state;
    hold(QUEUE_PBS, "\n"
                    "simulated: \n"
                    "                                                            Req'd  Req'd   Elap\n"
                    "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
                    "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n"
                    "40[].simulated  user7    batch    app123456*    --    1   1    --  01:00 B   -- \n"
                    "3.simulated     user12   batch    app5          --    4   8    --  24:00 Q   -- \n"
                    "4.simulated     nobody   batch    app5          --    2   4    --  55:33 Q   -- \n"
                    "1.simulated     user12   batch    app5          --    2   3    --  27:46 R 01:01\n"
                    "9.simulated     user12   debug    app5          --    1   1    --  00:01 R 00:00\n");
}

static void test_sge(void **state)
{
    (void)state;
    hold(QUEUE_SGE, "job-ID  prior   name       user         state submit/start at     queue                 "
                    "         slots "
                    "ja-task-ID \n"
                    "----------------------------------------------------------------------------------------"
                    "-------------------------"
                    "\n"
                    "      1 0.00000 app5       user12       r     09/23/1996 12:00:31 batch@n1              "
                    "             3 \n"
                    "     40 0.00000 app1234567 user7        r     09/23/1996 12:51:31 batch@n2              "
                    "             1 2\n"
                    "     40 0.00000 app1234567 user7        r     09/23/1996 12:51:31 batch@n3              "
                    "             1 3\n"
                    "      9 0.00000 app5       user12       r     09/23/1996 13:02:06 debug@n5              "
                    "             1 \n"
                    "     40 0.00000 app1234567 user7        qw    09/23/1996 12:01:31                       "
                    "             1 4\n"
                    "      3 0.00000 app5       user12       qw    09/23/1996 12:03:51                       "
                    "             8 \n"
                    "      4 0.00000 app5       nobody       qw    09/23/1996 12:05:31                       "
                    "             4 \n");
}

/* With a priority, those that wait are in its order: job 3 wants the whole machine and is older than job 4. */
static void test_priority_order(void **state)
{
    (void)state;
    char *text = text_of(QUEUE_SQUEUE, POLICY_PRIORITY);
    char *three = strstr(text, "                 3     batch"), *task = strstr(text, "          40_[");
    assert_non_null(three);
    assert_non_null(task);
    assert_true(three < task); /* of eight processors against one */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_squeue), cmocka_unit_test(test_sinfo),          cmocka_unit_test(test_pbs),
        cmocka_unit_test(test_sge),    cmocka_unit_test(test_priority_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
