/*
 * machine.c - looks at the machine.
 */
#include "tui/machine.h"

#include "engine/base/paths.h"
#include "engine/launch/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool given(struct machine *machine)
{
    const char *text = getenv("RINGSIDE_MACHINE");
    double gib;
    if (!text || sscanf(text, "%63s %d %lf", machine->host, &machine->cores, &gib) != 3)
        return false;
    machine->memory_bytes = gib * 1073741824.0;
    machine->mpirun = strstr(text, " mpirun") != NULL;
    machine->gpu = strstr(text, " gpu") != NULL;
    machine->scheduler = strstr(text, " scheduler") ? "sbatch" : NULL;
    return true;
}

void machine_look(struct machine *machine)
{
    char path[PATH_MAX];
    *machine = (struct machine){0};
    if (given(machine))
        return;
    if (gethostname(machine->host, sizeof machine->host - 1) != 0)
        snprintf(machine->host, sizeof machine->host, "this host");
    /* What this process may use: a batch system or a container can allow less than there is. */
    machine->cores = machine_cores();
    machine->memory_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    machine->mpirun =
        machine_find("mpirun", path) && path_program("ringside-rank", path, NULL) && !access(path, X_OK);
    static const char *const commands[] = {"sbatch", "srun", "qsub"};
    for (size_t i = 0; !machine->scheduler && i < sizeof commands / sizeof *commands; i++)
        machine->scheduler = machine_find(commands[i], path) ? commands[i] : NULL;
    machine->gpu = !access("/dev/nvidia0", F_OK);
}
