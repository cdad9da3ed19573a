/*
 * Platforms: routes of each topology worked by hand, links counted, what a cut in the middle carries; figures inside nodes; and
 * descriptions that must be refused with one sentence that names file and line.
 */
#include "cluster-sim/platform_lua.h"
#include "cluster-sim/presets.h"
#include "cluster-sim/topology.h"
#include "engine/base/random.h"
#include "engine/base/units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct platform make(const char *spec, int nodes)
{
    struct platform p;
    struct error e = {0};
    if (!platform_make(&p, spec, nodes, 1e9, 1e-6, &e))
        fail_msg("%s: %s", spec, e.text);
    return p;
}

/* The links of a route by name, with ", " between. */
static void route_is(const struct platform *p, int from, int to, const char *expected)
{
    struct route r = {0};
    struct error e;
    char text[512] = "";
    assert_true(platform_route(p, from, to, &r, &e));
    for (int i = 0; i < r.count; i++) {
        char name[96];
        platform_link_name(p, r.link[i], name, sizeof name);
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%.80s", used ? ", " : "", name);
    }
    assert_string_equal(text, expected);
    assert_true(fabs(r.latency - r.count * 1e-6) < 1e-15);
    route_free(&r);
}

static void test_switch(void **state)
{
    (void)state;
    struct platform p = make("switch", 5);
    assert_int_equal(p.links, 10);
    route_is(&p, 0, 4, "port 0 -> switch, switch -> port 4");
    route_is(&p, 3, 3, "");
    platform_free(&p);
}

static void test_fattree(void **state)
{
    (void)state;
    struct platform p = make("fattree:4x8:2", 0);
    assert_int_equal(platform_ranks(&p), 32);
    assert_int_equal(p.uplinks, 4);
    assert_int_equal(p.links, 2 * 32 + 2 * 4 * 4);
    route_is(&p, 1, 6, "port 1 -> leaf 0, leaf 0 -> port 6");
    /* D-mod-k: to 13 over spine 13 mod 4 = 1, from wherever. */
    route_is(&p, 1, 13, "port 1 -> leaf 0, leaf 0 -> spine 1, spine 1 -> leaf 1, leaf 1 -> port 13");
    route_is(&p, 30, 13, "port 30 -> leaf 3, leaf 3 -> spine 1, spine 1 -> leaf 1, leaf 1 -> port 13");
    platform_free(&p);
}

/* x = r mod 4, y = r / 4 mod 3, z = r / 12 of 4 x 3 x 2. */
static void test_torus(void **state)
{
    (void)state;
    struct platform p = make("torus:4x3x2", 24);
    assert_int_equal(p.links, 2 * 3 * 24);
    route_is(&p, 0, 1, "port 0 -> its neighbour +x");
    route_is(&p, 0, 3, "port 0 -> its neighbour -x");
    /* Two of four: a tie, +; then y from 0 to 2 of three is one step back; then z, a tie of one step. */
    route_is(
        &p, 0, 2 + 4 * 2 + 12,
        "port 0 -> its neighbour +x, port 1 -> its neighbour +x, port 2 -> its neighbour -y, port 10 -> its "
        "neighbour +z");
    /* And back: x from 2 to 0 is a tie again. */
    route_is(&p, 22, 0,
             "port 22 -> its neighbour +x, port 23 -> its neighbour +x, port 20 -> its neighbour +y, port 12 "
             "-> its "
             "neighbour +z");
    platform_free(&p);
}

/* 4 groups of 2 routers of 3 hosts; each router has ceil(3 / 2) = 2 of its group's 3 global links. */
static void test_dragonfly(void **state)
{
    (void)state;
    struct platform p = make("dragonfly:4x2x3", 0);
    assert_int_equal(platform_ranks(&p), 24);
    route_is(&p, 0, 2, "port 0 -> router 0 of group 0, router 0 of group 0 -> port 2");
    route_is(&p, 0, 4,
             "port 0 -> router 0 of group 0, group 0, router 0 -> router 1, router 1 of group 0 -> port 4");
    /* Group 0 reaches 1 and 2 from router 0, 3 from router 1; group 3 reaches 0 and 1 from router 0. */
    route_is(&p, 0, 23,
             "port 0 -> router 0 of group 0, group 0, router 0 -> router 1, group 0 -> group 3, group 3, "
             "router 0 -> router "
             "1, router 1 of group 3 -> port 23");
    route_is(&p, 3, 18, "port 3 -> router 1 of group 0, group 0 -> group 3, router 0 of group 3 -> port 18");
    platform_free(&p);
}

