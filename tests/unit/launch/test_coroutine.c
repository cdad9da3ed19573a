/*
 * Rank scripts on coroutines: what a correct ring, wrong ones and deadlocks come to. The expected counts are worked
 * by hand: a ring sends 2(N-1) messages a rank; the sentences name the cycles that the scripts make.
 */
#include "engine/base/event.h"
#include "engine/launch/coroutine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Far above what anything needs that ends by itself; the endless ones are given less. */
static double seconds = 120;

struct list_sink {
    struct event_sink sink;
    json_t *events;
};

static bool keep(struct event_sink *s, json_t *event, struct error *e)
{
    (void)e;
    json_array_append_new(((struct list_sink *)s)->events, event);
    return true;
}

static const char ring[] =
    "function allreduce(comm, x)\n"
    "  local n, r = comm.size, comm.rank\n"
    "  local right, left = (r + 1) % n, (r - 1) % n\n"
    "  if n == 1 then return end\n"
    "  for s = 0, n - 2 do\n"
    "    local mine, into = x:chunk((r - s) % n, n), x:chunk((r - s - 1) % n, n)\n"
    "    local buffer = into:clone()\n"
    "    comm.sendrecv(right, mine, left, buffer)\n"
    "    into:add(buffer)\n"
    "  end\n"
    "  for s = 0, n - 2 do\n"
    "    comm.sendrecv(right, x:chunk((r + 1 - s) % n, n), left, x:chunk((r - s) % n, n))\n"
    "  end\n"
    "end\n";

struct result {
    json_t *events;
    json_t *last; /* the last case event, borrowed */
    bool started, ok;
    struct error e;
};

static void run(struct result *result, const char *text, int ranks, long length)
{
    struct list_sink list = {{.emit = keep}, json_array()};
    struct lua_rank_script script = {.text = text,
                                     .length = strlen(text),
                                     .shown = "mine.lua",
                                     .entry = "allreduce",
                                     .limits = {LUA_RANK_MEMORY, seconds}};
    struct lua_case c = {0, ranks, length, true};
    struct lua_verdict verdict = {.ok = true};
    memset(result, 0, sizeof *result);
    list.sink.started = sink_clock();
    result->events = list.events;
    result->started = coroutine_case(&script, &c, &list.sink, NULL, &verdict, &result->e);
    result->ok = result->started && verdict.ok;
    for (size_t i = 0; i < json_array_size(list.events); i++)
        if (event_is(json_array_get(list.events, i), "case"))
            result->last = json_array_get(list.events, i);
}

static long item(const struct result *r, const char *key, size_t rank)
{
    return (long)json_integer_value(json_array_get(json_object_get(r->last, key), rank));
}

static void test_ring(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 4, 5, 8};
    static const long lengths[] = {0, 1, 3, 7, 16, 1000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            struct result r;
            run(&r, ring, counts[i], lengths[j]);
            assert_true(r.started);
            assert_true(r.ok);
            assert_int_equal(event_integer(r.last, "right_ranks", -1), counts[i]);
            assert_int_equal(event_integer(r.last, "strangers", -1), 0);
            long hops = 0;
            for (size_t k = 0; k < json_array_size(r.events); k++)
                hops += event_is(json_array_get(r.events, k), "hop");
            assert_int_equal(hops, 2 * (counts[i] - 1) * counts[i]);
            long total = 0;
            for (int rank = 0; rank < counts[i]; rank++) {
                assert_int_equal(item(&r, "messages", (size_t)rank), 2 * (counts[i] - 1));
                total += item(&r, "bytes", (size_t)rank);
            }
            /* Each element travels N-1 hops in each of the two halves. */
            assert_int_equal(total, 2 * (counts[i] - 1) * lengths[j] * 4);
            json_decref(r.events);
        }
}

static void expect_case(const char *text, int ranks, long length, const char *key, const char *part)
{
    struct result r;
    run(&r, text, ranks, length);
    assert_true(r.started);
    assert_false(r.ok);
    const char *found = event_text(r.last, key, "(absent)");
    if (!strstr(found, part))
        print_error("%s is: %s\nexpected in it: %s\n", key, found, part);
    assert_non_null(strstr(found, part));
    json_decref(r.events);
}

static void expect_error(const char *text, const char *part)
{
    struct result r;
    run(&r, text, 2, 4);
    assert_false(r.started);
    if (!strstr(r.e.text, part))
        print_error("error is: %s\nexpected in it: %s\n", r.e.text, part);
    assert_non_null(strstr(r.e.text, part));
    json_decref(r.events);
}

