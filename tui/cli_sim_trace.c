/*
 * cli_sim_trace.c - `ringside sim --trace FILE.swf`: a batch scheduler's decisions for a trace of jobs.
 */
#include "cluster-sim/ask.h"
#include "cluster-sim/queue_view.h"
#include "cluster-sim/sched_explain.h"
#include "engine/base/event.h"
#include "engine/base/timing.h"
#include "engine/base/units.h"
#include "tui/cli.h"
#include "tui/cli_sim.h"
#include "tui/options.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct question {
    char trace[PATH_MAX], policy[32], backfill[16], weights[256], partitions[512], half_life[32], at[32],
        view[32], out[PATH_MAX], submit[128];
    long job;
    int procs, procs_per_node;
    bool exact, enforce, explain, json;
    bool procs_given, at_given, view_given, job_given, procs_per_node_given;
};

/* "NAME=PROCS[:LIMIT],..." in place of the one partition. */
static bool read_partitions(const struct question *q, struct sched_config *c, struct error *e)
{
    char text[sizeof q->partitions], *rest = text, *word;
    memcpy(text, q->partitions, sizeof text);
    if (!*text)
        return true;
    c->partitions = 0;
    while ((word = strsep(&rest, ","))) {
        char *procs = strchr(word, '='), *limit = procs ? strchr(procs, ':') : NULL, *end = NULL;
        struct sched_partition p = {0};
        if (limit)
            *limit++ = '\0';
        if (procs)
            *procs++ = '\0';
        long n = procs ? strtol(procs, &end, 10) : 0;
        if (!procs || !*word || strlen(word) >= sizeof p.name || end == procs || *end || n < 1 ||
            n > SCHED_MAX_PROCS || (limit && (!units_seconds(limit, &p.max_time_s) || !(p.max_time_s > 0))))
            return error_set(e, ERROR_INPUT,
                             "--partitions: expected NAME=PROCESSORS[:LIMIT] with commas between, such as "
                             "batch=80:12h,debug=20:30min, got '%s'",
                             q->partitions);
        if (c->partitions == SCHED_MAX_PARTITIONS)
            return error_set(e, ERROR_INPUT, "--partitions: at most %d", SCHED_MAX_PARTITIONS);
        snprintf(p.name, sizeof p.name, "%s", word);
        p.procs = (int)n;
        c->partition[c->partitions++] = p;
    }
    return true;
}

/* "age=1000,size=0,..." */
static bool read_weights(const struct question *q, struct priority_weights *w, struct error *e)
{
    const struct {
        const char *name;
        double *into;
    } weights[] = {{"age", &w->age}, {"size", &w->size}, {"fairshare", &w->fairshare}, {"tier", &w->tier}};
    char text[sizeof q->weights], *rest = text, *word;
    memcpy(text, q->weights, sizeof text);
    while (*q->weights && (word = strsep(&rest, ","))) {
        char *value = strchr(word, '='), *end = NULL;
        bool known = false;
        if (value)
            *value++ = '\0';
        double number = value ? strtod(value, &end) : 0;
        for (size_t i = 0; value && i < sizeof weights / sizeof *weights; i++)
            if (!strcmp(word, weights[i].name)) {
                *weights[i].into = number;
                known = true;
            }
        if (!known || end == value || *end || !(number >= 0) || !isfinite(number))
            return error_set(
                e, ERROR_INPUT,
                "--weights: expected age, size, fairshare or tier with a number of 0 or more, such as "
                "age=1000,size=500, got '%s'",
                q->weights);
    }
    return true;
}

/* What would be left aside. */
static bool check_options(const struct question *q, enum sched_policy policy, struct error *e)
{
    bool ranked = policy == POLICY_PRIORITY || policy == POLICY_FAIRSHARE;
    if (!ranked && (*q->weights || *q->half_life))
        return error_set(e, ERROR_INPUT, "--%s: the policy %s knows no priorities; priority and fairshare do",
                         *q->weights ? "weights" : "half-life", q->policy);
    if (*q->submit && q->job_given)
        return error_set(e, ERROR_INPUT, "--submit and --job: ask for one job at a time");
    if (q->at_given && (q->explain || q->job_given))
        return error_set(e, ERROR_INPUT, "--at shows the queue at one moment: ask for --%s without it",
                         q->explain ? "explain" : "job");
    if (q->procs_per_node_given && !q->at_given)
        return error_set(e, ERROR_INPUT, "--procs-per-node is for the views: give the moment with --at TIME");
    return true;
}

