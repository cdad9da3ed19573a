/*
 * job.c - a job's fields: which there are, what they are at first, and what they may be.
 */
#include "engine/spec/job.h"

#include "engine/spec/collective.h"
#include "engine/spec/job_fields.h"
#include "engine/spec/slow_link.h"

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
    CHOICE(train.dtype, "dtype", "fp32|bf16"),
    CHOICE(train.algo, "algo", NULL),
    NUMBER(train.bucket, "bucket", LONG, -1, 1e12),
    NUMBER(train.autotune, "autotune", BOOL, 0, 1),
    CHOICE(train.device, "device", "cpu|auto"),
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
        job->bench = (struct job_bench){
            .parts = "ladder,roofline,train,allreduce", .model = "cnn", .batch = 32, .seconds = 30};
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

/* --- checks --- */

/* Whether `value` is one of "a|b|c". */
static bool in_choices(const char *choices, const char *value, size_t length)
{
    for (const char *p = choices; *p;) {
        size_t n = strcspn(p, "|");
        if (n == length && !strncmp(p, value, n))
            return true;
        p += n + (p[n] == '|');
    }
    return false;
}

/* "a|b|c" as "a, b or c". */
static void name_choices(const char *choices, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (const char *p = choices; *p && used < size;) {
        size_t n = strcspn(p, "|");
        const char *between = p == choices ? "" : p[n] ? ", " : " or ";
        int added = snprintf(text + used, size - used, "%s%.*s", between, (int)n, p);
        used += added > 0 ? (size_t)added : 0;
        p += n + (p[n] == '|');
    }
}

double job_field_number(const struct job_field *f, const void *p, int i)
{
    switch (f->type) {
    case INT: return *(const int *)p;
    case LONG: return (double)*(const long *)p;
    case SIZE: return (double)*(const size_t *)p;
    case SEED: return (double)*(const uint64_t *)p;
    case REAL: return *(const double *)p;
    case INTS: return ((const int *)p)[i];
    case LONGS: return (double)((const long *)p)[i];
    case SIZES: return (double)((const size_t *)p)[i];
    default: return 0;
    }
}

bool job_field_is_list(const struct job_field *f)
{
    return f->type == INTS || f->type == LONGS || f->type == SIZES;
}

static bool check_field(const struct job *job, const struct job_field *f, struct error *e)
{
    const void *p = (const char *)job + f->offset;
    if (f->type == TEXT) {
        if (f->choices && !in_choices(f->choices, p, strlen(p))) {
            char known[128];
            name_choices(f->choices, known, sizeof known);
            return error_set(e, ERROR_INPUT, "%s: expected %s, got '%s'", f->name, known, (const char *)p);
        }
        return true;
    }
    if (f->type == BOOL || f->type == JSON)
        return true;
    int n = job_field_is_list(f) ? *(const int *)((const char *)job + f->count_offset) : 1;
    if (job_field_is_list(f) && (n < 1 || n > f->capacity))
        return error_set(e, ERROR_INPUT, "%s: expected from 1 to %d numbers, got %d", f->name, f->capacity,
                         n);
    for (int i = 0; i < n; i++) {
        double value = job_field_number(f, p, i);
        if (!(value >= f->min && value <= f->max)) /* a NaN fails too */
            return error_set(e, ERROR_INPUT, "%s: expected a number from %.12g to %.12g, got %.12g", f->name,
                             f->min, f->max, value);
    }
    return true;
}

/* The texts of --link and --link-latency; "" of a job that has no such thing. */
static const char *link_text(const struct job *job, bool latency)
{
    switch (job->kind) {
    case JOB_TRAIN: return latency ? job->train.link_latency : job->train.link;
    case JOB_ALLREDUCE: return latency ? job->allreduce.link_latency : job->allreduce.link;
    default: return "";
    }
}

bool job_slow_link(const struct job *job, struct slow_link *l)
{
    struct slow_link parsed;
    const char *rate = link_text(job, false), *latency = link_text(job, true);
    return (*rate || *latency) && slow_link_parse(l ? l : &parsed, rate, latency, job->ranks, NULL);
}

/* The link's texts, and that no algorithm goes past it. algos: with commas between. */
static bool check_link(const struct job *job, const char *algos, struct error *e)
{
    struct slow_link l;
    if (!slow_link_parse(&l, link_text(job, false), link_text(job, true), job->ranks, e))
        return false;
    if (!job_slow_link(job, NULL))
        return true;
    for (const char *p = algos;; p++) {
        size_t n = strcspn(p, ",");
        bool memory = n == 3 && !strncmp(p, "shm", n);
        if (memory || (n == 3 && !strncmp(p, "mpi", n)))
            return error_set(e, ERROR_INPUT,
                             "algo: %s goes past the link that is slowed on purpose (%s); take ring, auto or "
                             "another",
                             memory ? "shm" : "mpi",
                             memory ? "it sums in shared memory" : "the library sends its own messages");
        p += n;
        if (!*p)
            return true;
    }
}

