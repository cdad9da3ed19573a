/*
 * job.c - a job's fields as one table, which writes, reads and checks them.
 */
#include "engine/spec/job.h"

#include "engine/base/event.h"
#include "engine/base/rundir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum field_type { TEXT, INT, LONG, SIZE, SEED, REAL, BOOL, JSON, INTS, LONGS, SIZES };

struct field {
    const char *name;
    enum field_type type;
    size_t offset, size; /* in struct job; size of a text */
    size_t count_offset; /* of a list: where its length is kept, */
    int capacity;        /* and how many fit */
    double min, max;     /* of a number, or of each number of a list */
    const char *choices; /* of a text: "adam|sgd"; NULL: any text */
};

#define AT(member) offsetof(struct job, member), sizeof(((struct job *)0)->member)
#define NO_LIST 0, 0
#define NUMBER(member, name, type, min, max)                                                                 \
    {                                                                                                        \
        name, type, AT(member), NO_LIST, min, max, NULL                                                      \
    }
#define CHOICE(member, name, choices)                                                                        \
    {                                                                                                        \
        name, TEXT, AT(member), NO_LIST, 0, 0, choices                                                       \
    }
#define LIST(member, count, capacity, name, type, min, max)                                                  \
    {                                                                                                        \
        name, type, AT(member), offsetof(struct job, count), capacity, min, max, NULL                        \
    }
#define END                                                                                                  \
    {                                                                                                        \
        NULL, TEXT, 0, 0, NO_LIST, 0, 0, NULL                                                                \
    }

static const struct field common_fields[] = {
    CHOICE(label, "label", NULL),
    CHOICE(parent, "parent", NULL),
    NUMBER(ranks, "ranks", INT, 1, JOB_MAX_RANKS),
    CHOICE(hosts, "hosts", NULL),
    CHOICE(launcher, "launcher", "local"),
    END,
};

static const struct field train_fields[] = {
    CHOICE(train.model, "model", "cnn|mlp"),
    NUMBER(train.layers, "layers", JSON, 0, 0),
    CHOICE(train.data, "data", NULL),
    NUMBER(train.batch, "batch", INT, 1, 65536),
    NUMBER(train.epochs, "epochs", INT, 0, 100000),
    NUMBER(train.steps, "steps", LONG, 0, 1e12),
    NUMBER(train.seconds, "seconds", REAL, 0, 1e7),
    CHOICE(train.optimizer, "optimizer", "adam|sgd"),
    CHOICE(train.schedule, "schedule", "onecycle|constant"),
    NUMBER(train.lr, "lr", REAL, 1e-12, 100),
    NUMBER(train.momentum, "momentum", REAL, 0, 0.9999),
    CHOICE(train.algo, "algo", "ring|mpi"),
    CHOICE(train.device, "device", "cpu|auto"),
    NUMBER(train.threads, "threads", INT, 0, 1024),
    NUMBER(train.seed, "seed", SEED, 0, 9.2e18),
    NUMBER(train.pause_s, "pause_s", REAL, 0, 3600),
    END,
};

static const struct field allreduce_fields[] = {
    CHOICE(allreduce.algos, "algos", NULL),
    LIST(allreduce.bytes, allreduce.sizes, JOB_MAX_SIZES, "bytes", SIZES, 4, 1099511627776.0),
    NUMBER(allreduce.iters, "iters", INT, 1, 1000000),
    NUMBER(allreduce.check, "check", BOOL, 0, 1),
    CHOICE(allreduce.buffer, "buffer", "engine|private"),
    END,
};

static const struct field ranks_fields[] = {
    CHOICE(rank_script.script, "script", NULL),
    CHOICE(rank_script.shown, "shown", NULL),
    CHOICE(rank_script.entry, "entry", NULL),
    LIST(rank_script.counts, rank_script.count_total, JOB_MAX_COUNTS, "counts", INTS, 1, JOB_MAX_RANKS),
    LIST(rank_script.lengths, rank_script.length_total, JOB_MAX_SIZES, "lengths", LONGS, 0, 1e9),
    NUMBER(rank_script.coroutines, "coroutines", BOOL, 0, 1),
    END,
};

static const struct field script_fields[] = {
    CHOICE(script.file, "file", NULL),
    CHOICE(script.exercise, "exercise", NULL),
    CHOICE(script.directory, "directory", NULL),
    NUMBER(script.instant, "instant", BOOL, 0, 1),
    END,
};

