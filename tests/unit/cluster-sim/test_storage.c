/* Reading datasets: each bottleneck in a case worked out by hand, cache hits beside an LRU cache that really runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster-sim/storage.h"
#include "engine/base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Four clients on 1 GB/s, eight reads in flight at each; memory at 10 GB/s and no cache. */
static struct storage_load load_of(double files, double file_bytes)
{
    return (struct storage_load){.files = files,
                                 .file_bytes = file_bytes,
                                 .clients = 4,
                                 .readers = 8,
                                 .client_link_bytes_per_s = 1e9,
                                 .memory_bytes_per_s = 1e10,
                                 .order = STORAGE_SHUFFLED,
                                 .share = STORAGE_NEW_PART,
                                 .epochs = 2,
                                 .prefetch = true};
}

/* Ten targets of 100 MB/s and 10 ms, two servers of 2 GB/s, 1 000 operations a second, two a file, opens of 1 ms. */
static struct storage_system parallel(void)
{
    return (struct storage_system){.kind = STORAGE_PARALLEL,
                                   .target_bytes_per_s = 1e8,
                                   .seek_s = 0.01,
                                   .depth = 1,
                                   .targets = 10,
                                   .servers = 2,
                                   .server_link_bytes_per_s = 2e9,
                                   .metadata_per_s = 1000,
                                   .open_s = 0.001,
                                   .operations_per_file = 2,
                                   .stripe_count = 4,
                                   .stripe_bytes = 1e6};
}

