/*
 * Collectives on simulated clusters: times worked by hand, SimGrid's (tests/golden/make_simgrid.py), one tier against another, and
 * sizes at which only the first tiers can answer.
 */
#include "cluster-sim/collective.h"
#include "cluster-sim/nccl.h"
#include "cluster-sim/pattern.h"
#include "cluster-sim/platform_lua.h"
#include "engine/base/random.h"
#include "engine/base/units.h"
#include "engine/spec/cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct sim_result ask(const struct platform *p, struct sim_request q)
{
    struct sim_result r;
    struct error e = {0};
    if (!sim_collective(p, &q, &r, &e))
        fail_msg("%s, %d ranks, %g bytes on %s: %s", q.algo, q.ranks, q.bytes, p->topology_text, e.text);
    assert_true(fabs(r.latency_s + r.transfer_s + r.add_s - r.time_s) <= 1e-9 * r.time_s);
    return r;
}

/* Of fat trees and dragonflies some ports may be empty. */
static int nodes_of(const char *spec, int ranks)
{
    bool some = strncmp(spec, "fattree", 7) == 0 || strncmp(spec, "dragonfly", 9) == 0;
    return some ? 0 : ranks;
}

/* 1 kB/s and 1 s a link, so that every part of a time is in digits of its own. */
static void takes(const char *spec, const char *algo, int ranks, double bytes, double seconds)
{
    struct platform p;
    struct error e = {0};
    if (!platform_make(&p, spec, nodes_of(spec, ranks), 1000, 1, &e))
        fail_msg("%s: %s", spec, e.text);
    for (enum sim_tier tier = SIM_AUTO; tier <= SIM_EVENTS; tier++) {
        struct sim_request q = {.algo = algo, .ranks = ranks, .bytes = bytes, .tier = tier};
        struct sim_result r;
        if (!sim_collective(&p, &q, &r, &e)) {
            if (tier != SIM_CLOSED || !strstr(e.text, "no closed form"))
                fail_msg("%s on %s, %s: %s", algo, spec, sim_tier_name(tier), e.text);
            continue;
        }
        if (!(fabs(r.time_s - seconds) <= 1e-9 * seconds))
            fail_msg("%s of %g bytes on %s, %s: %.12g s, not %.12g", algo, bytes, spec, sim_tier_name(r.tier),
                     r.time_s, seconds);
    }
    platform_free(&p);
}

/* A message of m bytes over h links that c of them share takes h + c m / 1000 seconds. */
static void test_by_hand(void **state)
{
    (void)state;
    takes("switch", "ring", 4, 4000, 6 * (2 + 1));
    takes("switch", "ring", 3, 4000, 4 * (2 + 1.336)); /* 1000 elements: 334, 333, 333 */
    takes("switch", "ring", 2, 4, 1 * (2 + 0.004) + 1 * (2 + 0.004));
    takes("switch", "ring_segmented:100", 4, 4000,
          18 * 2 + 6 * 1); /* 250 elements in 3 parts of 84, 83, 83 */
    takes("switch", "tree", 8, 4000, 6 * (2 + 4));
    takes("switch", "recursive_doubling", 8, 4000, 3 * (2 + 4));
    takes("switch", "recursive_doubling", 6, 4000, 4 * (2 + 4)); /* a fold, 2 exchanges, and back */
    takes("switch", "halving_doubling", 4, 4000, 2 * (2 + 2) + 2 * (2 + 1));
    takes("switch", "everyone", 5, 4000, 2 + 4 * 4);
    takes("switch", "central", 5, 4000, 2 * (2 + 4 * 4));
    takes("switch", "param_server:2", 5, 4000,
          2 * (2 + 4 * 2)); /* 4 messages of half the buffer down each server's link */
    takes("switch", "hierarchical:2", 8, 8000, 2 * (2 + 4) + 6 * (2 + 1));
    takes("switch", "broadcast", 5, 4000, 3 * (2 + 4));
    takes("switch", "allgather", 4, 4000, 3 * (2 + 1));
    takes("switch", "ring", 1, 4000, 0);
    takes("switch", "ring", 8, 0, 0);
    /* Two leaves of 4 hosts and 2 uplinks: neighbours across leaves are 4 links apart, and alone on them. */
    takes("fattree:2x4:2", "ring", 8, 8000, 14 * (4 + 1));
    /* 1 and 2 apart inside a leaf; 4 apart all 4 hosts of a leaf share its 2 uplinks. */
    takes("fattree:2x4:2", "recursive_doubling", 8, 1000, 2 * (2 + 1) + (4 + 2));
    takes("fattree:2x4:4", "recursive_doubling", 8, 1000, 2 * (2 + 1) + (4 + 4));
    /* Rows of 4: from 3 to 4 is one step on in x, which closes the row, and one in y. */
    takes("torus:4x4", "ring", 16, 16000, 30 * (2 + 1));
    takes("torus:4", "ring", 4, 4000, 6 * (1 + 1));
    /* 2 apart in a row of 4, a tie: all in +, so each link carries two. */
    takes("torus:4", "recursive_doubling", 4, 1000, (1 + 1) + (2 + 2));
}

