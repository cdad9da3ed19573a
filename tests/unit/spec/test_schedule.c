/*
 * Schedules against hand-worked traces and closed forms: who sends which chunk when; 2(N-1) messages and 2(N-1)/N
 * of the data for each rank; neighbours only; and, by carrying the schedule out on an array, the right sum.
 */
#include "engine/spec/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_chunks(void **state)
{
    (void)state;
    /* 10 = 3 + 3 + 2 + 2: the first 10 % 4 chunks have one element more. */
    size_t lengths[] = {3, 3, 2, 2}, offsets[] = {0, 3, 6, 8};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(chunk_length(10, 4, i), lengths[i]);
        assert_int_equal(chunk_offset(10, 4, i), offsets[i]);
    }
    /* Shorter than the number of ranks: 2 = 1 + 1 + 0. */
    assert_int_equal(chunk_length(2, 3, 1), 1);
    assert_int_equal(chunk_length(2, 3, 2), 0);
    assert_int_equal(chunk_offset(2, 3, 2), 2);
    /* Any length is covered without gap or overlap. */
    size_t all[] = {0, 1, 2, 5, 7, 8, 9, 97, 1000003};
    for (int n = 1; n <= 9; n++)
        for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
            size_t at = 0;
            for (int i = 0; i < n; i++) {
                assert_int_equal(chunk_offset(all[k], n, i), at);
                at += chunk_length(all[k], n, i);
            }
            assert_int_equal(at, all[k]);
        }
}

/* The ring of three ranks and six elements, worked by hand (chunk c is elements 2c and 2c+1). */
static void test_ring_trace(void **state)
{
    (void)state;
    static const struct {
        int round, from, to, chunk;
        bool reduce;
    } trace[] = {
        {0, 0, 1, 0, true},  {0, 1, 2, 1, true},  {0, 2, 0, 2, true},  /* each passes on its own chunk */
        {1, 0, 1, 2, true},  {1, 1, 2, 0, true},  {1, 2, 0, 1, true},  /* and what has just been added; */
        {2, 0, 1, 1, false}, {2, 1, 2, 2, false}, {2, 2, 0, 0, false}, /* now rank r has all of chunk r+1 */
        {3, 0, 1, 0, false}, {3, 1, 2, 1, false}, {3, 2, 0, 2, false},
    };
    struct schedule s;
    assert_true(schedule_ring(&s, 3, 6, NULL));
    assert_string_equal(s.algo, "ring");
    assert_int_equal(s.ranks, 3);
    assert_int_equal(s.length, 6);
    assert_int_equal(s.rounds, 4);
    assert_int_equal(s.chunks, 3);
    assert_int_equal(s.count, 12);
    for (int i = 0; i < s.count; i++) {
        const struct transfer *t = &s.transfers[i];
        assert_int_equal(t->round, trace[i].round);
        assert_int_equal(t->from, trace[i].from);
        assert_int_equal(t->to, trace[i].to);
        assert_int_equal(t->chunk, trace[i].chunk);
        assert_int_equal(t->reduce, trace[i].reduce);
        assert_int_equal(t->offset, 2 * trace[i].chunk);
        assert_int_equal(t->length, 2);
        assert_int_equal(t->phase, trace[i].reduce ? PHASE_REDUCE_SCATTER : PHASE_ALLGATHER);
    }
    schedule_free(&s);
}

/* The tree of five ranks, worked by hand: pairs, pairs of pairs, the fifth alone; then the same messages backwards. */
static void test_tree_trace(void **state)
{
    (void)state;
    static const struct {
        int round, from, to;
        bool reduce;
    } trace[] = {
        {0, 1, 0, true},  {0, 3, 2, true},  {1, 2, 0, true},  {2, 4, 0, true}, /* rank 0 has all */
        {3, 0, 4, false}, {4, 0, 2, false}, {5, 0, 1, false}, {5, 2, 3, false},
    };
    struct schedule s;
    assert_true(schedule_tree(&s, 5, 7, NULL));
    assert_string_equal(s.algo, "tree");
    assert_int_equal(s.rounds, 6);
    assert_int_equal(s.chunks, 1);
    assert_int_equal(s.count, 8);
    for (int i = 0; i < s.count; i++) {
        const struct transfer *t = &s.transfers[i];
        assert_int_equal(t->round, trace[i].round);
        assert_int_equal(t->from, trace[i].from);
        assert_int_equal(t->to, trace[i].to);
        assert_int_equal(t->reduce, trace[i].reduce);
        assert_int_equal(t->chunk, 0);
        assert_int_equal(t->offset, 0);
        assert_int_equal(t->length, 7);
        assert_int_equal(t->phase, trace[i].reduce ? PHASE_REDUCE : PHASE_BROADCAST);
    }
    schedule_free(&s);
}

