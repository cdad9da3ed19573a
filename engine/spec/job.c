/*
 * job.c - a job's fields: which there are, and what they are at first.
 */
#include "engine/spec/job.h"

#include "engine/spec/job_fields.h"

#include <stdio.h>
#include <string.h>

#define NUMBER(member, field, kind, least, most)                                                             \
    {                                                                                                        \
        .name = (field), .type = (kind), .offset = offsetof(struct job, member), .min = (least),             \
        .max = (most)                                                                                        \
    }
#define CHOICE(member, field, words)                                                                         \
    {                                                                                                        \
        .name = (field), .type = TEXT, .offset = offsetof(struct job, member),                               \
        .size = sizeof(((struct job *)0)->member), .choices = (words)                                        \
    }
#define LIST(member, count, room, field, kind, least, most)                                                  \
    {                                                                                                        \
        .name = (field), .type = (kind), .offset = offsetof(struct job, member),                             \
        .count_offset = offsetof(struct job, count), .capacity = (room), .min = (least), .max = (most)       \
    }
#define END                                                                                                  \
    {                                                                                                        \
        .name = NULL                                                                                         \
    }

const struct job_field job_common_fields[] = {
    CHOICE(label, "label", NULL),
    CHOICE(parent, "parent", NULL),
    NUMBER(ranks, "ranks", INT, 1, JOB_MAX_RANKS),
    CHOICE(hosts, "hosts", NULL),
    CHOICE(launcher, "launcher", "local"),
    END,
};

static const struct job_field train_fields[] = {
    CHOICE(train.model, "model", NULL),
    NUMBER(train.layers, "layers", JSON, 0, 0),
    CHOICE(train.data, "data", NULL),
    NUMBER(train.batch, "batch", INT, 1, 65536),
    NUMBER(train.epochs, "epochs", INT, 0, 100000),
    NUMBER(train.steps, "steps", LONG, 0, 1e12),
    NUMBER(train.seconds, "seconds", REAL, 0, 1e7),
    NUMBER(train.accumulate, "accumulate", INT, 1, 65536),
    CHOICE(train.optimizer, "optimizer", "sgd|adam|adamw|lars|lamb"),
    NUMBER(train.momentum, "momentum", REAL, 0, 0.9999),
    NUMBER(train.nesterov, "nesterov", BOOL, 0, 1),
    NUMBER(train.weight_decay, "weight_decay", REAL, 0, 100),
    NUMBER(train.clip, "clip", REAL, 0, 1e30),
    CHOICE(train.schedule, "schedule", "constant|onecycle|step|cosine"),
    NUMBER(train.lr, "lr", REAL, 1e-12, 1e30),
    NUMBER(train.scale_lr, "scale_lr", INT, 0, 1e9),
    NUMBER(train.warmup, "warmup", REAL, 0, 0.9),
    NUMBER(train.step_size, "step_size", REAL, 0.001, 1e5),
    NUMBER(train.gamma, "gamma", REAL, 1e-6, 1),
    CHOICE(train.dtype, "dtype", "fp32|bf16|tf32"),
    CHOICE(train.algo, "algo", NULL),
    NUMBER(train.bucket, "bucket", LONG, -1, 1e12),
    NUMBER(train.autotune, "autotune", BOOL, 0, 1),
    CHOICE(train.device, "device", "cpu|cuda|auto"),
    NUMBER(train.threads, "threads", INT, 0, 1024),
    NUMBER(train.seed, "seed", SEED, 0, 9.2e18),
    NUMBER(train.reproducible, "reproducible", BOOL, 0, 1),
    NUMBER(train.hash_every, "hash_every", LONG, 0, 1e12),
    NUMBER(train.checkpoint_every, "checkpoint_every", LONG, 0, 1e12),
    CHOICE(train.resume, "resume", NULL),
    CHOICE(train.eval, "eval", NULL),
    CHOICE(train.shares, "shares", NULL),
    NUMBER(train.trace, "trace", LONG, 0, 1e9),
    NUMBER(train.pause_s, "pause_s", REAL, 0, 3600),
    CHOICE(train.compress, "compress", "none|fp16|bf16"),
    CHOICE(train.link, "link", NULL),
    CHOICE(train.link_latency, "link_latency", NULL),
    END,
};

static const struct job_field allreduce_fields[] = {
    CHOICE(allreduce.algos, "algos", NULL),
    LIST(allreduce.bytes, allreduce.sizes, JOB_MAX_SIZES, "bytes", SIZES, 2, 1099511627776.0),
    NUMBER(allreduce.iters, "iters", INT, 1, 1000000),
    NUMBER(allreduce.check, "check", BOOL, 0, 1),
    CHOICE(allreduce.buffer, "buffer", "engine|private"),
    CHOICE(allreduce.collective, "collective",
           "allreduce|broadcast|reduce|allgather|reduce_scatter|alltoall|barrier"),
    CHOICE(allreduce.dtype, "dtype", "f32|f64|bf16|f16"),
    CHOICE(allreduce.place, "place", "in|out|both"),
    NUMBER(allreduce.trace, "trace", LONG, 0, 1e9),
    NUMBER(allreduce.tune, "tune", BOOL, 0, 1),
    CHOICE(allreduce.link, "link", NULL),
    CHOICE(allreduce.link_latency, "link_latency", NULL),
    END,
};

