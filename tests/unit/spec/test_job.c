/*
 * Jobs: round trips through JSON, and one sentence for each mistake.
 */
#include "engine/base/rundir.h"
#include "engine/spec/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fill(struct job *job, enum job_kind kind)
{
    job_defaults(job, kind);
    snprintf(job->label, sizeof job->label, "label");
    if (kind == JOB_RANKS)
        snprintf(job->rank_script.script, sizeof job->rank_script.script, "/x/script.lua");
    if (kind == JOB_SCRIPT || kind == JOB_CHECK)
        snprintf(job->script.file, sizeof job->script.file, "/x/file.lua");
    if (kind == JOB_SIM)
        job->sim.cluster = json_pack("{s:s, s:i}", "name", "mine", "nodes", 4);
    if (kind == JOB_CHECK) {
        snprintf(job->script.exercise, sizeof job->script.exercise, "04-ring-allreduce");
        snprintf(job->script.directory, sizeof job->script.directory, "/x");
    }
}

static void test_round_trips(void **state)
{
    (void)state;
    for (int kind = JOB_TRAIN; kind <= JOB_SIM; kind++) {
        struct job job, back;
        struct error e = {0};
        fill(&job, (enum job_kind)kind);
        job.train.seed = 9000000000000000000u;
        job.train.lr = 0.0012345678901234567;
        if (kind == JOB_TRAIN)
            job.train.layers = json_pack("{s:s}", "name", "mine");
        assert_true(job_validate(&job, &e));
        json_t *object = job_to_json(&job);
        assert_true(job_from_json(&back, object, &e));
        json_t *again = job_to_json(&back);
        assert_true(json_equal(object, again));
        assert_int_equal(back.kind, kind);
        if (kind == JOB_TRAIN) {
            assert_true(back.train.seed == job.train.seed);
            assert_true(back.train.lr == job.train.lr);
        }
        json_decref(object);
        json_decref(again);
        job_clear(&job);
        job_clear(&back);
    }
}

static void expect_error(struct job *job, const char *word)
{
    struct error e = {0};
    assert_false(job_validate(job, &e));
    assert_int_equal(e.kind, ERROR_INPUT);
    if (!strstr(e.text, word))
        fail_msg("'%s' does not name '%s'", e.text, word);
}

static void test_mistakes(void **state)
{
    (void)state;
    struct job good, job;
    fill(&good, JOB_TRAIN);
#define MISTAKE(word, change)                                                                                \
    job = good;                                                                                              \
    change;                                                                                                  \
    expect_error(&job, word)
    MISTAKE("ranks", job.ranks = 0);
    MISTAKE("ranks", job.ranks = JOB_MAX_RANKS + 1);
    MISTAKE("batch", job.train.batch = 0);
    MISTAKE("the name of a model or a Lua file", *job.train.model = 0);
    MISTAKE("optimizer", strcpy(job.train.optimizer, "sdg"));
    MISTAKE("sgd, adam, adamw, lars or lamb", strcpy(job.train.optimizer, "lion"));
    MISTAKE("schedule", strcpy(job.train.schedule, ""));
    MISTAKE("constant, onecycle, step or cosine", strcpy(job.train.schedule, "linear"));
    MISTAKE("onecycle warms up by itself", job.train.warmup = 0.1);
    MISTAKE("warmup", (strcpy(job.train.schedule, "cosine"), job.train.warmup = 1));
    MISTAKE("only sgd has it", job.train.nesterov = true);
    MISTAKE("momentum too",
            (strcpy(job.train.optimizer, "sgd"), job.train.nesterov = true, job.train.momentum = 0));
    MISTAKE("weight_decay", job.train.weight_decay = -1);
    MISTAKE("clip", job.train.clip = -1);
    MISTAKE("accumulate", job.train.accumulate = 0);
    MISTAKE("scale_lr", job.train.scale_lr = -1);
    MISTAKE("gamma", job.train.gamma = 0);
    MISTAKE("step_size", job.train.step_size = 0);
    MISTAKE("dtype", strcpy(job.train.dtype, "fp64"));
    MISTAKE("algo", strcpy(job.train.algo, "rin"));
    MISTAKE("2 ranks do not fill hosts of 3", (job.ranks = 2, strcpy(job.train.algo, "hierarchical:3")));
    MISTAKE("device", strcpy(job.train.device, "gpu"));
    MISTAKE("reproducible", (strcpy(job.train.device, "cuda"), job.train.reproducible = true));
    MISTAKE("tf32", (strcpy(job.train.device, "cpu"), strcpy(job.train.dtype, "tf32")));
    MISTAKE("nccl", (strcpy(job.train.device, "cpu"), strcpy(job.train.algo, "nccl")));
    MISTAKE("compress", (strcpy(job.train.algo, "nccl"), strcpy(job.train.compress, "bf16")));
    MISTAKE("launcher", strcpy(job.launcher, "slurm"));
    MISTAKE("lr", job.train.lr = 0);
    MISTAKE("lr", job.train.lr = NAN);
    MISTAKE("momentum", job.train.momentum = 1);
    MISTAKE("epochs", job.train.epochs = 0);
    MISTAKE("epochs", job.train.epochs = -1);
    MISTAKE("seconds", job.train.seconds = INFINITY);
    MISTAKE("data", strcpy(job.train.data, ""));
    MISTAKE("hosts", strcpy(job.hosts, "n1,n2"));
    fill(&good, JOB_ALLREDUCE);
    MISTAKE("multiple of 4", job.allreduce.bytes[0] = 7);
    MISTAKE("bytes", job.allreduce.sizes = 0);
    MISTAKE("4 ranks do not fill hosts of 9",
            (job.ranks = 4, strcpy(job.allreduce.algos, "ring,hierarchical:9")));
    MISTAKE("a server is one of them", (job.ranks = 4, strcpy(job.allreduce.algos, "param_server:5")));
    MISTAKE("star", strcpy(job.allreduce.algos, "ring,star"));
    MISTAKE("\"\"", strcpy(job.allreduce.algos, "ring,"));
    MISTAKE("iters", job.allreduce.iters = 0);
    fill(&good, JOB_RANKS);
    MISTAKE("ascending", (job.rank_script.count_total = 2, job.rank_script.counts[1] = 3));
    MISTAKE("lengths", job.rank_script.lengths[0] = -1);
    MISTAKE("script", job.rank_script.script[0] = 0);
    fill(&good, JOB_CHECK);
    MISTAKE("exercise", job.script.exercise[0] = 0);
    fill(&good, JOB_BENCH);
    MISTAKE("got 'lader'", strcpy(job.bench.parts, "roofline,lader"));
    MISTAKE("seconds", job.bench.seconds = 0);
}