/* One message begins with another's latency still to come: 0 -> 1 over 2 links, 0 -> 2 over 4, both up from port 0. */
static void test_unequal_paths(void **state)
{
    (void)state;
    /*
     * Central on a fat tree of 2 leaves of 2: ranks 1 (2 links), 2 and 3 (4 links) send 1000 bytes to rank 0, down one link of
     * 1000 B/s. From 2 s rank 1's bytes have it alone, 1000 of them until 3 s; those of 2 and 3 begin at 4 s, and share until 6.
     * Back: rank 0's link up carries 1's from 8 to 9, 2's and 3's from 10 to 12.
     */
    struct platform p;
    assert_true(platform_make(&p, "fattree:2x2:1", 0, 1000, 1, NULL));
    for (enum sim_tier tier = SIM_ROUNDS; tier <= SIM_EVENTS; tier++) {
        struct sim_result r =
            ask(&p, (struct sim_request){.algo = "central", .ranks = 4, .bytes = 1000, .tier = tier});
        if (fabs(r.time_s - 12) > 1e-9)
            fail_msg("%s: %.9g s", sim_tier_name(tier), r.time_s);
    }
    platform_free(&p);
}

/* Adding costs: 1 second a byte. A server of 4 others' messages adds one after another. */
static void test_adding(void **state)
{
    (void)state;
    struct platform p;
    assert_true(platform_make(&p, "switch", 4, 1000, 1, NULL));
    for (enum sim_tier tier = SIM_CLOSED; tier <= SIM_EVENTS; tier++) {
        struct sim_request q = {.algo = "ring", .ranks = 4, .bytes = 4000, .gamma = 1e-3, .tier = tier};
        assert_true(fabs(ask(&p, q).time_s - (6 * 3 + 3 * 1)) < 1e-9);
        q.algo = "central";
        assert_true(fabs(ask(&p, q).time_s - (2 * (2 + 12) + 3 * 4)) < 1e-9);
        q.algo = "recursive_doubling";
        assert_true(fabs(ask(&p, q).time_s - 2 * (2 + 4 + 4)) < 1e-9);
    }
    platform_free(&p);
}

/* From 1 000 bytes on a message costs half a second more, and a fifth of what is sent is overhead. */
static void test_protocol(void **state)
{
    (void)state;
    struct platform p;
    assert_true(platform_make(&p, "switch", 4, 1000, 1, NULL));
    p.protocol = (struct protocol){2, {{0, 0, 2, 1}, {1000, 0.5, 1, 0.8}}};
    for (enum sim_tier tier = SIM_CLOSED; tier <= SIM_EVENTS; tier++) {
        struct sim_request q = {.algo = "ring", .ranks = 4, .bytes = 4000, .tier = tier};
        assert_true(fabs(ask(&p, q).time_s - 6 * (0.5 + 2 + 1.25)) < 1e-9);
        q.bytes = 2000;
        assert_true(fabs(ask(&p, q).time_s - 6 * (2 * 2 + 0.5)) < 1e-9);
    }
    platform_free(&p);
}

/* The cost model's formulas are of one switch, where messages between different pairs do not meet. */
static void test_cost_model(void **state)
{
    (void)state;
    static const char *const of_model[] = {"ring", "tree", "recursive_doubling", "halving_doubling"};
    const struct cost_link link = {.alpha = 50e-6, .beta = 1 / 1.25e9, .gamma = 1e-10};
    struct platform p;
    assert_true(platform_make(&p, "switch", 64, 1.25e9, 25e-6, NULL));
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
        for (int ranks = 4; ranks <= 64; ranks *= 2) {
            struct sim_request q = {.algo = of_model[i], .ranks = ranks, .bytes = 1 << 22, .gamma = 1e-10};
            double expected = cost_seconds(&link, of_model[i], ranks, q.bytes);
            double got = ask(&p, q).time_s;
            if (!(fabs(got - expected) < 1e-9 * expected))
                fail_msg("%s on %d ranks: %.12g s, the cost model has %.12g", of_model[i], ranks, got,
                         expected);
        }
    platform_free(&p);
}