/* By enum job_kind. */
static const struct kind {
    const char *name, *section; /* section: the member of job.json that holds the kind's own fields */
    const struct field *fields;
} kinds[] = {
    {"train", "train", train_fields},       {"allreduce", "allreduce", allreduce_fields},
    {"ranks", "rank_script", ranks_fields}, {"script", "script", script_fields},
    {"check", "script", script_fields},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const char *job_kind_name(enum job_kind kind)
{
    return (unsigned)kind < KINDS ? kinds[kind].name : "unknown";
}

double job_default_lr(const char *optimizer, const char *schedule)
{
    if (!strcmp(optimizer, "sgd"))
        return 0.05;
    return !strcmp(schedule, "constant") ? 1e-3 : 3e-3;
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
                                        .optimizer = "adam",
                                        .schedule = "onecycle",
                                        .lr = 3e-3,
                                        .momentum = 0.9,
                                        .algo = "ring",
                                        .device = "auto",
                                        .seed = 1};
        break;
    case JOB_ALLREDUCE:
        job->ranks = 2;
        job->allreduce = (struct job_allreduce){.algos = "ring,mpi",
                                                .bytes = {1 << 10, 1 << 20, 32 << 20},
                                                .sizes = 3,
                                                .iters = 20,
                                                .buffer = "engine"};
        break;
    case JOB_RANKS:
        job->ranks = 4;
        job->rank_script = (struct job_ranks){
            .entry = "allreduce", .counts = {4}, .count_total = 1, .lengths = {16}, .length_total = 1};
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
}

void job_default_label(const struct job *job, char *label, size_t size)
{
    const char *slash;
    switch (job->kind) {
    case JOB_TRAIN:
        slash = strrchr(job->train.data, '/');
        snprintf(label, size, "%s-%s", job->train.layers ? "model" : job->train.model,
                 slash && slash[1] ? slash + 1 : job->train.data);
        break;
    case JOB_ALLREDUCE: snprintf(label, size, "allreduce"); break;
    case JOB_RANKS: snprintf(label, size, "ranks"); break;
    case JOB_CHECK: snprintf(label, size, "check-%s", job->script.exercise); break;
    case JOB_SCRIPT: {
        slash = strrchr(job->script.file, '/');
        const char *name = slash ? slash + 1 : job->script.file;
        size_t length = strlen(name);
        if (length > 4 && !strcmp(name + length - 4, ".lua"))
            length -= 4;
        snprintf(label, size, "%.*s", (int)length, name);
        break;
    }
    }
}

/* --- checks
 * --------------------------------------------------------------------------------------------------- */

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

static double number_at(const struct field *f, const void *p, int i)
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

static bool is_list(const struct field *f)
{
    return f->type == INTS || f->type == LONGS || f->type == SIZES;
}

static bool check_field(const struct job *job, const struct field *f, struct error *e)
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
    int n = is_list(f) ? *(const int *)((const char *)job + f->count_offset) : 1;
    if (is_list(f) && (n < 1 || n > f->capacity))
        return error_set(e, ERROR_INPUT, "%s: expected from 1 to %d numbers, got %d", f->name, f->capacity,
                         n);
    for (int i = 0; i < n; i++) {
        double value = number_at(f, p, i);
        if (!(value >= f->min && value <= f->max)) /* a NaN fails too */
            return error_set(e, ERROR_INPUT, "%s: expected a number from %.12g to %.12g, got %.12g", f->name,
                             f->min, f->max, value);
    }
    return true;
}

static bool check_train(const struct job *job, struct error *e)
{
    const struct job_train *t = &job->train;
    for (const struct field *f = train_fields; f->name; f++)
        if (!(f->offset == offsetof(struct job, train.model) && t->layers) && !check_field(job, f, e))
            return false;
    if (t->layers && !json_is_object(t->layers) && !json_is_array(t->layers))
        return error_set(e, ERROR_INPUT, "layers: expected the description of a model");
    if (!*t->data)
        return error_set(e, ERROR_INPUT,
                         "data: expected mnist or a folder with the four IDX files, got nothing");
    if (t->epochs == 0 && t->steps == 0 && t->seconds == 0)
        return error_set(e, ERROR_INPUT,
                         "epochs: expected at least 1, or steps or seconds to bound the training");
    return true;
}

