#include "engine/base/lua_jail.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

void lua_jail_enter(int fd)
{
    static const struct {
        __rlimit_resource_t resource;
        rlim_t limit;
    } limits[] = {{RLIMIT_CORE, 0}, {RLIMIT_FSIZE, 0}, {RLIMIT_NPROC, 0}, {RLIMIT_NOFILE, 0}};
    DIR *list = opendir("/proc/self/fd");
    if (list) {
        int own = dirfd(list);
        for (struct dirent *entry; (entry = readdir(list));) {
            int other = atoi(entry->d_name);
            if (other != fd && other != own && other != STDERR_FILENO && entry->d_name[0] != '.')
                close(other);
        }
        closedir(list);
    }
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        setrlimit(limits[i].resource, &(struct rlimit){limits[i].limit, limits[i].limit});
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    signal(SIGTERM, SIG_IGN); /* the parent ends it, after it has stopped what it asked for */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
}
