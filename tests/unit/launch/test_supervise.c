/*
 * Supervisors with workers that are small shell scripts: what is written, in which order, and that nothing of
 * the session remains. No test looks at absolute times; waits end when what they wait for has come.
 */
#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"
#include "engine/launch/supervise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct fixture {
    char dir[PATH_MAX];
    struct plan plan;
    pid_t supervisor;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    char root[] = "/tmp/ringside-test-XXXXXX";
    assert_non_null(mkdtemp(root));
    assert_true(rundir_create(root, "test", f->dir, NULL));
    assert_true(rundir_write(f->dir, "job.json", "{}", NULL));
    plan_init(&f->plan);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    char root[PATH_MAX];
    snprintf(root, sizeof root, "%.*s", (int)(strrchr(f->dir, '/') - f->dir), f->dir);
    rundir_delete(f->dir, NULL);
    rmdir(root);
    plan_clear(&f->plan);
    free(f);
    return 0;
}

static void shell(struct fixture *f, const char *script)
{
    plan_arg(&f->plan, "/bin/sh");
    plan_arg(&f->plan, "-c");
    plan_arg(&f->plan, script);
}

/* Starts the supervisor in a session of its own and returns its answer. */
static void start(struct fixture *f, char *answer, size_t size)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    f->supervisor = fork();
    assert_true(f->supervisor >= 0);
    if (f->supervisor == 0) {
        setsid();
        close(ready[0]);
        _exit(supervise(f->dir, &f->plan, ready[1]));
    }
    close(ready[1]);
    ssize_t n = read(ready[0], answer, size - 1);
    answer[n > 0 ? n : 0] = 0;
    close(ready[0]);
}

/* How many processes of the supervisor's session are left, zombies aside. */
static int left_over(pid_t session)
{
    DIR *proc = opendir("/proc");
    int n = 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        char path[300], text[512] = "", process_state_letter;
        int sid;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *stat = fopen(path, "r");
        if (!stat)
            continue;
        if (fgets(text, sizeof text, stat) && strrchr(text, ')') &&
            sscanf(strrchr(text, ')') + 1, " %c %*d %*d %d", &process_state_letter, &sid) == 2 &&
            sid == session && process_state_letter != 'Z')
            n++;
        fclose(stat);
    }
    closedir(proc);
    return n;
}

static int finish(struct fixture *f)
{
    int status;
    assert_int_equal(waitpid(f->supervisor, &status, 0), f->supervisor);
    assert_true(WIFEXITED(status));
    assert_int_equal(left_over(f->supervisor), 0);
    return WEXITSTATUS(status);
}

static int run(struct fixture *f)
{
    char answer[256];
    start(f, answer, sizeof answer);
    assert_string_equal(answer, "0\n");
    return finish(f);
}

/* All events as an array; the caller drops it. */
static json_t *events(struct fixture *f)
{
    json_t *list = json_array();
    struct run_reader *reader = run_reader_open(f->dir, NULL);
    assert_non_null(reader);
    for (json_t *event; (event = run_reader_next(reader));)
        json_array_append_new(list, event);
    assert_int_equal(run_reader_skipped(reader), 0);
    run_reader_free(reader);
    return list;
}

static json_t *find(json_t *list, const char *name, size_t nth)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (event_is(json_array_get(list, i), name) && nth-- == 0)
            return json_array_get(list, i);
    return NULL;
}

static struct run_status status_of(struct fixture *f)
{
    struct run_status status;
    assert_true(run_status_read(f->dir, &status, NULL));
    return status;
}