static bool configure(const struct question *q, const struct swf *trace, struct sched_config *c,
                      struct error *e)
{
    enum sched_policy policy;
    if (!sched_policy_named(q->policy, &policy))
        return error_set(e, ERROR_INPUT, "--policy: expected fifo, easy, priority or fairshare, got '%s'",
                         q->policy);
    if (!check_options(q, policy, e))
        return false;
    double known = swf_header_number(trace, "MaxProcs", swf_header_number(trace, "MaxNodes", 0));
    int procs = q->procs_given ? q->procs : known >= 1 && known <= SCHED_MAX_PROCS ? (int)known : 0;
    sched_defaults(c, policy, procs);
    if (!read_partitions(q, c, e))
        return false;
    if (procs == 0 && !*q->partitions)
        return error_set(e, ERROR_INPUT, "%s does not say how many processors there are: give --procs N",
                         q->trace);
    long long all = 0;
    for (int i = 0; i < c->partitions; i++)
        all += c->partition[i].procs;
    if (*q->partitions && q->procs_given && all != procs)
        return error_set(e, ERROR_INPUT, "--procs %d: the partitions have %lld processors", procs, all);
    c->enforce_limits = q->enforce;
    if (*q->backfill && strcmp(q->backfill, "none") != 0 && strcmp(q->backfill, "easy") != 0)
        return error_set(e, ERROR_INPUT, "--backfill: expected none or easy, got '%s'", q->backfill);
    if (*q->backfill)
        c->backfill = !strcmp(q->backfill, "easy");
    if (*q->half_life &&
        (!units_seconds(q->half_life, &c->weights.half_life_s) || !(c->weights.half_life_s > 0)))
        return error_set(e, ERROR_INPUT, "--half-life: expected a time above 0 such as 168h, got '%s'",
                         q->half_life);
    return read_weights(q, &c->weights, e);
}

/* A whole schedule and what it came from. */
struct answer {
    struct swf trace;
    struct workload jobs;
    struct sched_config config;
    struct sched_result result;
    double took_s;
    int asked, tasks; /* the job that is asked about, or -1; how many tasks it has */
};

/* "PROCS:LIMIT[:RUN][*TASKS[%MOST]]@TIME" */
static bool read_job(const struct question *q, struct sched_job *j, int *tasks, struct error *e)
{
    char text[sizeof q->submit], *at, *times, *limit, *run, *most, *end = NULL;
    memcpy(text, q->submit, sizeof text);
    *j = (struct sched_job){.owner = SCHED_YOU, .program = -1};
    *tasks = 0;
    bool ok = (at = strchr(text, '@')) != NULL;
    if (ok)
        *at++ = '\0';
    if (ok && (times = strchr(text, '*'))) {
        *times++ = '\0';
        if ((most = strchr(times, '%'))) {
            *most++ = '\0';
            j->array_limit = (int)strtol(most, &end, 10);
            ok = end != most && !*end && j->array_limit > 0;
        }
        *tasks = (int)strtol(times, &end, 10);
        ok = ok && end != times && !*end && *tasks > 0 && *tasks <= 1000000;
    }
    if (ok && (limit = strchr(text, ':'))) {
        *limit++ = '\0';
        if ((run = strchr(limit, ':')))
            *run++ = '\0';
        j->procs = (int)strtol(text, &end, 10);
        ok = end != text && !*end && j->procs > 0 && units_seconds(limit, &j->limit_s) &&
             units_seconds(run ? run : limit, &j->run_s) && units_seconds(at, &j->submit_s);
    } else
        ok = false;
    return ok ||
           error_set(
               e, ERROR_INPUT,
               "--submit: expected PROCESSORS:LIMIT[:RUN][*TASKS[%%MOST]]@TIME such as 16:2h:50min@700000 or "
               "1:10min*20%%4@3h, got '%s'",
               q->submit);
}

