/*
 * schedule_json.c - jobs and a scheduler as a description, and their schedule as fields of an event (ask.h).
 */
#include "cluster-sim/ask.h"
#include "cluster-sim/platform_fields.h"
#include "cluster-sim/sched_explain.h"
#include "engine/base/event.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_TOLD = 100, JOBS_MOST = 1000000 };

bool workload_read(const char *name, int procs, struct swf *trace, struct error *e)
{
    static const char made_up[] = "made-up:";
    if (strncmp(name, made_up, strlen(made_up)) != 0)
        return swf_read(name, trace, e);
    struct workload_model m = {.procs = procs > 0 ? procs : 128, .load = 0.7, .seed = 1};
    const char *p = name + strlen(made_up);
    int end = 0;
    unsigned long long seed = 1;
    int got = sscanf(p, "%d%n:%lf%n:%llu%n", &m.jobs, &end, &m.load, &end, &seed, &end);
    m.seed = seed;
    if (got < 1 || p[end] || m.jobs < 1 || m.jobs > 10000000 || !(m.load > 0) || !(m.load <= 100))
        return error_set(
            e, ERROR_INPUT,
            "expected made-up:JOBS[:LOAD[:SEED]], up to 10000000 jobs and a load above 0 such as "
            "made-up:1000:0.7:1, got '%s'",
            name);
    return workload_make_up(&m, trace, e);
}

/* One job of the list, or as many tasks as it has; there is room for them. */
static bool read_job(const json_t *o, struct workload *w, struct error *e)
{
    struct sched_job j = {
        .id = w->count + 1, .procs = 1, .user = 1, .run_s = -1, .limit_s = -1, .program = -1};
    int tasks = 0, partition = 1;
    static const char *const known[] = {"submit",    "run",   "limit",   "procs", "user",
                                        "partition", "tasks", "at_once", NULL};
    if (!field_known(o, "it", known, e) || !field_seconds(o, "submit", &j.submit_s, e) ||
        !field_seconds(o, "run", &j.run_s, e) || !field_seconds(o, "limit", &j.limit_s, e) ||
        !field_whole(o, "procs", 1, SCHED_MAX_PROCS, &j.procs, e) ||
        !field_whole(o, "user", 1, 1000000, &j.user, e) ||
        !field_whole(o, "partition", 1, SCHED_MAX_PARTITIONS, &partition, e) ||
        !field_whole(o, "tasks", 1, JOBS_MOST, &tasks, e) ||
        !field_whole(o, "at_once", 1, JOBS_MOST, &j.array_limit, e))
        return false;
    if (j.run_s < 0)
        return error_set(e, ERROR_INPUT, "give run =, the time that it runs");
    if (j.limit_s < 0)
        j.limit_s = j.run_s;
    j.owner = j.user;
    j.partition = partition - 1;
    j.array = tasks > 0 ? j.id : 0;
    for (int i = 0; i < (tasks > 0 ? tasks : 1); i++) {
        w->jobs[w->count] = j;
        w->jobs[w->count++].task = i;
    }
    return true;
}

static bool read_jobs(const json_t *list, struct workload *w, struct error *e)
{
    size_t i;
    const json_t *o;
    double room = 1;
    *w = (struct workload){0};
    if (!json_is_array(list) || json_array_size(list) == 0)
        return error_set(e, ERROR_INPUT, "jobs: expected a list of jobs");
    json_array_foreach(list, i, o)
    {
        int tasks = 1;
        if (!json_is_object(o))
            return error_set(
                e, ERROR_INPUT,
                "jobs[%zu]: expected a table such as { submit = 0, run = 600, limit = \"1h\", procs = 4 }",
                i + 1);
        if (!field_whole(o, "tasks", 1, JOBS_MOST, &tasks, e))
            return error_wrap(e, "jobs[%zu]", i + 1);
        room += tasks;
    }
    if (room > JOBS_MOST)
        return error_set(e, ERROR_INPUT, "jobs: more than %d", JOBS_MOST);
    w->jobs = calloc((size_t)room, sizeof *w->jobs);
    if (!w->jobs)
        return error_set(e, ERROR_FAILED, "not enough memory for %.0f jobs", room);
    json_array_foreach(list, i, o)
    {
        if (!read_job(o, w, e))
            return error_wrap(e, "jobs[%zu]", i + 1);
    }
    return true;
}

/* 0 or more: a factor may count nothing. */
static bool weight(const json_t *o, const char *key, double *value, struct error *e)
{
    const json_t *field = json_object_get(o, key);
    if (field && !(json_is_number(field) && json_number_value(field) >= 0))
        return error_set(e, ERROR_INPUT, "weights: %s: expected a number of 0 or more", key);
    if (field)
        *value = json_number_value(field);
    return true;
}

static bool read_partitions(const json_t *list, struct sched_config *c, struct error *e)
{
    static const char *const known[] = {"name", "procs", "limit", "tier", NULL};
    size_t i;
    const json_t *o;
    if (!list)
        return true;
    if (!json_is_array(list) || json_array_size(list) > SCHED_MAX_PARTITIONS || json_array_size(list) == 0)
        return error_set(e, ERROR_INPUT, "partitions: expected a list of 1 to %d", SCHED_MAX_PARTITIONS);
    c->partitions = 0;
    json_array_foreach(list, i, o)
    {
        struct sched_partition *p = &c->partition[c->partitions++];
        *p = (struct sched_partition){0};
        snprintf(p->name, sizeof p->name, "part%zu", i + 1);
        if (!json_is_object(o) || !field_known(o, "it", known, e) ||
            !field_text(o, "name", p->name, sizeof p->name, e) ||
            !field_whole(o, "procs", 1, SCHED_MAX_PROCS, &p->procs, e) ||
            !field_seconds(o, "limit", &p->max_time_s, e) || !weight(o, "tier", &p->tier, e))
            return json_is_object(o) ? error_wrap(e, "partitions[%zu]", i + 1)
                                     : error_set(e, ERROR_INPUT, "partitions[%zu]: expected a table", i + 1);
    }
    return true;
}