static const struct job_field ranks_fields[] = {
    CHOICE(rank_script.script, "script", NULL),
    CHOICE(rank_script.shown, "shown", NULL),
    CHOICE(rank_script.entry, "entry", NULL),
    LIST(rank_script.counts, rank_script.count_total, JOB_MAX_COUNTS, "counts", INTS, 1, JOB_MAX_RANKS),
    LIST(rank_script.lengths, rank_script.length_total, JOB_MAX_SIZES, "lengths", LONGS, 0, 1e9),
    NUMBER(rank_script.coroutines, "coroutines", BOOL, 0, 1),
    END,
};

static const struct job_field script_fields[] = {
    CHOICE(script.file, "file", NULL),
    CHOICE(script.exercise, "exercise", NULL),
    CHOICE(script.directory, "directory", NULL),
    NUMBER(script.instant, "instant", BOOL, 0, 1),
    END,
};

static const struct job_field bench_fields[] = {
    CHOICE(bench.parts, "parts", NULL),
    CHOICE(bench.model, "model", NULL),
    NUMBER(bench.layers, "layers", JSON, 0, 0),
    NUMBER(bench.batch, "batch", INT, 1, 65536),
    NUMBER(bench.threads, "threads", INT, 0, 1024),
    CHOICE(bench.device, "device", "cpu|cuda|auto"),
    NUMBER(bench.seconds, "seconds", REAL, 1, 3600),
    END,
};

static const struct job_field sim_fields[] = {
    NUMBER(sim.ask, "ask", JSON, 0, 0),
    NUMBER(sim.cluster, "cluster", JSON, 0, 0),
    CHOICE(sim.model, "model", NULL),
    NUMBER(sim.layers, "layers", JSON, 0, 0),
    NUMBER(sim.world_size, "world_size", INT, 0, JOB_SIM_MAX_RANKS),
    NUMBER(sim.batch, "batch", INT, 1, 65536),
    NUMBER(sim.steps, "steps", LONG, 1, 1e9),
    CHOICE(sim.algo, "algo", NULL),
    CHOICE(sim.tier, "tier", "auto|closed|rounds|events"),
    NUMBER(sim.bucket_bytes, "bucket_bytes", REAL, 0, 1e12),
    NUMBER(sim.first_bucket_bytes, "first_bucket_bytes", REAL, 0, 1e12),
    NUMBER(sim.overlap, "overlap", BOOL, 0, 1),
    NUMBER(sim.tensor, "tensor", INT, 1, 65536),
    NUMBER(sim.pipeline, "pipeline", INT, 1, 1024),
    NUMBER(sim.microbatches, "microbatches", INT, 1, 8192),
    CHOICE(sim.optimizer, "optimizer", "sgd|adam|adamw|lars|lamb"),
    CHOICE(sim.dtype, "dtype", "fp32|bf16"),
    NUMBER(sim.rate, "rate", REAL, 0, 1e12),
    NUMBER(sim.input_samples_per_s, "input_samples_per_s", REAL, 0, 1e15),
    NUMBER(sim.samples, "samples", REAL, 0, 1e15),
    NUMBER(sim.sample_bytes, "sample_bytes", REAL, 1, 1e15),
    NUMBER(sim.samples_per_file, "samples_per_file", REAL, 1, 1e15),
    NUMBER(sim.readers, "readers", INT, 1, 4096),
    NUMBER(sim.cache_bytes, "cache_bytes", REAL, 0, 1e18),
    CHOICE(sim.straggler, "straggler", "none|uniform|normal|exponential"),
    NUMBER(sim.spread, "spread", REAL, 0, 10),
    NUMBER(sim.slow_ranks, "slow_ranks", INT, 0, JOB_SIM_MAX_RANKS),
    NUMBER(sim.slow_factor, "slow_factor", REAL, 1, 1000),
    NUMBER(sim.seed, "seed", SEED, 0, 9.2e18),
    END,
};

const struct job_kind_fields job_kinds[JOB_KINDS] = {
    {"train", "train", train_fields},
    {"allreduce", "allreduce", allreduce_fields},
    {"ranks", "rank_script", ranks_fields},
    {"script", "script", script_fields},
    {"check", "script", script_fields},
    {"bench", "bench", bench_fields},
    {"sim", "sim", sim_fields},
};

const char *job_kind_name(enum job_kind kind)
{
    return (unsigned)kind < JOB_KINDS ? job_kinds[kind].name : "unknown";
}

double job_default_lr(const char *optimizer, const char *schedule)
{
    if (!strcmp(optimizer, "sgd"))
        return 0.05;
    if (!strcmp(optimizer, "lars"))
        return 5;
    if (!strcmp(optimizer, "lamb"))
        return 0.02;
    return !strcmp(schedule, "onecycle") ? 3e-3 : 1e-3;
}

