/*
 * job_check.c - whether a job can be: each field by its line of the table, then what several of them say together.
 */
#include "engine/spec/job.h"

#include "engine/spec/collective.h"
#include "engine/spec/job_fields.h"
#include "engine/spec/slow_link.h"

#include <stdio.h>
#include <string.h>

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

static bool check_fields(const struct job *job, const struct job_field *fields, struct error *e)
{
    for (const struct job_field *f = fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
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
        static const char *const past[][2] = {{"shm", "it sums in shared memory"},
                                              {"mpi", "the library sends its own messages"},
                                              {"nccl", "the library sends its own messages"}};
        for (size_t i = 0; i < sizeof past / sizeof *past; i++)
            if (n == strlen(past[i][0]) && !strncmp(p, past[i][0], n))
                return error_set(
                    e, ERROR_INPUT,
                    "algo: %s goes past the link that is slowed on purpose (%s); take ring, auto or "
                    "another",
                    past[i][0], past[i][1]);
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
    if (t->reproducible && !strcmp(t->device, "cuda"))
        return error_set(
            e, ERROR_INPUT,
            "device: reproducible computes on the CPU, whose bits it promises; take cpu or auto");
    if (!strcmp(t->dtype, "tf32") && !strcmp(t->device, "cpu"))
        return error_set(e, ERROR_INPUT,
                         "dtype: tf32 is a format of NVIDIA GPUs; on the CPU take fp32 or bf16");
    if (!strcmp(t->algo, "nccl") && !strcmp(t->device, "cpu"))
        return error_set(
            e, ERROR_INPUT,
            "algo: nccl sums in the memory of GPUs, but the device is cpu; take ring, mpi or auto");
    if (!strcmp(t->algo, "nccl") && strcmp(t->compress, "none") != 0)
        return error_set(
            e, ERROR_INPUT,
            "compress: gradients are compressed in the host's memory, where nccl does not sum; take "
            "algo auto or ring");
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
    if (!check_fields(job, job_common_fields, e))
        return false;
    if (*job->hosts && strcmp(job->launcher, "local") == 0)
        return error_set(e, ERROR_INPUT,
                         "hosts: the local launcher starts ranks on this host only; leave hosts out");
    if (!check_fields(job, job_kinds[job->kind].fields, e))
        return false;
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
