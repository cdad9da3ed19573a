/*
 * The cost model against formulas worked by hand, the line through measured points, and the table that auto
 * goes by: its choice from times, its file, and files that must not be used.
 */
#include "engine/base/paths.h"
#include "engine/spec/collective.h"
#include "engine/spec/cost.h"
#include "engine/spec/schedule.h"
#include "engine/spec/tuning.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* alpha 1, beta 1/1000, gamma 1/100000: of 12 000 bytes every term is in digits of its own. */
static const struct cost_link unit = {.alpha = 1, .beta = 1e-3, .gamma = 1e-5};

static void costs(const char *algo, int ranks, double expected)
{
    double got = cost_seconds(&unit, algo, ranks, 12000);
    if (!(fabs(got - expected) < 1e-9))
        fail_msg("%s on %d ranks: %.9g, not %.9g", algo, ranks, got, expected);
}

static void test_formulas(void **state)
{
    (void)state;
    costs("ring", 2, 2 + 12 + 0.06);                 /* 2 messages of half the buffer */
    costs("ring", 4, 6 + 18 + 0.09);                 /* 6 of a quarter, 3 of them added */
    costs("ring", 3, 4 + 16 + 0.08);                 /* 4 of a third */
    costs("ring_segmented:500", 4, 12 + 18 + 0.045); /* 3 000 bytes of a chunk are 2 parts of 2 000 at most */
    costs("tree", 4, 4 + 48 + 0.24);                 /* 2 levels up and down */
    costs("tree", 5, 6 + 72 + 0.36);                 /* 3 levels */
    costs("recursive_doubling", 8, 3 + 36 + 0.36);   /* 3 exchanges of all */
    costs("recursive_doubling", 6, 2 + 24 + 0.24 + 2 + 24 + 0.12); /* 4 of them, and a fold */
    costs("halving_doubling", 4, 4 + 18 + 0.09);                   /* 1/2, 1/4, 1/4, 1/2 */
    costs("halving_doubling", 5, 4 + 18 + 0.09 + 2 + 24 + 0.12);
    costs("everyone", 4, 3 + 36 + 0.36);
    costs("central", 4, 6 + 72 + 0.36);
    costs("param_server:2", 4, 6 + 36 + 0.18);
    /* 6 MB: a root passes on what it has while more comes in, from the first 512 KiB on. */
    assert_float_equal(cost_seconds(&unit, "central", 4, 6e6), 6 + 3 * (6000 + 524.288) + 180, 1e-6);
    assert_float_equal(cost_seconds(&unit, "param_server:2", 4, 6e6), 6 + 4 * 3000 + 3 * 524.288 + 90, 1e-6);
    assert_float_equal(cost_seconds(&unit, "tree", 2, 6e6), 2 + 6000 + 524.288 + 60, 1e-6);
    costs("param_server", 4, 6 + 36 + 0.18);    /* the root of 4 */
    costs("hierarchical:2", 8, 8 + 21 + 0.105); /* 2 x 1 inside, 2 x 3 between */
    costs("mpi", 2, 1 + 12 + 0.12);             /* recursive doubling is the least */
    costs("shm", 2, 1 + 12 + 0.12);             /* one slot */
    costs("shm_private", 3, 1 + 12 + 0.24);
    costs("broadcast", 5, 3 + 36);
    costs("reduce", 4, 2 + 24 + 0.24);
    costs("allgather", 4, 3 + 9);
    costs("reduce_scatter", 4, 3 + 9 + 0.09);
    costs("alltoall", 3, 2 + 8);
    costs("barrier", 9, 4);
    for (int i = 0; cost_formula(i); i++)
        costs(cost_formula(i)->algo, 1, 0);
    assert_true(isnan(cost_seconds(&unit, "star", 2, 1)));
    double mebi = 1048576;
    assert_true(fabs(cost_seconds(&unit, "shm_private", 2, 65537) - (3 + 65.537 + 0.65537)) <
                1e-9); /* 3 slots */
    assert_true(fabs(cost_seconds(&unit, "shm", 4, mebi) - (2 + 1048.576)) < 1e-9);
    assert_true(fabs(cost_seconds(&unit, "shm_private", 4, mebi) - (2 + 1572.864 + 7.86432)) < 1e-9);
}