/* --- SimGrid -------------------------------------------------------------------------------------------------------------- */

static void test_simgrid(void **state)
{
    (void)state;
    json_error_t wrong;
    json_t *golden = json_load_file("tests/golden/simgrid.json", 0, &wrong), *c;
    if (!golden)
        fail_msg("tests/golden/simgrid.json:%d: %s", wrong.line, wrong.text);
    size_t i;
    double worst = 0, rate = json_number_value(json_object_get(golden, "bandwidth_bytes_per_s"));
    double latency = json_number_value(json_object_get(golden, "latency_s"));
    json_array_foreach(json_object_get(golden, "cases"), i, c)
    {
        struct platform p;
        const char *spec = json_string_value(json_object_get(c, "topology"));
        int ranks = (int)json_integer_value(json_object_get(c, "ranks"));
        double expected = json_number_value(json_object_get(c, "time_s"));
        assert_true(platform_make(&p, spec, ranks, rate, latency, NULL));
        for (enum sim_tier tier = SIM_CLOSED; tier <= SIM_EVENTS; tier++) {
            struct sim_result r =
                ask(&p, (struct sim_request){.algo = json_string_value(json_object_get(c, "algo")),
                                             .ranks = ranks,
                                             .bytes = json_number_value(json_object_get(c, "bytes")),
                                             .tier = tier});
            double off = fabs(r.time_s / expected - 1);
            if (!(off <= 0.005))
                fail_msg("%s: %.9g s, SimGrid has %.9g", json_dumps(c, 0), r.time_s, expected);
            worst = fmax(worst, off);
        }
        platform_free(&p);
    }
    assert_true(i > 60);
    printf("# %zu cases of SimGrid, the worst %.3f %% off\n", i, 100 * worst);
    json_decref(golden);
}

/* --- tier against tier ------------------------------------------------------------------------------------------------------ */

struct tally {
    int compared, closed;
};

/* Where a tier says that it is exact, it has to be what the events say. */
static void compare(const struct platform *p, struct sim_request q, struct tally *t)
{
    struct error e = {0};
    struct sim_result events, other;
    q.tier = SIM_EVENTS;
    if (!sim_collective(p, &q, &events, &e)) { /* 7 ranks are no hosts of 2 */
        assert_int_equal(e.kind, ERROR_INPUT);
        return;
    }
    for (q.tier = SIM_CLOSED; q.tier <= SIM_ROUNDS; q.tier++) {
        if (!sim_collective(p, &q, &other, &e) || !other.exact)
            continue;
        t->compared++;
        t->closed += q.tier == SIM_CLOSED;
        if (fabs(other.time_s - events.time_s) > 1e-3 * events.time_s)
            fail_msg("%s of %g bytes on %s, %d ranks, latency %g, gamma %g: %s %.9g s, events %.9g s", q.algo,
                     q.bytes, p->topology_text, q.ranks, p->latency, q.gamma, sim_tier_name(q.tier),
                     other.time_s, events.time_s);
    }
}

static const char *const algos[] = {
    "ring",     "ring_segmented:64", "tree",           "recursive_doubling", "halving_doubling", "everyone",
    "central",  "param_server:3",    "hierarchical:2", "broadcast",          "reduce",           "allgather",
    "alltoall", "barrier",           "nccl_ring",      "nccl_tree:64"};

enum { ALGOS = sizeof algos / sizeof *algos };

static void test_tiers(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        int ranks;
    } on[] = {{"switch", 12},        {"switch", 16},      {"fattree:4x4:2", 16},   {"fattree:3x4:4", 12},
              {"torus:4x4", 16},     {"torus:3x2x2", 12}, {"dragonfly:4x2x2", 16}, {"dragonfly:3x2x2", 12},
              {"fattree:4x4:1", 10}, {"switch", 7}};
    struct tally t = {0};
    for (size_t k = 0; k < sizeof on / sizeof *on; k++) {
        struct platform p;
        assert_true(platform_make(&p, on[k].spec, nodes_of(on[k].spec, on[k].ranks), 1e9, 2e-6, NULL));
        for (size_t a = 0; a < ALGOS; a++)
            for (int size = 0; size < 3; size++)
                compare(&p,
                        (struct sim_request){
                            .algo = algos[a], .ranks = on[k].ranks, .bytes = 1680 * pow(100, size)},
                        &t);
        platform_free(&p);
    }
    printf("# %d answers compared with the events, %d of them closed forms\n", t.compared, t.closed);
    assert_true(t.compared > 300 && t.closed > 100);
}