/* Values that are fine by themselves and not together. */
static bool check_recipe(const struct job_train *t, struct error *e)
{
    if (t->nesterov && strcmp(t->optimizer, "sgd") != 0)
        return error_set(e, ERROR_INPUT, "nesterov: only sgd has it, but the optimizer is %s", t->optimizer);
    if (t->nesterov && t->momentum == 0)
        return error_set(e, ERROR_INPUT,
                         "nesterov: it looks ahead along the momentum, which is 0; give momentum too");
    if (t->reproducible && t->accumulate > 1)
        return error_set(
            e, ERROR_INPUT,
            "accumulate: not together with reproducible, which cuts the batch into 8 shards as it is");
    if (t->autotune && (t->reproducible || t->bucket >= 0))
        return error_set(e, ERROR_INPUT, "autotune: not together with %s",
                         t->reproducible ? "reproducible, which sums all gradients along one tree"
                                         : "bucket, whose size it finds: leave one of them out");
    if (t->reproducible && t->bucket > 0)
        return error_set(e, ERROR_INPUT,
                         "bucket: not together with reproducible, which sums all gradients along one tree");
    if (t->reproducible && strcmp(t->compress, "none") != 0)
        return error_set(e, ERROR_INPUT,
                         "compress: not together with reproducible, which sums in one order and in float32");
    if (t->warmup > 0 && !strcmp(t->schedule, "onecycle"))
        return error_set(e, ERROR_INPUT,
                         "warmup: the schedule onecycle warms up by itself; take constant, step or cosine");
    return true;
}

static bool check_shares(const struct job *job, struct error *e)
{
    int shares[JOB_MAX_RANKS];
    if (*job->train.shares && job->train.reproducible)
        return error_set(e, ERROR_INPUT,
                         "shares: not together with reproducible, which cuts each batch into 8 equal shards");
    return shares_parse(job->train.shares, job->ranks, shares, e);
}

