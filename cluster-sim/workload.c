#include "cluster-sim/workload.h"

#include "engine/base/random.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- from a trace --- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Numbers the trace's users from 0 on, without gaps, in the order of their numbers there. */
static bool number_users(const struct swf *trace, struct workload *w, struct error *e)
{
    double *user = malloc(((size_t)w->count + 1) * sizeof *user);
    if (!user)
        return error_set(e, ERROR_FAILED, "not enough memory for the users of %d jobs", w->count);
    for (int i = 0; i < w->count; i++)
        user[i] = trace->jobs[w->from[i]].user;
    qsort(user, (size_t)w->count, sizeof *user, by_value);
    for (int i = 0; i < w->count; i++)
        if (i == 0 || user[i] != user[w->users - 1])
            user[w->users++] = user[i];
    for (int i = 0; i < w->count; i++) {
        const double *found =
            bsearch(&trace->jobs[w->from[i]].user, user, (size_t)w->users, sizeof *user, by_value);
        w->jobs[i].user = found ? (int)(found - user) : 0;
    }
    free(user);
    return true;
}

static int partition_of(const struct swf_job *j, int partitions)
{
    double number = j->partition >= 1 ? j->partition : j->queue;
    if (partitions == 1 || number < 1)
        return 0;
    return number <= INT_MAX ? (int)number - 1 : INT_MAX;
}

bool workload_from_trace(const struct swf *trace, int partitions, bool exact, struct workload *w,
                         struct error *e)
{
    size_t n = (size_t)trace->count + 1;
    *w = (struct workload){.jobs = calloc(n, sizeof *w->jobs), .from = malloc(n * sizeof *w->from)};
    if (!w->jobs || !w->from) {
        workload_free(w);
        return error_set(e, ERROR_FAILED, "not enough memory for %d jobs", trace->count);
    }
    for (int i = 0; i < trace->count; i++) {
        const struct swf_job *j = &trace->jobs[i];
        double procs = j->procs_asked > 0 ? j->procs_asked : j->procs;
        if (j->run_s < 0 || procs <= 0) {
            w->left_out++;
            continue;
        }
        w->from[w->count] = i;
        w->jobs[w->count++] = (struct sched_job){
            .id = (long long)j->number,
            .submit_s = j->submit_s,
            .run_s = j->run_s,
            .limit_s = !exact && j->time_asked_s > 0 ? j->time_asked_s : j->run_s,
            .procs = procs <= INT_MAX ? (int)procs : INT_MAX,
            .partition = partition_of(j, partitions),
            .line = j->line,
            .owner = (long long)j->user,
            .program = (long long)j->executable,
        };
    }
    if (number_users(trace, w, e))
        return true;
    workload_free(w);
    return false;
}

bool workload_usable(const struct workload *w, const char *name, struct error *e)
{
    if (w->count > 0)
        return true;
    if (w->left_out == 0)
        return error_set(e, ERROR_INPUT, "%s has no jobs", name);
    return error_set(
        e, ERROR_INPUT,
        "%s: none of its %d jobs says both for how long it ran (field 4) and on how many processors "
        "(field 8 or 5), so there is nothing to simulate",
        name, w->left_out);
}

void workload_free(struct workload *w)
{
    if (!w)
        return;
    free(w->jobs);
    free(w->from);
    *w = (struct workload){0};
}

bool workload_add(struct workload *w, const struct sched_job *job, int tasks, int *first, struct error *e)
{
    int added = tasks > 0 ? tasks : 1, at = w->count;
    size_t room = (size_t)w->count + (size_t)added + 1;
    struct sched_job *jobs = realloc(w->jobs, room * sizeof *jobs);
    if (jobs)
        w->jobs = jobs;
    int *from = realloc(w->from, room * sizeof *from);
    if (from)
        w->from = from;
    if (!jobs || !from)
        return error_set(e, ERROR_FAILED, "not enough memory for %d jobs more", added);
    long long id = 0;
    for (int i = 0; i < w->count; i++)
        if (jobs[i].id > id)
            id = jobs[i].id;
    while (at > 0 && jobs[at - 1].submit_s > job->submit_s)
        at--;
    memmove(jobs + at + added, jobs + at, (size_t)(w->count - at) * sizeof *jobs);
    memmove(from + at + added, from + at, (size_t)(w->count - at) * sizeof *from);
    for (int i = 0; i < added; i++) {
        struct sched_job *j = &jobs[at + i];
        *j = *job;
        j->id = id + 1;
        j->user = w->users;
        j->array = tasks > 0 ? id + 1 : 0;
        j->task = i;
        from[at + i] = -1;
    }
    w->count += added;
    w->users++;
    *first = at;
    return true;
}

/* --- made up --- */

static double uniform(struct random *r) /* in (0, 1) */
{
    return ((double)(random_next(r) >> 11) + 0.5) * 0x1p-53;
}

