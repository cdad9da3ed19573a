/*
 * Run directories: names, finding, status, whole writes, deletion.
 */
#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/base/rundir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char home[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(home, "/tmp/ringside-home-XXXXXX");
    assert_non_null(mkdtemp(home));
    return setenv("RINGSIDE_HOME", home, 1);
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void make_run(const char *label, const char *job, char dir[PATH_MAX])
{
    assert_true(rundir_create(NULL, label, dir, NULL));
    assert_true(rundir_write(dir, "job.json", job, NULL));
}

static void make_named(const char *id, const char *job)
{
    char root[PATH_MAX], dir[PATH_MAX];
    assert_true(runs_root(root, NULL));
    assert_true(path_join(dir, root, id, NULL));
    assert_int_equal(mkdir(dir, 0777), 0);
    assert_true(rundir_write(dir, "job.json", job, NULL));
}

static void test_names(void **state)
{
    (void)state;
    char a[PATH_MAX], b[PATH_MAX], c[PATH_MAX], d[PATH_MAX];
    assert_true(rundir_create(NULL, "cnn-mnist", a, NULL));
    assert_true(rundir_create(NULL, "cnn-mnist", b, NULL));
    assert_true(rundir_create(NULL, "../../etc/ä b", c, NULL));
    assert_true(rundir_create(NULL, "", d, NULL));
    assert_string_not_equal(a, b);
    assert_non_null(strstr(a, "-cnn-mnist"));
    assert_int_equal(strncmp(c, home, strlen(home)), 0);
    assert_non_null(strstr(rundir_id(c), "-etc-b")); /* nothing that leads out of the folder, no blanks */
    assert_non_null(strstr(d, "-run"));
    struct stat st;
    assert_int_equal(stat(c, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
}

static void test_list_is_newest_first(void **state)
{
    (void)state;
    make_named("20250101-000000-a", "{}");
    make_named("20260101-000000-b", "{}");
    make_named("20251231-235959-c", "{}");
    char **dirs;
    int count;
    assert_true(rundir_list(&dirs, &count, NULL));
    assert_int_equal(count, 3);
    assert_string_equal(rundir_id(dirs[0]), "20260101-000000-b");
    assert_string_equal(rundir_id(dirs[1]), "20251231-235959-c");
    assert_string_equal(rundir_id(dirs[2]), "20250101-000000-a");
    rundir_list_free(dirs, count);
}

static void test_find(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    struct error e = {0};
    assert_false(rundir_find("last", dir, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    make_named("20260101-000000-cnn", "{\"kind\":\"train\"}");
    make_named("20260101-000000-cnn-2", "{\"kind\":\"train\"}");
    make_named("20260102-000000-mlp", "{\"kind\":\"train\"}");
    make_named("20260102-000001-mlp-ladder", "{\"kind\":\"train\"}");
    make_named("20260103-000000-inner", "{\"kind\":\"train\",\"parent\":\"20260103-000000-check\"}");
    make_named("20260103-000000-check", "{\"kind\":\"check\"}");
    assert_true(
        rundir_find("20260101-000000-cnn", dir, &e)); /* a whole id counts, though it is a prefix too */
    assert_string_equal(rundir_id(dir), "20260101-000000-cnn");
    assert_true(rundir_find("mlp", dir, &e)); /* a whole label counts, though it is a part of another */
    assert_string_equal(rundir_id(dir), "20260102-000000-mlp");
    assert_true(rundir_find("20260102-000000", dir, &e));
    assert_false(rundir_find("cnn", dir, &e));
    assert_non_null(strstr(e.text, "20260101-000000-cnn-2"));
    assert_false(rundir_find("nothing", dir, &e));
    assert_non_null(strstr(e.text, "nothing"));
    assert_true(rundir_find("last", dir, &e)); /* neither the check nor what a script asked for */
    assert_string_equal(rundir_id(dir), "20260102-000001-mlp-ladder");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/runs/20260103-000000-check/", home);
    assert_true(rundir_find(path, dir, &e));
    assert_string_equal(rundir_id(dir), "20260103-000000-check");
    assert_false(rundir_find("/tmp/", dir, &e));
    assert_false(rundir_find("", dir, &e));
}

static void test_last_that_trained(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    struct error e = {0};
    make_named("20260101-000000-script", "{\"kind\":\"script\"}");
    assert_false(rundir_find_trained("last", dir, &e));
    assert_non_null(strstr(e.text, "no run has trained yet"));
    make_named("20260102-000000-a", "{\"kind\":\"train\",\"train\":{\"eval\":\"\"}}");
    make_named("20260103-000000-b", "{\"kind\":\"train\",\"parent\":\"20260101-000000-script\"}");
    make_named("20260104-000000-test", "{\"kind\":\"train\",\"train\":{\"eval\":\"/some/run\"}}");
    make_named("20260105-000000-script", "{\"kind\":\"script\"}");
    make_named("20260106-000000-replay", "{\"kind\":\"train\"}");
    snprintf(dir, sizeof dir, "%s/runs/20260106-000000-replay", home);
    assert_true(rundir_write(dir, "replay.json", "{}", NULL));
    assert_true(rundir_find_trained("last", dir, &e));
    assert_string_equal(rundir_id(dir), "20260103-000000-b");
    assert_true(rundir_find_trained("test", dir, &e)); /* by name it may be any */
    assert_string_equal(rundir_id(dir), "20260104-000000-test");
}

static void test_linked_run(void **state)
{
    (void)state;
    char out[PATH_MAX], dir[PATH_MAX], **dirs;
    int count;
    assert_true(path_join(out, home, "elsewhere", NULL));
    assert_true(path_make(out, NULL));
    assert_true(rundir_write(out, "job.json", "{}", NULL));
    assert_true(rundir_link(out, "far", NULL));
    assert_true(rundir_list(&dirs, &count, NULL));
    assert_int_equal(count, 1);
    assert_non_null(strstr(rundir_id(dirs[0]), "-far"));
    rundir_list_free(dirs, count);
    assert_true(rundir_find("far", dir, NULL));
    assert_true(rundir_delete(dir, NULL));
    assert_int_not_equal(access(out, F_OK), 0);
    assert_int_not_equal(access(dir, F_OK), 0);
    struct stat st;
    assert_int_not_equal(lstat(dir, &st), 0); /* the link is gone with it */
}

static void test_delete_stays_inside(void **state)
{
    (void)state;
    char dir[PATH_MAX], path[PATH_MAX], keep[PATH_MAX];
    make_run("x", "{}", dir);
    assert_true(path_join(keep, home, "keep", NULL));
    assert_true(path_make(keep, NULL));
    assert_true(rundir_write(keep, "file", "text", NULL));
    assert_true(path_join(path, dir, "link", NULL));
    assert_int_equal(symlink(keep, path), 0);
    assert_true(path_join(path, dir, "checkpoints/deep", NULL));
    assert_true(path_make(path, NULL));
    assert_true(rundir_write(path, "file", "text", NULL));
    assert_true(rundir_delete(dir, NULL));
    assert_int_not_equal(access(dir, F_OK), 0);
    assert_true(path_join(path, keep, "file", NULL));
    assert_int_equal(access(path, F_OK), 0);
    struct error e = {0};
    assert_false(rundir_delete(keep, &e)); /* no job.json: not a run */
    assert_int_equal(access(path, F_OK), 0);
}

static void test_status(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    make_run("x", "{}", dir);
    struct run_status out = {
        .state = RUN_RUNNING, .pid = getpid(), .started = now(), .heartbeat = now(), .version = 1};
    gethostname(out.host, sizeof out.host - 1);
    struct run_status in;
    assert_true(run_status_write(dir, &out, NULL));
    assert_true(run_status_read(dir, &in, NULL));
    assert_int_equal(in.state, RUN_RUNNING);
    assert_int_equal(in.pid, out.pid);
    assert_true(in.started - out.started < 1e-3 && out.started - in.started < 1e-3);
    /* A heartbeat that is too old */
    out.heartbeat = now() - RUN_STALE_S - 1;
    assert_true(run_status_write(dir, &out, NULL));
    assert_true(run_status_read(dir, &in, NULL));
    assert_int_equal(in.state, RUN_LOST);
    assert_true(*in.reason);
    /* One that has ended stays what it was, however old */
    out.state = RUN_FAILED;
    snprintf(out.reason, sizeof out.reason, "it was \"so\"");
    assert_true(run_status_write(dir, &out, NULL));
    assert_true(run_status_read(dir, &in, NULL));
    assert_int_equal(in.state, RUN_FAILED);
    assert_string_equal(in.reason, "it was \"so\"");
    /* A process that is gone from this host */
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    out = (struct run_status){.state = RUN_PENDING, .pid = child, .heartbeat = now()};
    gethostname(out.host, sizeof out.host - 1);
    assert_true(run_status_write(dir, &out, NULL));
    assert_true(run_status_read(dir, &in, NULL));
    assert_int_equal(in.state, RUN_LOST);
    /* The same on another host cannot be told yet */
    snprintf(out.host, sizeof out.host, "another.host");
    assert_true(run_status_write(dir, &out, NULL));
    assert_true(run_status_read(dir, &in, NULL));
    assert_int_equal(in.state, RUN_PENDING);
}

static void test_bad_status(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    struct run_status in;
    struct error e = {0};
    make_run("x", "{}", dir);
    assert_false(run_status_read(dir, &in, &e)); /* absent */
    assert_false(run_status_look(dir, &in));
    static const char *const texts[] = {
        "", "{", "[]", "{\"state\":\"odd\"}", "{\"state\":3}", "{\"state\":\"done\"} x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_true(rundir_write(dir, "status.json", texts[i], NULL));
        e = (struct error){0};
        assert_false(run_status_read(dir, &in, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        assert_non_null(strstr(e.text, "status.json"));
        assert_true(run_status_look(dir, &in)); /* whoever shows the run does not wait for it for ever */
        assert_int_equal(in.state, RUN_LOST);
        assert_int_equal(strncmp(in.reason, "status.json", 11), 0);
    }
}

/* Runs as root too: a full disk and a read-only one are tried by the end-to-end tests. */
static void test_write_is_whole(void **state)
{
    (void)state;
    char dir[PATH_MAX], path[PATH_MAX];
    make_run("x", "{}", dir);
    assert_true(rundir_write(dir, "file", "one\n", NULL));
    struct error e = {0};
    assert_true(path_join(path, dir, "gone", NULL));
    assert_false(rundir_write(path, "file", "two\n", &e));
    assert_non_null(strstr(e.text, "gone/file"));
    int files = 0;
    DIR *folder = opendir(dir);
    while (readdir(folder))
        files++;
    closedir(folder);
    assert_int_equal(files, 4); /* ., .., job.json, file: no temporary is left */
}

static void test_stop_file(void **state)
{
    (void)state;
    char dir[PATH_MAX];
    make_run("x", "{}", dir);
    assert_false(rundir_stop_requested(dir));
    assert_true(rundir_request_stop(dir, NULL));
    assert_true(rundir_request_stop(dir, NULL));
    assert_true(rundir_stop_requested(dir));
}

static void test_attached(void **state)
{
    (void)state;
    char dir[PATH_MAX], path[PATH_MAX], line[512];
    make_run("x", "{}", dir);
    rundir_note_attached(dir, 7);
    rundir_note_attached(dir, 9);
    assert_true(path_join(path, dir, "attached.jsonl", NULL));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; i < 2; i++) {
        assert_non_null(fgets(line, sizeof line, f));
        json_t *note = event_parse(line, strlen(line));
        assert_int_equal(event_integer(note, "step", -1), i ? 9 : 7);
        assert_int_equal(event_integer(note, "pid", -1), getpid());
        assert_true(event_number(note, "time", 0) > 1e9);
        json_decref(note);
    }
    fclose(f);
    rundir_note_attached("/nonexistent", 1); /* harms nobody */
}

static void test_home(void **state)
{
    (void)state;
    char path[PATH_MAX], deep[PATH_MAX];
    struct error e = {0};
    assert_true(path_join(deep, home, "a/b/c", NULL));
    setenv("RINGSIDE_HOME", deep, 1);
    assert_true(ringside_home(path, &e));
    assert_string_equal(path, deep);
    assert_true(path_join(deep, home, "file", NULL));
    fclose(fopen(deep, "w"));
    setenv("RINGSIDE_HOME", deep, 1);
    assert_false(ringside_home(path, &e)); /* a file is in the way */
    assert_non_null(strstr(e.text, deep));
    assert_non_null(strstr(e.text, "RINGSIDE_HOME"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_list_is_newest_first),
        TEST(test_find),
        TEST(test_last_that_trained),
        TEST(test_linked_run),
        TEST(test_status),
        TEST(test_delete_stays_inside),
        TEST(test_bad_status),
        TEST(test_write_is_whole),
        TEST(test_stop_file),
        TEST(test_attached),
        TEST(test_home),
    };
    return cmocka_run_group_tests_name("rundir", tests, NULL, NULL);
}