static bool check_train(const struct job *job, struct error *e)
{
    const struct job_train *t = &job->train;
    for (const struct job_field *f = train_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    if (!t->layers && !*t->model) /* whether there is one of that name shows when its file is read */
        return error_set(e, ERROR_INPUT, "model: expected the name of a model or a Lua file, got nothing");
    if (t->layers && !json_is_object(t->layers))
        return error_set(e, ERROR_INPUT, "layers: expected the description of a model");
    if (!*t->data)
        return error_set(e, ERROR_INPUT,
                         "data: expected the name of a dataset, a folder or a file, got nothing");
    if (!allreduce_algo_check(t->algo, job->ranks, e))
        return error_wrap(e, "algo");
    if (t->epochs == 0 && t->steps == 0 && t->seconds == 0)
        return error_set(e, ERROR_INPUT,
                         "epochs: expected at least 1, or steps or seconds to bound the training");
    return check_link(job, t->algo, e) && check_recipe(t, e) && check_shares(job, e);
}

/* The first of the words with commas between that is none of "a|b|c", n letters long; NULL: all are. */
static const char *outside_choices(const char *choices, const char *words, size_t *n)
{
    for (const char *p = words;; p += *n + 1) {
        *n = strcspn(p, ",");
        if (!in_choices(choices, p, *n))
            return p;
        if (!p[*n])
            return NULL;
    }
}

/* Algorithms with commas between, of the allreduce or another collective. */
static bool check_algos(const char *algos, enum collective op, int ranks, struct error *e)
{
    char one[64];
    const char *ours = collective_algo(op);
    for (const char *p = algos;; p++) {
        size_t n = strcspn(p, ",");
        snprintf(one, sizeof one, "%.*s", (int)(n < sizeof one ? n : sizeof one - 1), p);
        if (ours && strcmp(one, ours) != 0 && strcmp(one, "mpi") != 0)
            return error_set(e, ERROR_INPUT, "algo: a %s is by %s or mpi, not by \"%.40s\"",
                             collective_name(op), ours, one);
        if (!ours && !allreduce_algo_check(one, ranks, e))
            return error_wrap(e, "algo");
        p += n;
        if (!*p)
            return true;
    }
}

static bool check_allreduce(const struct job *job, struct error *e)
{
    const struct job_allreduce *a = &job->allreduce;
    for (const struct job_field *f = allreduce_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    enum collective op = collective_named(a->collective);
    size_t width = !strcmp(a->dtype, "f64") ? 8 : strstr(a->dtype, "16") ? 2 : 4;
    for (int i = 0; i < a->sizes; i++)
        if (a->bytes[i] % width)
            return error_set(e, ERROR_INPUT, "bytes: %zu is not a multiple of %zu, the bytes of a %s",
                             a->bytes[i], width, !strcmp(a->dtype, "f32") ? "float32" : a->dtype);
    if (op != ALLREDUCE && strcmp(a->place, "in") != 0)
        return error_set(e, ERROR_INPUT, "place: only the allreduce can be out of place, a %s is in place",
                         a->collective);
    if (a->tune && (op != ALLREDUCE || strcmp(a->dtype, "f32") != 0 || strcmp(a->place, "in") != 0))
        return error_set(e, ERROR_INPUT,
                         "tune: the table for auto is of the allreduce of f32 in place; leave out "
                         "collective, dtype and place");
    if (a->tune && job_slow_link(job, NULL))
        return error_set(e, ERROR_INPUT,
                         "tune: the table for auto is of the real link; leave out link, or tune");
    return check_algos(a->algos, op, job->ranks, e) && check_link(job, a->algos, e);
}

static bool check_bench(const struct job *job, struct error *e)
{
    const struct job_bench *b = &job->bench;
    for (const struct job_field *f = bench_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    size_t n;
    const char *strange = outside_choices("ladder|roofline|train|allreduce", b->parts, &n);
    if (strange)
        return error_set(
            e, ERROR_INPUT,
            "only: expected ladder, roofline, train, allreduce, or several with commas between, got '%.*s'",
            (int)n, strange);
    if (b->layers && !json_is_object(b->layers))
        return error_set(e, ERROR_INPUT, "layers: expected the description of a model");
    return true;
}

/* What the cluster allows is told by the simulator, which knows clusters. */
static bool check_sim(const struct job *job, struct error *e)
{
    const struct job_sim *s = &job->sim;
    for (const struct job_field *f = sim_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    if (s->ask) /* its own part of the simulator reads it */
        return json_is_object(s->ask) || error_set(e, ERROR_INPUT, "ask: expected a table");
    if (!json_is_object(s->cluster) && !json_string_length(s->cluster))
        return error_set(e, ERROR_INPUT, "cluster: expected cluster{ ... } or the name of one, got nothing");
    if (!s->layers && !*s->model)
        return error_set(e, ERROR_INPUT, "model: expected the name of a model or a Lua file, got nothing");
    if (s->layers && !json_is_object(s->layers))
        return error_set(e, ERROR_INPUT, "layers: expected the description of a model");
    if (!*s->algo)
        return error_set(e, ERROR_INPUT, "algo: expected the name of an allreduce, got nothing");
    int mesh = s->tensor * s->pipeline;
    if (s->world_size > 0 && s->world_size % mesh)
        return error_set(e, ERROR_INPUT,
                         "ranks: %d cannot be a mesh of %d tensor x %d pipeline ranks; take a multiple of %d",
                         s->world_size, s->tensor, s->pipeline, mesh);
    if (s->batch % s->microbatches)
        return error_set(e, ERROR_INPUT, "microbatches: %d do not divide the batch of %d", s->microbatches,
                         s->batch);
    return true;
}

static bool check_ranks(const struct job *job, struct error *e)
{
    const struct job_ranks *r = &job->rank_script;
    for (const struct job_field *f = ranks_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    if (!*r->script)
        return error_set(e, ERROR_INPUT, "script: expected the file with the function that every rank runs");
    if (!*r->entry)
        return error_set(e, ERROR_INPUT, "entry: expected the name of the function that every rank runs");
    for (int i = 1; i < r->count_total; i++)
        if (r->counts[i] <= r->counts[i - 1])
            return error_set(e, ERROR_INPUT, "counts: expected ascending numbers of ranks, but %d follows %d",
                             r->counts[i], r->counts[i - 1]);
    return true;
}

bool job_validate(const struct job *job, struct error *e)
{
    if ((unsigned)job->kind >= JOB_KINDS)
        return error_set(e, ERROR_INPUT,
                         "kind: expected train, allreduce, ranks, script, check, bench or sim");
    for (const struct job_field *f = job_common_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    if (*job->hosts && strcmp(job->launcher, "local") == 0)
        return error_set(e, ERROR_INPUT,
                         "hosts: the local launcher starts ranks on this host only; leave hosts out");
    switch (job->kind) {
    case JOB_TRAIN: return check_train(job, e);
    case JOB_ALLREDUCE: return check_allreduce(job, e);
    case JOB_RANKS: return check_ranks(job, e);
    case JOB_BENCH: return check_bench(job, e);
    case JOB_SIM: return check_sim(job, e);
    case JOB_CHECK:
        if (!*job->script.exercise || !*job->script.directory)
            return error_set(e, ERROR_INPUT, "exercise: expected the name of an exercise and its folder");
        /* fall through */
    case JOB_SCRIPT:
        if (!*job->script.file)
            return error_set(e, ERROR_INPUT, "file: expected a Lua file");
        return true;
    }
    return true;
}
