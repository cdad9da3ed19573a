/*
 * plan.c - the list of arguments, variables and notes, and what holds for every kind of worker.
 */
#include "engine/launch/plan.h"

#include "engine/base/paths.h"
#include "engine/launch/local.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

const char machine_mpi_cure[] =
    "install Open MPI (Debian: apt install openmpi-bin; Fedora, RHEL: dnf install openmpi, "
    "then module load mpi/openmpi-x86_64) or load it (module load openmpi; spack load "
    "openmpi)";

void plan_init(struct plan *p)
{
    *p = (struct plan){.silent_s = 7, .stop_s = 10, .kill_s = 5};
}

static char *copy_text(const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        abort(); /* a few bytes at the very start: there is nothing sensible to go on with */
    return copy;
}

void plan_arg(struct plan *p, const char *text)
{
    if (p->argc < PLAN_ARGS - 1)
        p->argv[p->argc++] = copy_text(text);
}

void plan_env(struct plan *p, const char *name, const char *value)
{
    char text[PATH_MAX + 64];
    snprintf(text, sizeof text, "%s=%s", name, value);
    if (p->env_count < PLAN_ARGS - 1)
        p->env[p->env_count++] = copy_text(text);
}

void plan_note(struct plan *p, const char *level, const char *text)
{
    char note[1100];
    snprintf(note, sizeof note, "%s %s", level, text);
    if (p->note_count < PLAN_NOTES)
        p->notes[p->note_count++] = copy_text(note);
}

void plan_clear(struct plan *p)
{
    for (int i = 0; i < p->argc; i++)
        free(p->argv[i]);
    for (int i = 0; i < p->env_count; i++)
        free(p->env[i]);
    for (int i = 0; i < p->note_count; i++)
        free(p->notes[i]);
    p->argc = p->env_count = p->note_count = 0;
}

int machine_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

bool machine_find(const char *name, char path[PATH_MAX])
{
    const char *list = getenv("PATH");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        char folder[PATH_MAX];
        struct stat st;
        if (n > 0 && n < sizeof folder) {
            memcpy(folder, list, n);
            folder[n] = 0;
            if (path_join(path, folder, name, NULL) && access(path, X_OK) == 0 && stat(path, &st) == 0 &&
                S_ISREG(st.st_mode))
                return true;
        }
        list += n + (list[n] == ':');
    }
    return false;
}

long long machine_shm_free(void)
{
    struct statvfs fs;
    if (statvfs("/dev/shm", &fs) != 0 || access("/dev/shm", W_OK) != 0)
        return -1;
    return (long long)fs.f_bavail * (long long)fs.f_frsize;
}

bool plan_check_machine(const struct job *job, struct error *e)
{
    bool mpi = job->kind == JOB_TRAIN || job->kind == JOB_ALLREDUCE || job->kind == JOB_BENCH ||
               (job->kind == JOB_RANKS && !job->rank_script.coroutines);
    char path[PATH_MAX];
    if (!path_program("ringside", path, e))
        return false;
    return !mpi || local_check(job, e);
}

bool plan_make(struct plan *p, const struct job *job, const char *dir, struct error *e)
{
    char program[PATH_MAX], replay[PATH_MAX];
    struct slow_link link;
    plan_init(p);
    if (job_slow_link(job, &link))
        slow_link_text(&link, p->slowed, sizeof p->slowed);
    if (!path_program("ringside", program, e) || !path_join(replay, dir, "replay.json", e))
        return false;
    const char *worker = NULL;
    if (access(replay, F_OK) == 0) {
        worker = "--replay";
        p->replay = true;
    } else if (job->kind == JOB_SCRIPT || job->kind == JOB_CHECK) {
        worker = "--lua-host";
        p->check = job->kind == JOB_CHECK;
    } else if (job->kind == JOB_RANKS && job->rank_script.coroutines) {
        worker = "--coroutine-ranks";
    } else if (job->kind == JOB_SIM) {
        worker = "--sim";
        p->simulated = true;
    }
    if (!worker)
        return local_plan(p, job, dir, e);
    plan_arg(p, program);
    plan_arg(p, worker);
    plan_arg(p, dir);
    return true;
}
