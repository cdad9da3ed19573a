#include "engine/launch/probe.h"

#include "engine/base/timing.h"
#include "engine/launch/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct sink {
    int fd;
    char *text;
    size_t size, used;
};

/* False at the end of file. */
static bool drain(struct sink *s)
{
    char part[4096];
    ssize_t n = read(s->fd, part, sizeof part);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    size_t room = s->size - 1 - s->used, kept = (size_t)n < room ? (size_t)n : room;
    memcpy(s->text + s->used, part, kept);
    s->used += kept;
    s->text[s->used] = 0;
    return true;
}

int probe_command(char *const argv[], double limit_s, char *out, size_t out_size, char *err, size_t err_size,
                  struct error *e)
{
    int pout[2], perr[2];
    out[0] = err[0] = 0;
    if (pipe2(pout, O_CLOEXEC) != 0) {
        error_errno(e, ERROR_FAILED, "no pipe to %s", argv[0]);
        return -1;
    }
    if (pipe2(perr, O_CLOEXEC) != 0) {
        error_errno(e, ERROR_FAILED, "no pipe to %s", argv[0]);
        close(pout[0]), close(pout[1]);
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would wait for it any more */
        setsid();
        int null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(pout[1], 1);
        dup2(perr[1], 2);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(pout[1]), close(perr[1]);
    struct sink sinks[] = {{pout[0], out, out_size, 0}, {perr[0], err, err_size, 0}};
    double end = timing_now() + limit_s;
    bool open[2] = {pid > 0, pid > 0}, late = false;
    while (open[0] || open[1]) {
        struct pollfd fds[] = {{open[0] ? pout[0] : -1, POLLIN, 0}, {open[1] ? perr[0] : -1, POLLIN, 0}};
        double left = end - timing_now();
        late = left <= 0;
        if (late)
            break;
        poll(fds, 2, (int)(1000 * left) + 1);
        for (int i = 0; i < 2; i++)
            if (open[i] && fds[i].revents)
                open[i] = drain(&sinks[i]);
    }
    close(pout[0]), close(perr[0]);
    if (pid < 0) {
        error_errno(e, ERROR_FAILED, "%s cannot be started", argv[0]);
        return -1;
    }
    int status = 0;
    if (late) { /* mpirun passes TERM on to its ranks; KILL would leave them behind */
        kill(-pid, SIGTERM);
        double grace = timing_now() + 3;
        while (waitpid(pid, &status, WNOHANG) == 0) {
            if (timing_now() > grace) {
                kill(-pid, SIGKILL);
                waitpid(pid, &status, 0);
                break;
            }
            poll(NULL, 0, 50);
        }
        error_set(e, ERROR_FAILED, "%s gave no answer within %.0f s", argv[0], limit_s);
        return -1;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
