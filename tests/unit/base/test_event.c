/*
 * Events as lines, error sentences, paths.
 */
#include "engine/base/error.h"
#include "engine/base/event.h"
#include "engine/base/paths.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_line(void **state)
{
    (void)state;
    json_t *event = event_new("step", 1.25);
    event_set_integer(event, "step", 1LL << 40);
    event_set_number(event, "loss", 0.1);
    event_set_number(event, "grad_norm", NAN); /* JSON has no such number */
    event_set_number(event, "speed", INFINITY);
    event_set_text(event, "text", "a \"b\"\n\xc3\xa4");
    char *line = event_line(event);
    assert_string_equal(line, "{\"t\":1.25,\"ev\":\"step\",\"step\":1099511627776,\"loss\":0.1,"
                              "\"text\":\"a \\\"b\\\"\\n\xc3\xa4\"}\n");
    json_t *back = event_parse(line, strlen(line));
    assert_true(json_equal(event, back));
    json_decref(back);
    json_decref(event);
    free(line);
}

static void test_broken_text_is_kept(void **state)
{
    (void)state;
    json_t *event = event_new("note", -1);
    event_set_text(event, "text", "caf\xe9");
    assert_string_equal(event_text(event, "text", ""), "caf?");
    assert_null(json_object_get(event, "t"));
    json_decref(event);
}

static void test_accessors_never_fail(void **state)
{
    (void)state;
    const char *line = "{\"ev\":\"x\",\"n\":2,\"r\":2.5,\"s\":\"t\"}";
    json_t *event = event_parse(line, strlen(line));
    assert_non_null(event);
    assert_true(event_number(event, "n", 0) == 2.0);
    assert_true(event_number(event, "s", -1) == -1);
    assert_int_equal(event_integer(event, "r", -1), -1);
    assert_int_equal(event_integer(event, "absent", 7), 7);
    assert_string_equal(event_text(event, "n", "none"), "none");
    assert_true(event_is(event, "x"));
    json_decref(event);
    assert_string_equal(event_name(NULL), "");
    assert_true(isnan(event_number(NULL, "x", NAN)));
    assert_null(event_parse("{", 1));
    assert_null(event_parse("", 0));
    assert_null(event_parse("7", 1));
}

static void test_write(void **state)
{
    (void)state;
    int fds[2];
    char text[128];
    assert_int_equal(pipe(fds), 0);
    assert_true(event_write(fds[1], event_new("a", 0), NULL));
    ssize_t n = read(fds[0], text, sizeof text);
    assert_int_equal(n, (ssize_t)strlen("{\"t\":0.0,\"ev\":\"a\"}\n"));
    close(fds[0]);
    close(fds[1]);
    struct error e = {0};
    assert_false(event_write(-1, event_new("a", 0), &e));
    assert_true(*e.text);
}

static void test_error(void **state)
{
    (void)state;
    struct error e = {0};
    assert_false(error_set(&e, ERROR_INPUT, "batch is %d", -1));
    assert_false(error_wrap(&e, "job %s", "x"));
    assert_string_equal(e.text, "job x: batch is -1");
    assert_int_equal(e.kind, ERROR_INPUT);
    errno = ENOENT;
    assert_false(error_errno(&e, ERROR_FAILED, "file"));
    assert_string_equal(e.text, "file: No such file or directory");
    assert_false(error_set(NULL, ERROR_FAILED, "nobody hears"));
    assert_false(error_wrap(NULL, "nobody"));
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = 0;
    error_set(&e, ERROR_FAILED, "%s", long_text);
    errno = ENOSPC;
    error_errno(&e, ERROR_FAILED, "%s", long_text);
    error_wrap(&e, "%s", long_text);
    assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void test_paths(void **state)
{
    (void)state;
    char path[PATH_MAX], long_name[PATH_MAX];
    struct error e = {0};
    assert_true(path_join(path, "/a", "b", &e));
    assert_string_equal(path, "/a/b");
    assert_true(path_join(path, "/a/", "b", &e));
    assert_string_equal(path, "/a/b");
    assert_true(path_join(path, "/a", "", &e));
    assert_string_equal(path, "/a");
    assert_true(path_join(path, path, "c", &e)); /* in place */
    assert_string_equal(path, "/a/c");
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    assert_false(path_join(path, "/a", long_name, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_true(path_data(path, &e)); /* from a test in the build tree */
    assert_true(path_program("ringside", path, &e));
    assert_int_equal(access(path, X_OK), 0);
    assert_false(path_program("no-such-program", path, &e));
    assert_int_equal(e.kind, ERROR_MISSING);
    setenv("RINGSIDE_DATA", "/nonexistent", 1);
    assert_false(path_data(path, &e));
    assert_int_equal(e.kind, ERROR_MISSING);
    unsetenv("RINGSIDE_DATA");
}

static void test_make(void **state)
{
    (void)state;
    char root[] = "/tmp/ringside-paths-XXXXXX", path[PATH_MAX];
    struct error e = {0};
    assert_non_null(mkdtemp(root));
    assert_true(path_join(path, root, "a/b//c/", &e));
    assert_true(path_make(path, &e));
    assert_true(path_make(path, &e));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(path_join(path, root, "file", &e));
    close(open(path, O_WRONLY | O_CREAT, 0666));
    assert_false(path_make(path, &e));
    assert_non_null(strstr(e.text, "Not a directory"));
    assert_true(path_join(path, path, "below", &e));
    assert_false(path_make(path, &e));
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_broken_text_is_kept),
        cmocka_unit_test(test_accessors_never_fail),
        cmocka_unit_test(test_write),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_make),
    };
    return cmocka_run_group_tests_name("event", tests, NULL, NULL);
}
