#include "engine/launch/local.h"

#include "engine/base/event.h"
#include "engine/base/paths.h"
#include "engine/launch/probe.h"
#include "engine/launch/runlog.h"
#include "engine/launch/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Open MPI 4.1 keeps 4 MiB a rank and its message queues in /dev/shm (btl vader), and shared windows beside
 * it. With less than this many bytes a rank it is told to keep them in the temporary folder instead.
 */
enum { SHM_BYTES_PER_RANK = 16 << 20, LOW_PRIORITY = 10 };
#define PROBE_LIMIT_S 30.0

/* How many processes mpirun starts: a rank script runs at several counts within one start of the largest. */
static int ranks_of(const struct job *job)
{
    return job->kind == JOB_RANKS ? job->rank_script.counts[job->rank_script.count_total - 1] : job->ranks;
}

static bool is_capped(const struct job *job)
{
    return job->kind == JOB_TRAIN || job->kind == JOB_ALLREDUCE || job->kind == JOB_BENCH;
}

bool local_check(const struct job *job, struct error *e)
{
    char path[PATH_MAX];
    if (!machine_find("mpirun", path))
        return error_set(e, ERROR_MISSING, "mpirun, which starts the ranks, is not in PATH: %s",
                         machine_mpi_cure);
    if (!path_program("ringside-rank", path, e))
        return false;
    struct site site;
    if (!is_capped(job))
        return true;
    if (!site_read(&site, e))
        return false;
    if (job->ranks > site.local_ranks)
        return error_set(
            e, ERROR_INPUT,
            "ranks: %d is more than the %d that all jobs on this node may have together; raise it with "
            "local_ranks = %d in $RINGSIDE_HOME/site.lua or /etc/ringside/site.lua, or "
            "RINGSIDE_LOCAL_RANKS=%d",
            job->ranks, site.local_ranks, job->ranks, job->ranks);
    return true;
}

static void plan_number(struct plan *p, int number)
{
    char text[32];
    snprintf(text, sizeof text, "%d", number);
    plan_arg(p, text);
}

static void plan_mca(struct plan *p, const char *name, const char *value)
{
    plan_arg(p, "--mca");
    plan_arg(p, name);
    plan_arg(p, value);
}

static void plan_shared_memory(struct plan *p, int ranks)
{
    long long available = machine_shm_free();
    if (available >= (long long)ranks * SHM_BYTES_PER_RANK)
        return;
    const char *place = getenv("TMPDIR");
    if (!place || access(place, W_OK) != 0)
        place = "/tmp";
    plan_mca(p, "btl_vader_backing_directory", place);
    plan_mca(p, "osc_sm_backing_directory", place);
    char text[256];
    snprintf(text, sizeof text,
             "/dev/shm has %lld MiB free, too little for %d ranks: they exchange data through files in %s, "
             "which may be "
             "slower",
             available > 0 ? available >> 20 : 0, ranks, place);
    plan_note(p, "warn", text);
}

/* Bounds on threads: a rank's own setting, or its share of the cores. In a bench only rank 0 has any. */
static void plan_threads(struct plan *p, const struct job *job, int ranks, int cores)
{
    int threads = job->kind == JOB_TRAIN ? job->train.threads : 1;
    if (job->kind == JOB_BENCH) {
        threads = job->bench.threads;
        ranks = 1;
    }
    if (threads == 0)
        threads = cores / ranks > 1 ? cores / ranks : 1;
    char text[32];
    snprintf(text, sizeof text, "%d", threads);
    plan_env(p, "OMP_NUM_THREADS", text);
    if (threads * ranks > cores)
        plan_env(p, "OMP_WAIT_POLICY", "passive");
    else if (threads > 1) /* spin for microseconds, not milliseconds: others may need the core */
        plan_env(p, "GOMP_SPINCOUNT", "1000");
}

bool local_plan(struct plan *p, const struct job *job, const char *dir, struct error *e)
{
    char mpirun[PATH_MAX], rank[PATH_MAX], text[256];
    if (!local_check(job, e) || !path_program("ringside-rank", rank, e))
        return false;
    machine_find("mpirun", mpirun);
    int ranks = ranks_of(job), cores = machine_cores();
    p->ranks = ranks;
    p->slots = is_capped(job) ? ranks : 0;
    p->nice = LOW_PRIORITY;
    plan_arg(p, mpirun);
    plan_arg(p, "-n");
    plan_number(p, ranks);
    /* Bound ranks of several learners would all sit on the first cores: the kernel places them better. */
    plan_arg(p, "--bind-to");
    plan_arg(p, "none");
    plan_arg(p, "--oversubscribe");
    if (ranks > cores) {
        plan_mca(p, "mpi_yield_when_idle", "1");
        if (is_capped(job)) {
            snprintf(text, sizeof text,
                     "%d ranks share %d cores: it works, but the figures say nothing about scaling", ranks,
                     cores);
            plan_note(p, "warn", text);
        }
    }
    plan_shared_memory(p, ranks);
    plan_arg(p, "-x");
    plan_arg(p, "RINGSIDE_STARTED");
    plan_arg(p, rank);
    plan_arg(p, dir);
    plan_threads(p, job, ranks, cores);
    if (geteuid() == 0) {
        plan_env(p, "OMPI_ALLOW_RUN_AS_ROOT", "1");
        plan_env(p, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        if (!getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"))
            plan_note(p, "info",
                      "the ranks run as root: Open MPI was told to allow it (OMPI_ALLOW_RUN_AS_ROOT)");
    }
    return true;
}

/* The lines of a text that say something, at most the last three, as one. */
static void last_words(char *text, char *words, size_t size)
{
    struct runlog log = {.fd = -1, .cut = true};
    for (char *rest = NULL, *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        runlog_line(&log, line, strlen(line));
    runlog_tail(&log, words, size);
}

json_t *local_probe(struct error *e)
{
    char mpirun[PATH_MAX], rank[PATH_MAX], out[4096], err[4096], words[600];
    if (!machine_find("mpirun", mpirun)) {
        error_set(e, ERROR_MISSING, "mpirun is not in PATH");
        return NULL;
    }
    if (!path_program("ringside-rank", rank, e))
        return NULL;
    struct plan p;
    plan_init(&p);
    plan_arg(&p, mpirun);
    if (geteuid() == 0)
        plan_arg(&p, "--allow-run-as-root");
    plan_arg(&p, "-n");
    plan_number(&p, 2);
    plan_arg(&p, "--bind-to");
    plan_arg(&p, "none");
    plan_arg(&p, "--oversubscribe");
    plan_shared_memory(&p, 2);
    plan_arg(&p, rank);
    plan_arg(&p, "--probe");
    int code = probe_command(p.argv, PROBE_LIMIT_S, out, sizeof out, err, sizeof err, e);
    plan_clear(&p);
    if (code < 0)
        return NULL;
    json_t *answer = NULL;
    for (char *rest = NULL, *line = strtok_r(out, "\n", &rest); line && !answer;
         line = strtok_r(NULL, "\n", &rest))
        answer = event_parse(line, strlen(line));
    if (code == 0 && answer && json_array_size(json_object_get(answer, "ranks")) == 2)
        return answer;
    json_decref(answer);
    last_words(err, words, sizeof words);
    error_set(e, ERROR_MISSING, "mpirun -n 2 ringside-rank --probe ended with exit code %d%s%s", code,
              *words ? " and said: " : "", words);
    return NULL;
}
