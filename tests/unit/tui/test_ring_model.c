/*
 * The ring's picture against the schedule of engine/spec and against closed forms: after N-1 rounds every rank holds
 * one complete chunk, after 2(N-1) all of them; each rank sends 2(N-1) messages and 2(N-1)/N of the buffer.
 */
#include "engine/spec/cost.h"
#include "engine/spec/schedule.h"
#include "tui/ring_draw.h"
#include "tui/ring_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the engine would record of a schedule. said: rounds and phases too; else only who, what and when. */
static struct run_op record_of(const char *algo, int ranks, size_t length, bool said)
{
    struct run_op op;
    struct cost_link link = {.alpha = 5e-5};
    assert_true(ring_schedule_op(&op, algo, ranks, 4.0 * (double)length, &link, NULL));
    op.op = 7;
    for (int i = 0; i < op.count; i++) {
        struct run_hop *h = &op.hops[i];
        h->t0 = 1 + h->hop * 1e-4 + h->from * 1e-6;
        h->t1 = h->t0 + 5e-5;
        if (!said) {
            h->phase = HOP_OTHER;
            h->hop = -1;
        }
    }
    return op;
}

static struct run_op record(int ranks, size_t length, bool said)
{
    return record_of("ring", ranks, length, said);
}

/* A tree sends the whole buffer: rank 0 has all after the reduce, everybody after the broadcast; nobody is a stranger. */
static void trees_end_complete(void **state)
{
    (void)state;
    for (int n = 2; n <= 9; n++) {
        struct run_op op = record_of("tree", n, (size_t)n * 20, true);
        struct ring_model m;
        uint64_t sets[9], all = (UINT64_C(1) << n) - 1;
        assert_true(ring_model_build(&m, &op, true, NULL));
        assert_true(m.tree && !m.ring);
        assert_int_equal(m.strangers, 0);
        assert_int_equal(m.chunks, 1);
        assert_int_equal(m.count, 2 * (n - 1));
        assert_true(m.buffer_bytes == 80 * n && m.total_bytes == 80.0 * n * m.count);
        ring_model_state(&m, m.rounds / 2, sets);
        assert_int_equal(sets[0], all);
        assert_true(sets[n - 1] != all);
        assert_int_equal(ring_model_phase(&m, 0), HOP_REDUCE);
        assert_int_equal(ring_model_phase(&m, m.rounds - 1), HOP_BROADCAST);
        ring_model_state(&m, m.rounds, sets);
        for (int r = 0; r < n; r++)
            assert_int_equal(sets[r], all);
        ring_model_free(&m);
        free(op.hops);
    }
}

static void rings_end_complete(void **state)
{
    (void)state;
    for (int n = 2; n <= 16; n++) {
        struct run_op op = record(n, (size_t)n * 12, true);
        struct ring_model m;
        uint64_t *sets = calloc((size_t)n * (size_t)n, sizeof *sets), all = (UINT64_C(1) << n) - 1;
        assert_true(ring_model_build(&m, &op, true, NULL));
        assert_int_equal(m.rounds, 2 * (n - 1));
        assert_int_equal(m.count, 2 * (n - 1) * n);
        assert_true(m.ring);
        assert_int_equal(m.chunks, n);
        ring_model_state(&m, 0, sets);
        for (int i = 0; i < n * n; i++)
            assert_int_equal(sets[i], UINT64_C(1) << (i / n)); /* its own contribution only */
        ring_model_state(&m, n - 1, sets);
        for (int r = 0; r < n; r++) {
            int complete = 0;
            for (int c = 0; c < n; c++)
                complete += sets[r * n + c] == all;
            assert_int_equal(complete, 1);
            assert_int_equal(sets[r * n + (r + 1) % n], all);
        }
        assert_int_equal(ring_model_phase(&m, n - 2), HOP_REDUCE_SCATTER);
        assert_int_equal(ring_model_phase(&m, n - 1), HOP_ALLGATHER);
        ring_model_state(&m, m.rounds, sets);
        for (int i = 0; i < n * n; i++)
            assert_int_equal(sets[i], all);
        assert_float_equal(m.buffer_bytes, n * 12 * 4, 0);
        assert_float_equal(ring_model_bytes(&m, m.rounds) / n, 2.0 * (n - 1) / n * m.buffer_bytes, 1e-6);
        assert_float_equal(ring_expected_bytes(n, m.buffer_bytes), 2.0 * (n - 1) * 48, 1e-6);
        assert_float_equal(ring_model_duration(&m, 0), 5e-5 + (n - 1) * 1e-6, 1e-9);
        ring_model_free(&m);
        free(op.hops);
        free(sets);
    }
}

