/*
 * The parts around a supervisor: lines of a pipe, mpirun's words, the site's settings, the command line of mpirun.
 */
#include "engine/base/paths.h"
#include "engine/launch/lines.h"
#include "engine/launch/local.h"
#include "engine/launch/mpirun_log.h"
#include "engine/launch/runlog.h"
#include "engine/launch/site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct collected {
    int count;
    size_t bytes;
    char last[64];
};

static void collect(void *self, char *line, size_t length)
{
    struct collected *c = self;
    c->count++;
    c->bytes += length;
    assert_int_equal(line[length], 0);
    snprintf(c->last, sizeof c->last, "%s", line);
}

static void test_lines(void **state)
{
    (void)state;
    int fds[2];
    struct lines lines = {0};
    struct collected c = {0};
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "one\ntw", 6), 6);
    assert_true(lines_read(&lines, fds[0], collect, &c));
    assert_int_equal(c.count, 1);
    assert_string_equal(c.last, "one");
    assert_int_equal(write(fds[1], "o\n\nrest", 7), 7);
    assert_true(lines_read(&lines, fds[0], collect, &c));
    assert_int_equal(c.count, 3);
    assert_string_equal(c.last, "");
    close(fds[1]);
    assert_false(lines_read(&lines, fds[0], collect, &c));
    lines_finish(&lines, collect, &c);
    assert_int_equal(c.count, 4);
    assert_string_equal(c.last, "rest");
    lines_finish(&lines, collect, &c);
    assert_int_equal(c.count, 4);
    assert_int_equal(c.bytes, 3 + 3 + 0 + 4);
    close(fds[0]);
    lines_free(&lines);
}

/* What Open MPI 4.1.4 printed, copied from its output. */
static void test_mpirun_signal(void **state)
{
    (void)state;
    static const char *const text[] = {
        "--------------------------------------------------------------------------",
        "Primary job  terminated normally, but 1 process returned",
        "a non-zero exit code. Per user-direction, the job has been aborted.",
        "--------------------------------------------------------------------------",
        "mpirun noticed that process rank 3 with PID 0 on node login-7 exited on signal 11 (Segmentation "
        "fault).",
    };
    struct mpirun_log l;
    mpirun_log_init(&l);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        assert_false(l.found);
        mpirun_log_line(&l, text[i]);
    }
    assert_true(l.found);
    assert_int_equal(l.rank, 3);
    assert_int_equal(l.signal, 11);
    assert_string_equal(l.host, "login-7");
}

static void test_mpirun_exit_code(void **state)
{
    (void)state;
    static const char *const text[] = {
        "mpirun detected that one or more processes exited with non-zero status, thus causing",
        "the job to be terminated. The first process to do so was:",
        "",
        "  Process name: [[48722,1],2]",
        "  Exit code:    5",
    };
    struct mpirun_log l;
    mpirun_log_init(&l);
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        mpirun_log_line(&l, text[i]);
    assert_true(l.found);
    assert_int_equal(l.rank, 2);
    assert_int_equal(l.signal, 0);
    assert_int_equal(l.exit_code, 5);
}

static void test_log_is_bounded(void **state)
{
    (void)state;
    char path[] = "/tmp/ringside-log-XXXXXX", line[1001], tail[600];
    struct runlog log = {.fd = mkstemp(path)};
    struct stat st;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = 0;
    for (int i = 0; i < RUNLOG_LIMIT / 1000 + 100; i++)
        runlog_line(&log, line, sizeof line - 1);
    runlog_line(&log, "  the last words", 16);
    runlog_line(&log, "-----", 5);
    runlog_line(&log, "", 0);
    assert_int_equal(fstat(log.fd, &st), 0);
    assert_true(st.st_size <= RUNLOG_LIMIT + 200);
    assert_true(st.st_size > RUNLOG_LIMIT - 2000);
    runlog_tail(&log, tail, sizeof tail);
    assert_non_null(strstr(tail, "/ the last words"));
    runlog_tail(&log, tail, 5);
    assert_int_equal(strlen(tail), 4);
    close(log.fd);
    unlink(path);
}

static char home[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(home, "/tmp/ringside-site-XXXXXX");
    assert_non_null(mkdtemp(home));
    unsetenv("RINGSIDE_LOCAL_RANKS");
    return setenv("RINGSIDE_HOME", home, 1);
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    unsetenv("RINGSIDE_LOCAL_RANKS");
    return system(command);
}

