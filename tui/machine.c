/*
 * machine.c - looks at the machine.
 */
#include "tui/machine.h"

#include "engine/base/paths.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool on_path(const char *program)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];
    while (path && *path) {
        int length = (int)strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", length, path, program);
        if (!access(file, X_OK))
            return true;
        path += length;
        path += *path == ':';
    }
    return false;
}

static bool given(struct machine *machine)
{
    const char *text = getenv("RINGSIDE_MACHINE");
    double gib;
    if (!text || sscanf(text, "%63s %d %lf", machine->host, &machine->cores, &gib) != 3)
        return false;
    machine->memory_bytes = gib * 1073741824.0;
    machine->mpirun = strstr(text, " mpirun") != NULL;
    machine->gpu = strstr(text, " gpu") != NULL;
    machine->scheduler = strstr(text, " scheduler") != NULL;
    return true;
}

void machine_look(struct machine *machine)
{
    char rank[PATH_MAX];
    cpu_set_t set;
    *machine = (struct machine){0};
    if (given(machine))
        return;
    if (gethostname(machine->host, sizeof machine->host - 1) != 0)
        snprintf(machine->host, sizeof machine->host, "this host");
    /* What this process may use: a batch system or a container can allow less than there is. */
    machine->cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    machine->memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    machine->mpirun = on_path("mpirun") && path_program("ringside-rank", rank, NULL) && !access(rank, X_OK);
    machine->scheduler = on_path("srun") || on_path("sbatch") || on_path("qsub");
    machine->gpu = !access("/dev/nvidia0", F_OK);
}
