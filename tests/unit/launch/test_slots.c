/*
 * The node-wide cap on ranks: all or nothing, first come first served, and nothing to mend after a crash.
 */
#include "engine/launch/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[64], dir[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/ringside-slots-XXXXXX");
    assert_non_null(mkdtemp(root));
    snprintf(dir, sizeof dir, "%s/slots", root);
    return setenv("RINGSIDE_SLOTS_DIR", dir, 1);
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static struct slots *queue(int count, int cap)
{
    struct error e = {0};
    struct slots *s = slots_queue(count, cap, &e);
    if (!s)
        fail_msg("%s", e.text);
    return s;
}

static void test_all_or_nothing(void **state)
{
    (void)state;
    int position = -1;
    struct slots *a = queue(3, 4), *b = queue(2, 4);
    assert_true(slots_try(a, &position));
    assert_int_equal(slots_taken(4), 3);
    assert_false(slots_try(b, &position)); /* one is free, two are needed */
    assert_int_equal(position, 0);
    assert_int_equal(slots_taken(4), 3); /* and it keeps none meanwhile */
    slots_free(a);
    assert_true(slots_try(b, &position));
    assert_int_equal(slots_taken(4), 2);
    slots_free(b);
    assert_int_equal(slots_taken(4), 0);
}

static void test_first_come_first_served(void **state)
{
    (void)state;
    int position = -1;
    struct slots *a = queue(4, 4);
    assert_true(slots_try(a, &position));
    struct slots *large = queue(4, 4), *small = queue(1, 4), *third = queue(1, 4);
    assert_false(slots_try(third, &position));
    assert_int_equal(position, 2);
    assert_false(slots_try(small, &position));
    assert_int_equal(position, 1);
    assert_false(slots_try(large, &position));
    assert_int_equal(position, 0);
    slots_free(a);
    assert_false(slots_try(small, &position)); /* room enough, but the large one was first */
    assert_int_equal(position, 1);
    assert_true(slots_try(large, &position));
    assert_false(slots_try(small, &position));
    assert_int_equal(position, 0);
    slots_free(large);
    assert_true(slots_try(small, &position));
    assert_true(slots_try(third, &position));
    slots_free(small);
    slots_free(third);
}

static void test_who_leaves_makes_room(void **state)
{
    (void)state;
    int position = -1;
    struct slots *a = queue(1, 1);
    assert_true(slots_try(a, &position));
    struct slots *b = queue(1, 1), *c = queue(1, 1);
    assert_false(slots_try(c, &position));
    assert_int_equal(position, 1);
    slots_free(b); /* cancelled while it waited */
    assert_false(slots_try(c, &position));
    assert_int_equal(position, 0);
    slots_free(c);
    slots_free(a);
}

static void test_crash(void **state)
{
    (void)state;
    int ready[2], position = -1;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct slots *held = slots_queue(2, 2, NULL), *waiting = slots_queue(1, 2, NULL);
        bool ok = held && waiting && slots_try(held, &position) && !slots_try(waiting, &position);
        if (write(ready[1], ok ? "y" : "n", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char answer;
    assert_int_equal(read(ready[0], &answer, 1), 1);
    assert_int_equal(answer, 'y');
    struct slots *mine = queue(2, 2);
    assert_false(slots_try(mine, &position));
    assert_int_equal(position, 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(slots_try(mine, &position));
    slots_free(mine);
    close(ready[0]);
    close(ready[1]);
}

/* Many at once, in processes of their own: never more than the cap, and all of them come to their turn. */
static void test_stampede(void **state)
{
    (void)state;
    enum { PROCESSES = 12, CAP = 3 };
    char file[128];
    pid_t pids[PROCESSES];
    snprintf(file, sizeof file, "%s/log", root);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] != 0)
            continue;
        int position, count = 1 + i % CAP;
        struct slots *s = slots_queue(count, CAP, NULL);
        while (s && !slots_try(s, &position))
            usleep(2000);
        int taken = slots_taken(CAP);
        usleep(3000);
        slots_free(s);
        _exit(s && taken >= count && taken <= CAP ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(slots_taken(CAP), 0);
}

static void test_open_to_all(void **state)
{
    (void)state;
    struct stat st;
    mode_t before = umask(077);
    struct slots *s = queue(1, 1);
    int position;
    assert_true(slots_try(s, &position));
    umask(before);
    assert_int_equal(stat(dir, &st), 0);
    assert_int_equal(st.st_mode & 07777, 01777);
    char path[128];
    snprintf(path, sizeof path, "%s/slot-0", dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    slots_free(s);
}

/* Another user's link must not lead us to write elsewhere. */
static void test_links_are_not_followed(void **state)
{
    (void)state;
    struct error e = {0};
    char target[128], path[128];
    snprintf(target, sizeof target, "%s/target", root);
    assert_int_equal(symlink(target, dir), 0);
    assert_null(slots_queue(1, 1, &e));
    assert_int_not_equal(access(target, F_OK), 0);
    assert_int_equal(unlink(dir), 0);
    assert_int_equal(mkdir(dir, 01777), 0);
    snprintf(path, sizeof path, "%s/slot-0", dir);
    assert_int_equal(symlink(target, path), 0);
    struct slots *s = queue(1, 1);
    int position;
    assert_false(slots_try(s, &position));
    assert_int_not_equal(access(target, F_OK), 0);
    slots_free(s);
    slots_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_all_or_nothing),
        TEST(test_first_come_first_served),
        TEST(test_who_leaves_makes_room),
        TEST(test_crash),
        TEST(test_stampede),
        TEST(test_open_to_all),
        TEST(test_links_are_not_followed),
    };
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