/* Where times of several lengths were measured, they stand instead of alpha + m beta and m gamma. */
static void test_curves(void **state)
{
    (void)state;
    struct cost_link l = {.alpha = 100, .beta = 100, .gamma = 100};
    l.message = (struct cost_curve){.count = 3, .bytes = {1000, 2000, 4000}, .seconds = {2, 3, 9}};
    l.adding = (struct cost_curve){.count = 2, .bytes = {0, 1000}, .seconds = {0, 1}};
    l.pass = (struct cost_curve){.count = 2, .bytes = {100, 200}, .seconds = {1, 3}};
    assert_float_equal(cost_seconds(&l, "ring", 2, 3000), 2 * 2.5 + 1.5, 1e-12); /* between two points */
    assert_float_equal(cost_seconds(&l, "recursive_doubling", 2, 6000), 15 + 6, 1e-12); /* beyond the last */
    assert_float_equal(cost_seconds(&l, "allgather", 2, 8), 2, 1e-12);                  /* before the first */
    assert_float_equal(cost_seconds(&l, "halving_doubling", 4, 4000), 2 * 3 + 2 + 2 * 2 + 1, 1e-12);
    assert_float_equal(cost_seconds(&l, "shm", 2, 150), 2, 1e-12);
}

static void test_every_algorithm_has_one(void **state)
{
    (void)state;
    for (int i = 0; schedule_algo(i); i++)
        assert_true(cost_seconds(&unit, schedule_algo(i), 4, 100) > 0);
    for (int op = BROADCAST; op < COLLECTIVES; op++)
        assert_true(cost_seconds(&unit, collective_name((enum collective)op), 4, 100) > 0);
}

static void test_fit(void **state)
{
    (void)state;
    double bytes[] = {0, 1000, 1000000}, seconds[] = {2e-6, 3e-6, 1.002e-3}, alpha, beta;
    assert_true(cost_fit(bytes, seconds, 3, &alpha, &beta)); /* on the line 2 us + 1 ns a byte */
    assert_true(fabs(alpha - 2e-6) < 1e-15 && fabs(beta - 1e-9) < 1e-18);
    double level[] = {5e-6, 4e-6, 3e-6}; /* falls: flat */
    assert_true(cost_fit(bytes, level, 3, &alpha, &beta) && beta == 0 && alpha > 3e-6 && alpha < 5e-6);
    double steep_bytes[] = {10, 20}, steep[] = {1, 3}; /* hits zero at 5 bytes: through the origin */
    assert_true(cost_fit(steep_bytes, steep, 2, &alpha, &beta) && alpha == 0 && beta > 0.1 && beta < 0.15);
    double same[] = {8, 8};
    assert_false(cost_fit(same, steep, 2, &alpha, &beta));
    double none[] = {0, 1};
    assert_false(cost_fit(steep_bytes, none, 2, &alpha, &beta));
}

static void test_choice(void **state)
{
    (void)state;
    static const char algos[][32] = {"shm", "ring", "mpi"};
    size_t bytes[] = {100, 400, 1600, 6400};
    /* ring is 2 % faster at 400, which is noise, and 20 % at 1 600; shm is back at 6 400. */
    double seconds[] = {1, 2, 3, 1.02, 1, 2, 1.2, 1, 1.1, 1, 1.2, 2};
    struct tuning t = {0};
    assert_true(tuning_from_times(&t, bytes, 4, algos, 3, seconds));
    assert_int_equal(t.rows, 3);
    assert_string_equal(tuning_choose(&t, 0), "shm");
    assert_string_equal(tuning_choose(&t, 800), "shm"); /* the geometric mean of 400 and 1 600 */
    assert_string_equal(tuning_choose(&t, 801), "ring");
    assert_string_equal(tuning_choose(&t, 3200), "ring");
    assert_string_equal(tuning_choose(&t, 3201), "shm");
    assert_string_equal(tuning_choose(&t, SIZE_MAX), "shm");
    char text[128];
    tuning_text(&t, text, sizeof text);
    assert_string_equal(text, "shm to 800 B, ring to 3.12 KiB, then shm");
    assert_false(tuning_from_times(&t, bytes, 0, algos, 3, seconds));
    assert_null(tuning_choose(&t, 1));
}