static struct storage_result run(const struct storage_system *s, const struct storage_load *l)
{
    struct storage_result r;
    struct error e = {0};
    if (!storage_simulate(s, l, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

static void hold(const struct storage_system *s, const struct storage_load *l, enum storage_station station,
                 double files_per_s)
{
    struct storage_result r = run(s, l);
    assert_string_equal(storage_station_name(r.first.bottleneck), storage_station_name(station));
    assert_float_equal(r.first.files_per_s, files_per_s, 1e-9 * files_per_s);
    assert_float_equal(r.first.bytes_per_s, files_per_s * l->file_bytes, 1e-9 * files_per_s * l->file_bytes);
}

static void test_bottlenecks(void **state)
{
    (void)state;
    struct storage_system s = parallel();
    /* 10 kB on one target: 10 targets / (10 ms + 0.1 ms) = 990.1 a second; metadata 1000 / 2 = 500: the metadata */
    struct storage_load l = load_of(1e6, 1e4);
    hold(&s, &l, STORAGE_METADATA, 500);
    assert_float_equal(run(&s, &l).first.time_s, 2000, 1e-6);
    assert_float_equal(run(&s, &l).read_s, 4000, 1e-6);
    /* without that: the seeks */
    s.metadata_per_s = 0;
    hold(&s, &l, STORAGE_SEEK, 10 / 0.0101);
    /* one read in flight each: 1 ms + 10 ms + 0.1 ms alone, four at once */
    l.readers = 1;
    hold(&s, &l, STORAGE_READERS, 4 / 0.0111);
    /* 100 MB on four targets: each has 4 seeks of 10 ms and 1 s of reading for every ten-th ... 10 / 1.04 a second */
    s = parallel();
    l = load_of(1000, 1e8);
    hold(&s, &l, STORAGE_TARGET, 10 / 1.04);
    /* 2.5 MB at stripes of 1 MB: three targets */
    l = load_of(1000, 2.5e6);
    assert_float_equal(run(&s, &l).pieces, 3, 0);
    /* faster targets: two servers of 2 GB/s are less than ten of 1 GB/s and as much as four clients of 1 GB/s */
    s.target_bytes_per_s = 1e9;
    l = load_of(1000, 1e9);
    l.client_link_bytes_per_s = 2e9;
    hold(&s, &l, STORAGE_SERVER_LINK, 4);
    l.client_link_bytes_per_s = 5e8;
    hold(&s, &l, STORAGE_CLIENT_LINK, 2);
    /* a local disk has no metadata server and no link, and each client its own: 4 / (10 ms + 10 ms) */
    s = (struct storage_system){.kind = STORAGE_LOCAL,
                                .target_bytes_per_s = 1e8,
                                .seek_s = 0.01,
                                .depth = 1,
                                .targets = 1,
                                .servers = 1,
                                .operations_per_file = 1,
                                .stripe_count = 1,
                                .stripe_bytes = 1};
    l = load_of(1000, 1e6 - 1);
    hold(&s, &l, STORAGE_SEEK, 4 / (0.01 + (1e6 - 1) / 1e8));
}

/* Everything in the cache: what the memory gives, 4 x 10 GB/s / 1 MB; the first epoch only where it was warm before. */
static void test_cache(void **state)
{
    (void)state;
    struct storage_system s = parallel();
    struct storage_load l = load_of(1000, 1e6);
    l.cache_bytes = 1e9;
    struct storage_result r = run(&s, &l);
    assert_true(r.first.hit == 0 && r.later.hit == 1);
    assert_float_equal(r.later.files_per_s, 40000, 1e-6);
    assert_int_equal(r.later.bottleneck, STORAGE_CACHE);
    assert_true(r.first.files_per_s < 500.1);
    l.warm = true;
    assert_float_equal(run(&s, &l).first.files_per_s, 40000, 1e-6);
    /* Half of it, in the same order: nothing is there any more when it comes again. In a new order, alone: 0.5 + 0.5 ln
     * 0.5 are hits, and the metadata server has 1 / (1 - h) as much room. */
    l.cache_bytes = 5e8;
    l.clients = 1;
    l.order = STORAGE_SEQUENTIAL;
    assert_true(run(&s, &l).later.hit == 0);
    l.order = STORAGE_SHUFFLED;
    r = run(&s, &l);
    assert_float_equal(r.later.hit, 0.5 + 0.5 * log(0.5), 1e-12);
    assert_float_equal(r.later.limit[STORAGE_METADATA], 500 / (0.5 - 0.5 * log(0.5)), 1e-9);
    /* its own part of 250 files fits into the cache of each of four clients */
    l.clients = 4;
    l.share = STORAGE_OWN_PART;
    assert_true(run(&s, &l).later.hit == 1);
    /* everybody reads everything: four times as many reads, each alone with its cache */
    l.share = STORAGE_EVERYTHING;
    r = run(&s, &l);
    assert_float_equal(r.later.hit, 0.5 + 0.5 * log(0.5), 1e-12);
    assert_float_equal(r.later.time_s, 4000 / r.later.files_per_s, 1e-9);
}

enum { FILES = 600, EPOCHS = 80, FORGET = 20, MOST_CLIENTS = 8 };

/* The part of hits of n LRU caches with room for that many files, which share out a new order every epoch. */
static double lru(int n, int room)
{
    static long used[MOST_CLIENTS][FILES];
    static uint32_t order[FILES];
    struct random r = random_stream(9, (uint64_t)n, (uint64_t)room);
    long hits = 0, reads = 0, clock = 0;
    int held[MOST_CLIENTS] = {0};
    memset(used, 0, sizeof used);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        random_permutation(&r, order, FILES);
        for (int i = 0; i < FILES; i++) {
            int client = i % n, file = (int)order[i];
            long *u = used[client];
            if (epoch >= FORGET) {
                hits += u[file] > 0;
                reads++;
            }
            if (u[file] == 0 && held[client]++ == room) {
                int oldest = -1;
                for (int k = 0; k < FILES; k++)
                    if (u[k] > 0 && (oldest < 0 || u[k] < u[oldest]))
                        oldest = k;
                u[oldest] = 0;
                held[client]--;
            }
            u[file] = ++clock;
        }
    }
    return (double)hits / (double)reads;
}

static void test_hits_as_a_real_cache(void **state)
{
    (void)state;
    for (int n = 1; n <= MOST_CLIENTS; n = 2 * n + (n == 1))
        for (int tenths = 3; tenths <= 9; tenths += 3) {
            double c = tenths / 10.0, expected = storage_hits(c, n, STORAGE_SHUFFLED),
                   measured = lru(n, FILES * tenths / 10);
            if (fabs(measured - expected) > 0.01)
                fail_msg("%d clients, c = %g: %g, an LRU cache %g", n, c, expected, measured);
        }
    assert_true(storage_hits(1, 3, STORAGE_SHUFFLED) == 1 && storage_hits(0, 3, STORAGE_SHUFFLED) == 0);
    assert_true(fabs(storage_hits(0.4, 100000, STORAGE_SHUFFLED) - 0.4) < 1e-4);
}

/* 10 000 files of 1 MB from NFS, 100 MB/s in all: 100 s. A local disk of 1 GB/s reads them in 10 / 4 s (four clients, each
 * its part, no seeks), and writes them faster than they come: 100 s of staging, then 2.5 s an epoch instead of 100. */
static void test_staging(void **state)
{
    (void)state;
    struct storage_system nfs = {.kind = STORAGE_NFS,
                                 .depth = 1,
                                 .target_bytes_per_s = 1e9,
                                 .targets = 1,
                                 .servers = 1,
                                 .server_link_bytes_per_s = 1e8,
                                 .operations_per_file = 1,
                                 .stripe_count = 1,
                                 .stripe_bytes = 1};
    struct storage_load l = load_of(10000, 1e6);
    l.share = STORAGE_OWN_PART;
    l.epochs = 10;
    assert_float_equal(run(&nfs, &l).read_s, 1000, 1e-6);
    l.stage = true;
    l.local = (struct storage_system){.kind = STORAGE_LOCAL,
                                      .depth = 1,
                                      .target_bytes_per_s = 1e9,
                                      .targets = 1,
                                      .servers = 1,
                                      .operations_per_file = 1,
                                      .stripe_count = 1,
                                      .stripe_bytes = 1};
    struct storage_result r = run(&nfs, &l);
    assert_float_equal(r.stage.time_s, 100, 1e-9);
    assert_int_equal(r.stage.bottleneck, STORAGE_SERVER_LINK);
    assert_float_equal(r.read_s, 100 + 10 * 2.5, 1e-9);
    /* a disk that takes 20 MB/s is the slower: 4 x 20 MB/s */
    l.local.target_bytes_per_s = 2e7;
    r = run(&nfs, &l);
    assert_float_equal(r.stage.time_s, 125, 1e-9);
    assert_int_equal(r.stage.bottleneck, STORAGE_TARGET);
}

/* 500 files a second come and 400 can be used: reading ahead hides it all; without, an epoch takes 2 + 2.5 s. */
static void test_prefetch(void **state)
{
    (void)state;
    struct storage_system s = parallel();
    struct storage_load l = load_of(1000, 1e4);
    l.compute_files_per_s = 400;
    struct storage_result r = run(&s, &l);
    assert_float_equal(r.total_s, 5, 1e-9);
    assert_float_equal(r.data_share, 0, 1e-9);
    l.prefetch = false;
    r = run(&s, &l);
    assert_float_equal(r.total_s, 9, 1e-9);
    assert_float_equal(r.data_share, 4.0 / 9, 1e-9);
    l.prefetch = true;
    l.compute_files_per_s = 1000;
    r = run(&s, &l);
    assert_float_equal(r.total_s, 4, 1e-9);
    assert_float_equal(r.data_share, 0.5, 1e-9);
}

/* Random reads of 4 KiB as the data sheets of two disks have them, one and 32 at a time: within a fifth, with the seek
 * time from the former and the depth from the latter. */
static void test_data_sheets(void **state)
{
    (void)state;
    const struct {
        const char *name;
        double one, many;
    } sheets[] = {{"nvme", 15000, 370000}, {"ssd", 10000, 98000}};
    struct storage_load l = load_of(1e6, 4096);
    l.clients = 1;
    for (int i = 0; i < 2; i++) {
        struct storage_system s;
        assert_true(storage_preset(sheets[i].name, &s));
        l.readers = 1;
        assert_true(fabs(run(&s, &l).first.files_per_s / sheets[i].one - 1) < 0.2);
        l.readers = 32;
        assert_true(fabs(run(&s, &l).first.files_per_s / sheets[i].many - 1) < 0.2);
    }
}

/* Four nodes on 10 Gb/s; a striped file system of ten targets of 100 MB/s behind 200 MB/s each, 1 000 opens a second. */
static void test_of_a_cluster(void **state)
{
    (void)state;
    struct platform p;
    struct storage_system s;
    struct error e = {0};
    struct storage_load l = load_of(1000, 1e8);
    assert_true(platform_make(&p, "switch", 4, 1.25e9, 1e-6, &e));
    assert_false(storage_of_platform(&p, &s, &l, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    p.shared = (struct sim_storage){.kind = SIM_STORAGE_PARALLEL,
                                    .read_bytes_per_s = 1e8,
                                    .open_s = 0.001,
                                    .opens_per_s = 1000,
                                    .link_bytes_per_s = 2e8,
                                    .targets = 10,
                                    .stripe_count = 4,
                                    .stripe_bytes = 1e6};
    p.disk = (struct sim_storage){.kind = SIM_STORAGE_LOCAL, .read_bytes_per_s = 5e8};
    l.clients = 1;
    assert_true(storage_of_platform(&p, &s, &l, &e));
    assert_int_equal(l.clients, 4);
    assert_float_equal(l.client_link_bytes_per_s, 1.25e9, 0);
    hold(&s, &l, STORAGE_TARGET, 10); /* ten targets, a second of reading a file */
    l.file_bytes = 1e4;
    hold(&s, &l, STORAGE_METADATA, 1000);
    l.stage = true;
    l.file_bytes = 1e8;
    assert_float_equal(run(&s, &l).stage.files_per_s, 10, 1e-9);
    assert_float_equal(run(&s, &l).first.files_per_s, 20, 1e-9); /* four disks, a fifth of a second each */
    p.shared.kind = SIM_STORAGE_NONE;
    assert_true(storage_of_platform(&p, &s, &l, &e));
    assert_int_equal(s.kind, STORAGE_LOCAL);
    platform_free(&p);
}

static void test_presets_and_mistakes(void **state)
{
    (void)state;
    const char *const names[] = {"local", "hdd", "ssd", "nvme", "nfs", "parallel"};
    struct storage_system s;
    struct storage_result r;
    struct error e = {0};
    struct storage_load l = load_of(1e5, 1e5);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(storage_preset(names[i], &s));
        r = run(&s, &l);
        assert_true(r.first.files_per_s > 0 && isfinite(r.read_s));
        char *why = storage_explain(&s, &l, &r, &e);
        assert_non_null(why);
        assert_non_null(strstr(why, storage_station_name(r.first.bottleneck)));
        free(why);
    }
    assert_false(storage_preset("floppy", &s));
    assert_true(storage_preset("hdd", &s));
    l.file_bytes = 0;
    assert_false(storage_simulate(&s, &l, &r, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    l = load_of(1, 1);
    l.clients = 0;
    assert_false(storage_simulate(&s, &l, &r, &e));
    l = load_of(1, 1);
    s.target_bytes_per_s = -1;
    assert_false(storage_simulate(&s, &l, &r, &e));
    assert_non_null(strstr(e.text, "a target's rate is -1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bottlenecks),
        cmocka_unit_test(test_cache),
        cmocka_unit_test(test_hits_as_a_real_cache),
        cmocka_unit_test(test_staging),
        cmocka_unit_test(test_prefetch),
        cmocka_unit_test(test_presets_and_mistakes),
        cmocka_unit_test(test_data_sheets),
        cmocka_unit_test(test_of_a_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