static json_t *json(const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    if (!object)
        fail_msg("the test's own JSON is wrong: %s", text);
    return object;
}

static struct platform described(const char *text)
{
    struct platform p;
    struct error e = {0};
    json_t *object = json(text);
    if (!platform_from_json(object, &p, &e))
        fail_msg("%s: %s", text, e.text);
    json_decref(object);
    return p;
}

static void test_graph(void **state)
{
    (void)state;
    struct platform p =
        described("{\"nodes\": 4, \"bandwidth\": \"1GB/s\", \"latency\": \"1us\", \"links\": ["
                  "[\"node0\", \"a\"], [\"node1\", \"a\"], [\"a\", \"b\"], [\"node2\", \"b\"],"
                  "{\"1\": \"b\", \"2\": \"node3\", \"bandwidth\": \"8 Gb/s\", \"latency\": 1e-6}]}");
    assert_int_equal(p.links, 10);
    route_is(&p, 0, 1, "node0 -> a, a -> node1");
    route_is(&p, 0, 3, "node0 -> a, a -> b, b -> node3");
    route_is(&p, 3, 1, "node3 -> b, b -> a, a -> node1");
    struct route r = {0};
    assert_true(platform_route(&p, 0, 3, &r, NULL));
    assert_true(r.bandwidth == 1e9);
    route_free(&r);
    platform_free(&p);
}

/*
 * Half of the ranks send to the other half, i to i + n/2 and back. What crosses the middle of the topology, counted on its routes,
 * is n: each of those links carries its part.
 */
static int busiest(const char *spec, int nodes)
{
    struct platform p = make(spec, nodes);
    struct route r = {0};
    int *load = calloc((size_t)p.links + 1, sizeof *load), most = 0, n = platform_ranks(&p);
    assert_non_null(load);
    for (int i = 0; i < n; i++) {
        assert_true(platform_route(&p, i, (i + n / 2) % n, &r, NULL));
        for (int k = 0; k < r.count; k++)
            if (++load[r.link[k]] > most)
                most = load[r.link[k]];
    }
    free(load);
    route_free(&r);
    platform_free(&p);
    return most;
}

static void test_bisection(void **state)
{
    (void)state;
    assert_int_equal(busiest("switch", 64), 1);
    assert_int_equal(busiest("fattree:8x8:1", 0), 1); /* D-mod-k spreads a shift evenly */
    assert_int_equal(busiest("fattree:8x8:2", 0), 2);
    assert_int_equal(busiest("fattree:8x8:8", 0), 8);
    assert_int_equal(busiest("torus:8x8", 64), 4);   /* y by 4 of 8, a tie, so all in +: 4 over each link */
    assert_int_equal(busiest("torus:4x4x4", 64), 2); /* z by 2 of 4 */
    /* 2 groups and one link between them: all 8 of a group. */
    assert_int_equal(busiest("dragonfly:2x2x4", 0), 8);
}

/* Two nodes of 4 GPUs and 2 NICs. */
static void test_inside_nodes(void **state)
{
    (void)state;
    struct platform p =
        described("{\"nodes\": 2, \"gpus\": 4, \"gpu\": \"V100-SXM2\", \"nvlink\": true, \"nics\": 2, "
                  "\"network\": \"IB-EDR\", \"latency\": 1e-6}");
    assert_int_equal(platform_ranks(&p), 8);
    assert_true(p.node.gpu.f16_flops == 125e12 && p.node.nvlink_bytes_per_s == 150e9);
    route_is(&p, 1, 2, "node 0, GPU 1 to NVLink, node 0, GPU 2 from NVLink");
    /* GPUs 2 and 3 are next to the second NIC of their node. */
    route_is(&p, 3, 4, "node 0, GPU 3 to PCIe, port 1 -> switch, switch -> port 2, node 1, GPU 0 from PCIe");
    struct route r = {0};
    assert_true(platform_route(&p, 3, 4, &r, NULL));
    assert_true(fabs(r.bandwidth - 12.5e9) < 1);
    assert_true(platform_resize(&p, 3, NULL) && platform_ranks(&p) == 12);
    assert_false(platform_resize(&p, 0, NULL));
    assert_false(platform_route(&p, 0, 12, &r, NULL));
    route_free(&r);
    platform_free(&p);
}