static void trace_is(const struct schedule *s, const int (*trace)[5], int count)
{
    assert_int_equal(s->count, count);
    for (int i = 0; i < count; i++) {
        const struct transfer *t = &s->transfers[i];
        assert_int_equal(t->round, trace[i][0]);
        assert_int_equal(t->from, trace[i][1]);
        assert_int_equal(t->to, trace[i][2]);
        assert_int_equal(t->offset, trace[i][3]);
        assert_int_equal((int)t->offset + (int)t->shift, trace[i][4]);
    }
}

/* The other collectives, worked by hand: round, from, to, where it lies at the sender and at the receiver. */
static void test_collective_traces(void **state)
{
    (void)state;
    static const int broadcast[][5] = {{0, 0, 2, 0, 0}, {1, 0, 1, 0, 0}, {1, 2, 3, 0, 0}};
    static const int reduce[][5] = {{0, 1, 0, 0, 0}, {1, 2, 0, 0, 0}};
    static const int allgather[][5] = {
        {0, 0, 1, 0, 0}, {0, 1, 2, 2, 2}, {0, 2, 0, 4, 4},  /* each its own piece, */
        {1, 0, 1, 4, 4}, {1, 1, 2, 0, 0}, {1, 2, 0, 2, 2}}; /* then what came */
    static const int reduce_scatter[][5] = {{0, 0, 1, 4, 4}, {0, 1, 2, 0, 0}, {0, 2, 0, 2, 2},
                                            {1, 0, 1, 2, 2}, {1, 1, 2, 4, 4}, {1, 2, 0, 0, 0}};
    /* Partners add up to the round, of 3: 1 and 2, then 0 and 1, then 0 and 2. */
    static const int alltoall[][5] = {{0, 1, 2, 4, 2}, {0, 2, 1, 2, 4}, {1, 0, 1, 2, 0},
                                      {1, 1, 0, 0, 2}, {2, 0, 2, 4, 0}, {2, 2, 0, 0, 4}};
    static const int barrier[][5] = {{0, 0, 1, 0, 0}, {0, 1, 2, 0, 0}, {0, 2, 0, 0, 0},
                                     {1, 0, 2, 0, 0}, {1, 1, 0, 0, 0}, {1, 2, 1, 0, 0}};
    static const struct {
        enum collective op;
        int ranks;
        const int (*trace)[5];
        int count;
    } cases[] = {{BROADCAST, 4, broadcast, 3}, {REDUCE, 3, reduce, 2},
                 {ALLGATHER, 3, allgather, 6}, {REDUCE_SCATTER, 3, reduce_scatter, 6},
                 {ALLTOALL, 3, alltoall, 6},   {BARRIER, 3, barrier, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct schedule s;
        assert_true(schedule_collective(&s, cases[i].op, cases[i].ranks, 6, NULL));
        trace_is(&s, cases[i].trace, cases[i].count);
        bool adds = cases[i].op == REDUCE || cases[i].op == REDUCE_SCATTER;
        for (int k = 0; k < s.count; k++)
            assert_int_equal(s.transfers[k].reduce, adds);
        schedule_free(&s);
    }
}

/* Messages and elements of each, at any number of ranks. */
static void test_collective_closed_forms(void **state)
{
    (void)state;
    struct error e = {0};
    for (int n = 1; n <= 17; n++) {
        int up = 0;
        while (1 << up < n)
            up++;
        size_t length = 3 * (size_t)n, N = (size_t)n;
        const struct {
            enum collective op;
            int rounds;
            size_t messages, elements;
        } forms[] = {
            {BROADCAST, up, N - 1, (N - 1) * length},
            {REDUCE, up, N - 1, (N - 1) * length},
            {ALLGATHER, n - 1, N * (N - 1), (N - 1) * length},
            {REDUCE_SCATTER, n - 1, N * (N - 1), (N - 1) * length},
            {ALLTOALL, n, N * (N - 1), (N - 1) * length},
            {BARRIER, up, N * (size_t)up, N * (size_t)up},
        };
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            struct schedule s;
            assert_true(schedule_collective(&s, forms[i].op, n, length, NULL));
            size_t elements = 0;
            for (int k = 0; k < s.count; k++)
                elements += s.transfers[k].length;
            assert_true(s.rounds <= forms[i].rounds);
            assert_int_equal(s.count, forms[i].messages);
            assert_int_equal(elements, forms[i].elements);
            schedule_free(&s);
        }
    }
    struct schedule s;
    assert_false(schedule_collective(&s, ALLTOALL, 4, 6, &e));
    assert_non_null(strstr(e.text, "equal length"));
    assert_false(schedule_collective(&s, ALLREDUCE, 4, 6, &e));
    assert_int_equal(collective_named("alltoall"), ALLTOALL);
    assert_int_equal(collective_named("gossip"), COLLECTIVES);
}