static void test_deadlocks(void **state)
{
    (void)state;
    expect_case(
        "function allreduce(comm, x) comm.send((comm.rank + 1) % comm.size, x) end", 3, 4, "deadlock",
        "rank 0 waits to send to rank 1, rank 1 waits to send to rank 2, rank 2 waits to send to rank 0: "
        "nobody can go on");
    expect_case("function allreduce(comm, x) comm.recv((comm.rank + 1) % comm.size, x) end", 2, 4, "deadlock",
                "rank 0 waits to receive from rank 1, rank 1 waits to receive from rank 0");
    expect_case("function allreduce(comm, x) if comm.rank == 1 then comm.recv(0, x) end end", 2, 4,
                "deadlock", "rank 1 waits to receive from rank 0, but rank 0 has finished: nobody sends it");
    expect_case("function allreduce(comm, x) if comm.rank == 1 then comm.send(0, x) end end", 2, 4,
                "deadlock",
                "rank 1 waits to send to rank 0, but rank 0 has finished: nobody takes the message");
    expect_case("function allreduce(comm, x)\n"
                "if comm.rank == 0 then comm.sendrecv(1, x, 2, x:clone()) else comm.recv(0, x) end end",
                3, 4, "deadlock", "rank 0 waits to receive from rank 2, rank 2 waits to receive from rank 0");
}

static void test_wrong(void **state)
{
    (void)state;
    struct result r;
    run(&r, "function allreduce(comm, x) end", 3, 4);
    assert_true(r.started);
    assert_false(r.ok);
    assert_int_equal(event_integer(r.last, "right_ranks", -1), 0);
    json_decref(r.events);
    run(&r,
        "function allreduce(comm, x)\n"
        "if comm.rank > 0 then comm.send(0, x) return end\n"
        "local b = x:clone()\n"
        "for i = 1, comm.size - 1 do comm.recv(i, b) x:add(b) end end",
        4, 16);
    assert_false(r.ok);
    assert_int_equal(event_integer(r.last, "right_ranks", -1), 1);
    assert_int_equal(event_integer(r.last, "wrong_rank", -1), 1);
    assert_int_equal(event_integer(r.last, "strangers", -1), 1); /* rank 2 is no neighbour of rank 0 */
    json_decref(r.events);
    /* Not a number is not right. */
    run(&r, "function allreduce(comm, x) for i = 1, #x do x[i] = 0/0 end end", 2, 4);
    assert_false(r.ok);
    json_decref(r.events);
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("function allreduce(comm, x)\n  x = = 1\nend", "mine.lua:2:");
    expect_error("x = 1", "defines no function 'allreduce'");
    expect_case("function allreduce(comm, x)\n  comm.send(comm.rank, x)\nend", 2, 4, "error",
                "rank 0: mine.lua:2: comm.send(to, v): rank 0 would send to itself");
    expect_case("function allreduce(comm, x) comm.send(comm.size, x) end", 2, 4, "error",
                "there is no rank 2");
    expect_case("function allreduce(comm, x) comm:send(1, x) end", 2, 4, "error",
                "with a dot, not with a colon");
    expect_case("function allreduce(comm, x) comm.send(1 - comm.rank, 5) end", 2, 4, "error",
                "needs a vector");
    expect_case("function allreduce(comm, x)\n"
                "if comm.rank == 0 then comm.send(1, x) else comm.recv(0, x:chunk(0, 2)) end end",
                2, 4, "error", "rank 0 sent 4 elements, but rank 1 receives into a vector of 2");
    expect_case("function allreduce(comm, x) comm.sendrecv(1 - comm.rank, x, 1 - comm.rank, x) end", 2, 4,
                "error", "share elements");
    expect_case("function allreduce(comm, x) x[0] = 1 end", 2, 4, "error", "Lua counts from 1");
    expect_case("function allreduce(comm, x) x:chunk(2, 2) end", 2, 4, "error", "numbered from 0 to 1");
    expect_case("function allreduce(comm, x) x:add(x:chunk(0, 2)) end", 2, 4, "error", "equally long");
    expect_case("function allreduce(comm, x) local y = x + x end", 2, 4, "error", "x:add(y)");
    expect_case("function allreduce(comm, x) x.data = 1 end", 2, 4, "error", "whole number");
    expect_case("function allreduce(comm, x) getmetatable(x).__index = nil end", 2, 4, "error",
                "mine.lua:1:");
    seconds = 0.3;
    expect_case("function allreduce(comm, x) while true do end end", 2, 4, "error",
                "without coming to an end");
    expect_case("function allreduce(comm, x) while true do pcall(function() while true do end end) end end",
                2, 4, "error", "without coming to an end");
    seconds = 120;
    expect_case(
        "function allreduce(comm, x) table.sort({3,2,1}, function() comm.send(1 - comm.rank, x) end) end", 2,
        4, "error", "cannot be called from inside sort");
    expect_case("function allreduce(comm, x) local t = {} while true do t[#t + 1] = x:clone() end end", 2,
                100000, "error", "64 MiB");
}

/* Each rank has globals of its own: nothing can be handed over but by messages. */
static void test_isolation(void **state)
{
    (void)state;
    struct result r;
    run(&r,
        "seen = seen or 0\n"
        "function allreduce(comm, x) seen = seen + 1; if seen ~= 1 then error('shared') end end",
        3, 4);
    assert_true(r.started);
    assert_string_equal(event_text(r.last, "error", ""), "");
    json_decref(r.events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring),   cmocka_unit_test(test_deadlocks), cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_isolation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
