/*
 * Who waits for whom: small pictures with hand-worked answers.
 */
#include "engine/base/lua_wait.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COMPUTES                                                                                             \
    {                                                                                                        \
        0                                                                                                    \
    }
#define FINISHED                                                                                             \
    {                                                                                                        \
        .finished = true                                                                                     \
    }
#define SENDS(r)                                                                                             \
    {                                                                                                        \
        .sending = true, .to = (r)                                                                           \
    }
#define RECEIVES(r)                                                                                          \
    {                                                                                                        \
        .receiving = true, .from = (r)                                                                       \
    }
#define BOTH(t, f)                                                                                           \
    {                                                                                                        \
        .sending = true, .receiving = true, .to = (t), .from = (f)                                           \
    }

static void expect(const struct lua_wait *w, int n, const char *sentence, int first, int waiting_for)
{
    struct lua_deadlock d;
    bool found = lua_wait_deadlock(w, n, &d);
    assert_int_equal(found, sentence != NULL);
    if (!found)
        return;
    assert_string_equal(d.sentence, sentence);
    assert_int_equal(d.ranks[0], first);
    assert_int_equal(d.waiting_for, waiting_for);
}

static void test_no_deadlock(void **state)
{
    (void)state;
    expect((struct lua_wait[]){COMPUTES, SENDS(0)}, 2, NULL, 0, 0);
    expect((struct lua_wait[]){FINISHED, FINISHED}, 2, NULL, 0, 0);
    expect((struct lua_wait[]){RECEIVES(1), SENDS(0)}, 2, NULL, 0, 0);
    expect((struct lua_wait[]){BOTH(1, 1), BOTH(0, 0)}, 2, NULL, 0, 0);
    expect((struct lua_wait[]){BOTH(1, 2), BOTH(2, 0), BOTH(0, 1)}, 3, NULL, 0, 0);
    /* A chain that ends in a rank that computes. */
    expect((struct lua_wait[]){SENDS(1), SENDS(2), SENDS(3), COMPUTES}, 4, NULL, 0, 0);
    /* A chain that ends in a pair that has met. */
    expect((struct lua_wait[]){SENDS(1), SENDS(2), RECEIVES(1)}, 3, NULL, 0, 0);
}

static void test_cycles(void **state)
{
    (void)state;
    expect((struct lua_wait[]){SENDS(1), SENDS(0)}, 2,
           "rank 0 waits to send to rank 1, rank 1 waits to send to rank 0: nobody can go on", 0, 1);
    expect((struct lua_wait[]){RECEIVES(1), RECEIVES(0)}, 2,
           "rank 0 waits to receive from rank 1, rank 1 waits to receive from rank 0: nobody can go on", 0,
           1);
    expect((struct lua_wait[]){SENDS(1), SENDS(2), SENDS(0)}, 3,
           "rank 0 waits to send to rank 1, rank 1 waits to send to rank 2, rank 2 waits to send to rank 0: "
           "nobody can go on",
           0, 1);
    /* Rank 0 hangs on a cycle of others, which is what is named. */
    expect((struct lua_wait[]){SENDS(1), SENDS(2), RECEIVES(1)}, 3, NULL, 0, 0);
    expect((struct lua_wait[]){SENDS(1), SENDS(2), SENDS(1)}, 3,
           "rank 1 waits to send to rank 2, rank 2 waits to send to rank 1: nobody can go on", 1, 2);
    /* A pair is stuck while others compute. */
    expect((struct lua_wait[]){COMPUTES, SENDS(2), SENDS(1)}, 3,
           "rank 1 waits to send to rank 2, rank 2 waits to send to rank 1: nobody can go on", 1, 2);
    /* Half of a sendrecv is met, the other half never. */
    expect((struct lua_wait[]){BOTH(1, 2), RECEIVES(0), RECEIVES(0)}, 3,
           "rank 0 waits to receive from rank 2, rank 2 waits to receive from rank 0: nobody can go on", 0,
           2);
}

static void test_finished(void **state)
{
    (void)state;
    expect((struct lua_wait[]){FINISHED, RECEIVES(0)}, 2,
           "rank 1 waits to receive from rank 0, but rank 0 has finished: nobody sends it", 1, 0);
    expect((struct lua_wait[]){SENDS(1), FINISHED}, 2,
           "rank 0 waits to send to rank 1, but rank 1 has finished: nobody takes the message", 0, 1);
    /* Of a chain the last wait is named. */
    expect((struct lua_wait[]){SENDS(1), SENDS(2), FINISHED}, 3,
           "rank 1 waits to send to rank 2, but rank 2 has finished: nobody takes the message", 1, 2);
}

static void test_long_cycle(void **state)
{
    (void)state;
    struct lua_wait w[LUA_WAIT_MAX];
    struct lua_deadlock d;
    for (int r = 0; r < LUA_WAIT_MAX; r++)
        w[r] = (struct lua_wait)SENDS((r + 1) % LUA_WAIT_MAX);
    assert_true(lua_wait_deadlock(w, LUA_WAIT_MAX, &d));
    assert_int_equal(d.count, LUA_WAIT_MAX);
    assert_true(strlen(d.sentence) < sizeof d.sentence);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_deadlock),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_finished),
        cmocka_unit_test(test_long_cycle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