/* --- mistakes ---------------------------------------------------------------------------------------------------------- */

static void refused(const char *spec, int nodes, double bandwidth, double latency, const char *words)
{
    struct platform p;
    struct error e = {0};
    if (platform_make(&p, spec, nodes, bandwidth, latency, &e))
        fail_msg("%s was taken", spec);
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, words))
        fail_msg("%s: \"%s\" does not say \"%s\"", spec, e.text, words);
}

static void test_refused(void **state)
{
    (void)state;
    refused("torus:4x4", 17, 1e9, 0, "has 16 ports, but 17 nodes need 17");
    refused("torus:4x4", 8, 1e9, 0, "the product of its sizes must be their number");
    refused("torus:4x", 4, 1e9, 0, "torus:XxYxZ");
    refused("torus:0x4", 0, 1e9, 0, "torus:XxYxZ");
    refused("torus:4x4x4x4x4", 0, 1e9, 0, "torus:XxYxZ");
    refused("torus:99999999999x2", 0, 1e9, 0, "torus:XxYxZ");
    refused("fattree:4x4:3", 16, 1e9, 0, "whole number");
    refused("fattree:4x4:0", 16, 1e9, 0, "above 0");
    refused("fattree:4x4:nan", 16, 1e9, 0, "above 0");
    refused("fattree:4", 4, 1e9, 0, "fattree:LxH:o");
    refused("fattree:2x4:1", 9, 1e9, 0, "has 8 ports, but 9 nodes");
    refused("dragonfly:4x4", 16, 1e9, 0, "dragonfly:GxAxH");
    refused("switch:8", 8, 1e9, 0, "write switch");
    refused("star", 8, 1e9, 0, "there is no topology \"star\"");
    refused("graph", 8, 1e9, 0, "links");
    refused("switch", 8, 0, 0, "above 0");
    refused("switch", 8, -1, 0, "above 0");
    refused("switch", 8, NAN, 0, "above 0");
    refused("switch", 8, 1e9, -1, "0 or more");
    refused("switch", 0, 1e9, 0, "at least one node");
}