static bool check_allreduce(const struct job *job, struct error *e)
{
    const struct job_allreduce *a = &job->allreduce;
    for (const struct field *f = allreduce_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    for (int i = 0; i < a->sizes; i++)
        if (a->bytes[i] % 4)
            return error_set(e, ERROR_INPUT, "bytes: %zu is not a multiple of 4, the bytes of a float32",
                             a->bytes[i]);
    const char *p = a->algos;
    do {
        size_t n = strcspn(p, ",");
        if (!in_choices("ring|mpi", p, n))
            return error_set(e, ERROR_INPUT,
                             "algo: expected ring, mpi, several with commas between, or all, got '%.*s'",
                             (int)n, p);
        p += n;
    } while (*p++ == ',');
    return true;
}

static bool check_ranks(const struct job *job, struct error *e)
{
    const struct job_ranks *r = &job->rank_script;
    for (const struct field *f = ranks_fields; f->name; f++)
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
    if ((unsigned)job->kind >= KINDS)
        return error_set(e, ERROR_INPUT, "kind: expected train, allreduce, ranks, script or check");
    for (const struct field *f = common_fields; f->name; f++)
        if (!check_field(job, f, e))
            return false;
    if (*job->hosts && strcmp(job->launcher, "local") == 0)
        return error_set(e, ERROR_INPUT,
                         "hosts: the local launcher starts ranks on this host only; leave hosts out");
    switch (job->kind) {
    case JOB_TRAIN: return check_train(job, e);
    case JOB_ALLREDUCE: return check_allreduce(job, e);
    case JOB_RANKS: return check_ranks(job, e);
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

/* --- JSON
 * ------------------------------------------------------------------------------------------------------ */

static json_t *field_to_json(const struct job *job, const struct field *f)
{
    const void *p = (const char *)job + f->offset;
    switch (f->type) {
    case TEXT: return json_string(p);
    case INT: return json_integer(*(const int *)p);
    case LONG: return json_integer(*(const long *)p);
    case SIZE: return json_integer((json_int_t) * (const size_t *)p);
    case SEED: return json_integer((json_int_t) * (const uint64_t *)p);
    case REAL: return json_real(*(const double *)p);
    case BOOL: return json_boolean(*(const bool *)p);
    case JSON: {
        json_t *value = *(json_t *const *)p;
        return value ? json_incref(value) : json_null();
    }
    case INTS:
    case LONGS:
    case SIZES: break;
    }
    json_t *list = json_array();
    int n = *(const int *)((const char *)job + f->count_offset);
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer((json_int_t)number_at(f, p, i)));
    return list;
}

static void section_to_json(const struct job *job, const struct field *fields, json_t *object)
{
    for (const struct field *f = fields; f->name; f++)
        json_object_set_new(object, f->name, field_to_json(job, f));
}

json_t *job_to_json(const struct job *job)
{
    const struct kind *kind = &kinds[job->kind];
    json_t *object = json_object(), *section = json_object();
    event_set_integer(object, "version", job->version);
    event_set_text(object, "kind", kind->name);
    section_to_json(job, common_fields, object);
    section_to_json(job, kind->fields, section);
    json_object_set_new(object, kind->section, section);
    return object;
}

static bool expected(const struct field *f, const char *what, struct error *e)
{
    return error_set(e, ERROR_INPUT, "%s: expected %s", f->name, what);
}

static bool list_from_json(struct job *job, const struct field *f, const json_t *value, struct error *e)
{
    if (!json_is_array(value) || json_array_size(value) > (size_t)f->capacity)
        return error_set(e, ERROR_INPUT, "%s: expected a list of at most %d whole numbers", f->name,
                         f->capacity);
    char *p = (char *)job + f->offset;
    int n = (int)json_array_size(value);
    for (int i = 0; i < n; i++) {
        const json_t *item = json_array_get(value, (size_t)i);
        double number = json_number_value(item);
        if (!json_is_integer(item) || number < f->min || number > f->max)
            return error_set(e, ERROR_INPUT, "%s: expected whole numbers from %.12g to %.12g", f->name,
                             f->min, f->max);
        if (f->type == INTS)
            ((int *)p)[i] = (int)json_integer_value(item);
        else if (f->type == LONGS)
            ((long *)p)[i] = (long)json_integer_value(item);
        else
            ((size_t *)p)[i] = (size_t)json_integer_value(item);
    }
    *(int *)((char *)job + f->count_offset) = n;
    return true;
}

static bool field_from_json(struct job *job, const struct field *f, json_t *value, struct error *e)
{
    void *p = (char *)job + f->offset;
    switch (f->type) {
    case TEXT:
        if (!json_is_string(value))
            return expected(f, "a text", e);
        if (json_string_length(value) >= f->size)
            return error_set(e, ERROR_INPUT, "%s: the text is longer than %zu bytes", f->name, f->size - 1);
        memcpy(p, json_string_value(value), json_string_length(value) + 1);
        return true;
    case REAL:
        if (!json_is_number(value))
            return expected(f, "a number", e);
        *(double *)p = json_number_value(value);
        return true;
    case BOOL:
        if (!json_is_boolean(value))
            return expected(f, "true or false", e);
        *(bool *)p = json_is_true(value);
        return true;
    case JSON:
        json_decref(*(json_t **)p);
        *(json_t **)p = json_is_null(value) ? NULL : json_incref(value);
        return true;
    case INTS:
    case LONGS:
    case SIZES: return list_from_json(job, f, value, e);
    case INT:
    case LONG:
    case SIZE:
    case SEED: break;
    }
    if (!json_is_integer(value))
        return expected(f, "a whole number", e);
    json_int_t number = json_integer_value(value);
    if ((double)number < f->min || (double)number > f->max)
        return error_set(e, ERROR_INPUT, "%s: expected a number from %.12g to %.12g, got %lld", f->name,
                         f->min, f->max, (long long)number);
    if (f->type == INT)
        *(int *)p = (int)number;
    else if (f->type == LONG)
        *(long *)p = (long)number;
    else if (f->type == SIZE)
        *(size_t *)p = (size_t)number;
    else
        *(uint64_t *)p = (uint64_t)number;
    return true;
}

static const struct field *find_field(const struct field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (!strcmp(fields->name, name))
            return fields;
    return NULL;
}

static bool section_from_json(struct job *job, const struct field *fields, json_t *object,
                              const char *section, struct error *e)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const struct field *f = find_field(fields, key);
        if (!f)
            return error_set(e, ERROR_INPUT, "%s: unknown field '%s'", section, key);
        if (!field_from_json(job, f, value, e))
            return error_wrap(e, "%s", section);
    }
    return true;
}