/* A topology at random, and how many ranks on it. */
static int draw(struct random *r, char *spec, size_t size)
{
    int a = 1 + (int)random_below(r, 5), b = 1 + (int)random_below(r, 5), c = 1 + (int)random_below(r, 4);
    switch (random_below(r, 4)) {
    case 0: snprintf(spec, size, "switch"); return 2 + (int)random_below(r, 20);
    case 1: snprintf(spec, size, "fattree:%dx%d:%d", a, b, random_below(r, 2) ? b : 1); break;
    case 2: snprintf(spec, size, "torus:%dx%dx%d", a, b, c); return a * b * c;
    default:
        snprintf(spec, size, "dragonfly:%dx%dx%d", a, b, c);
        b *= c;
        break;
    }
    return 1 + (int)random_below(r, (uint64_t)a * (uint64_t)b);
}

/* Buffers that do not divide, some shorter than the ranks are many; no latency or much; adding free or not. */
static void test_tiers_at_random(void **state)
{
    (void)state;
    struct random r = random_stream(21, 0, 0);
    struct tally t = {0};
    for (int i = 0; i < 700; i++) {
        char spec[48];
        struct platform p;
        int ranks = draw(&r, spec, sizeof spec);
        double latency = random_below(&r, 3) ? pow(10, -7 + (double)random_below(&r, 4)) : 0;
        uint64_t most = (uint64_t)pow(10, 1 + (double)random_below(&r, 6));
        assert_true(platform_make(&p, spec, nodes_of(spec, ranks), 1e9, latency, NULL));
        compare(&p,
                (struct sim_request){.algo = algos[random_below(&r, ALGOS)],
                                     .ranks = ranks,
                                     .bytes = 4.0 * (1 + (double)random_below(&r, most)),
                                     .gamma = random_below(&r, 3) ? 0 : 1e-10},
                &t);
        platform_free(&p);
    }
    printf("# %d answers compared with the events, %d of them closed forms\n", t.compared, t.closed);
    assert_true(t.compared > 300 && t.closed > 100);
}

/* Two runs of the same question, bit for bit. */
static void test_deterministic(void **state)
{
    (void)state;
    struct platform p;
    assert_true(platform_make(&p, "dragonfly:5x3x4", 0, 1e9, 2e-6, NULL));
    struct sim_request q = {.algo = "halving_doubling", .ranks = 57, .bytes = 12345676, .tier = SIM_EVENTS};
    struct sim_result a = ask(&p, q), b = ask(&p, q);
    assert_memory_equal(&a, &b, sizeof a);
    platform_free(&p);
}

/* What tiers once said of themselves without reason: pieces that are empty are not sent, and trees are not in step. */
static void test_honest(void **state)
{
    (void)state;
    static const char *const trees[] = {"nccl_tree", "nccl_tree:512"};
    static const char *const rings[] = {"ring", "ring_segmented", "allgather", "reduce_scatter",
                                        "hierarchical:3"};
    struct tally t = {0};
    struct platform p;
    for (int ranks = 2; ranks <= 9; ranks++) {
        assert_true(platform_make(&p, "switch", ranks, 1.25e9, 25e-6, NULL));
        for (int i = 0; i < 2; i++)
            for (double bytes = 4096; bytes < 2e8; bytes *= 160) {
                compare(&p, (struct sim_request){.algo = trees[i], .ranks = ranks, .bytes = bytes}, &t);
                struct sim_request q = {.algo = trees[i], .ranks = ranks, .bytes = bytes};
                assert_true(ask(&p, q).tier == SIM_EVENTS);
            }
        platform_free(&p);
    }
    assert_true(platform_make(&p, "torus:3x3x3", 27, 1.25e9, 25e-6, NULL));
    for (int i = 0; i < 5; i++)
        for (double bytes = 1; bytes < 30; bytes++) {
            struct sim_request q = {.algo = rings[i], .ranks = 27, .bytes = bytes};
            compare(&p, q, &t);
            double best = ask(&p, q).time_s;
            q.tier = SIM_EVENTS;
            assert_true(fabs(best - ask(&p, q).time_s) <= 1e-3 * best);
        }
    platform_free(&p);
    /* Eight rings over the NVLinks of one host of eight GPUs, each with a NIC of its own. */
    struct error e = {0};
    json_t *object =
        json_loads("{\"nodes\": 2, \"gpus\": 8, \"gpu\": \"A100-40GB\", \"nvlink\": true, \"nics\": 8, "
                   "\"bandwidth\": 25e9, \"latency\": 1e-6}",
                   0, NULL);
    assert_true(platform_from_json(object, &p, &e));
    json_decref(object);
    for (size_t a = 0; a < ALGOS; a++)
        for (int ranks = 4; ranks <= 16; ranks *= 2)
            for (double bytes = 1e4; bytes < 2e8; bytes *= 100)
                compare(&p, (struct sim_request){.algo = algos[a], .ranks = ranks, .bytes = bytes}, &t);
    platform_free(&p);
}