/* A rank script says no rounds: they follow from who waited for whom. */
static void rounds_follow_from_causality(void **state)
{
    (void)state;
    for (int n = 2; n <= 8; n++) {
        struct run_op said = record(n, 64, true), unsaid = record(n, 64, false);
        struct ring_model a, b;
        assert_true(ring_model_build(&a, &said, true, NULL));
        assert_true(ring_model_build(&b, &unsaid, true, NULL));
        assert_int_equal(a.rounds, b.rounds);
        assert_int_equal(a.count, b.count);
        for (int i = 0; i < a.count; i++) {
            assert_int_equal(a.messages[i].round, b.messages[i].round);
            assert_int_equal(a.messages[i].from, b.messages[i].from);
            assert_int_equal(a.messages[i].chunk, b.messages[i].chunk);
        }
        ring_model_free(&a);
        ring_model_free(&b);
        free(said.hops);
        free(unsaid.hops);
    }
}

/* Everybody sends to rank 0, who answers everybody: five ranks, so 2 and 3 are no neighbours of 0. */
static void strangers_are_marked(void **state)
{
    (void)state;
    struct run_hop hops[8];
    for (int i = 0; i < 8; i++) {
        int other = i % 4 + 1;
        hops[i] = (struct run_hop){.phase = HOP_OTHER,
                                   .hop = -1,
                                   .from = i < 4 ? other : 0,
                                   .to = i < 4 ? 0 : other,
                                   .chunk = -1,
                                   .bytes = 64,
                                   .t0 = i,
                                   .t1 = i + 0.5};
    }
    struct run_op op = {.op = 1, .algo = "yours", .ranks = 5, .hops = hops, .count = 8, .capacity = 8};
    struct ring_model m;
    assert_true(ring_model_build(&m, &op, true, NULL));
    assert_int_equal(m.strangers, 4);
    assert_false(m.ring);
    assert_int_equal(m.rounds, 8); /* rank 0 takes one after the other, then sends one after the other */
    assert_int_equal(m.chunks, 0);
    for (int i = 0; i < m.count; i++) {
        int other = m.messages[i].from ? m.messages[i].from : m.messages[i].to;
        assert_int_equal(m.messages[i].stranger, other == 2 || other == 3);
    }
    ring_model_free(&m);
}

/* Segments of one chunk are one message; an allgather that counts from 0 again comes after the reduce-scatter. */
static void segments_and_rounds_are_joined(void **state)
{
    (void)state;
    struct run_hop hops[8];
    int count = 0;
    for (int phase = 0; phase < 2; phase++)
        for (int from = 0; from < 2; from++)
            for (int segment = 0; segment < 2; segment++)
                hops[count++] = (struct run_hop){.phase = phase ? HOP_ALLGATHER : HOP_REDUCE_SCATTER,
                                                 .hop = 0,
                                                 .from = from,
                                                 .to = 1 - from,
                                                 .chunk = phase ? 1 - from : from,
                                                 .bytes = 100,
                                                 .t0 = phase + segment * 0.1,
                                                 .t1 = phase + segment * 0.1 + 0.05};
    struct run_op op = {.op = 1, .ranks = 2, .hops = hops, .count = count, .capacity = count};
    struct ring_model m;
    assert_true(ring_model_build(&m, &op, true, NULL));
    assert_int_equal(m.rounds, 2);
    assert_int_equal(m.count, 4);
    assert_float_equal(m.messages[0].bytes, 200, 0);
    assert_float_equal(ring_model_duration(&m, 1), 0.15, 1e-9);
    uint64_t sets[4];
    ring_model_state(&m, 2, sets);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sets[i], 3);
    ring_model_free(&m);
}