/* Of mean shape x scale (G. Marsaglia, W. Tsang, A simple method for generating gamma variables, 2000); shape >= 1. */
static double gamma_variate(struct random *r, double shape, double scale)
{
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = (double)random_normal(r), v = 1 + c * x;
        v = v * v * v;
        if (v > 0 && log(uniform(r)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v * scale;
    }
}

static int size_of_job(struct random *r, int procs)
{
    double u = uniform(r), high = log2(procs), middle = high - 2.5, low = 0.8;
    if (u <= 0.244 || high < 1)
        return 1;
    if (middle < low)
        middle = low;
    double x = uniform(r) <= 0.86 ? low + uniform(r) * (middle - low) : middle + uniform(r) * (high - middle);
    if (u <= 0.244 + 0.576)
        x = floor(x + 0.5);
    double size = floor(exp2(x) + 0.5);
    return size < procs ? (int)size : procs;
}

static double run_time(struct random *r, int size)
{
    double p = fmax(0, 0.78 - 0.0054 * size), x;
    do
        x = uniform(r) <= p ? gamma_variate(r, 4.2, 0.94) : gamma_variate(r, 312, 0.03);
    while (x > 12); /* e^12 s are 45 hours */
    return fmax(1, floor(exp(x)));
}

static double time_asked(struct random *r, double run_s)
{
    static const int usual_min[] = {1, 5, 10, 15, 30, 60, 120, 180, 240, 360, 480, 720, 1080, 1440, 2880};
    double wanted = run_s * (1 + 4 * uniform(r));
    for (size_t i = 0; i < sizeof usual_min / sizeof *usual_min; i++)
        if (wanted <= usual_min[i] * 60)
            return usual_min[i] * 60;
    return ceil(wanted / 86400) * 86400;
}

bool workload_make_up(const struct workload_model *m, struct swf *trace, struct error *e)
{
    *trace = (struct swf){0};
    if (m->jobs < 1 || m->procs < 1 || !(m->load > 0))
        return error_set(e, ERROR_INPUT,
                         "a made-up trace needs at least one job and processor and a load above 0");
    struct random r = random_stream(m->seed, 0x776f726b6c6f6164, 0);
    trace->jobs = calloc((size_t)m->jobs, sizeof *trace->jobs);
    if (!trace->jobs)
        return error_set(e, ERROR_FAILED, "not enough memory for %d jobs", m->jobs);
    double at = 0, work = 0;
    for (int i = 0; i < m->jobs; i++) {
        struct swf_job *j = &trace->jobs[i];
        int size = size_of_job(&r, m->procs);
        double run = run_time(&r, size);
        for (int k = 0; k < SWF_FIELDS; k++)
            j->field[k] = -1;
        at += -log(uniform(&r));
        j->number = i + 1;
        j->submit_s = at;
        j->run_s = run;
        j->procs = j->procs_asked = size;
        j->time_asked_s = time_asked(&r, run);
        j->status = 1;
        j->user = 1 + (double)random_below(&r, 1 + random_below(&r, 64));
        work += run * size;
    }
    trace->count = m->jobs;
    double stretch = work / m->load / m->procs / at;
    for (int i = 0; i < m->jobs; i++)
        trace->jobs[i].submit_s = floor(trace->jobs[i].submit_s * stretch);
    char line[160];
    snprintf(line, sizeof line, "; MaxProcs: %d", m->procs);
    bool ok =
        swf_add_header(trace, "; Version: 2", e) &&
        swf_add_header(trace, "; Note: made up: sizes and run times as in Lublin and Feitelson 2003", e) &&
        swf_add_header(trace, line, e);
    if (!ok)
        swf_free(trace);
    return ok;
}

/* --- a schedule as a trace --- */

/* A line for a job that no trace told of. */
static void unknown_job(const struct sched_job *job, struct swf_job *j)
{
    for (int k = 0; k < SWF_FIELDS; k++)
        j->field[k] = -1;
    j->number = (double)job->id;
    j->submit_s = job->submit_s;
    j->procs_asked = job->procs;
    j->time_asked_s = job->limit_s;
    j->status = 1;
}

bool workload_to_trace(const struct swf *trace, const struct workload *w, const struct sched_config *c,
                       const struct sched_result *r, struct swf *to, struct error *e)
{
    char line[160];
    *to = (struct swf){.jobs = malloc(((size_t)w->count + 1) * sizeof *to->jobs)};
    bool ok = to->jobs || error_set(e, ERROR_FAILED, "not enough memory for %d jobs", w->count);
    for (int i = 0; ok && i < trace->headers; i++)
        ok = swf_add_header(to, trace->header[i], e);
    snprintf(line, sizeof line, "; Note: simulated by Ringside: policy %s on %d processors",
             sched_policy_name(c->policy), r->procs);
    ok = ok && swf_add_header(to, line, e);
    for (int i = 0; ok && i < w->count; i++) {
        struct swf_job *j = &to->jobs[to->count++];
        if (w->from[i] >= 0)
            *j = trace->jobs[w->from[i]];
        else
            unknown_job(&w->jobs[i], j);
        j->wait_s = r->jobs[i].start_s - w->jobs[i].submit_s;
        j->run_s = r->jobs[i].end_s - r->jobs[i].start_s;
        j->procs = w->jobs[i].procs;
        if (r->jobs[i].killed)
            j->status = 0;
    }
    if (!ok)
        swf_free(to);
    return ok;
}
