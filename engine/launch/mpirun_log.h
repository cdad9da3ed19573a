/*
 * mpirun_log.h - reads from mpirun's own words which rank ended first, and why.
 *
 * Open MPI prints either "mpirun noticed that process rank 1 with PID 123 on node HOST exited on signal 9
 * (Killed)." or a block with "Process name: [[id,1],RANK]" and "Exit code: 3". The lines of its log are fed
 * one after another.
 */
#ifndef RINGSIDE_LAUNCH_MPIRUN_LOG_H
#define RINGSIDE_LAUNCH_MPIRUN_LOG_H

#include <stdbool.h>

struct mpirun_log {
    bool found;
    int rank;      /* -1: unknown */
    int signal;    /* 0: it was no signal */
    int exit_code; /* -1: unknown */
    char host[64];
};

void mpirun_log_init(struct mpirun_log *l);
void mpirun_log_line(struct mpirun_log *l, const char *line);

#endif
