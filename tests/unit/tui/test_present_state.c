/* The small files by which a presentation and its notes know of each other. */
#include "tui/present_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char home[] = "/tmp/ringside-present-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return !mkdtemp(home) || setenv("RINGSIDE_HOME", home, 1);
}

static int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", home);
    return system(command);
}

static void test_round_trip(void **state)
{
    (void)state;
    struct error e = {0};
    struct present_state s = {.lesson = "04-ring", .slide = 3, .slides = 9, .started = 1000},
                         list[PRESENT_MAX];
    assert_int_equal(present_state_list(list), 0);
    assert_true(present_state_begin(&s, &e));
    assert_true(present_state_write(&s, 1002.5, &e));
    assert_int_equal(present_state_list(list), 1);
    assert_string_equal(list[0].lesson, "04-ring");
    assert_int_equal(list[0].slide, 3);
    assert_int_equal(list[0].slides, 9);
    assert_int_equal(list[0].pid, getpid());
    assert_true(list[0].beat > 1002.4 && list[0].beat < 1002.6);
    assert_false(present_state_lost(&list[0], 1e12)); /* its process is here */
    /* Of another host only its sign of life counts. */
    snprintf(list[0].host, sizeof list[0].host, "elsewhere");
    assert_false(present_state_lost(&list[0], 1002.5 + PRESENT_LOST_S));
    assert_true(present_state_lost(&list[0], 1002.6 + PRESENT_LOST_S));
    present_state_end(&s);
    assert_int_equal(present_state_list(list), 0);
}

static void test_wants(void **state)
{
    (void)state;
    struct error e = {0};
    struct present_state s = {.lesson = "a"};
    struct present_want want = {0};
    assert_false(present_want_write(&s, &want, &e)); /* nobody is there */
    assert_true(present_state_begin(&s, &e) && present_state_write(&s, 1, &e));
    assert_false(present_want_take(&s, &want));
    /* The last one counts, and is taken once. */
    assert_true(present_want_write(&s, &(struct present_want){.slide = 4, .blank = -1}, &e));
    assert_true(present_want_write(&s, &(struct present_want){.slide = 5, .blank = 1, .restart = true}, &e));
    assert_true(present_want_take(&s, &want));
    assert_int_equal(want.slide, 5);
    assert_int_equal(want.blank, 1);
    assert_true(want.restart);
    assert_false(present_want_take(&s, &want));
    present_state_end(&s);
}

static void test_left_behind(void **state)
{
    (void)state;
    struct error e = {0};
    struct present_state s = {.lesson = "b"}, list[PRESENT_MAX];
    int status;
    pid_t child = fork();
    if (child == 0) { /* ends without a word */
        struct present_state dead = {.lesson = "dead", .started = 5};
        _exit(!present_state_begin(&dead, NULL) || !present_state_write(&dead, 5, NULL));
    }
    assert_true(waitpid(child, &status, 0) == child && status == 0);
    assert_int_equal(present_state_list(list), 1);
    assert_true(present_state_lost(&list[0], 5));
    assert_int_equal(list[0].pid, child);
    /* The next presentation clears it away. */
    assert_true(present_state_begin(&s, &e) && present_state_write(&s, 6, &e));
    assert_int_equal(present_state_list(list), 1);
    assert_string_equal(list[0].lesson, "b");
    /* What is no such file is none. */
    char path[256];
    snprintf(path, sizeof path, "%s/present/broken.json", home);
    FILE *broken = fopen(path, "w");
    fputs("{\"lesson\": ", broken);
    fclose(broken);
    assert_int_equal(present_state_list(list), 1);
    present_state_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_wants),
        cmocka_unit_test(test_left_behind),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
