/*
 * Work in a thread: its result is there when it says so, it is waited for, and what is abandoned cleans up after itself.
 */
#include "tui/background.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct task {
    pthread_mutex_t *gate; /* NULL: none */
    int result;
    int pipe; /* a byte is written where it is released */
};

static void work(void *argument)
{
    struct task *t = argument;
    if (t->gate) {
        pthread_mutex_lock(t->gate);
        pthread_mutex_unlock(t->gate);
    }
    t->result = 42;
}

static void release(void *argument)
{
    struct task *t = argument;
    assert_int_equal(write(t->pipe, "x", 1), 1);
    free(t);
}

static void result_is_there(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    struct task *t = calloc(1, sizeof *t);
    t->pipe = ends[1];
    struct background *b = background_start(work, release, t, NULL);
    assert_non_null(b);
    background_wait(b);
    assert_true(background_done(b));
    assert_int_equal(t->result, 42);
    background_free(b);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    background_free(NULL);
}

static void done_here_is_done_at_once(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    struct task *t = calloc(1, sizeof *t);
    t->pipe = ends[1];
    struct background *b = background_here(work, release, t, NULL);
    assert_non_null(b);
    assert_true(background_done(b));
    assert_int_equal(t->result, 42);
    background_free(b);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

/* Not done as long as the gate is shut; nobody waits for it, and its argument is released all the same. */
static void abandoned_work_cleans_up(void **state)
{
    (void)state;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    struct task *t = calloc(1, sizeof *t);
    t->pipe = ends[1];
    t->gate = &gate;
    pthread_mutex_lock(&gate);
    struct background *b = background_start(work, release, t, NULL);
    assert_non_null(b);
    assert_false(background_done(b));
    background_free(b);
    pthread_mutex_unlock(&gate);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(result_is_there),
        cmocka_unit_test(done_here_is_done_at_once),
        cmocka_unit_test(abandoned_work_cleans_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