const char *job_default_algo(const char *device)
{
    return strcmp(device, "cuda") == 0 ? "auto" : "ring";
}

double job_default_weight_decay(const char *optimizer)
{
    if (!strcmp(optimizer, "lars"))
        return 1e-4;
    return !strcmp(optimizer, "adamw") || !strcmp(optimizer, "lamb") ? 0.01 : 0;
}

long job_global_batch(const struct job_train *t, int ranks)
{
    return (long)t->batch * t->accumulate * ranks;
}

void job_defaults(struct job *job, enum job_kind kind)
{
    *job = (struct job){.version = JOB_VERSION, .kind = kind, .ranks = 1, .launcher = "local"};
    switch (kind) {
    case JOB_TRAIN:
        job->ranks = 2;
        job->train = (struct job_train){.model = "cnn",
                                        .data = "mnist",
                                        .batch = 64,
                                        .epochs = 2,
                                        .accumulate = 1,
                                        .optimizer = "adam",
                                        .momentum = 0.9,
                                        .schedule = "onecycle",
                                        .lr = 3e-3,
                                        .step_size = 1,
                                        .gamma = 0.1,
                                        .dtype = "fp32",
                                        .algo = "ring",
                                        .bucket = -1,
                                        .device = "auto",
                                        .compress = "none",
                                        .hash_every = 100,
                                        .seed = 1,
                                        .trace = JOB_TRACE_STEPS};
        break;
    case JOB_ALLREDUCE:
        job->ranks = 2;
        job->allreduce = (struct job_allreduce){.algos = "ring,mpi",
                                                .bytes = {1 << 10, 1 << 20, 32 << 20},
                                                .sizes = 3,
                                                .iters = 20,
                                                .buffer = "engine",
                                                .collective = "allreduce",
                                                .dtype = "f32",
                                                .place = "in",
                                                .trace = JOB_TRACE_STEPS};
        break;
    case JOB_RANKS:
        job->ranks = 4;
        job->rank_script = (struct job_ranks){
            .entry = "allreduce", .counts = {4}, .count_total = 1, .lengths = {16}, .length_total = 1};
        break;
    case JOB_BENCH:
        job->ranks = 2;
        job->bench = (struct job_bench){.parts = "ladder,roofline,train,allreduce",
                                        .model = "cnn",
                                        .batch = 32,
                                        .device = "auto",
                                        .seconds = 30};
        break;
    case JOB_SIM:
        job->sim = (struct job_sim){.model = "resnet50",
                                    .batch = 64,
                                    .steps = 100,
                                    .algo = "ring",
                                    .tier = "auto",
                                    .bucket_bytes = 25 << 20,
                                    .first_bucket_bytes = 1 << 20,
                                    .overlap = true,
                                    .tensor = 1,
                                    .pipeline = 1,
                                    .microbatches = 1,
                                    .optimizer = "sgd",
                                    .dtype = "fp32",
                                    .sample_bytes = 110e3, /* an image of ImageNet, about */
                                    .samples_per_file = 1,
                                    .readers = 4,
                                    .straggler = "none",
                                    .slow_factor = 1,
                                    .seed = 1};
        break;
    case JOB_SCRIPT:
    case JOB_CHECK: break;
    }
}

void job_clear(struct job *job)
{
    if (!job)
        return;
    json_decref(job->train.layers);
    job->train.layers = NULL;
    json_decref(job->bench.layers);
    job->bench.layers = NULL;
    json_decref(job->sim.layers);
    job->sim.layers = NULL;
    json_decref(job->sim.cluster);
    job->sim.cluster = NULL;
    json_decref(job->sim.ask);
    job->sim.ask = NULL;
}

/* "some/where/mine.lua" is called "mine". */
static void file_label(const char *path, char *label, size_t size)
{
    const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
    size_t length = strlen(name);
    if (length > 4 && !strcmp(name + length - 4, ".lua"))
        length -= 4;
    snprintf(label, size, "%.*s", (int)length, name);
}

void job_default_label(const struct job *job, char *label, size_t size)
{
    char model[64], data[64];
    switch (job->kind) {
    case JOB_TRAIN:
        file_label(job->train.model, model, sizeof model);
        file_label(job->train.data, data, sizeof data);
        snprintf(label, size, "%s-%s", model, data);
        break;
    case JOB_ALLREDUCE: snprintf(label, size, "allreduce"); break;
    case JOB_RANKS: snprintf(label, size, "ranks"); break;
    case JOB_BENCH: snprintf(label, size, "bench"); break;
    case JOB_SIM:
        if (job->sim.ask)
            snprintf(model, sizeof model, "%s", json_object_iter_key(json_object_iter(job->sim.ask)));
        else
            file_label(job->sim.model, model, sizeof model);
        snprintf(label, size, "sim-%s", model);
        break;
    case JOB_CHECK: snprintf(label, size, "check-%s", job->script.exercise); break;
    case JOB_SCRIPT: file_label(job->script.file, label, size); break;
    }
}
