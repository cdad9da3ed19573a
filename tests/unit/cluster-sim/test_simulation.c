/*
 * A simulated job as a whole: a step on 100 000 GPUs within a cap on memory, the mesh on a platform, what is told.
 */
#include "cluster-sim/simulation.h"
#include "engine/base/event.h"
#include "engine/spec/model_lua.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void near(double got, double expected, double within, int line)
{
    if (!(fabs(got - expected) <= within))
        fail_msg("line %d: %.12g, expected %.12g", line, got, expected);
}
#define NEAR(a, b) near((a), (b), 1e-9 * (1 + fabs((double)(b))), __LINE__)

/* 8 GPUs a node that reach 2 TFLOP/s and 300 GB/s, NVLink of 25 GB/s, a NIC of 12.5 GB/s. */
static struct platform cluster(int nodes)
{
    struct platform p;
    struct error e = {0};
    json_t *object =
        json_pack("{s:s, s:s, s:i, s:i, s:{s:s, s:f, s:f, s:f}, s:f, s:f, s:f}", "name", "big", "topology",
                  "switch", "nodes", nodes, "gpus", 8, "gpu", "name", "GPU", "f32", 4e12, "memory", 16e9,
                  "memory_bandwidth", 400e9, "nvlink", 25e9, "bandwidth", 12.5e9, "latency", 1e-6);
    if (!platform_from_json(object, &p, &e))
        fail_msg("%s", e.text);
    json_decref(object);
    return p;
}

static struct job job_of(const char *layers)
{
    struct job job;
    job_defaults(&job, JOB_SIM);
    snprintf(job.sim.model, sizeof job.sim.model, "test");
    job.sim.layers = json_loads(layers, 0, NULL);
    job.sim.cluster = json_string("big");
    assert_non_null(job.sim.layers);
    return job;
}

static const char mlp[] = "{\"name\": \"mlp\", \"input\": [1000, 1, 1], \"layers\": ["
                          "{\"kind\": \"dense\", \"units\": 4000}, {\"kind\": \"relu\"}, "
                          "{\"kind\": \"dense\", \"units\": 1000}]}";

static void simulate(struct simulation *s, const struct job *job, int nodes)
{
    struct error e = {0};
    struct platform p = cluster(nodes);
    if (!simulation_make_on(s, &job->sim, &p, &e))
        fail_msg("%s", e.text);
}

static void a_rank_computes_by_its_gpu(void **state)
{
    (void)state;
    struct job job = job_of(mlp);
    job.sim.world_size = 1;
    struct simulation s;
    simulate(&s, &job, 1);
    assert_string_equal(s.device, "GPU");
    NEAR(s.plan.t.device.flops_per_s, 4e12);
    NEAR(s.plan.t.memory_bytes, 16e9);
    /* The first layer: 64 x 8.004 MFLOP over 2 TFLOP/s = 256 us, and 5 us to start. */
    NEAR(s.plan.layer_forward_s[0], 64 * (2 * 1000.0 * 4000 + 4000) / 2e12 + 5e-6);
    assert_true(s.fits);
    simulation_free(&s);
    job_clear(&job);
}

static void a_sum_takes_what_the_network_says(void **state)
{
    (void)state;
    struct job job = job_of(mlp);
    job.sim.world_size = 16;
    job.sim.bucket_bytes = 0;
    struct simulation s;
    simulate(&s, &job, 2);
    struct sim_result r;
    struct error e;
    double bytes = 4.0 * (4000 * 1001 + 1000 * 4001);
    struct sim_request request = {.algo = "ring", .ranks = 16, .bytes = bytes};
    assert_true(sim_collective(&s.platform, &request, &r, &e));
    assert_int_equal(s.plan.bucket_count, 1);
    NEAR(s.plan.buckets[0].bytes, bytes);
    NEAR(s.plan.buckets[0].takes_s, r.time_s);
    NEAR(s.plan.expected.exposed_comm_s, r.time_s);
    assert_int_equal(s.tier, r.tier);
    simulation_free(&s);
    /* Eight tensor parallel ranks a node: along the data axis one rank a node, and an eighth of its NIC's rate. */
    job.sim.tensor = 8;
    simulate(&s, &job, 2);
    assert_int_equal(s.plan.t.data, 2);
    double part = 4.0 * (4000 * 1001 + 1000 * 4001) / 8; /* both layers are cut, with their biases */
    /* Ring of two: 2 rounds of half the buffer, over two links of 1 us. */
    /* A chunk has whole numbers, so the larger one may be 4 bytes longer. */
    near(s.plan.buckets[0].takes_s, 2 * (2e-6 + part / 2 / (12.5e9 / 8)), 2 * 4 / (12.5e9 / 8), __LINE__);
    simulation_free(&s);
    job_clear(&job);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct job job = job_of(mlp);
    struct simulation s;
    struct error e = {0};
    struct platform p = cluster(2);
    job.sim.world_size = 24;
    assert_false(simulation_make_on(&s, &job.sim, &p, &e));
    assert_non_null(strstr(e.text, "has room for 16 ranks (2 nodes of 8), not for 24"));
    p = cluster(2);
    job.sim.world_size = 0;
    job.sim.tensor = 3;
    assert_false(simulation_make_on(&s, &job.sim, &p, &e));
    assert_non_null(strstr(e.text, "16 cannot be a mesh of 3 tensor x 1 pipeline ranks"));
    job.sim.tensor = 1;
    job.sim.batch = 4000000;
    p = cluster(2);
    assert_true(simulation_make_on(&s, &job.sim, &p, &e));
    assert_false(s.fits); /* 4 000 000 x 9 000 numbers of activations */
    simulation_free(&s);
    job_clear(&job);
}