static const struct {
    const char *text, *words;
} wrong[] = {
    {"{\"network\": \"10GbE\"}", "nodes"},
    {"{\"nodes\": 2}", "no network"},
    {"{\"nodes\": 2, \"network\": \"11GbE\"}", "no network \"11GbE\" is known (there are: 1GbE"},
    {"{\"nodes\": 2, \"bandwidth\": 0}", "bandwidth is 0"},
    {"{\"nodes\": 2, \"bandwidth\": \"-1Gb/s\"}", "bandwidth must be"},
    {"{\"nodes\": 2, \"bandwidth\": \"fast\"}", "not \"fast\""},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"latency\": -1}", "latency is -1"},
    {"{\"nodes\": 2.5, \"network\": \"10GbE\"}", "nodes must be a whole number"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"nodez\": 1}", "cluster has no \"nodez\""},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"gpus\": 2, \"gpu\": \"V1000\"}", "no GPU \"V1000\""},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"gpus\": 2, \"gpu\": {\"f32\": -5}}", "gpu: f32 is -5"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"gpus\": 2, \"nvlink\": true}", "give nvlink = a rate"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"gpus\": 3, \"nics\": 2}", "cannot share 2 NICs"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"storage\": {\"kind\": \"tape\"}}", "\"tape\""},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"disk\": {\"open\": 1}}", "disk: give read"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"storage\": {\"read\": 1, \"targets\": 2, \"stripe_count\": "
     "3}}",
     "stripe_count"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"protocol\": [{\"bandwidth_factor\": 0}]}",
     "bandwidth_factor is 0"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"protocol\": [{\"from_bytes\": 5}, {\"from_bytes\": 5}]}",
     "must grow"},
    {"{\"nodes\": 2, \"network\": \"10GbE\", \"topology\": \"torus:3x1\"}", "has 3 ports, but 2 nodes"},
    {"{\"nodes\": 3, \"bandwidth\": 1, \"links\": [[\"node0\", \"s\"], [\"node1\", \"s\"], [\"node2\", "
     "\"t\"]]}",
     "node2 cannot be reached from node0"},
    {"{\"nodes\": 2, \"bandwidth\": 1, \"links\": [[\"node0\", \"s\"], [\"node1\", \"s\"], [\"node1\", "
     "\"node0\"]]}",
     "link 3 (node1 - node0) closes a cycle"},
    {"{\"nodes\": 2, \"bandwidth\": 1, \"links\": [[\"node0\", \"node0\"]]}", "closes a cycle"},
    {"{\"nodes\": 2, \"links\": [[\"node0\", \"node1\"]]}", "has no bandwidth"},
    {"{\"nodes\": 2, \"bandwidth\": 1, \"links\": [[\"node0\"]]}", "names of its two ends"},
    {"{\"nodes\": 2, \"bandwidth\": 1, \"links\": [[\"a\", \"b\"]], \"hosts\": [\"a\", \"a\"]}", "name 2"},
    {"{\"nodes\": 2, \"bandwidth\": 1, \"links\": [[\"a\", \"b\"]], \"topology\": \"switch\"}",
     "knows its links"},
};

static void test_wrong_descriptions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct platform p;
        struct error e = {0};
        json_t *object = json(wrong[i].text);
        if (platform_from_json(object, &p, &e))
            fail_msg("%s was taken", wrong[i].text);
        assert_int_equal(e.kind, ERROR_INPUT);
        if (!strstr(e.text, wrong[i].words) || strchr(e.text, '\n'))
            fail_msg("%s: \"%s\" does not say \"%s\"", wrong[i].text, e.text, wrong[i].words);
        json_decref(object);
    }
}