static void wait_for_file(struct fixture *f, const char *name)
{
    char path[PATH_MAX];
    assert_true(path_join(path, f->dir, name, NULL));
    while (access(path, F_OK) != 0) {
        assert_int_equal(kill(f->supervisor, 0), 0);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

static char *log_text(struct fixture *f)
{
    char path[PATH_MAX];
    static char text[4096];
    assert_true(path_join(path, f->dir, "log", NULL));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static void test_order(void **state)
{
    struct fixture *f = *state;
    shell(f,
          "echo '{\"t\":0.5,\"ev\":\"step\",\"step\":1,\"odd\":[1]}'; echo 'not an event'; echo '{\"x\":1}';"
          "echo '{\"ev\":\"heartbeat\"}'; echo '{\"ev\":\"done\",\"ok\":true,\"accuracy\":0.25}';"
          "echo '{\"ev\":\"note\",\"level\":\"info\",\"text\":\"later\"}'; echo words >&2");
    assert_int_equal(run(f), 0);
    json_t *list = events(f);
    assert_int_equal(json_array_size(list), 5);
    static const char *const order[] = {"job", "step", "note", "job", "done"};
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(event_name(json_array_get(list, i)), order[i]);
        assert_true(event_number(json_array_get(list, i), "t", -1) >= 0);
    }
    assert_string_equal(event_text(find(list, "job", 0), "state", ""), "running");
    assert_string_equal(event_text(find(list, "job", 1), "state", ""), "done");
    assert_true(event_number(find(list, "step", 0), "t", -1) == 0.5);
    assert_int_equal(json_array_size(json_object_get(find(list, "step", 0), "odd")), 1);
    json_t *done = find(list, "done", 0);
    assert_true(json_is_true(json_object_get(done, "ok")));
    assert_true(event_number(done, "accuracy", 0) == 0.25);
    assert_true(event_number(done, "wall_s", -1) >= 0);
    json_decref(list);
    assert_int_equal(status_of(f).state, RUN_DONE);
    assert_non_null(strstr(log_text(f), "not an event"));
    assert_non_null(strstr(log_text(f), "words"));
}

static void test_failure_has_a_sentence(void **state)
{
    struct fixture *f = *state;
    shell(f, "echo 'the data are torn' >&2; exit 3");
    assert_int_equal(run(f), 1);
    json_t *list = events(f);
    json_t *last = find(list, "job", 1);
    assert_string_equal(event_text(last, "state", ""), "failed");
    assert_non_null(strstr(event_text(last, "reason", ""), "exit code 3"));
    assert_non_null(strstr(event_text(last, "reason", ""), "the data are torn"));
    assert_true(json_is_false(json_object_get(find(list, "done", 0), "ok")));
    json_decref(list);
    assert_int_equal(status_of(f).state, RUN_FAILED);
}

static void test_the_workers_own_sentence(void **state)
{
    struct fixture *f = *state;
    shell(f,
          "echo '{\"ev\":\"note\",\"level\":\"error\",\"text\":\"no such model\"}'; echo noise >&2; exit 1");
    assert_int_equal(run(f), 1);
    assert_string_equal(status_of(f).reason, "no such model");
}

static void test_dead_rank(void **state)
{
    struct fixture *f = *state;
    f->plan.ranks = 2;
    shell(
        f,
        "echo 'mpirun noticed that process rank 1 with PID 4711 on node n7 exited on signal 9 (Killed).' >&2;"
        "exit 137");
    assert_int_equal(run(f), 1);
    json_t *list = events(f);
    json_t *fault = find(list, "fault", 0);
    assert_non_null(fault);
    assert_int_equal(event_integer(fault, "rank", -1), 1);
    assert_string_equal(event_text(fault, "host", ""), "n7");
    assert_string_equal(event_text(fault, "kind", ""), "dead");
    assert_non_null(strstr(status_of(f).reason, "rank 1 on n7"));
    json_decref(list);
}

static void test_worker_cannot_start(void **state)
{
    struct fixture *f = *state;
    plan_arg(&f->plan, "/nonexistent/mpirun");
    assert_int_equal(run(f), 1);
    assert_non_null(strstr(status_of(f).reason, "/nonexistent/mpirun cannot be started"));
    json_t *list = events(f);
    assert_string_equal(event_name(json_array_get(list, json_array_size(list) - 1)), "done");
    json_decref(list);
}

static void test_term(void **state)
{
    struct fixture *f = *state;
    char answer[64];
    /* The worker and a child in a process group of its own, as mpirun's ranks are; both ignore TERM. */
    f->plan.kill_s = 0.3;
    shell(f, "trap '' TERM; touch started; set -m; sh -c \"trap '' TERM; while :; do sleep 1; done\" & "
             "while :; do sleep 1; done");
    assert_int_equal(chdir(f->dir), 0);
    start(f, answer, sizeof answer);
    wait_for_file(f, "started");
    assert_int_equal(status_of(f).state, RUN_RUNNING);
    kill(f->supervisor, SIGTERM);
    assert_int_equal(finish(f), 1);
    assert_int_equal(status_of(f).state, RUN_CANCELLED);
    json_t *list = events(f);
    assert_string_equal(event_text(find(list, "job", 1), "state", ""), "cancelled");
    assert_non_null(find(list, "done", 0));
    json_decref(list);
}

static void test_stop_file(void **state)
{
    struct fixture *f = *state;
    char answer[64];
    /* Ranks see the stop file themselves: no TERM within the grace. */
    f->plan.ranks = 1, f->plan.stop_s = 1000;
    shell(f, "trap 'echo TERM >&2' TERM; touch started; while [ ! -e stop ]; do sleep 0.05; done;"
             "echo '{\"ev\":\"done\",\"ok\":true,\"loss\":1.5}'");
    assert_int_equal(chdir(f->dir), 0);
    start(f, answer, sizeof answer);
    wait_for_file(f, "started");
    assert_true(rundir_request_stop(f->dir, NULL));
    finish(f);
    assert_int_equal(status_of(f).state, RUN_CANCELLED);
    assert_null(strstr(log_text(f), "TERM"));
    json_t *list = events(f);
    assert_true(event_number(find(list, "done", 0), "loss", 0) == 1.5);
    json_decref(list);
}

static void test_stop_of_a_script_is_prompt(void **state)
{
    struct fixture *f = *state;
    char answer[64];
    f->plan.stop_s = f->plan.kill_s = 1000; /* only TERM at once can end it */
    shell(f, "touch started; while :; do sleep 0.05; done");
    assert_int_equal(chdir(f->dir), 0);
    start(f, answer, sizeof answer);
    wait_for_file(f, "started");
    assert_true(rundir_request_stop(f->dir, NULL));
    finish(f);
    assert_int_equal(status_of(f).state, RUN_CANCELLED);
}

static void test_silent_rank(void **state)
{
    struct fixture *f = *state;
    f->plan.ranks = 2, f->plan.silent_s = 0.5;
    shell(f, "echo '{\"ev\":\"heartbeat\"}'; exec sleep 1000");
    assert_int_equal(run(f), 1);
    json_t *list = events(f);
    assert_string_equal(event_text(find(list, "fault", 0), "kind", ""), "silent");
    assert_int_equal(event_integer(find(list, "fault", 0), "rank", -1), 0);
    json_decref(list);
    assert_int_equal(status_of(f).state, RUN_FAILED);
}

static void test_stopped_rank(void **state)
{
    struct fixture *f = *state;
    f->plan.ranks = 2, f->plan.silent_s = 1000;
    shell(f, "OMPI_COMM_WORLD_RANK=1 sh -c 'kill -STOP $$; sleep 1000' & exec sleep 1000");
    assert_int_equal(run(f), 1);
    json_t *list = events(f);
    assert_string_equal(event_text(find(list, "fault", 0), "kind", ""), "stopped");
    assert_int_equal(event_integer(find(list, "fault", 0), "rank", -1), 1);
    json_decref(list);
}

static void test_killed_supervisor_is_lost(void **state)
{
    struct fixture *f = *state;
    char answer[64];
    shell(f, "touch started; exec sleep 1000");
    assert_int_equal(chdir(f->dir), 0);
    start(f, answer, sizeof answer);
    wait_for_file(f, "started");
    kill(f->supervisor, SIGKILL);
    waitpid(f->supervisor, NULL, 0);
    assert_int_equal(status_of(f).state, RUN_LOST);
    for (int i = 0; i < 1000 && left_over(f->supervisor) > 0; i++) /* the worker gets TERM from the kernel */
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    assert_int_equal(left_over(f->supervisor), 0);
}

static void test_one_supervisor_a_run(void **state)
{
    struct fixture *f = *state;
    char answer[512];
    shell(f, "true");
    assert_int_equal(run(f), 0);
    start(f, answer, sizeof answer);
    assert_int_equal(answer[0], '0' + ERROR_INPUT);
    assert_int_equal(finish(f), 1);
}

static void test_long_lines_and_broken_bytes(void **state)
{
    struct fixture *f = *state;
    shell(f, "printf '{\"ev\":\"point\",\"label\":\"'; head -c 300000 /dev/zero | tr '\\0' x; echo '\"}';"
             "printf '\\377\\376{\\n'; printf '{\"ev\":\"note\",\"text\":\"no newline\"}'");
    assert_int_equal(run(f), 0);
    json_t *list = events(f);
    assert_int_equal(strlen(event_text(find(list, "point", 0), "label", "")), 300000);
    assert_string_equal(event_text(find(list, "note", 0), "text", ""), "no newline");
    json_decref(list);
}

static void test_checks_answer_no(void **state)
{
    struct fixture *f = *state;
    f->plan.check = true;
    shell(f, "echo '{\"ev\":\"done\",\"ok\":false}'; exit 1");
    assert_int_equal(run(f), 1);
    assert_int_equal(status_of(f).state, RUN_DONE);
    json_t *list = events(f);
    assert_true(json_is_false(json_object_get(find(list, "done", 0), "ok")));
    json_decref(list);
}

/* A script whose run failed has failed, for that run's reason. */
static void test_scripts_fail_with_their_runs(void **state)
{
    struct fixture *f = *state;
    shell(f,
          "echo '{\"ev\":\"nested\",\"run\":\"r1\",\"kind\":\"sim\",\"state\":\"ended\",\"ok\":false,"
          "\"reason\":\"it does not fit\"}'; echo '{\"ev\":\"done\",\"ok\":false,\"exit_code\":1}'; exit 1");
    assert_int_equal(run(f), 1);
    assert_int_equal(status_of(f).state, RUN_FAILED);
    assert_string_equal(status_of(f).reason, "sim r1: it does not fit");
}

static void test_unfinished_checkpoints_go(void **state)
{
    struct fixture *f = *state;
    char unfinished[PATH_MAX], whole[PATH_MAX];
    assert_true(path_join(unfinished, f->dir, "checkpoints/step-4.safetensors.28677.part", NULL));
    assert_true(path_join(whole, f->dir, "checkpoints/step-2.safetensors", NULL));
    f->plan.ranks = 1;
    shell(
        f,
        "mkdir checkpoints; cd checkpoints; touch step-4.safetensors.28677.part step-2.safetensors; exit 1");
    assert_int_equal(chdir(f->dir), 0);
    assert_int_equal(run(f), 1);
    assert_int_not_equal(access(unfinished, F_OK), 0);
    assert_int_equal(access(whole, F_OK), 0);
}

/* Who has the stream open reads why the run ends. */
static void test_a_folder_that_is_removed(void **state)
{
    struct fixture *f = *state;
    char answer[256];
    shell(f, "exec sleep 1000");
    start(f, answer, sizeof answer);
    wait_for_file(f, "events.jsonl");
    struct run_reader *reader = run_reader_open(f->dir, NULL);
    assert_non_null(reader);
    json_decref(run_reader_next(reader));
    while (!rundir_delete(f->dir, NULL)) /* it writes its status meanwhile */
        assert_int_equal(access(f->dir, F_OK), 0);
    assert_int_equal(finish(f), 1);
    bool told = false;
    for (json_t *event; (event = run_reader_next(reader)); json_decref(event))
        told |= event_is(event, "job") && strstr(event_text(event, "reason", ""), "was removed while it ran");
    assert_true(told);
    run_reader_free(reader);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_order),
        TEST(test_failure_has_a_sentence),
        TEST(test_the_workers_own_sentence),
        TEST(test_dead_rank),
        TEST(test_worker_cannot_start),
        TEST(test_term),
        TEST(test_stop_file),
        TEST(test_stop_of_a_script_is_prompt),
        TEST(test_silent_rank),
        TEST(test_stopped_rank),
        TEST(test_killed_supervisor_is_lost),
        TEST(test_one_supervisor_a_run),
        TEST(test_long_lines_and_broken_bytes),
        TEST(test_checks_answer_no),
        TEST(test_scripts_fail_with_their_runs),
        TEST(test_unfinished_checkpoints_go),
        TEST(test_a_folder_that_is_removed),
    };
    return cmocka_run_group_tests_name("supervise", tests, NULL, NULL);
}
