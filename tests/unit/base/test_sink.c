/*
 * Event sinks: whole lines from several threads, times since RINGSIDE_STARTED, references taken over.
 */
#include "engine/base/event.h"
#include "engine/base/sink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, EVENTS = 200, PADDING = 9000 }; /* longer than a pipe takes in one piece */

struct writer {
    struct fd_sink *sink;
    int number;
};

static void *write_events(void *argument)
{
    struct writer *w = argument;
    char *padding = malloc(PADDING + 1);
    memset(padding, 'a' + w->number, PADDING);
    padding[PADDING] = 0;
    for (int i = 0; i < EVENTS; i++) {
        json_t *event = sink_event(&w->sink->sink, "point");
        event_set_integer(event, "writer", w->number);
        event_set_integer(event, "i", i);
        event_set_text(event, "padding", padding);
        if (!sink_emit(&w->sink->sink, event, NULL))
            break;
    }
    free(padding);
    return NULL;
}

static void test_threads_share_a_sink(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct fd_sink sink;
    sink_fd_init(&sink, ends[1]);
    pthread_t threads[THREADS];
    struct writer writers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){&sink, i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_events, &writers[i]), 0);
    }
    FILE *in = fdopen(ends[0], "r");
    int next[THREADS] = {0};
    char *line = NULL;
    size_t room = 0;
    for (int n = 0; n < THREADS * EVENTS; n++) {
        ssize_t length = getline(&line, &room, in);
        assert_true(length > 0);
        json_t *event = event_parse(line, (size_t)length);
        assert_non_null(event); /* no line is torn by another */
        long long writer = event_integer(event, "writer", -1);
        assert_in_range(writer, 0, THREADS - 1);
        assert_int_equal(event_integer(event, "i", -1), next[writer]++); /* each writer's order is kept */
        json_decref(event);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    free(line);
    fclose(in);
    close(ends[1]);
    sink_fd_clear(&sink);
}

static void test_started(void **state)
{
    (void)state;
    setenv("RINGSIDE_STARTED", "1234567890.25", 1);
    assert_true(sink_started() == 1234567890.25);
    struct event_sink sink;
    sink_null_init(&sink);
    assert_true(sink_now(&sink) > 4e8); /* the clock is past 2023 */
    const char *bad[] = {"", "soon", "12x", "-5", "nan", "inf"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("RINGSIDE_STARTED", bad[i], 1);
        double before = sink_clock(), started = sink_started();
        assert_true(started >= before && started <= sink_clock());
    }
    unsetenv("RINGSIDE_STARTED");
    sink.started = sink_clock() + 1000; /* another host's clock is ahead */
    assert_true(sink_now(&sink) == 0);
}

static void test_references(void **state)
{
    (void)state;
    struct event_sink sink;
    sink_null_init(&sink);
    json_t *event = event_new("note", 0);
    json_incref(event);
    assert_true(sink_emit(&sink, event, NULL));
    assert_int_equal(event->refcount, 1);
    json_incref(event);
    assert_true(sink_emit(NULL, event, NULL));
    assert_int_equal(event->refcount, 1);
    json_decref(event);
}

/* Keeps the last event. */
static json_t *kept;
static bool keep(struct event_sink *s, json_t *event, struct error *e)
{
    (void)s;
    (void)e;
    json_decref(kept);
    kept = event;
    return true;
}

static void test_note(void **state)
{
    (void)state;
    struct event_sink sink = {.emit = keep, .started = sink_clock()};
    assert_true(sink_note(&sink, "error", "rank 1 is gone", NULL));
    assert_true(event_is(kept, "note"));
    assert_string_equal(event_text(kept, "level", ""), "error");
    assert_string_equal(event_text(kept, "text", ""), "rank 1 is gone");
    assert_true(event_number(kept, "t", -1) >= 0);
    json_decref(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_share_a_sink),
        cmocka_unit_test(test_started),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
