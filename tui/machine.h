/*
 * machine.h - what this machine can do for the course, by looks alone: nothing is started. `ringside doctor`
 * looks closer.
 */
#ifndef RINGSIDE_TUI_MACHINE_H
#define RINGSIDE_TUI_MACHINE_H

#include <stdbool.h>

struct machine {
    char host[64];
    int cores;
    double memory_bytes;
    bool mpirun; /* on the PATH, and ringside-rank lies beside us */
    const char *
        scheduler; /* the batch system's command on the PATH, "sbatch", or NULL: whether one answers is not asked */
    bool gpu; /* an NVIDIA device file */
};

/* RINGSIDE_MACHINE="HOST CORES GIB [mpirun] [gpu] [scheduler]" is believed instead of looking: for tests of screens. */
void machine_look(struct machine *machine);

#endif