static const size_t lengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 64, 97, 1000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void test_ring_closed_forms(void **state)
{
    (void)state;
    for (int n = 1; n <= 17; n++)
        for (int k = 0; k < LENGTHS; k++) {
            size_t length = lengths[k];
            struct schedule s;
            assert_true(schedule_ring(&s, n, length, NULL));
            assert_int_equal(s.rounds, 2 * (n - 1));
            int messages[17] = {0}, last = 0, full = length < (size_t)n ? (int)length : n;
            size_t sent[17] = {0}, total = 0;
            for (int i = 0; i < s.count; i++) {
                const struct transfer *t = &s.transfers[i];
                assert_int_equal(t->to, (t->from + 1) % n);
                assert_true(t->length > 0);
                assert_true(t->round >= last && t->round < s.rounds);
                assert_int_equal(t->offset, chunk_offset(length, n, t->chunk));
                assert_int_equal(t->length, chunk_length(length, n, t->chunk));
                last = t->round;
                messages[t->from]++;
                sent[t->from] += t->length;
                total += t->length;
            }
            /* Every chunk that is not empty travels once in each round. */
            assert_int_equal(s.count, 2 * (n - 1) * full);
            assert_int_equal(total, 2 * (size_t)(n - 1) * length);
            for (int r = 0; r < n; r++) {
                if (length >= (size_t)n)
                    assert_int_equal(messages[r], 2 * (n - 1));
                if (length % (size_t)n == 0) /* then all chunks are equal */
                    assert_int_equal(sent[r], 2 * (size_t)(n - 1) * (length / (size_t)n));
                /* Else within one element per message. */
                assert_true(sent[r] <= 2 * (size_t)(n - 1) * (length / (size_t)n + 1));
            }
            schedule_free(&s);
        }
}

/* 2 ceil(log2 N) rounds, 2(N-1) messages of the whole buffer; rank 0 sends and receives ceil(log2 N) of them. */
static void test_tree_closed_forms(void **state)
{
    (void)state;
    static const int log2_up[] = {0, 0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5};
    for (int n = 1; n <= 17; n++)
        for (int k = 0; k < LENGTHS; k++) {
            struct schedule s;
            assert_true(schedule_tree(&s, n, lengths[k], NULL));
            assert_int_equal(s.rounds, 2 * log2_up[n]);
            assert_int_equal(s.count, lengths[k] ? 2 * (n - 1) : 0);
            int sent = 0, received = 0, last = 0;
            for (int i = 0; i < s.count; i++) {
                assert_true(s.transfers[i].round >= last && s.transfers[i].round < s.rounds);
                last = s.transfers[i].round;
                sent += s.transfers[i].from == 0;
                received += s.transfers[i].to == 0;
            }
            assert_int_equal(sent, lengths[k] ? log2_up[n] : 0);
            assert_int_equal(received, sent);
            schedule_free(&s);
        }
}

/* What a rank sends and receives, and how many messages all ranks send. */
struct traffic {
    size_t sent[17], received[17];
    int messages, rounds;
};

