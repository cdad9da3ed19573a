#include "engine/launch/mpirun_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void mpirun_log_init(struct mpirun_log *l)
{
    *l = (struct mpirun_log){.rank = -1, .exit_code = -1};
}

void mpirun_log_line(struct mpirun_log *l, const char *line)
{
    const char *at;
    long pid;
    int rank, number;
    char host[64];
    if ((at = strstr(line, "noticed that process rank ")) &&
        sscanf(at, "noticed that process rank %d with PID %ld on node %63s", &rank, &pid, host) == 3) {
        l->found = true, l->rank = rank;
        snprintf(l->host, sizeof l->host, "%s", host);
        at = strstr(line, "exited on signal ");
        if (at)
            l->signal = atoi(at + strlen("exited on signal "));
    } else if ((at = strstr(line, "Process name: [[")) && (at = strstr(at, "],")) &&
               sscanf(at, "],%d", &rank) == 1) {
        l->found = true, l->rank = rank;
    } else if ((at = strstr(line, "Exit code:")) && sscanf(at, "Exit code: %d", &number) == 1) {
        l->exit_code = number;
    } else if (l->found && l->signal == 0 && (at = strstr(line, "exited on signal "))) {
        l->signal = atoi(at + strlen("exited on signal ")); /* the sentence was broken over two lines */
    }
}