static void hopeless_operations_are_refused(void **state)
{
    (void)state;
    struct ring_model m;
    struct error e = {0};
    struct run_op none = {.op = 1, .ranks = 1};
    assert_false(ring_model_build(&m, &none, true, &e));
    assert_true(strlen(e.text) > 10);
    ring_model_free(&m);
    struct run_hop far = {.from = 0, .to = 4000, .chunk = 3};
    struct run_op many = {.op = 1, .ranks = 4001, .hops = &far, .count = 1};
    assert_false(ring_model_build(&m, &many, true, &e));
    ring_model_free(&m);
    ring_model_free(NULL);
}

/* At any size of the window and at any moment it draws inside its area and nothing else. */
static void draws_at_any_size(void **state)
{
    (void)state;
    for (int n = 2; n <= 20; n += n < 5 ? 1 : 5) {
        struct run_op op = record(n, 64, true);
        struct ring_model m;
        assert_true(ring_model_build(&m, &op, true, NULL));
        uint64_t *sets = calloc((size_t)n * (size_t)m.chunks + 1, sizeof *sets);
        for (int rows = 1; rows <= 50; rows += 7)
            for (int cols = 1; cols <= 170; cols += 13)
                for (int round = 0; round <= m.rounds; round += m.rounds / 2) {
                    struct canvas c;
                    assert_true(canvas_init(&c, rows, cols, true));
                    ring_model_state(&m, round, sets);
                    struct ring_scene scene = {&m, sets, round, 0.4, 1.8, false, RING_MEASURED, RING_AUTO};
                    ring_draw(&c, canvas_whole(&c), &scene);
                    scene.layout = RING_ROWS;
                    ring_draw(&c, canvas_whole(&c), &scene);
                    canvas_free(&c);
                }
        free(sets);
        ring_model_free(&m);
        free(op.hops);
    }
}

/*
 * Every algorithm and collective, from its schedule: it ends with all that it promises, nothing is at fault, the rounds are
 * the schedule's, and the busiest rank's bytes are what the formula multiplies by beta. (The formula of central lets the two
 * directions overlap, a parameter server's counts on idle directions, hosts' only on whole numbers.)
 */
static void all_end_as_promised(void **state)
{
    (void)state;
    for (int i = 0; ring_schedule_name(i); i++)
        for (int n = 2; n <= 17; n += n < 9 ? 1 : 4) {
            const char *name = ring_schedule_name(i), *formula;
            if (!strcmp(name, "hierarchical") && n % 2 == 0)
                name = "hierarchical:2";
            struct run_op op;
            struct ring_model m;
            uint64_t sets[64 * 64];
            assert_true(ring_schedule_op(&op, name, n, 65536.0 * n, &cost_default_network, NULL));
            assert_true(ring_model_build(&m, &op, true, NULL));
            if (m.fault_count)
                fail_msg("%s on %d ranks: fault %d in round %d, %d to %d, chunk %d", name, n,
                         m.faults[0].kind, m.faults[0].round, m.faults[0].from, m.faults[0].to,
                         m.faults[0].chunk);
            assert_true(m.chunks <= 64);
            ring_model_state(&m, m.rounds, sets);
            for (int r = 0; r < (m.collective == REDUCE ? 1 : n); r++)
                if (!ring_model_complete(&m, sets, r))
                    fail_msg("%s on %d ranks: rank %d is not complete", name, n, r);
            ring_model_state(&m, 0, sets);
            assert_false(ring_model_complete(&m, sets, n - 1));
            double bytes = ring_model_formula_bytes(&m, &formula);
            bool nccl = !strncmp(name, "nccl", 4); /* whose formulas are the simulator's */
            assert_int_equal(formula == NULL, nccl);
            if (!nccl && strcmp(name, "central") != 0 && strcmp(name, "param_server") != 0 &&
                strcmp(name, "barrier") != 0 &&
                fabs(ring_model_busiest_bytes(&m, m.rounds) - bytes) > 0.001 * bytes)
                fail_msg("%s on %d ranks: %g bytes, by the formula %g", name, n,
                         ring_model_busiest_bytes(&m, m.rounds), bytes);
            ring_model_free(&m);
            free(op.hops);
        }
}

