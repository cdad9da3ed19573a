/*
 * Max-min fair rates against cases worked by hand and, on random networks, against what defines them: no link carries more than it
 * can, and every flow crosses a full link on which no flow is faster. And flows through time: who ends when.
 */
#include "cluster-sim/fluid.h"
#include "cluster-sim/maxmin.h"
#include "engine/base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

struct network {
    int links, flows;
    double *capacity, *rate;
    int *first, *link, *bottleneck;
};

static void solve(struct network *n)
{
    struct error e;
    assert_true(maxmin_solve(n->links, n->capacity, n->flows, n->first, n->link, n->rate, n->bottleneck, &e));
}

static void holds(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12 * expected))
        fail_msg("%.15g, not %.15g", got, expected);
}

/* Bertsekas and Gallager's example: three flows over one link each and one over all, links of 1, 2 and 1. */
static void test_by_hand(void **state)
{
    (void)state;
    double rate[6];
    int bottleneck[6];
    /* Two flows on a link of 10, one of them also on a link of 3: 3 and 7. */
    struct network two = {2, 2, (double[]){10, 3}, rate, (int[]){0, 1, 3}, (int[]){0, 0, 1}, bottleneck};
    solve(&two);
    holds(rate[0], 7);
    holds(rate[1], 3);
    assert_int_equal(bottleneck[0], 0);
    assert_int_equal(bottleneck[1], 1);
    /* A long flow over three links of 1, 2 and 1, each with one flow of its own: 1/2, 1/2, 3/2, 1/2. */
    struct network line = {
        3, 4, (double[]){1, 2, 1}, rate, (int[]){0, 3, 4, 5, 6}, (int[]){0, 1, 2, 0, 1, 2}, bottleneck};
    solve(&line);
    holds(rate[0], 0.5);
    holds(rate[1], 0.5);
    holds(rate[2], 1.5);
    holds(rate[3], 0.5);
    assert_int_equal(bottleneck[2], 1);
    /* Three levels: 12 among three is 4 each, but one has only 1; then 11/2 each; one of those shares 6 with another: 3, 3, 8. */
    struct network levels = {
        3, 4, (double[]){12, 1, 6}, rate, (int[]){0, 2, 4, 5, 6}, (int[]){0, 1, 0, 2, 0, 2}, bottleneck};
    solve(&levels);
    holds(rate[0], 1);
    holds(rate[1], 3);
    holds(rate[2], 8);
    holds(rate[3], 3);
    /* No link at all: nothing stops the flow. */
    struct network none = {1, 1, (double[]){1}, rate, (int[]){0, 0}, (int[]){0}, bottleneck};
    solve(&none);
    assert_true(isinf(rate[0]));
    assert_int_equal(bottleneck[0], -1);
}

static void check_fair(const struct network *n)
{
    double *load = calloc((size_t)n->links, sizeof *load), *most = calloc((size_t)n->links, sizeof *most);
    assert_non_null(load);
    assert_non_null(most);
    for (int f = 0; f < n->flows; f++)
        for (int k = n->first[f]; k < n->first[f + 1]; k++) {
            load[n->link[k]] += n->rate[f];
            most[n->link[k]] = fmax(most[n->link[k]], n->rate[f]);
        }
    for (int l = 0; l < n->links; l++)
        if (load[l] > n->capacity[l] * (1 + 1e-9))
            fail_msg("link %d carries %g of %g", l, load[l], n->capacity[l]);
    for (int f = 0; f < n->flows; f++) {
        int l = n->bottleneck[f];
        bool crosses = false;
        for (int k = n->first[f]; k < n->first[f + 1]; k++)
            crosses = crosses || n->link[k] == l;
        if (!crosses || load[l] < n->capacity[l] * (1 - 1e-9) || n->rate[f] < most[l] * (1 - 1e-9))
            fail_msg("flow %d of %g has no bottleneck: link %d of %g carries %g, %g at most", f, n->rate[f],
                     l, n->capacity[l], load[l], most[l]);
    }
    free(load);
    free(most);
}

/* Flows over `hops` links each, none twice. */
static void make_random(struct network *n, uint64_t seed, int links, int flows, int hops)
{
    struct random random;
    random = random_stream(seed, 0, 0);
    n->links = links;
    n->flows = flows;
    n->capacity = malloc((size_t)links * sizeof *n->capacity);
    n->rate = malloc((size_t)flows * sizeof *n->rate);
    n->bottleneck = malloc((size_t)flows * sizeof *n->bottleneck);
    n->first = malloc(((size_t)flows + 1) * sizeof *n->first);
    n->link = malloc((size_t)flows * (size_t)hops * sizeof *n->link);
    for (int l = 0; l < links; l++)
        n->capacity[l] = 1e9 * (1 + (double)(random_next(&random) % 100));
    int used = 0;
    for (int f = 0; f < flows; f++) {
        n->first[f] = used;
        int want = 1 + (int)(random_next(&random) % (uint64_t)hops);
        for (int k = 0; k < want; k++) {
            int l = (int)(random_next(&random) % (uint64_t)links);
            bool there = false;
            for (int j = n->first[f]; j < used; j++)
                there = there || n->link[j] == l;
            if (!there)
                n->link[used++] = l;
        }
    }
    n->first[flows] = used;
}