/* The value of "12.5 GB/s", "50 us", "1 MiB" or "12" behind " NAME = " in a formula, or behind the last = there. */
static double value_in(const char *formula, const char *name)
{
    char key[16], word[64];
    double value = 0;
    snprintf(key, sizeof key, ", %s = ", name);
    const char *at = strstr(formula, key), *end;
    if (!at)
        fail_msg("\"%s\" has no %s", formula, name);
    at += 2;
    const char *shared = strstr(at, " (of a link");
    end = at + strcspn(at, ",;");
    end = shared && shared < end ? shared : end;
    const char *equals = at;
    for (const char *c = at; c < end; c++)
        equals = *c == '=' ? c + 1 : equals;
    snprintf(word, sizeof word, "%.*s", (int)(end - equals), equals);
    if (!units_bytes(word, &value) && !units_seconds(word, &value) && !units_rate(word, &value))
        value = strtod(word, NULL);
    return value;
}

/* What a formula says comes out as the time, to the digits that it shows. */
static void evaluates(const struct platform *p, const char *algo, int ranks, double bytes)
{
    struct sim_request q = {.algo = algo, .ranks = ranks, .bytes = bytes, .tier = SIM_CLOSED};
    struct sim_result r = ask(p, q);
    const char *f = r.formula;
#define IN(name) value_in(f, name)
    double n = ranks, time = NAN;
    if (strncmp(f, "2(n-1) (a + c/B)", 16) == 0)
        time = 2 * (n - 1) * (IN("a") + IN("c") / IN("B"));
    else if (strncmp(f, "(n-1) (a + c/B)", 15) == 0)
        time = (n - 1) * (IN("a") + IN("c") / IN("B"));
    else if (strncmp(f, "2(n-1) (p a + c/B)", 18) == 0)
        time = 2 * (n - 1) * (atof(strstr(f, "p = ") + 4) * IN("a") + IN("c") / IN("B"));
    else if (strncmp(f, "k (a + S/B)", 11) == 0)
        time = IN("k") * (IN("a") + IN("S") / IN("B"));
    else if (strncmp(f, "k (a + c/B)", 11) == 0)
        time = IN("k") * (IN("a") + IN("c") / IN("B"));
    else if (strncmp(f, "2k (a + S/B)", 12) == 0)
        time = 2 * IN("k") * (IN("a") + IN("S") / IN("B"));
    else if (strncmp(f, "2 (k a + c/B) + 2 (a + S/B)", 27) == 0)
        time = 2 * (IN("k") * IN("a") + IN("c") / IN("B")) + 2 * (IN("a") + IN("S") / IN("B"));
    else if (strncmp(f, "2 (k a + c/B)", 13) == 0)
        time = 2 * (IN("k") * IN("a") + IN("c") / IN("B"));
    else if (strncmp(f, "2(K-1) (a1 + c1/B1) + 2(n/K-1) (a2 + c2/B2)", 43) == 0)
        time = 2 * (IN("K") - 1) * (IN("a1") + IN("c1") / IN("B1")) +
               2 * (n / IN("K") - 1) * (IN("a2") + IN("c2") / IN("B2"));
    else if (strncmp(f, "n (a + c/B)", 11) == 0)
        time = n * (IN("a") + IN("c") / IN("B"));
    else if (strncmp(f, "a + (n-1) S/B", 13) == 0)
        time = IN("a") + (n - 1) * IN("S") / IN("B");
    else if (strncmp(f, "2 (a + (n-1) S/B)", 17) == 0)
        time = 2 * (IN("a") + (n - 1) * IN("S") / IN("B"));
    else if (strncmp(f, "2 (a + (n-1) c/B)", 17) == 0)
        time = 2 * (IN("a") + (n - 1) * IN("c") / IN("B"));
#undef IN
    if (!(fabs(time - r.time_s) <= 1e-3 * r.time_s))
        fail_msg("%s of %g bytes on %d ranks of %s: \"%s\" is %.6g s, not %.6g", algo, bytes, ranks,
                 p->topology_text, f, time, r.time_s);
}

