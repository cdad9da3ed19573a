#include "engine/launch/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads state and session from /proc/PID/stat: "pid (name) state ppid pgrp session ..."; the name may hold
 * anything. */
static bool read_stat(pid_t pid, char *state, pid_t *session)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = 0;
    const char *end = strrchr(text, ')');
    int ppid, pgrp, sid;
    if (!end || sscanf(end + 1, " %c %d %d %d", state, &ppid, &pgrp, &sid) != 4)
        return false;
    *session = (pid_t)sid;
    return true;
}

int session_list(struct process *list, int max)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    pid_t mine = getsid(0), self = getpid();
    int n = 0;
    for (struct dirent *entry; n < max && (entry = readdir(proc));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), session;
        char state;
        if (pid <= 0 || pid == self || !read_stat(pid, &state, &session) || session != mine)
            continue;
        if (state != 'Z' && state != 'X')
            list[n++] = (struct process){pid, state};
    }
    closedir(proc);
    return n;
}

int session_kill(int signal)
{
    struct process *list = malloc(PROCESSES_MAX * sizeof *list);
    if (!list)
        return 0;
    int n = session_list(list, PROCESSES_MAX);
    for (int i = 0; i < n; i++)
        kill(list[i].pid, signal);
    free(list);
    return n;
}

char process_state(pid_t pid)
{
    char state;
    pid_t session;
    return read_stat(pid, &state, &session) ? state : 0;
}

int process_rank(pid_t pid)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK="};
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    int rank = -1;
    char *entry = NULL;
    size_t room = 0;
    while (rank < 0 && getdelim(&entry, &room, 0, f) > 0)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (!strncmp(entry, names[i], strlen(names[i])))
                rank = atoi(entry + strlen(names[i]));
    free(entry);
    fclose(f);
    return rank;
}