static struct traffic traffic_of(const char *algo, int ranks, size_t length)
{
    struct schedule s;
    struct traffic t = {0};
    int last = 0;
    assert_true(schedule_make(&s, algo, ranks, length, NULL));
    for (int i = 0; i < s.count; i++) {
        const struct transfer *x = &s.transfers[i];
        assert_true(x->from != x->to && x->from < ranks && x->to < ranks && x->from >= 0 && x->to >= 0);
        assert_true(x->length > 0 && x->offset + x->length <= length);
        assert_true(x->round >= last && x->round < s.rounds);
        assert_true(x->chunk >= 0 && x->chunk < s.chunks);
        last = x->round;
        t.sent[x->from] += x->length;
        t.received[x->to] += x->length;
    }
    t.messages = s.count;
    t.rounds = s.rounds;
    schedule_free(&s);
    return t;
}

/* The formulas of schedule.h, at a length that all numbers of pieces divide. */
static void test_traffic(void **state)
{
    (void)state;
    enum { S = 720720 };
    for (int n = 2; n <= 16; n++) {
        struct traffic t = traffic_of("everyone", n, S);
        assert_int_equal(t.messages, n * (n - 1));
        assert_int_equal(t.received[n - 1], (size_t)(n - 1) * S);
        t = traffic_of("central", n, S);
        assert_int_equal(t.rounds, 2);
        assert_int_equal(t.messages, 2 * (n - 1));
        assert_int_equal(t.received[0], (size_t)(n - 1) * S);
        assert_int_equal(t.sent[0], (size_t)(n - 1) * S);
        assert_int_equal(t.sent[1], S);
        t = traffic_of("param_server:2", n, S);
        assert_int_equal(t.messages, 2 * 2 * (n - 1));
        assert_int_equal(t.sent[1],
                         (size_t)(n - 1) * S / 2 + S / 2); /* serves one half, hands the other in */
        assert_int_equal(t.received[0], (size_t)(n - 1) * S / 2 + S / 2);
        t = traffic_of("ring_segmented:1000", n, S);
        assert_int_equal(t.sent[n - 1], (size_t)2 * (n - 1) * (S / n));
        assert_int_equal(t.messages, 2 * (n - 1) * n * ((S / n + 999) / 1000));
    }
    for (int n = 2, rounds = 1; n <= 16; n *= 2, rounds++) {
        struct traffic t = traffic_of("recursive_doubling", n, S);
        assert_int_equal(t.rounds, rounds);
        assert_int_equal(t.sent[0], (size_t)rounds * S);
        assert_int_equal(t.messages, n * rounds);
        t = traffic_of("halving_doubling", n, S);
        assert_int_equal(t.rounds, 2 * rounds);
        assert_int_equal(t.messages, 2 * n * rounds);
        for (int r = 0; r < n; r++)
            assert_int_equal(t.sent[r], (size_t)2 * (n - 1) * (S / n));
    }
    /* Three ranks fold to two: rank 0 hands over and waits, 1 and 2 halve and double. */
    struct traffic t = traffic_of("halving_doubling", 3, S);
    assert_int_equal(t.rounds, 4);
    assert_int_equal(t.sent[0], S);
    assert_int_equal(t.sent[1], S / 2 + S / 2 + S);
    assert_int_equal(t.sent[2], S);
    /* Four hosts of two: 2·1/2 S inside, 2·3/4 of a half between. */
    t = traffic_of("hierarchical:2", 8, S);
    assert_int_equal(t.rounds, 2 * (1 + 3));
    for (int r = 0; r < 8; r++)
        assert_int_equal(t.sent[r], S + 2 * 3 * (S / 8));
}

/* Halving doubling of four ranks and four elements, worked by hand: 2 apart, 1 apart, and back. */
static void test_halving_doubling_trace(void **state)
{
    (void)state;
    static const struct {
        int round, from, to;
        size_t offset, length;
        bool reduce;
    } trace[] = {
        {0, 0, 2, 2, 2, true},  {0, 1, 3, 2, 2, true},  {0, 2, 0, 0, 2, true},  {0, 3, 1, 0, 2, true},
        {1, 0, 1, 1, 1, true},  {1, 1, 0, 0, 1, true},  {1, 2, 3, 3, 1, true},  {1, 3, 2, 2, 1, true},
        {2, 0, 1, 0, 1, false}, {2, 1, 0, 1, 1, false}, {2, 2, 3, 2, 1, false}, {2, 3, 2, 3, 1, false},
        {3, 0, 2, 0, 2, false}, {3, 1, 3, 0, 2, false}, {3, 2, 0, 2, 2, false}, {3, 3, 1, 2, 2, false},
    };
    struct schedule s;
    assert_true(schedule_halving_doubling(&s, 4, 4, NULL));
    assert_int_equal(s.rounds, 4);
    assert_int_equal(s.count, 16);
    for (int i = 0; i < s.count; i++) {
        const struct transfer *t = &s.transfers[i];
        assert_int_equal(t->round, trace[i].round);
        assert_int_equal(t->from, trace[i].from);
        assert_int_equal(t->to, trace[i].to);
        assert_int_equal(t->offset, trace[i].offset);
        assert_int_equal(t->length, trace[i].length);
        assert_int_equal(t->reduce, trace[i].reduce);
    }
    schedule_free(&s);
}