static void test_formulas(void **state)
{
    (void)state;
    static const int ranks[] = {8, 12, 27, 1000};
    struct platform p;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        int n = ranks[i];
        assert_true(platform_make(&p, "switch", n, 1.25e9, 25e-6, NULL));
        for (size_t a = 0; a < ALGOS; a++) {
            bool hosts = strncmp(algos[a], "hierarchical", 12) == 0 && n % 2 != 0;
            if (!hosts && strncmp(algos[a], "nccl_tree", 9) != 0)
                for (double bytes = 27000 * 8; bytes < 1e9; bytes *= 100)
                    evaluates(&p, algos[a], n, bytes);
        }
        platform_free(&p);
    }
    /* Rounds of several kinds are summed up, one by one: 1 and 2 apart, and 4 apart, where two share an uplink. */
    assert_true(platform_make(&p, "fattree:2x4:2", 0, 1e9, 1e-6, NULL));
    struct sim_request q = {.algo = "recursive_doubling", .ranks = 8, .bytes = 1 << 20, .tier = SIM_CLOSED};
    assert_string_equal(ask(&p, q).formula, "2 (2 us + 1 MiB / 1 GB/s) + 1 (4 us + 1 MiB / 500 MB/s)");
    platform_free(&p);
    assert_true(platform_make(&p, "fattree:4x4:2", 0, 1e9, 1e-6, NULL));
    evaluates(&p, "ring", 16, 1e6);
    platform_free(&p);
}