/* --- Lua ---------------------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    fclose(f);
}

static void test_lua(void **state)
{
    (void)state;
    struct platform p;
    struct error e = {0};
    char path[] = "/tmp/ringside-cluster-XXXXXX.lua";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    static const char *const texts[][2] = {
        {"-- two lines\nreturn cluster{ nodes = 2, bandwidth = 0, latency = 0 }\n",
         ":2: cluster: bandwidth is 0"},
        {"return cluster{\n nodes = 2, network = '10GbE', topology = 'torus:3x3' }\n",
         "cluster: topology \"torus:3x3\" has 9"},
        {"return cluster{ nodes = 'two' }\n", ":1: "},
        {"return cluster{ nodes = 2, gpuz = 4 }\n", "gpus"},
        {"return 7\n", "describes no cluster"},
        {"x = = 1\n", ":1: "},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_file(path, texts[i][0], strlen(texts[i][0]));
        if (platform_named(path, &p, &e))
            fail_msg("%s was taken", texts[i][0]);
        assert_int_equal(e.kind, ERROR_INPUT);
        if (!strstr(e.text, path) || !strstr(e.text, texts[i][1]))
            fail_msg("\"%s\" does not say \"%s\"", e.text, texts[i][1]);
    }
    unlink(path);
    assert_false(platform_named("no-such-cluster", &p, &e));
    assert_non_null(strstr(e.text, "horovod-vm"));
}

static void test_shelf(void **state)
{
    (void)state;
    struct error e = {0};
    char **names = platform_names(&e);
    assert_non_null(names);
    int count = 0;
    for (char **name = names; *name; name++, count++) {
        struct platform p;
        if (!platform_named(*name, &p, &e))
            fail_msg("%s: %s", *name, e.text);
        assert_string_equal(p.name, *name);
        platform_free(&p);
    }
    assert_true(count >= 5);
    platform_names_free(names);
    struct platform p;
    assert_true(platform_named("horovod-vm", &p, &e));
    assert_int_equal(platform_ranks(&p), 8);
    assert_true(p.bandwidth == 1.25e9 && p.node.gpu.memory_bytes > 0 && p.shared.kind == SIM_STORAGE_NFS);
    platform_free(&p);
}

/* Damaged descriptions, 2 000: read, or refused with one sentence; never a crash, never a platform without routes. */
static void test_fuzz(void **state)
{
    (void)state;
    static const char *const whole[] = {
        "{\"nodes\": 4, \"name\": \"x\", \"bandwidth\": \"1GB/s\", \"latency\": \"1us\", \"links\": "
        "[[\"node0\", \"a\"],"
        "[\"node1\", \"a\"], [\"a\", \"b\"], [\"node2\", \"b\"], {\"1\": \"b\", \"2\": \"node3\", "
        "\"bandwidth\": 5e9}]}",
        "{\"nodes\": 16, \"topology\": \"fattree:4x4:2\", \"network\": \"IB-EDR\", \"gpus\": 4, \"gpu\": "
        "\"V100-SXM2\", "
        "\"nvlink\": true, \"nics\": 1, \"protocol\": [{\"from_bytes\": 0, \"latency_s\": 1e-6}, "
        "{\"from_bytes\": 1024}]}",
        "{\"nodes\": 24, \"topology\": \"torus:4x3x2\", \"network\": \"10GbE\", \"ranks_per_node\": 2, "
        "\"storage\": {\"kind\": \"parallel\", \"read\": \"1GB/s\", \"targets\": 8, \"stripe_count\": 4}}",
        "{\"nodes\": 24, \"topology\": \"dragonfly:4x2x3\", \"bandwidth\": 1e9, \"latency\": 1e-6, "
        "\"disk\": {\"read\": \"150MB/s\", \"open\": \"8ms\"}, \"file\": \"f.lua\", \"line\": 3}",
    };
    struct random random = random_stream(11, 0, 0);
    int taken = 0, refusals = 0;
    for (int i = 0; i < 2000; i++) {
        char text[512];
        snprintf(text, sizeof text, "%s", whole[i % 4]);
        size_t n = strlen(text);
        for (uint64_t k = 1 + random_below(&random, 3); k > 0; k--) {
            static const char bytes[] = "0123456789-+.eExX:{}[]\",abnstGMk ";
            size_t at = (size_t)random_below(&random, n);
            if (random_below(&random, 4) == 0)
                memmove(text + at, text + at + 1, n-- - at);
            else
                text[at] = bytes[random_below(&random, sizeof bytes - 1)];
        }
        json_t *object = json_loads(text, 0, NULL);
        struct platform p;
        struct error e = {0};
        if (!object)
            continue;
        if (platform_from_json(object, &p, &e)) {
            struct route r = {0};
            int last = platform_ranks(&p) - 1;
            taken++;
            assert_true(platform_route(&p, 0, last, &r, &e));
            assert_true(last == 0 || (r.count > 0 && r.bandwidth > 0 && r.latency >= 0));
            route_free(&r);
            platform_free(&p);
        } else {
            refusals++;
            assert_int_equal(e.kind, ERROR_INPUT);
            assert_true(*e.text && !strchr(e.text, '\n'));
        }
        json_decref(object);
    }
    assert_true(taken > 50 && refusals > 50);
}