/* Carries the schedule out on plain arrays, each round from what the ranks had before it. */
static void carry_out(const struct schedule *s, double *x)
{
    size_t all = (size_t)s->ranks * s->length;
    double *before = malloc((all + 1) * sizeof *before);
    for (int i = 0, round = 0; round < s->rounds; round++) {
        memcpy(before, x, all * sizeof *x);
        for (; i < s->count && s->transfers[i].round == round; i++) {
            const struct transfer *t = &s->transfers[i];
            for (size_t k = t->offset; k < t->offset + t->length; k++) {
                double *to = &x[(size_t)t->to * s->length + k];
                *to = before[(size_t)t->from * s->length + k] + (t->reduce ? *to : 0);
            }
        }
    }
    free(before);
}

static void sums(const char *algo, int n, size_t length)
{
    struct schedule s;
    assert_true(schedule_make(&s, algo, n, length, NULL));
    double *x = malloc(((size_t)n * length + 1) * sizeof *x);
    for (int r = 0; r < n; r++)
        for (size_t i = 0; i < length; i++)
            x[(size_t)r * length + i] = (double)((size_t)(r + 1) * (i + 1));
    carry_out(&s, x);
    for (int r = 0; r < n; r++)
        for (size_t i = 0; i < length; i++)
            if (x[(size_t)r * length + i] != (double)((size_t)(n * (n + 1) / 2) * (i + 1)))
                fail_msg("%s, %d ranks, %zu elements: element %zu of rank %d is wrong", algo, n, length, i,
                         r);
    free(x);
    schedule_free(&s);
}

static void test_every_schedule_sums(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 16};
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (int k = 0; k < LENGTHS; k++) {
            for (int a = 0; schedule_algo(a); a++)
                sums(schedule_algo(a), ranks[r], lengths[k]);
            sums("ring_segmented:3", ranks[r], lengths[k]);
            sums("param_server:1", ranks[r], lengths[k]);
            if (ranks[r] % 3 == 0)
                sums("hierarchical:3", ranks[r], lengths[k]);
            if (ranks[r] % 4 == 0)
                sums("hierarchical:4", ranks[r], lengths[k]);
        }
}

static void test_refusals(void **state)
{
    (void)state;
    struct error e = {0};
    struct schedule s;
    assert_false(schedule_make(&s, "star", 4, 16, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "star"));
    assert_non_null(strstr(e.text, "ring"));
    assert_null(s.transfers);
    static const char *const wrong[] = {"ring:2",        "hierarchical:0", "hierarchical:x",
                                        "param_server:", "ringer",         ""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(schedule_make(&s, wrong[i], 4, 16, &e));
    assert_false(schedule_make(&s, "hierarchical:3", 4, 16, &e));
    assert_non_null(strstr(e.text, "hosts of 3"));
    assert_false(schedule_make(&s, "param_server:5", 4, 16, &e));
    assert_false(schedule_tree(&s, 0, 16, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_false(schedule_ring(&s, 0, 16, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    schedule_free(&s);
    schedule_free(NULL);
    assert_string_equal(phase_name(PHASE_REDUCE_SCATTER), "reduce_scatter");
    assert_string_equal(phase_name(PHASE_ALLGATHER), "allgather");
    assert_string_equal(phase_name(PHASE_REDUCE), "reduce");
    assert_string_equal(phase_name(PHASE_BROADCAST), "broadcast");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_ring_trace),
        cmocka_unit_test(test_ring_closed_forms),
        cmocka_unit_test(test_tree_trace),
        cmocka_unit_test(test_collective_traces),
        cmocka_unit_test(test_collective_closed_forms),
        cmocka_unit_test(test_tree_closed_forms),
        cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_halving_doubling_trace),
        cmocka_unit_test(test_every_schedule_sums),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