static void test_simulations(void **state)
{
    (void)state;
    struct job job;
    struct error e = {0};
    fill(&job, JOB_SIM);
    job.sim.world_size = 100000; /* more than real ranks may be */
    assert_true(job_validate(&job, &e));
    json_t *object = job_to_json(&job);
    assert_int_equal(job_json_ranks(object), 100000);
    json_decref(object);
    job.sim.tensor = 8;
    job.sim.pipeline = 3;
    expect_error(&job, "100000 cannot be a mesh of 8 tensor x 3 pipeline ranks");
    job.sim.pipeline = 4;
    job.sim.microbatches = 7;
    expect_error(&job, "microbatches: 7 do not divide the batch of 64");
    job.sim.microbatches = 8;
    assert_true(job_validate(&job, &e));
    snprintf(job.sim.straggler, sizeof job.sim.straggler, "gamma");
    expect_error(&job, "straggler: expected none, uniform, normal or exponential, got 'gamma'");
    snprintf(job.sim.straggler, sizeof job.sim.straggler, "none");
    job.sim.slow_factor = 0.5;
    expect_error(&job, "slow_factor");
    job.sim.slow_factor = 1;
    json_decref(job.sim.cluster);
    job.sim.cluster = NULL;
    expect_error(&job, "cluster: expected cluster{ ... } or the name of one");
    job_clear(&job);
}

static void test_bounds_need_not_be_epochs(void **state)
{
    (void)state;
    struct job job;
    fill(&job, JOB_TRAIN);
    job.train.epochs = 0, job.train.steps = 10;
    assert_true(job_validate(&job, NULL));
    job.train.steps = 0, job.train.seconds = 0.5;
    assert_true(job_validate(&job, NULL));
}

static void test_strict_json(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"[]", "object"},
        {"{}", "version"},
        {"{\"version\":2,\"kind\":\"train\"}", "version"},
        {"{\"version\":1}", "kind"},
        {"{\"version\":1,\"kind\":\"simulate\"}", "simulate"},
        {"{\"version\":1,\"kind\":\"train\",\"rank\":2}", "'rank'"},
        {"{\"version\":1,\"kind\":\"train\",\"ranks\":\"2\"}", "ranks"},
        {"{\"version\":1,\"kind\":\"train\",\"ranks\":5000000000}", "ranks"},
        {"{\"version\":1,\"kind\":\"train\",\"ranks\":2.5}", "ranks"},
        {"{\"version\":1,\"kind\":\"train\",\"train\":7}", "train"},
        {"{\"version\":1,\"kind\":\"train\",\"train\":{\"batchsize\":7}}", "batchsize"},
        {"{\"version\":1,\"kind\":\"train\",\"train\":{\"model\":true}}", "model"},
        {"{\"version\":1,\"kind\":\"train\",\"allreduce\":{}}", "allreduce"},
        {"{\"version\":1,\"kind\":\"allreduce\",\"allreduce\":{\"bytes\":[4,\"x\"]}}", "bytes"},
        {"{\"version\":1,\"kind\":\"allreduce\",\"allreduce\":{\"bytes\":4}}", "bytes"},
        {"{\"version\":1,\"kind\":\"allreduce\",\"allreduce\":{\"check\":1}}", "check"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *object = json_loads(cases[i].text, 0, NULL);
        struct job job;
        struct error e = {0};
        assert_non_null(object);
        assert_false(job_from_json(&job, object, &e));
        assert_int_equal(e.kind, ERROR_INPUT);
        if (!strstr(e.text, cases[i].word))
            fail_msg("%s: '%s' does not name '%s'", cases[i].text, e.text, cases[i].word);
        json_decref(object);
    }
    char *long_label = malloc(400);
    memset(long_label, 'x', 399);
    long_label[399] = 0;
    json_t *object = json_pack("{s:i,s:s,s:s}", "version", 1, "kind", "train", "label", long_label);
    struct job job;
    assert_false(job_from_json(&job, object, NULL));
    json_decref(object);
    free(long_label);
}

