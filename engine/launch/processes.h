/*
 * processes.h - the processes of a supervisor's session: finding, stopping and reading them.
 *
 * Ranks put themselves into process groups of their own but stay in the supervisor's session, so the session
 * is what tells which processes belong to a run. Runs that a script starts have supervisors in sessions of
 * their own.
 */
#ifndef RINGSIDE_LAUNCH_PROCESSES_H
#define RINGSIDE_LAUNCH_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

enum { PROCESSES_MAX = 8192 };

struct process {
    pid_t pid;
    char state; /* as in /proc/PID/stat: R, S, T, Z ... */
};

/* The processes of the caller's session beside itself; zombies are left out. Returns how many, at most max.
 */
int session_list(struct process *list, int max);
/* Sends a signal to each of them; returns how many there were. */
int session_kill(int signal);
/* The present state of one process, 0 where it is gone. */
char process_state(pid_t pid);
/* The MPI rank of a process from its environment, -1 where it has none. */
int process_rank(pid_t pid);

#endif