static void one_round_stays_one(void **state)
{
    (void)state;
    struct run_op op = record_of("everyone", 4, 64, true);
    struct ring_model m;
    assert_true(ring_model_build(&m, &op, true, NULL));
    assert_int_equal(m.rounds, 1);
    assert_int_equal(m.count, 12);
    ring_model_free(&m);
    free(op.hops);
}

static struct ring_fault only_fault(const struct run_op *op, bool whole, const char *words)
{
    struct ring_model m;
    char text[200];
    assert_true(ring_model_build(&m, op, whole, NULL));
    assert_int_equal(m.fault_count, 1);
    struct ring_fault fault = m.faults[0];
    ring_fault_text(&m, &fault, text, sizeof text);
    if (!strstr(text, words))
        fail_msg("'%s' instead of '%s'", text, words);
    assert_ptr_equal(ring_fault_in(&m, fault.round), &m.faults[0]);
    ring_model_free(&m);
    return fault;
}

static void damage_is_named(void **state)
{
    (void)state;
    /* Round 1 of five ranks: rank 2's message is number 5 + 2. */
    struct run_op op = record(5, 500, true);
    op.hops[7].to = 0;
    struct ring_fault f = only_fault(&op, true, "Rank 2 sends chunk 1 to rank 0; it belongs to rank 3.");
    assert_int_equal(f.kind, RING_WRONG_NEIGHBOUR);
    assert_int_equal(f.round, 1);
    op.hops[7].to = 3;
    op.hops[7].bytes *= 2;
    f = only_fault(&op, true, "Chunk 1 from rank 2 to rank 3 is counted twice");
    assert_int_equal(f.kind, RING_TWICE);
    op.hops[7] = op.hops[--op.count]; /* lost: not told as long as it may still come */
    struct ring_model m;
    assert_true(ring_model_build(&m, &op, false, NULL));
    assert_int_equal(m.fault_count, 0);
    ring_model_free(&m);
    f = only_fault(&op, true, "Missing: chunk 1 from rank 2 to rank 3 never came.");
    assert_int_equal(f.kind, RING_MISSING);
    assert_int_equal(f.round, 1);
    free(op.hops);
}

/* The same of a learner's script, whose algorithm nobody has said. */
static void a_learners_damage_is_named(void **state)
{
    (void)state;
    struct run_op op = record(4, 64, true);
    strcpy(op.algo, "yours");
    struct ring_model m;
    assert_true(ring_model_build(&m, &op, true, NULL));
    assert_int_equal(m.fault_count, 0);
    ring_model_free(&m);
    op.hops[9].chunk = op.hops[5].chunk; /* round 2, rank 1: what it sent in round 1 comes again */
    only_fault(&op, false, "is counted twice");
    op.hops[9] = op.hops[--op.count];
    op.hops[9].phase = HOP_REDUCE_SCATTER;
    assert_true(ring_model_build(&m, &op, true, NULL));
    bool counted = false;
    for (int i = 0; i < m.fault_count; i++)
        counted = counted ||
                  (m.faults[i].kind == RING_MISSING && m.faults[i].seen == 5 && m.faults[i].expected == 6);
    assert_true(counted);
    ring_model_free(&m);
    free(op.hops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_end_complete),
        cmocka_unit_test(trees_end_complete),
        cmocka_unit_test(rounds_follow_from_causality),
        cmocka_unit_test(strangers_are_marked),
        cmocka_unit_test(segments_and_rounds_are_joined),
        cmocka_unit_test(all_end_as_promised),
        cmocka_unit_test(one_round_stays_one),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(a_learners_damage_is_named),
        cmocka_unit_test(hopeless_operations_are_refused),
        cmocka_unit_test(draws_at_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