static bool read_config(const json_t *o, int known_procs, struct sched_config *c, struct error *e)
{
    static const char *const weight_keys[] = {"age", "size", "fairshare", "tier", NULL};
    const char *name = event_text(o, "policy", "easy");
    enum sched_policy policy;
    int procs = known_procs;
    if (!sched_policy_named(name, &policy))
        return error_set(e, ERROR_INPUT, "policy: expected fifo, easy, priority or fairshare, got '%.40s'",
                         name);
    if (!field_whole(o, "procs", 1, SCHED_MAX_PROCS, &procs, e))
        return false;
    if (procs < 1 && !json_object_get(o, "partitions"))
        return error_set(e, ERROR_INPUT, "procs: how many processors are there?");
    sched_defaults(c, policy, procs);
    const json_t *weights = json_object_get(o, "weights"), *backfill = json_object_get(o, "backfill");
    if (backfill)
        c->backfill = json_is_true(backfill);
    c->enforce_limits = json_is_true(json_object_get(o, "enforce_limits"));
    return read_partitions(json_object_get(o, "partitions"), c, e) &&
           (!weights || field_known(weights, "weights", weight_keys, e)) &&
           weight(weights, "age", &c->weights.age, e) && weight(weights, "size", &c->weights.size, e) &&
           weight(weights, "fairshare", &c->weights.fairshare, e) &&
           weight(weights, "tier", &c->weights.tier, e) &&
           field_seconds(o, "half_life", &c->weights.half_life_s, e);
}

void schedule_to_json(const struct sched_config *c, const struct workload *w, const struct sched_result *r,
                      json_t *event)
{
    event_set_text(event, "policy", sched_policy_name(c->policy));
    event_set_integer(event, "procs", r->procs);
    event_set_integer(event, "jobs", r->count);
    event_set_integer(event, "left_out", w->left_out);
    event_set_text(event, "tier", "events");
    event_set_number(event, "mean_wait_s", r->mean_wait_s);
    event_set_number(event, "median_wait_s", r->median_wait_s);
    event_set_number(event, "longest_wait_s", r->longest_wait_s);
    event_set_number(event, "bounded_slowdown", r->bounded_slowdown);
    event_set_number(event, "utilisation", r->utilisation);
    event_set_number(event, "makespan_s", r->makespan_s);
    event_set_integer(event, "backfilled", r->backfilled);
    event_set_integer(event, "killed", r->killed);
    event_set_text(event, "bottleneck", sched_bottleneck(r));
}

/* Where there are few enough: what became of each. */
static void put_jobs(const struct workload *w, const struct sched_result *r, json_t *event)
{
    if (r->count > JOBS_TOLD)
        return;
    json_t *list = json_array();
    for (int i = 0; i < r->count; i++) {
        const struct sched_record *k = &r->jobs[i];
        json_t *job = json_object();
        event_set_integer(job, "id", w->jobs[i].id);
        if (w->jobs[i].array > 0)
            event_set_integer(job, "task", w->jobs[i].task);
        event_set_number(job, "start_s", k->start_s);
        event_set_number(job, "end_s", k->end_s);
        event_set_number(job, "wait_s", k->start_s - w->jobs[i].submit_s);
        event_set_number(job, "promised_s", k->promised_s);
        json_object_set_new(job, "backfilled", json_boolean(k->backfilled));
        json_object_set_new(job, "killed", json_boolean(k->killed));
        json_array_append_new(list, job);
    }
    json_object_set_new(event, "schedule", list);
}

bool ask_schedule(const json_t *o, json_t *event, char **why, struct error *e)
{
    static const char *const known[] = {"procs",     "policy",         "trace",    "jobs",
                                        "exact",     "enforce_limits", "backfill", "weights",
                                        "half_life", "partitions",     NULL};
    const char *name = event_text(o, "trace", NULL);
    struct swf trace = {0};
    struct workload w = {0};
    struct sched_config c = {0};
    struct sched_result r = {0};
    int procs = 0;
    if (!field_known(o, "it", known, e) || !field_whole(o, "procs", 1, SCHED_MAX_PROCS, &procs, e))
        return false;
    bool ok = name ? workload_read(name, procs, &trace, e) : read_jobs(json_object_get(o, "jobs"), &w, e);
    double all = name && ok ? swf_header_number(&trace, "MaxProcs", 0) : 0;
    ok = ok && read_config(o, all >= 1 && all <= SCHED_MAX_PROCS ? (int)all : 0, &c, e) &&
         (!name ||
          (workload_from_trace(&trace, c.partitions, json_is_true(json_object_get(o, "exact")), &w, e) &&
           workload_usable(&w, name, e))) &&
         w.jobs && sched_run(&c, w.jobs, w.count, name, &r, e) && (*why = sched_explain(&c, w.jobs, &r, e));
    if (ok) {
        schedule_to_json(&c, &w, &r, event);
        put_jobs(&w, &r, event);
    }
    swf_free(&trace);
    workload_free(&w);
    sched_result_free(&r);
    return ok;
}
