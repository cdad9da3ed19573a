/*
 * The reader of events.jsonl: torn and long lines, broken bytes, a file that shrinks, a file that comes late.
 */
#include "engine/base/event.h"
#include "engine/base/rundir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char dir[64], file[96];
    struct run_reader *reader;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    strcpy(f->dir, "/tmp/ringside-reader-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->file, sizeof f->file, "%s/events.jsonl", f->dir);
    f->reader = run_reader_open(f->dir, NULL);
    assert_non_null(f->reader);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    run_reader_free(f->reader);
    unlink(f->file);
    rmdir(f->dir);
    free(f);
    return 0;
}

static void add_bytes(struct fixture *f, const void *bytes, size_t length)
{
    int fd = open(f->file, O_WRONLY | O_CREAT | O_APPEND, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    close(fd);
}

static void add(struct fixture *f, const char *text)
{
    add_bytes(f, text, strlen(text));
}

static void expect(struct fixture *f, const char *name)
{
    json_t *event = run_reader_next(f->reader);
    if (!name) {
        assert_null(event);
        return;
    }
    assert_non_null(event);
    assert_string_equal(event_name(event), name);
    json_decref(event);
}

static void test_late_file(void **state)
{
    struct fixture *f = *state;
    expect(f, NULL);
    add(f, "{\"ev\":\"a\"}\n{\"ev\":\"b\"}\n");
    expect(f, "a");
    expect(f, "b");
    expect(f, NULL);
    add(f, "{\"ev\":\"c\"}\n");
    expect(f, "c");
    expect(f, NULL);
    assert_int_equal(run_reader_skipped(f->reader), 0);
}

static void test_torn_line(void **state)
{
    struct fixture *f = *state;
    const char *line = "{\"ev\":\"note\",\"text\":\"whole\"}\n";
    for (const char *p = line; *p; p++) {
        expect(f, NULL);
        add_bytes(f, p, 1);
    }
    json_t *event = run_reader_next(f->reader);
    assert_string_equal(event_text(event, "text", ""), "whole");
    json_decref(event);
    assert_int_equal(run_reader_skipped(f->reader), 0);
}

static void test_broken_lines(void **state)
{
    struct fixture *f = *state;
    static const char bytes[] = "\0\0\377\376{\n"
                                "\n"
                                "plain words\n"
                                "[1,2]\n"
                                "{\"t\":1}\n"
                                "{\"ev\":3}\n"
                                "{\"ev\":\"a\",\"ev\":\"b\"}\n"
                                "{\"ev\":\"x\",\"v\":1e999}\n"
                                "{\"ev\":\"ok\",\"later\":{\"deep\":[1]}}\r\n";
    add_bytes(f, bytes, sizeof bytes - 1);
    json_t *event = run_reader_next(f->reader);
    assert_string_equal(event_name(event), "ok");
    assert_true(json_is_object(json_object_get(event, "later"))); /* unknown fields stay */
    json_decref(event);
    expect(f, NULL);
    assert_int_equal(run_reader_skipped(f->reader), 7);
}

static void test_long_lines(void **state)
{
    struct fixture *f = *state;
    for (size_t length = 65530; length < 65550; length++) { /* around the size of a read */
        char *text = malloc(length + 1);
        memset(text, 'x', length);
        text[length] = 0;
        add(f, "{\"ev\":\"long\",\"v\":\"");
        add(f, text);
        add(f, "\"}\n");
        json_t *event = run_reader_next(f->reader);
        assert_non_null(event);
        assert_int_equal(strlen(event_text(event, "v", "")), length);
        json_decref(event);
        free(text);
    }
}

/* A line that no event can be is given up, and the next one is read. */
static void test_endless_line(void **state)
{
    struct fixture *f = *state;
    char *block = malloc(1 << 20);
    memset(block, 'y', 1 << 20);
    for (int i = 0; i < 40; i++) {
        add_bytes(f, block, 1 << 20);
        if (i % 3 == 0)
            expect(f, NULL);
    }
    free(block);
    add(f, "\n{\"ev\":\"after\"}\n");
    expect(f, "after");
    assert_int_equal(run_reader_skipped(f->reader), 1);
}

static void test_shrinking_file(void **state)
{
    struct fixture *f = *state;
    add(f, "{\"ev\":\"a\"}\n{\"ev\":\"tor");
    expect(f, "a");
    expect(f, NULL);
    assert_int_equal(truncate(f->file, 11), 0); /* the writer takes its torn line back */
    add(f, "{\"ev\":\"b\"}\n");
    expect(f, "b");
    assert_int_equal(truncate(f->file, 0), 0); /* somebody empties it: go on with what comes */
    expect(f, NULL);
    add(f, "{\"ev\":\"c\"}\n");
    expect(f, "c");
    expect(f, NULL);
}

static void test_many_events(void **state)
{
    struct fixture *f = *state;
    enum { N = 20000 };
    char line[64];
    FILE *file = fopen(f->file, "w");
    for (int i = 0; i < N; i++)
        fprintf(file, "{\"t\":%d,\"ev\":\"step\",\"step\":%d}\n", i, i);
    fclose(file);
    for (int i = 0; i < N; i++) {
        const char *read;
        size_t length;
        assert_true(run_reader_next_line(f->reader, &read, &length));
        snprintf(line, sizeof line, "{\"t\":%d,\"ev\":\"step\",\"step\":%d}", i, i);
        assert_string_equal(read, line);
        assert_int_equal(length, strlen(line));
        json_t *event = run_reader_event(f->reader, read, length);
        assert_int_equal(event_integer(event, "step", -1), i);
        json_decref(event);
    }
    expect(f, NULL);
}

/* From any byte on: the first line that begins there or behind it, whole, and where it begins. */
static void test_seek(void **state)
{
    struct fixture *f = *state;
    static const char TEXT[] = "{\"ev\":\"a\"}\n\n{\"ev\":\"bb\"}\nnonsense\n{\"ev\":\"c\"}\n";
    add(f, TEXT);
    for (int from = 0; from <= (int)strlen(TEXT); from++) {
        const char *next = from == 0 ? TEXT : strchr(TEXT + from - 1, '\n'), *line;
        size_t length;
        next = next && from ? next + 1 : next;
        next += next && *next == '\n'; /* empty lines are passed over */
        run_reader_seek(f->reader, from);
        bool found = run_reader_next_line(f->reader, &line, &length);
        assert_int_equal(found, next && *next);
        if (found && next) {
            assert_int_equal(strncmp(line, next, length), 0);
            assert_int_equal(run_reader_offset(f->reader), next + length + 1 - TEXT);
        }
    }
    assert_int_equal(run_reader_size(f->reader), (int)strlen(TEXT));
    assert_int_equal(run_reader_skipped(f->reader), 0); /* what is passed over is not read */
}

static void test_no_directory(void **state)
{
    (void)state;
    struct error e = {0};
    assert_null(run_reader_open("/nonexistent/run", &e));
    assert_non_null(strstr(e.text, "/nonexistent/run"));
    run_reader_free(NULL);
}

static void test_named_pipe(void **state)
{
    struct fixture *f = *state;
    struct error e = {0};
    alarm(20);                                  /* whoever waits for its writer is ended */
    assert_int_equal(mkfifo(f->file, 0600), 0); /* after the reader was opened */
    assert_null(run_reader_next(f->reader));
    assert_null(run_reader_open(f->dir, &e));
    assert_non_null(strstr(e.text, "events.jsonl is not a plain file"));
    alarm(0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_late_file),    TEST(test_torn_line),      TEST(test_broken_lines), TEST(test_long_lines),
        TEST(test_endless_line), TEST(test_shrinking_file), TEST(test_many_events),  TEST(test_no_directory),
        TEST(test_seek),         TEST(test_named_pipe),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
