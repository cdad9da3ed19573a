/*
 * job_json.c - jobs as JSON: job.json.
 */
#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/spec/job_fields.h"

#include <math.h>
#include <string.h>

static json_t *field_to_json(const struct job *job, const struct job_field *f)
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
        json_array_append_new(list, json_integer((json_int_t)job_field_number(f, p, i)));
    return list;
}

static void section_to_json(const struct job *job, const struct job_field *fields, json_t *object)
{
    for (const struct job_field *f = fields; f->name; f++)
        json_object_set_new(object, f->name, field_to_json(job, f));
}

json_t *job_to_json(const struct job *job)
{
    const struct job_kind_fields *kind = &job_kinds[job->kind];
    json_t *object = json_object(), *section = json_object();
    event_set_integer(object, "version", job->version);
    event_set_text(object, "kind", kind->name);
    section_to_json(job, job_common_fields, object);
    section_to_json(job, kind->fields, section);
    json_object_set_new(object, kind->section, section);
    return object;
}

long long job_json_ranks(const json_t *object)
{
    if (!strcmp(event_text(object, "kind", ""), job_kind_name(JOB_SIM)))
        return event_integer(json_object_get(object, "sim"), "world_size", 0);
    return event_integer(object, "ranks", 0);
}

static bool expected(const struct job_field *f, const char *what, struct error *e)
{
    return error_set(e, ERROR_INPUT, "%s: expected %s", f->name, what);
}

/* Whole numbers may come as 2.0: Lua makes them by division. */
static bool read_whole(const json_t *value, const struct job_field *f, json_int_t *number, struct error *e)
{
    double n = json_number_value(value);
    if (!json_is_number(value) || n != trunc(n))
        return expected(f, "a whole number", e);
    if (!(n >= f->min && n <= f->max)) /* which lies within long long */
        return error_set(e, ERROR_INPUT, "%s: expected a number from %.12g to %.12g, got %.12g", f->name,
                         f->min, f->max, n);
    *number = json_is_integer(value) ? json_integer_value(value) : (json_int_t)n;
    return true;
}

static bool list_from_json(struct job *job, const struct job_field *f, const json_t *value, struct error *e)
{
    if (!json_is_array(value) || json_array_size(value) > (size_t)f->capacity)
        return error_set(e, ERROR_INPUT, "%s: expected a list of at most %d whole numbers", f->name,
                         f->capacity);
    char *p = (char *)job + f->offset;
    int n = (int)json_array_size(value);
    for (int i = 0; i < n; i++) {
        json_int_t number;
        if (!read_whole(json_array_get(value, (size_t)i), f, &number, e))
            return false;
        if (f->type == INTS)
            ((int *)p)[i] = (int)number;
        else if (f->type == LONGS)
            ((long *)p)[i] = (long)number;
        else
            ((size_t *)p)[i] = (size_t)number;
    }
    *(int *)((char *)job + f->count_offset) = n;
    return true;
}

static bool field_from_json(struct job *job, const struct job_field *f, json_t *value, struct error *e)
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
    json_int_t number = 0;
    if (!read_whole(value, f, &number, e))
        return false;
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

static const struct job_field *find_field(const struct job_field *fields, const char *name)
{
    for (; fields->name; fields++)
        if (!strcmp(fields->name, name))
            return fields;
    return NULL;
}

bool job_set(struct job *job, const char *field, json_t *value, struct error *e)
{
    const struct job_field *f = find_field(job_common_fields, field);
    if (!f)
        f = find_field(job_kinds[job->kind].fields, field);
    return f ? field_from_json(job, f, value, e) : error_set(e, ERROR_INPUT, "unknown field '%s'", field);
}

static bool section_from_json(struct job *job, const struct job_field *fields, json_t *object,
                              const char *section, struct error *e)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const struct job_field *f = find_field(fields, key);
        if (!f)
            return error_set(e, ERROR_INPUT, "%s: unknown field '%s'", section, key);
        if (!field_from_json(job, f, value, e))
            return error_wrap(e, "%s", section);
    }
    return true;
}

static bool fill_from_json(struct job *job, const struct job_kind_fields *kind, json_t *object,
                           struct error *e)
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
        const struct job_field *f = find_field(job_common_fields, key);
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
    while (kind < JOB_KINDS && strcmp(job_kinds[kind].name, name) != 0)
        kind++;
    if (kind == JOB_KINDS)
        return error_set(e, ERROR_INPUT,
                         "kind: expected train, allreduce, ranks, script, check, bench or sim, got '%s'",
                         name);
    job_defaults(job, (enum job_kind)kind);
    json_t *copy = json_deep_copy(object); /* jansson iterates over what it may change */
    bool ok = copy != NULL && fill_from_json(job, &job_kinds[kind], copy, e);
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