static bool fill_from_json(struct job *job, const struct kind *kind, json_t *object, struct error *e)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (!strcmp(key, "version") || !strcmp(key, "kind"))
            continue;
        if (!strcmp(key, kind->section)) {
            if (!json_is_object(value))
                return error_set(e, ERROR_INPUT, "%s: expected an object", key);
            if (!section_from_json(job, kind->fields, value, kind->section, e))
                return false;
            continue;
        }
        const struct field *f = find_field(common_fields, key);
        if (!f)
            return error_set(e, ERROR_INPUT, "unknown field '%s'", key);
        if (!field_from_json(job, f, value, e))
            return false;
    }
    return true;
}

bool job_from_json(struct job *job, const json_t *object, struct error *e)
{
    *job = (struct job){0};
    if (!json_is_object(object))
        return error_set(e, ERROR_INPUT, "expected an object that describes a job");
    long long version = event_integer(object, "version", 0);
    if (version != JOB_VERSION)
        return error_set(e, ERROR_INPUT, "version: this ringside reads version %d, got %lld", JOB_VERSION,
                         version);
    const char *name = event_text(object, "kind", "");
    int kind = 0;
    while (kind < KINDS && strcmp(kinds[kind].name, name) != 0)
        kind++;
    if (kind == KINDS)
        return error_set(e, ERROR_INPUT, "kind: expected train, allreduce, ranks, script or check, got '%s'",
                         name);
    job_defaults(job, (enum job_kind)kind);
    json_t *copy = json_deep_copy(object); /* jansson iterates over what it may change */
    bool ok = copy != NULL && fill_from_json(job, &kinds[kind], copy, e);
    if (!copy)
        error_set(e, ERROR_FAILED, "out of memory");
    json_decref(copy);
    if (!ok)
        job_clear(job);
    return ok;
}

bool job_load(struct job *job, const char *rundir, struct error *e)
{
    *job = (struct job){0};
    json_t *object = rundir_read_json(rundir, "job.json", e);
    if (!object)
        return false;
    bool ok = job_from_json(job, object, e) && job_validate(job, e);
    if (!ok) {
        error_wrap(e, "%s/job.json", rundir);
        job_clear(job);
    }
    json_decref(object);
    return ok;
}
