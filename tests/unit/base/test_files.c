/*
 * Plain files are opened; a named pipe, a device, a folder and a huge file are told, and nobody waits for them.
 */
#include "engine/base/files.h"
#include "engine/base/rundir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/ringside-files-XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/status.json", dir);
    alarm(20); /* whoever waits is ended */
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    alarm(0);
    unlink(path);
    return rmdir(dir);
}

static void refused(const char *file, off_t most, const char *why)
{
    struct error e = {0};
    assert_int_equal(file_open(file, most, &e), -1);
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, file));
    assert_non_null(strstr(e.text, why));
    assert_null(file_stream(file, most, NULL));
}

static void test_no_plain_file(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    refused(path, 0, "is not a plain file");
    refused("/dev/zero", 0, "is not a plain file");
    refused(dir, 0, "is not a plain file");
    unlink(path);
    refused(path, 0, "No such file");
    assert_int_equal(symlink("/dev/zero", path), 0);
    refused(path, 0, "is not a plain file");
}

static void test_size(void **state)
{
    (void)state;
    assert_true(rundir_write(dir, "status.json", "{\"a\": 1}", NULL));
    FILE *file = file_stream(path, 8, NULL);
    assert_non_null(file);
    fclose(file);
    refused(path, 7, "has 8 bytes, more than the 7");
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* a file of holes */
    struct error e = {0};
    assert_null(file_json(path, &e));
    assert_non_null(strstr(e.text, "1099511627776 bytes"));
}

static void test_json(void **state)
{
    (void)state;
    struct error e = {0};
    assert_true(rundir_write(dir, "status.json", "{\"a\":\n 1", NULL));
    assert_null(file_json(path, &e));
    assert_non_null(strstr(e.text, "status.json, line 2: this is not JSON"));
    assert_true(rundir_write(dir, "status.json", "{\"a\":\n 17}", NULL));
    json_t *object = file_json(path, NULL);
    assert_int_equal(json_integer_value(json_object_get(object, "a")), 17);
    json_decref(object);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {TEST(test_no_plain_file), TEST(test_size), TEST(test_json)};
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