/* Damaged SPECs, 2 000. */
static void test_fuzz_specs(void **state)
{
    (void)state;
    static const char *const whole[] = {"switch", "fattree:4x8:2", "torus:4x3x2", "dragonfly:4x2x3"};
    struct random random = random_stream(13, 0, 0);
    int taken = 0;
    for (int i = 0; i < 2000; i++) {
        static const char bytes[] = "0123456789x:.-+e \x7f";
        char spec[32];
        snprintf(spec, sizeof spec, "%s", whole[i % 4]);
        for (uint64_t k = 1 + random_below(&random, 2); k > 0; k--)
            spec[random_below(&random, strlen(spec))] = bytes[random_below(&random, sizeof bytes - 1)];
        struct platform p;
        struct error e = {0};
        if (!platform_make(&p, spec, i % 8 < 4 ? 0 : 24, 1e9, 1e-6, &e)) {
            assert_true(e.kind == ERROR_INPUT && *e.text && !strchr(e.text, '\n'));
            continue;
        }
        struct route r = {0};
        taken++;
        for (int from = 0; from < platform_ranks(&p) && from < 50; from++)
            assert_true(platform_route(&p, from, platform_ranks(&p) - 1, &r, &e));
        for (int k = 0; k < r.count; k++)
            assert_true(r.link[k] >= 0 && r.link[k] < p.links);
        route_free(&r);
        platform_free(&p);
    }
    assert_true(taken > 50);
}

/* The same with files: a few hundred, since each is read by a process of its own. */
static void test_fuzz_files(void **state)
{
    (void)state;
    static const char whole[] =
        "return cluster{ nodes = 4, bandwidth = '10 Gb/s', latency = '25us', topology = 'torus:2x2',\n"
        "  gpus = 2, gpu = { f32 = '15.7T', memory = '16GiB' }, nvlink = 3e11,\n"
        "  storage = { kind = 'nfs', read = '500MB/s' } }\n";
    struct random random = random_stream(12, 0, 0);
    char path[] = "/tmp/ringside-cluster-XXXXXX.lua";
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    for (int i = 0; i < 200; i++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (uint64_t k = 1 + random_below(&random, 3); k > 0; k--)
            text[random_below(&random, sizeof whole - 1)] = (char)random_below(&random, 256);
        write_file(path, text, sizeof whole - 1);
        struct platform p;
        struct error e = {0};
        if (platform_named(path, &p, &e)) {
            platform_free(&p);
            continue;
        }
        assert_int_equal(e.kind, ERROR_INPUT);
        if (!strstr(e.text, path))
            fail_msg("\"%s\" does not name %s", e.text, path);
    }
    unlink(path);
}

static void test_units(void **state)
{
    (void)state;
    double x;
    assert_true(units_rate("10 Gb/s", &x) && x == 1.25e9);
    assert_true(units_rate("10Gbps", &x) && x == 1.25e9);
    assert_true(units_rate("10G", &x) && x == 1.25e9);
    assert_true(units_rate("12.5 GB/s", &x) && x == 12.5e9);
    assert_true(units_rate("1GiB/s", &x) && x == 1073741824.0);
    assert_true(units_rate("1.25e9", &x) && x == 1.25e9);
    assert_true(units_seconds("25us", &x) && fabs(x - 25e-6) < 1e-18);
    assert_true(units_seconds("1.5 ms", &x) && fabs(x - 1.5e-3) < 1e-15);
    assert_true(units_bytes("16GiB", &x) && x == 16 * 1073741824.0);
    assert_true(units_bytes("64KB", &x) && x == 64000);
    assert_true(units_flops("15.7 TFLOP/s", &x) && fabs(x - 15.7e12) < 1);
    static const char *const none[] = {"",    "fast", "-1",    "1 parsec", "nan",
                                       "inf", "0x10", "1e999", "10 Gb/h"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (units_rate(none[i], &x) || units_seconds(none[i], &x) || units_bytes(none[i], &x) ||
            units_flops(none[i], &x))
            fail_msg("\"%s\" was taken", none[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_switch),
        cmocka_unit_test(test_fattree),
        cmocka_unit_test(test_torus),
        cmocka_unit_test(test_dragonfly),
        cmocka_unit_test(test_graph),
        cmocka_unit_test(test_bisection),
        cmocka_unit_test(test_inside_nodes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_wrong_descriptions),
        cmocka_unit_test(test_lua),
        cmocka_unit_test(test_shelf),
        cmocka_unit_test(test_fuzz),
        cmocka_unit_test(test_fuzz_specs),
        cmocka_unit_test(test_fuzz_files),
        cmocka_unit_test(test_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