/* Too much for one tier goes to another, and too much for all of them is said so. */
static void test_bounded(void **state)
{
    (void)state;
    struct platform p;
    struct sim_result r;
    struct error e = {0};
    assert_true(platform_make(&p, "torus:64x64x64", 1 << 18, 1e9, 1e-6, NULL));
    struct sim_request q = {.algo = "recursive_doubling", .ranks = 1 << 18, .bytes = 4096};
    assert_false(sim_collective(&p, &q, &r, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    assert_non_null(strstr(e.text, "fewer ranks"));
    q.algo = "ring";
    assert_true(ask(&p, q).tier == SIM_CLOSED);
    platform_free(&p);
}

/* --- nccl ------------------------------------------------------------------------------------------------------------------- */

/* Every host once below the root, and inside in at most one of the two trees. */
static void test_double_tree(void **state)
{
    (void)state;
    for (int hosts = 1; hosts <= 130; hosts++) {
        int children[2][131] = {{0}};
        for (int tree = 0; tree < 2; tree++) {
            int roots = 0;
            for (int h = 0; h < hosts; h++) {
                int at = h, steps = 0;
                while (nccl_tree_parent(tree, hosts, at) >= 0 && steps++ <= hosts)
                    at = nccl_tree_parent(tree, hosts, at);
                assert_true(steps <= 2 * log2(hosts) + 1);
                int parent = nccl_tree_parent(tree, hosts, h);
                roots += parent < 0;
                if (parent >= 0)
                    children[tree][parent]++;
            }
            assert_int_equal(roots, 1);
        }
        for (int h = 0; h < hosts; h++) {
            assert_true(children[0][h] <= 2 && children[1][h] <= 2);
            assert_true(children[0][h] == 0 || children[1][h] == 0);
        }
    }
}

/* A schedule is an allreduce where everybody ends with everybody's contribution, once: ranks as bits, elements one by one. */
static void sums(struct schedule *s)
{
    size_t n = s->length * (size_t)s->ranks;
    uint64_t *now = malloc(n * sizeof *now), *before = malloc(n * sizeof *before);
    assert_non_null(now);
    assert_non_null(before);
    for (int r = 0; r < s->ranks; r++)
        for (size_t i = 0; i < s->length; i++)
            now[(size_t)r * s->length + i] = (uint64_t)1 << r;
    for (int t = 0, round = -1; t < s->count; t++) {
        const struct transfer *x = &s->transfers[t];
        if (x->round != round)
            memcpy(before, now, n * sizeof *now);
        round = x->round;
        for (size_t i = x->offset; i < x->offset + x->length; i++) {
            uint64_t got = before[(size_t)x->from * s->length + i], *to = &now[(size_t)x->to * s->length + i];
            assert_true(!x->reduce || (*to & got) == 0);
            *to = x->reduce ? *to | got : got;
        }
    }
    for (size_t i = 0; i < n; i++)
        assert_true(now[i] == (s->ranks == 64 ? UINT64_MAX : ((uint64_t)1 << s->ranks) - 1));
    free(now);
    free(before);
    schedule_free(s);
}

static void test_nccl_sums(void **state)
{
    (void)state;
    static const struct nccl_hosts hosts[] = {{1, 1, 1}, {2, 1, 1}, {7, 1, 1},  {16, 1, 1}, {8, 4, 1},
                                              {8, 4, 4}, {8, 8, 2}, {24, 4, 2}, {40, 8, 1}, {10, 4, 1}};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        for (size_t length = 1; length <= 203; length += 101) {
            struct schedule s;
            struct error e;
            assert_true(schedule_nccl_ring(&s, &hosts[i], length, &e));
            sums(&s);
            assert_true(schedule_nccl_tree(&s, &hosts[i], length, 7, &e));
            assert_true(s.count <= nccl_tree_transfers(&hosts[i], length, 7));
            sums(&s);
        }
}

/*
 * Both reach what the NIC allows, and no more: a ring's 2(N-1)/N of the buffer, a tree's about twice the buffer, each way through
 * each NIC; and for a short buffer the tree has fewer latencies than the ring.
 */
static void test_nccl_times(void **state)
{
    (void)state;
    struct platform p;
    struct error e = {0};
    json_t *object =
        json_loads("{\"nodes\": 16, \"gpus\": 4, \"gpu\": \"V100-SXM2\", \"nvlink\": true, \"nics\": 1, "
                   "\"bandwidth\": 12.5e9, \"latency\": 1e-6}",
                   0, NULL);
    assert_true(platform_from_json(object, &p, &e));
    json_decref(object);
    struct sim_request q = {.algo = "nccl_ring", .ranks = 64, .bytes = 1 << 30};
    double least = 2.0 * 63 / 64 * q.bytes / 12.5e9, ring = ask(&p, q).time_s;
    assert_true(ring >= least && ring < 1.05 * least);
    q.algo = "ring"; /* ranks that wait for each other cannot be faster */
    assert_true(ask(&p, q).time_s >= ring);
    q.algo = "nccl_tree";
    double tree = ask(&p, q).time_s;
    assert_true(tree > least && tree < 1.5 * least);
    q.bytes = 1024;
    tree = ask(&p, q).time_s;
    q.algo = "nccl_ring";
    assert_true(tree < 0.5 * ask(&p, q).time_s);
    platform_free(&p);
}

/* --- large -------------------------------------------------------------------------------------------------------------------- */

static void test_large(void **state)
{
    (void)state;
    struct platform p;
    enum { N = 100000 };
    assert_true(platform_make(&p, "switch", N, 1.25e9, 25e-6, NULL));
    double expected = 2.0 * (N - 1) * (50e-6 + 1000 / 1.25e9);
    for (enum sim_tier tier = SIM_AUTO; tier <= SIM_ROUNDS; tier++)
        assert_true(
            fabs(
                ask(&p, (struct sim_request){.algo = "ring", .ranks = N, .bytes = 1e8, .tier = tier}).time_s /
                    expected -
                1) < 1e-9);
    struct sim_request q = {.algo = "ring", .ranks = N, .bytes = 1e8, .tier = SIM_EVENTS};
    struct sim_result r;
    struct error e = {0};
    assert_false(sim_collective(&p, &q, &r, &e));
    assert_non_null(strstr(e.text, "--tier closed"));
    platform_free(&p);
    /* 12 500 hosts of 8 GPUs: seven rounds inside, then rings between hosts of which eight share a NIC. */
    json_t *object = json_loads(
        "{\"nodes\": 12500, \"gpus\": 8, \"gpu\": \"A100-40GB\", \"nvlink\": true, \"pcie\": \"gen4\", "
        "\"network\": \"IB-HDR\", \"topology\": \"fattree:500x25:1\"}",
        0, NULL);
    assert_true(platform_from_json(object, &p, &e));
    json_decref(object);
    struct sim_result closed =
        ask(&p, (struct sim_request){.algo = "hierarchical:8", .ranks = N, .bytes = 1e8, .tier = SIM_ROUNDS});
    double inside = 2.0 * 7 * (2e-6 + 12.5e6 / 300e9), between = 2.0 * 12499 * (4.4e-6 + 8 * 1000 / 25e9);
    assert_true(fabs(closed.time_s / (inside + between) - 1) < 1e-9);
    assert_true(ask(&p, (struct sim_request){.algo = "hierarchical:8", .ranks = N, .bytes = 1e8}).time_s ==
                    closed.time_s ||
                ask(&p, (struct sim_request){.algo = "hierarchical:8", .ranks = N, .bytes = 1e8}).exact);
    platform_free(&p);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        struct sim_request q;
        const char *words;
    } wrong[] = {
        {{.algo = "rink", .ranks = 4, .bytes = 4}, "there is no allreduce algorithm \"rink\""},
        {{.algo = "ring", .ranks = 9, .bytes = 4}, "room for 8"},
        {{.algo = "ring", .ranks = 0, .bytes = 4}, "room for 8"},
        {{.algo = "ring", .ranks = 4, .bytes = -1}, "0 to 10^15"},
        {{.algo = "ring", .ranks = 4, .bytes = 4, .gamma = -1}, "0 or more"},
        {{.algo = "hierarchical:3", .ranks = 8, .bytes = 4}, "do not fill hosts of 3"},
        {{.algo = "param_server:9", .ranks = 8, .bytes = 4}, "a server is one of them"},
        {{.algo = "alltoall", .ranks = 8, .bytes = 16, .tier = SIM_CLOSED}, "no closed form"},
        {{.algo = "nccl_tree:x", .ranks = 8, .bytes = 16}, "takes a whole number"},
        {{.algo = "nccl_ring:3", .ranks = 8, .bytes = 16}, "takes no number"},
    };
    struct platform p;
    assert_true(platform_make(&p, "switch", 8, 1e9, 1e-6, NULL));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct sim_result r;
        struct error e = {0};
        if (sim_collective(&p, &wrong[i].q, &r, &e))
            fail_msg("%s of %g bytes on %d ranks was taken", wrong[i].q.algo, wrong[i].q.bytes,
                     wrong[i].q.ranks);
        assert_int_equal(e.kind, ERROR_INPUT);
        if (!strstr(e.text, wrong[i].words))
            fail_msg("\"%s\" does not say \"%s\"", e.text, wrong[i].words);
    }
    platform_free(&p);
}