static void test_model_choice(void **state)
{
    (void)state;
    struct tuning t = {.key = {.ranks = 8, .ranks_per_host = 1}};
    tuning_from_model(&t, &cost_default_network, false);
    assert_string_equal(tuning_choose(&t, 4), "recursive_doubling"); /* the fewest messages */
    assert_string_equal(tuning_choose(&t, 1 << 26),
                        "halving_doubling"); /* the ring's bytes in fewer messages */
    t.key.ranks = 6;
    tuning_from_model(&t, &cost_default_network, false);
    assert_string_equal(tuning_choose(&t, 1 << 26), "ring"); /* a fold would send everything twice */
    tuning_from_model(&t, &cost_default_shm, true);
    assert_string_equal(tuning_choose(&t, 4), "shm");
    assert_string_equal(tuning_choose(&t, SIZE_MAX), "shm");
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void test_file(void **state)
{
    (void)state;
    char home[] = "/tmp/ringside-tuning-XXXXXX", path[512];
    assert_non_null(mkdtemp(home));
    setenv("RINGSIDE_HOME", home, 1);
    struct tuning t = {.key = {.host = "node/1", .library = "Some MPI v1", .buffer = "engine", .ranks = 4}},
                  got;
    struct error e = {0};
    assert_int_equal(tuning_load(&t.key, &got, &e), TUNING_NONE);
    static const char algos[][32] = {"shm", "ring"};
    size_t bytes[] = {4, 1024};
    double seconds[] = {1, 2, 2, 1};
    assert_true(tuning_from_times(&t, bytes, 2, algos, 2, seconds));
    assert_true(tuning_save(&t, &e));
    assert_int_equal(tuning_load(&t.key, &got, &e), TUNING_READ);
    assert_int_equal(got.rows, 2);
    assert_string_equal(tuning_choose(&got, 64), "shm");
    assert_string_equal(tuning_choose(&got, 65), "ring");
    struct tuning_key other = t.key;
    other.ranks = 5;
    assert_int_equal(tuning_load(&other, &got, &e), TUNING_NONE);

    snprintf(path, sizeof path, "%s/tuning/node_1-4x0-Some_MPI_v1-engine.json", home);
    static const char key[] =
        "\"key\":{\"host\":\"node/1\",\"library\":\"Some MPI v1\",\"buffer\":\"engine\","
        "\"ranks\":4,\"ranks_per_host\":0}";
    static const char *const rows[] = {
        "[{\"algo\":\"star\"}]",
        "[{\"algo\":\"auto\"}]",
        "[]",
        "[{\"algo\":\"ring\",\"up_to_bytes\":5}]",
        "[{\"algo\":\"ring\"},{\"algo\":\"mpi\"}]",
        "[{\"algo\":\"ring\",\"up_to_bytes\":9},{\"algo\":\"mpi\",\"up_to_bytes\":8},{\"algo\":\"mpi\"}]",
        "7",
    };
    char text[1024];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "{\"version\":1,%s,\"rows\":%s}", key, rows[i]);
        write_text(path, text);
        assert_int_equal(tuning_load(&t.key, &got, &e), TUNING_BAD);
        assert_non_null(strstr(e.text, "node_1-4x0"));
    }
    snprintf(text, sizeof text, "{\"version\":1,%s,\"rows\":[{\"algo\":\"ring\"}]}", key);
    write_text(path, text);
    assert_int_equal(tuning_load(&t.key, &got, &e), TUNING_READ); /* so it was the rows */
    static const char *const damaged[] = {"", "{", "[]", "{\"version\":2}", "{\"version\":1,\"key\":{}}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        write_text(path, damaged[i]);
        assert_int_equal(tuning_load(&t.key, &got, &e), TUNING_BAD);
    }
    assert_true(tuning_save(&t, &e)); /* made anew */
    assert_int_equal(tuning_load(&t.key, &got, &e), TUNING_READ);
    unlink(path);
    snprintf(path, sizeof path, "%s/tuning", home);
    rmdir(path);
    rmdir(home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_curves),
        cmocka_unit_test(test_every_algorithm_has_one),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_model_choice),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