static void free_random(struct network *n)
{
    free(n->capacity);
    free(n->rate);
    free(n->bottleneck);
    free(n->first);
    free(n->link);
}

static void test_random(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct network n;
        make_random(&n, seed, 1 + (int)(seed % 40), 1 + (int)(seed * 7 % 90), 1 + (int)(seed % 6));
        solve(&n);
        check_fair(&n);
        free_random(&n);
    }
}

/*
 * A row of links, each larger than the one before, and flows over each two neighbours: flow 0 is stopped by link 0, which tells what
 * link 1 leaves to flow 1, and so on: every wave would settle one flow.
 */
static void test_chain(void **state)
{
    (void)state;
    struct network n;
    enum { FLOWS = 2000 };
    make_random(&n, 3, FLOWS + 1, FLOWS, 2);
    for (int l = 0; l <= FLOWS; l++)
        n.capacity[l] = 1 + 2 * l;
    for (int f = 0; f < FLOWS; f++) {
        n.first[f] = 2 * f;
        n.link[2 * f] = f;
        n.link[2 * f + 1] = f + 1;
    }
    n.first[FLOWS] = 2 * FLOWS;
    solve(&n);
    check_fair(&n);
    double left = 0; /* by hand: link l carries flows l - 1 and l */
    for (int f = 0; f < FLOWS; f++) {
        left = 1 + 2 * f - left;
        assert_true(fabs(n.rate[f] - left) < 1e-6);
    }
    free_random(&n);
}

static void test_large(void **state)
{
    (void)state;
    struct network n;
    make_random(&n, 1, 300000, 100000, 8);
    clock_t began = clock();
    solve(&n);
    printf("# 100 000 flows over 300 000 links: %.1f ms of one core\n",
           1e3 * (double)(clock() - began) / CLOCKS_PER_SEC);
    check_fair(&n);
    free_random(&n);
}

/* --- through time ---------------------------------------------------------------------------------------------------- */

static double next(struct fluid *f)
{
    double when;
    struct error e;
    assert_true(fluid_next(f, &when, &e));
    return when;
}

/*
 * A link of 10. At 0 a flow of 100 begins; at 2, with 80 left, one of 40, and both have 5; at 10 the second ends, and the first,
 * with 40 left, has 10 again and ends at 14.
 */
static void test_time(void **state)
{
    (void)state;
    struct error e;
    double capacity[] = {10, 1000};
    struct fluid *f = fluid_new(2, capacity, &e);
    assert_non_null(f);
    assert_true(isinf(next(f)));
    assert_true(fluid_start(f, (int[]){0, 1}, 2, 100, 7, &e));
    holds(next(f), 10);
    fluid_advance(f, 2);
    assert_int_equal(fluid_ended(f), -1);
    assert_true(fluid_start(f, (int[]){0}, 1, 40, 8, &e));
    holds(next(f), 10);
    fluid_advance(f, 10);
    assert_int_equal(fluid_ended(f), 8);
    assert_int_equal(fluid_ended(f), -1);
    holds(next(f), 14);
    /* What crosses no link ends at once. */
    assert_true(fluid_start(f, NULL, 0, 5, 9, &e));
    holds(next(f), 10);
    assert_int_equal(fluid_ended(f), 9);
    fluid_advance(f, 14);
    assert_int_equal(fluid_ended(f), 7);
    assert_true(isinf(next(f)));
    fluid_free(f);
    fluid_free(NULL);
}

/* Many flows on a few links, begun at random: in the end all bytes have gone, and none faster than the links allow. */
static void test_all_bytes(void **state)
{
    (void)state;
    enum { FLOWS = 400, LINKS = 6 };
    struct random random;
    struct error e;
    double capacity[LINKS], carried[LINKS] = {0}, clock = 0, when;
    bool ended[FLOWS] = {false};
    random = random_stream(5, 0, 0);
    for (int l = 0; l < LINKS; l++)
        capacity[l] = 1 + (double)(random_next(&random) % 5);
    struct fluid *f = fluid_new(LINKS, capacity, &e);
    assert_non_null(f);
    for (int i = 0, open = 0; i < FLOWS || open > 0;) {
        when = next(f);
        if (i < FLOWS && (isinf(when) || random_next(&random) % 3)) {
            int a = (int)(random_next(&random) % LINKS),
                b = (a + 1 + (int)(random_next(&random) % (LINKS - 1))) % LINKS;
            double bytes = 1 + (double)(random_next(&random) % 50);
            carried[a] += bytes;
            carried[b] += bytes;
            assert_true(fluid_start(f, (int[]){a, b}, 2, bytes, i++, &e));
            open++;
            continue;
        }
        assert_true(when >= clock);
        clock = when;
        fluid_advance(f, clock);
        for (int tag; (tag = fluid_ended(f)) >= 0; open--) {
            assert_false(ended[tag]);
            ended[tag] = true;
        }
    }
    for (int i = 0; i < FLOWS; i++)
        assert_true(ended[i]);
    for (int l = 0; l < LINKS; l++)
        assert_true(carried[l] <= capacity[l] * clock * (1 + 1e-9));
    fluid_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand), cmocka_unit_test(test_random), cmocka_unit_test(test_chain),
        cmocka_unit_test(test_large),   cmocka_unit_test(test_time),   cmocka_unit_test(test_all_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