static void reading_bounds_a_step(void **state)
{
    (void)state;
    struct job job = job_of(mlp);
    struct simulation s;
    struct error e = {0};
    struct platform p = cluster(2);
    job.sim.samples = 1e6;
    assert_false(simulation_make_on(&s, &job.sim, &p, &e));
    assert_non_null(strstr(e.text, "has no storage"));
    p = cluster(2);
    p.shared =
        (struct sim_storage){.kind = SIM_STORAGE_NFS, .read_bytes_per_s = 500e6, .link_bytes_per_s = 1.25e9};
    job.sim.sample_bytes = 100e3;
    job.sim.readers = 64;
    assert_true(simulation_make_on(&s, &job.sim, &p, &e));
    /* 500 MB/s are 5 000 samples/s; a rank alone computes more. */
    NEAR(s.plan.t.input_samples_per_s, 5000);
    NEAR(s.plan.expected.samples_per_s, 5000);
    assert_int_equal(s.plan.expected.bottleneck, BOTTLENECK_INPUT);
    assert_non_null(strstr(s.storage, "target"));
    simulation_free(&s);
    job_clear(&job);
}

static void a_name_may_leave_the_choice(void **state)
{
    (void)state;
    struct job job = job_of(mlp);
    struct simulation s;
    double least = INFINITY;
    static const char *const algos[] = {"ring", "recursive_doubling", "halving_doubling", "auto"};
    job.sim.bucket_bytes = 0;
    for (int i = 0; i < 4; i++) {
        snprintf(job.sim.algo, sizeof job.sim.algo, "%s", algos[i]);
        simulate(&s, &job, 4);
        if (i < 3)
            least = fmin(least, s.plan.buckets[0].takes_s);
        else
            NEAR(s.plan.buckets[0].takes_s, least);
        simulation_free(&s);
    }
    job_clear(&job);
}

/* --- what is told --- */

struct listener {
    struct event_sink sink;
    int steps, runs, dones, ranks, notes_not_modelled, explains, collectives;
    double last_t, efficiency;
    bool back, unlabelled;
};

static bool listen(struct event_sink *sink, json_t *event, struct error *e)
{
    (void)e;
    struct listener *l = (struct listener *)sink;
    double t = event_number(event, "t", -1);
    bool labelled = !strcmp(event_text(event, "origin", ""), "sim") && *event_text(event, "tier", "");
    l->back |= t < l->last_t && !event_is(event, "hop");
    l->last_t = event_is(event, "hop") ? l->last_t : t;
    l->steps += event_is(event, "step");
    l->ranks += event_is(event, "rank");
    l->explains += event_is(event, "explain");
    if (event_is(event, "run"))
        l->runs++, l->unlabelled |= !labelled;
    if (event_is(event, "collective"))
        l->collectives++, l->unlabelled |= !labelled;
    if (event_is(event, "done"))
        l->dones++, l->unlabelled |= !labelled, l->efficiency = event_number(event, "efficiency", -1);
    l->notes_not_modelled +=
        event_is(event, "note") && strstr(event_text(event, "text", ""), "not modelled") != NULL;
    json_decref(event);
    return true;
}

static void a_run_is_told_with_its_origin_and_tier(void **state)
{
    (void)state;
    struct job job = job_of(mlp);
    struct error e;
    job.sim.steps = 5000;
    job.sim.slow_ranks = 1;
    job.sim.slow_factor = 1.5;
    struct simulation s;
    simulate(&s, &job, 4);
    struct listener l = {.sink = {.emit = listen}};
    assert_true(simulation_tell(&s, &l.sink, &e));
    assert_int_equal(l.runs, 1);
    assert_int_equal(l.dones, 1);
    assert_int_equal(l.ranks, 9); /* the first eight, and the slow one */
    assert_int_equal(l.notes_not_modelled, 1);
    assert_true(l.explains > 6);
    assert_true(l.collectives >= 1);
    assert_true(l.steps >= 100 && l.steps <= 1100);
    assert_false(l.unlabelled);
    assert_false(l.back);
    near(l.last_t, 5000 * s.plan.expected.step_s, 1e-6, __LINE__); /* told to the microsecond */
    assert_true(l.efficiency > 0 && l.efficiency < 1 / 1.4);
    simulation_free(&s);
    job_clear(&job);
}

/* --- size --- */

/* In a process of its own, whose memory is looked at when it has ended. */
static int big_step(const struct job *job)
{
    struct simulation s;
    struct error e = {0};
    struct platform p = cluster(12500);
    if (!simulation_make_on(&s, &job->sim, &p, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    bool right = s.ranks == 100000 && s.plan.expected.samples_per_s > 0 && s.plan.expected.efficiency <= 1;
    simulation_free(&s);
    return right ? 0 : 2;
}

static void a_hundred_thousand_gpus_take_little_memory(void **state)
{
    (void)state;
    struct job job;
    struct error e = {0};
    job_defaults(&job, JOB_SIM);
    snprintf(job.sim.algo, sizeof job.sim.algo, "hierarchical:8");
    job.sim.cluster = json_string("big");
    job.sim.layers = model_description("resnet50", &e);
    assert_non_null(job.sim.layers);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(big_step(&job));
    int status;
    struct rusage used;
    assert_int_equal(wait4(pid, &status, 0, &used), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(used.ru_maxrss < 500 << 10); /* KiB, of which it needs a hundredth */
    job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_computes_by_its_gpu),
        cmocka_unit_test(a_sum_takes_what_the_network_says),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(reading_bounds_a_step),
        cmocka_unit_test(a_name_may_leave_the_choice),
        cmocka_unit_test(a_run_is_told_with_its_origin_and_tier),
        cmocka_unit_test(a_hundred_thousand_gpus_take_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