/* --- hops ---------------------------------------------------------------------------------------------------------------------- */

struct seen {
    int count;
    double last;
};

static void see(void *self, const struct transfer *t, double t0, double t1)
{
    struct seen *s = self;
    assert_true(t1 >= s->last && t1 > t0 && t0 >= 0 && t->to == (t->from + 1) % 4);
    s->last = t1;
    s->count++;
}

static void test_hops(void **state)
{
    (void)state;
    struct platform p;
    struct seen seen = {0};
    assert_true(platform_make(&p, "switch", 4, 1e9, 1e-6, NULL));
    struct sim_result r =
        ask(&p, (struct sim_request){.algo = "ring", .ranks = 4, .bytes = 4096, .hop = see, .self = &seen});
    assert_int_equal(seen.count, 4 * 6);
    assert_true(r.tier == SIM_EVENTS && r.time_s == seen.last);
    platform_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),       cmocka_unit_test(test_unequal_paths),
        cmocka_unit_test(test_adding),        cmocka_unit_test(test_protocol),
        cmocka_unit_test(test_cost_model),    cmocka_unit_test(test_simgrid),
        cmocka_unit_test(test_tiers),         cmocka_unit_test(test_tiers_at_random),
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_double_tree),
        cmocka_unit_test(test_nccl_sums),     cmocka_unit_test(test_nccl_times),
        cmocka_unit_test(test_large),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hops),          cmocka_unit_test(test_honest),
        cmocka_unit_test(test_formulas),      cmocka_unit_test(test_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