static void write_site(const char *text)
{
    char path[96];
    snprintf(path, sizeof path, "%s/site.lua", home);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_site(void **state)
{
    (void)state;
    struct site site;
    struct error e = {0};
    assert_true(site_read(&site, &e));
    if (access("/etc/ringside/site.lua", F_OK) != 0)
        assert_int_equal(site.local_ranks, machine_cores() > 8 ? machine_cores() : 8);
    write_site("-- thirty learners\nlocal_ranks = 4 * 6\n");
    assert_true(site_read(&site, &e));
    assert_int_equal(site.local_ranks, 24);
    setenv("RINGSIDE_LOCAL_RANKS", "3", 1);
    assert_true(site_read(&site, &e));
    assert_int_equal(site.local_ranks, 3);
    static const char *const wrong[] = {"0", "-1", "2.5", "many", "3x", "99999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("RINGSIDE_LOCAL_RANKS", wrong[i], 1);
        assert_false(site_read(&site, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_non_null(strstr(e.text, "RINGSIDE_LOCAL_RANKS"));
    }
}

static void test_bad_site_files(void **state)
{
    (void)state;
    static const char *const texts[] = {"local_ranks = ",     "local_ranks = 'many'", "while true do end",
                                        "os.execute('true')", "local_ranks = {}",     "\x1bLua"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct site site;
        struct error e = {0};
        write_site(texts[i]);
        assert_false(site_read(&site, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_non_null(strstr(e.text, "site.lua"));
    }
}

static bool has(const struct plan *p, const char *text)
{
    for (int i = 0; i < p->argc; i++)
        if (!strcmp(p->argv[i], text))
            return true;
    return false;
}

static void test_command_line(void **state)
{
    (void)state;
    char path[PATH_MAX];
    if (!machine_find("mpirun", path))
        skip();
    struct job job;
    struct plan p;
    struct error e = {0};
    job_defaults(&job, JOB_TRAIN);
    job.ranks = 1;
    assert_true(plan_make(&p, &job, "/runs/x", &e));
    assert_string_equal(p.argv[p.argc - 1], "/runs/x");
    assert_null(p.argv[p.argc]);
    assert_true(has(&p, "--bind-to"));
    assert_false(has(&p, "mpi_yield_when_idle"));
    assert_int_equal(p.ranks, 1);
    assert_int_equal(p.slots, 1);
    assert_true(p.nice > 0);
    plan_clear(&p);
    setenv("RINGSIDE_LOCAL_RANKS", "4096", 1);
    job.ranks = machine_cores() + 1;
    assert_true(plan_make(&p, &job, "/runs/x", &e));
    assert_true(has(&p, "mpi_yield_when_idle"));
    assert_true(p.note_count >= 1);
    assert_non_null(strstr(p.notes[0], "scaling"));
    plan_clear(&p);
    /* Rank scripts run at several counts within one start of the largest, and take no slots. */
    job_defaults(&job, JOB_RANKS);
    job.rank_script.counts[0] = 2, job.rank_script.counts[1] = 5, job.rank_script.count_total = 2;
    assert_true(plan_make(&p, &job, "/runs/x", &e));
    assert_int_equal(p.ranks, 5);
    assert_int_equal(p.slots, 0);
    plan_clear(&p);
    job.rank_script.coroutines = true;
    assert_true(plan_make(&p, &job, "/runs/x", &e));
    assert_int_equal(p.ranks, 0);
    assert_true(has(&p, "--coroutine-ranks"));
    plan_clear(&p);
}

static void test_cap_and_missing_mpirun(void **state)
{
    (void)state;
    struct job job;
    struct error e = {0};
    char path[PATH_MAX];
    job_defaults(&job, JOB_TRAIN);
    setenv("RINGSIDE_LOCAL_RANKS", "2", 1);
    job.ranks = 3;
    if (machine_find("mpirun", path)) {
        assert_false(plan_check_machine(&job, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_non_null(strstr(e.text, "local_ranks = 3"));
    }
    char *before = strdup(getenv("PATH"));
    setenv("PATH", "/nonexistent", 1);
    job.ranks = 2;
    assert_false(plan_check_machine(&job, &e));
    assert_int_equal(e.kind, ERROR_MISSING);
    assert_non_null(strstr(e.text, "openmpi-bin"));
    assert_non_null(strstr(e.text, "spack load openmpi"));
    job_defaults(&job, JOB_SCRIPT); /* needs no MPI */
    assert_true(plan_check_machine(&job, &e));
    setenv("PATH", before, 1);
    free(before);
}

int main(void)
{
#define SITE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_mpirun_signal),
        cmocka_unit_test(test_mpirun_exit_code),
        cmocka_unit_test(test_log_is_bounded),
        SITE(test_site),
        SITE(test_bad_site_files),
        SITE(test_command_line),
        SITE(test_cap_and_missing_mpirun),
    };
    return cmocka_run_group_tests_name("local", tests, NULL, NULL);
}