static bool set(struct job *job, const char *field, json_t *value, struct error *e)
{
    bool ok = job_set(job, field, value, e);
    json_decref(value);
    return ok;
}

static void test_set(void **state)
{
    (void)state;
    struct job job;
    struct error e = {0};
    job_defaults(&job, JOB_TRAIN);
    assert_true(set(&job, "ranks", json_real(3), &e) && set(&job, "batch", json_real(32), &e));
    assert_true(set(&job, "seed", json_real(7), &e) && set(&job, "lr", json_integer(1), &e));
    assert_true(job.ranks == 3 && job.train.batch == 32 && job.train.seed == 7 && job.train.lr == 1);
    const struct {
        const char *field;
        json_t *value;
        const char *sentence;
    } refused[] = {
        {"batch", json_real(10.5), "batch: expected a whole number"},
        {"batch", json_real(1e15), "batch: expected a number from 1 to 65536, got 1e+15"},
        {"ranks", json_integer(1000000000), "ranks: expected a number from 1 to 4096, got 1000000000"},
        {"seed", json_integer(-5), "seed: expected a number from 0 to 9.2e+18, got -5"},
        {"lr", json_null(), "lr: expected a number"},
        {"bytes", json_integer(4), "unknown field 'bytes'"}, /* another kind's */
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_false(set(&job, refused[i].field, refused[i].value, &e));
        assert_string_equal(e.text, refused[i].sentence);
    }
    assert_true(job.ranks == 3 && job.train.batch == 32 && job.train.seed == 7);
    job_clear(&job);
}

static void test_load(void **state)
{
    (void)state;
    char dir[] = "/tmp/ringside-job-XXXXXX", path[64];
    struct job job, back;
    struct error e = {0};
    assert_non_null(mkdtemp(dir));
    fill(&job, JOB_ALLREDUCE);
    json_t *object = job_to_json(&job);
    char *text = json_dumps(object, 0);
    assert_true(rundir_write(dir, "job.json", text, NULL));
    assert_true(job_load(&back, dir, &e));
    assert_int_equal(back.allreduce.sizes, job.allreduce.sizes);
    assert_true(rundir_write(dir, "job.json", "{\"version\":1,\n\"kind\":}", NULL));
    assert_false(job_load(&back, dir, &e));
    assert_non_null(strstr(e.text, "line 2"));
    assert_true(rundir_write(dir, "job.json",
                             "{\"version\":1,\"kind\":\"train\",\"ranks\":2,\"train\":{\"batch\":0}}", NULL));
    assert_false(job_load(&back, dir, &e)); /* what it says must be valid, too */
    free(text);
    json_decref(object);
    snprintf(path, sizeof path, "%s/job.json", dir);
    unlink(path);
    rmdir(dir);
}

static void test_labels_and_rates(void **state)
{
    (void)state;
    struct job job;
    char label[64];
    job_defaults(&job, JOB_TRAIN);
    job_default_label(&job, label, sizeof label);
    assert_string_equal(label, "cnn-mnist");
    strcpy(job.train.data, "/data/fashion");
    job_default_label(&job, label, sizeof label);
    assert_string_equal(label, "cnn-fashion");
    fill(&job, JOB_CHECK);
    job_default_label(&job, label, sizeof label);
    assert_string_equal(label, "check-04-ring-allreduce");
    fill(&job, JOB_SCRIPT);
    job_default_label(&job, label, sizeof label);
    assert_string_equal(label, "file");
    assert_true(job_default_lr("adam", "onecycle") == 3e-3);
    assert_true(job_default_lr("adam", "constant") == 1e-3);
    assert_true(job_default_lr("sgd", "constant") == 0.05);
    assert_true(job_default_weight_decay("adam") == 0 && job_default_weight_decay("sgd") == 0);
    assert_true(job_default_weight_decay("adamw") == 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_simulations), cmocka_unit_test(test_bounds_need_not_be_epochs),
        cmocka_unit_test(test_strict_json), cmocka_unit_test(test_set),
        cmocka_unit_test(test_load),        cmocka_unit_test(test_labels_and_rates),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
