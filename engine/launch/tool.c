#include "engine/launch/tool.h"

#include "engine/base/paths.h"
#include "engine/launch/plan.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_ARGS = 16, CANNOT_START = 127 };

int tool_run(const char *const args[], struct error *e)
{
    char path[PATH_MAX];
    const char *argv[MAX_ARGS + 2] = {path};
    for (int i = 0; args[i] && i < MAX_ARGS; i++)
        argv[i + 1] = args[i];
    if (!path_program("ringside-rank", path, e))
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        execv(path, (char *const *)argv);
        _exit(CANNOT_START);
    }
    int status;
    if (pid < 0) {
        error_errno(e, ERROR_FAILED, "%s cannot be started", path);
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) {
            error_errno(e, ERROR_FAILED, "%s cannot be waited for", path);
            return -1;
        }
    if (WIFSIGNALED(status)) {
        error_set(e, ERROR_FAILED, "%s was ended by signal %d", path, WTERMSIG(status));
        return -1;
    }
    if (WEXITSTATUS(status) != CANNOT_START)
        return WEXITSTATUS(status);
    error_set(e, ERROR_MISSING, "%s does not start here, a library of its is missing: %s", path,
              machine_mpi_cure);
    return -1;
}