/* Finds or adds the job that is asked about. */
static bool ask(const struct question *q, struct answer *a, struct error *e)
{
    struct sched_job job;
    a->asked = -1;
    if (*q->submit)
        return read_job(q, &job, &a->tasks, e) && workload_add(&a->jobs, &job, a->tasks, &a->asked, e);
    for (int i = 0; q->job_given && i < a->jobs.count && a->asked < 0; i++)
        if (a->jobs.jobs[i].id == q->job)
            a->asked = i;
    return !q->job_given || a->asked >= 0 ||
           error_set(e, ERROR_INPUT, "--job: %s has no job %ld that can be simulated", q->trace, q->job);
}

static bool work_out(const struct question *q, struct answer *a, struct error *e)
{
    if (!workload_read(q->trace, q->procs_given ? q->procs : 0, &a->trace, e) ||
        !configure(q, &a->trace, &a->config, e) ||
        !workload_from_trace(&a->trace, a->config.partitions, q->exact, &a->jobs, e) || !ask(q, a, e) ||
        !workload_usable(&a->jobs, q->trace, e))
        return false;
    double from = timing_now();
    if (!sched_run(&a->config, a->jobs.jobs, a->jobs.count, q->trace, &a->result, e))
        return false;
    a->took_s = timing_now() - from;
    return true;
}

/* A link keeps its place; what is no file, or the trace itself, is left alone. */
static bool out_path(const struct question *q, char path[PATH_MAX], struct error *e)
{
    struct stat out, in;
    if (!realpath(q->out, path) || stat(path, &out) != 0) {
        snprintf(path, PATH_MAX, "%s", q->out);
        return true;
    }
    if (!S_ISREG(out.st_mode))
        return error_set(e, ERROR_INPUT, "--out: %s is no file that could be written", q->out);
    if (stat(q->trace, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return error_set(e, ERROR_INPUT, "--out: %s is the trace that is read; take another name", q->out);
    return true;
}

/* The file appears whole or not at all. */
static bool write_out(const struct question *q, const struct answer *a, struct error *e)
{
    struct swf out;
    char path[PATH_MAX], part[PATH_MAX + 8];
    if (!out_path(q, path, e) || !workload_to_trace(&a->trace, &a->jobs, &a->config, &a->result, &out, e))
        return false;
    snprintf(part, sizeof part, "%s.part", path);
    FILE *f = fopen(part, "w");
    bool ok = f ? swf_write(&out, f, e) : error_errno(e, ERROR_INPUT, "cannot write %s", part);
    if (f && fclose(f) != 0 && ok)
        ok = error_errno(e, ERROR_INPUT, "cannot write %s", part);
    if (ok && rename(part, path) != 0)
        ok = error_errno(e, ERROR_INPUT, "cannot write %s", path);
    if (f && !ok)
        unlink(part);
    swf_free(&out);
    return ok;
}

/* The job that was asked about; of an array its first task, and when the last one ends. */
static double last_end(const struct answer *a)
{
    double last = 0;
    for (int i = 0; i == 0 || i < a->tasks; i++)
        last = fmax(last, a->result.jobs[a->asked + i].end_s);
    return last;
}

static bool put_asked(json_t *event, const struct answer *a, struct error *e)
{
    const struct sched_record *k = &a->result.jobs[a->asked];
    char *why = sched_explain_job(&a->config, a->jobs.jobs, &a->result, a->asked, e);
    if (!why)
        return false;
    json_t *job = json_object();
    event_set_integer(job, "id", a->jobs.jobs[a->asked].id);
    event_set_number(job, "wait_s", k->start_s - a->jobs.jobs[a->asked].submit_s);
    event_set_number(job, "start_s", k->start_s);
    event_set_number(job, "end_s", last_end(a));
    event_set_number(job, "promised_s", k->promised_s);
    json_object_set_new(job, "backfilled", json_boolean(k->backfilled));
    json_object_set_new(job, "killed", json_boolean(k->killed));
    event_set_text(job, "explain", why);
    json_object_set_new(event, "job", job);
    free(why);
    return true;
}

static bool print_event(const struct question *q, const struct answer *a, struct error *e)
{
    const struct sched_result *r = &a->result;
    json_t *event = event_new("done", a->took_s);
    event_set_text(event, "origin", "sim");
    json_object_set_new(event, "ok", json_true());
    event_set_number(event, "wall_s", a->took_s);
    schedule_to_json(&a->config, &a->jobs, r, event);
    if (a->asked >= 0 && !put_asked(event, a, e)) {
        json_decref(event);
        return false;
    }
    if (q->explain) {
        char *why = sched_explain(&a->config, a->jobs.jobs, r, e);
        if (!why) {
            json_decref(event);
            return false;
        }
        event_set_text(event, "explain", why);
        free(why);
    }
    return event_write(STDOUT_FILENO, event, e);
}

static void print_time(const char *name, double seconds)
{
    char text[32];
    units_show_seconds(seconds, text, sizeof text);
    printf("  %-16s %12s\n", name, text);
}

static bool print_text(const struct question *q, const struct answer *a, struct error *e)
{
    const struct sched_result *r = &a->result;
    printf("simulated: %s on %d processors, policy %s%s, tier: events\n", q->trace, r->procs, q->policy,
           q->exact ? ", exact run times" : "");
    printf("  %-16s %12d", "jobs", r->count);
    if (a->jobs.left_out)
        printf("    (%d left out: run time or processors unknown)", a->jobs.left_out);
    putchar('\n');
    print_time("mean wait", r->mean_wait_s);
    print_time("median wait", r->median_wait_s);
    print_time("longest wait", r->longest_wait_s);
    printf("  %-16s %12.2f\n", "bounded slowdown", r->bounded_slowdown);
    printf("  %-16s %12.2f %%\n", "utilisation", 100 * r->utilisation);
    print_time("makespan", r->makespan_s);
    if (a->config.backfill)
        printf("  %-16s %12d\n", "backfilled", r->backfilled);
    if (a->config.enforce_limits)
        printf("  %-16s %12d    (at their limit)\n", "killed", r->killed);
    if (a->asked >= 0) {
        char *why = sched_explain_job(&a->config, a->jobs.jobs, r, a->asked, e);
        if (!why)
            return false;
        fputs(why, stdout);
        free(why);
        if (a->tasks > 1)
            printf("  the last of its %d tasks ended at %.0f s\n", a->tasks, last_end(a));
    }
    if (q->explain) {
        char *why = sched_explain(&a->config, a->jobs.jobs, r, e);
        if (!why)
            return false;
        fputs(why, stdout);
        free(why);
    }
    return true;
}

static bool print_view(const struct question *q, const struct answer *a, struct error *e)
{
    struct queue_state state;
    enum queue_view view;
    double at;
    if (!queue_view_named(q->view, &view))
        return error_set(e, ERROR_INPUT, "--view: expected squeue, sinfo, pbs or sge, got '%s'", q->view);
    if (!units_seconds(q->at, &at))
        return error_set(e, ERROR_INPUT,
                         "--at: expected a time on the trace's clock such as 86400 or 24h, got '%s'", q->at);
    if (!queue_state_at(&a->config, a->jobs.jobs, &a->result, at, q->procs_per_node, &state, e))
        return false;
    state.epoch_s = swf_header_number(&a->trace, "UnixStartTime", 0);
    char *text = queue_view_text(&state, view, e);
    queue_state_free(&state);
    if (!text)
        return false;
    if (q->json) {
        json_t *event = event_new("note", at);
        event_set_text(event, "origin", "sim");
        event_set_text(event, "tier", "events");
        event_set_text(event, "level", "info");
        event_set_text(event, "view", q->view);
        event_set_text(event, "text", text);
        free(text);
        return event_write(STDOUT_FILENO, event, e);
    }
    printf("simulated: %s at %.10g s, policy %s on %d processors, tier: events\n%s", q->trace, at, q->policy,
           a->result.procs, text);
    free(text);
    return true;
}

int cli_sim_trace(int argc, char **argv)
{
    struct question q = {.policy = "easy", .procs_per_node = 1};
    struct answer a = {0};
    struct error e = {0};
    int code;
    const struct option options[] = {
        {"trace", "FILE.swf", OPTION_TEXT, q.trace, sizeof q.trace, 0, 0,
         "Standard Workload Format, or .gz of it; or made-up:JOBS[:LOAD[:SEED]]", NULL, NULL},
        {"procs", "N", OPTION_INT, &q.procs, 0, 1, SCHED_MAX_PROCS, "processors (as the trace's MaxProcs)",
         &q.procs_given, NULL},
        {"policy", "P", OPTION_TEXT, q.policy, sizeof q.policy, 0, 0,
         "fifo, easy (default), priority or fairshare", NULL, NULL},
        {"exact-runtimes", NULL, OPTION_FLAG, &q.exact, 0, 0, 0, "jobs ask for the time that they run", NULL,
         NULL},
        {"enforce-limits", NULL, OPTION_FLAG, &q.enforce, 0, 0, 0,
         "kill jobs that reach the time they asked for (else they run as recorded)", NULL, NULL},
        {"backfill", "B", OPTION_TEXT, q.backfill, sizeof q.backfill, 0, 0,
         "none or easy (as the policy has it)", NULL, NULL},
        {"weights", "W", OPTION_TEXT, q.weights, sizeof q.weights, 0, 0,
         "of the priority: age=1000,size=1000,fairshare=10000,tier=1000", NULL, NULL},
        {"half-life", "T", OPTION_TEXT, q.half_life, sizeof q.half_life, 0, 0,
         "of what users have used (168h)", NULL, NULL},
        {"partitions", "LIST", OPTION_TEXT, q.partitions, sizeof q.partitions, 0, 0,
         "NAME=PROCS[:LIMIT],...: field 16 (or 15) of a job says which", NULL, NULL},
        {"submit", "SPEC", OPTION_TEXT, q.submit, sizeof q.submit, 0, 0,
         "a job of yours among them: PROCS:LIMIT[:RUN][*TASKS[%MOST]]@TIME", NULL, NULL},
        {"job", "ID", OPTION_LONG, &q.job, 0, 0, 9007199254740992.0, "what became of a job, and why",
         &q.job_given, NULL},
        {"at", "TIME", OPTION_TEXT, q.at, sizeof q.at, 0, 0, "on the trace's clock: show the queue then",
         &q.at_given, NULL},
        {"view", "V", OPTION_TEXT, q.view, sizeof q.view, 0, 0,
         "as squeue, sinfo, pbs (qstat -a) or sge (qstat) would (squeue)", &q.view_given, NULL},
        {"procs-per-node", "N", OPTION_INT, &q.procs_per_node, 0, 1, 1048576, "for the views (1)",
         &q.procs_per_node_given, NULL},
        {"out", "FILE.swf", OPTION_TEXT, q.out, sizeof q.out, 0, 0, "write the schedule as a trace", NULL,
         NULL},
        {"explain", NULL, OPTION_FLAG, &q.explain, 0, 0, 0,
         "the formulas with their numbers, and the bottleneck", NULL, NULL},
        {"json", NULL, OPTION_FLAG, &q.json, 0, 0, 0, "print one done event", NULL, NULL},
        {NULL, NULL, OPTION_FLAG, NULL, 0, 0, 0, NULL, NULL, NULL},
    };
    const struct option_command command = {
        .usage = "ringside sim --trace FILE.swf [--procs N] [--policy P] [options]",
        .summary = "Simulates a batch scheduler on a trace of jobs: what waits how long, and why. The "
                   "scheduler knows "
                   "the time\n"
                   "that jobs ask for; they run for the time that the trace says.",
        .more = "\npolicies\n"
                "  fifo       first come, first served; nobody overtakes\n"
                "  easy       the same, and others start early where they do not delay the first (EASY "
                "backfilling)\n"
                "  priority   age and size decide (Slurm's multifactor formula), with backfilling\n"
                "  fairshare  who used less than the fair share goes first, with backfilling\n"
                "At one instant: completions, then submissions, then starts. Not modelled: which nodes are "
                "beside each "
                "other,\n"
                "failures, and what jobs do to each other.\n",
        .options = options,
    };
    if (!cli_options_only(&command, argc, argv, &code))
        return code;
    bool ok = work_out(&q, &a, &e);
    if (ok && (q.at_given || q.view_given) && !*q.at)
        ok = error_set(&e, ERROR_INPUT, "--view: give the moment with --at TIME");
    if (ok && !*q.view)
        memcpy(q.view, "squeue", sizeof "squeue");
    if (ok && *q.out)
        ok = write_out(&q, &a, &e);
    if (ok)
        ok = q.at_given ? print_view(&q, &a, &e) : q.json ? print_event(&q, &a, &e) : print_text(&q, &a, &e);
    swf_free(&a.trace);
    workload_free(&a.jobs);
    sched_result_free(&a.result);
    return ok ? 0 : cli_fail(&e);
}
