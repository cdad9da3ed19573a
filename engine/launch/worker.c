#include "engine/launch/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child: never returns. */
static void become(const struct plan *plan, double started, int out, int err, int failed, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before the line above */
        _exit(127);
    if (plan->nice)
        setpriority(PRIO_PROCESS, 0, plan->nice); /* refused where it is lower already: as well */
    int null = open("/dev/null", O_RDONLY);
    dup2(null, 0);
    dup2(out, 1);
    dup2(err, 2);
    if (null > 2)
        close(null);
    char number[64];
    snprintf(number, sizeof number, "%.6f", started);
    setenv("RINGSIDE_STARTED", number, 1);
    for (int i = 0; i < plan->env_count; i++)
        putenv(plan->env[i]);
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int i = 1; i < SIGRTMIN; i++)
        sigaction(i, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execv(plan->argv[0], plan->argv);
    int saved = errno;
    if (write(failed, &saved, sizeof saved) < 0)
        _exit(126);
    _exit(127);
}

bool worker_start(struct worker *w, const struct plan *plan, double started, struct error *e)
{
    *w = (struct worker){.out = -1, .err = -1};
    int out[2] = {-1, -1}, err[2] = {-1, -1}, failed[2] = {-1, -1};
    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(failed, O_CLOEXEC) != 0) {
        error_errno(e, ERROR_FAILED, "no pipe to the worker");
        goto fail;
    }
    pid_t parent = getpid();
    w->pid = fork();
    if (w->pid < 0) {
        error_errno(e, ERROR_FAILED, "the worker cannot be started");
        goto fail;
    }
    if (w->pid == 0)
        become(plan, started, out[1], err[1], failed[1], parent);
    close(out[1]), close(err[1]), close(failed[1]);
    int reason;
    ssize_t n;
    do
        n = read(failed[0], &reason, sizeof reason);
    while (n < 0 && errno == EINTR);
    close(failed[0]);
    w->out = out[0], w->err = err[0];
    fcntl(w->out, F_SETFL, O_NONBLOCK);
    fcntl(w->err, F_SETFL, O_NONBLOCK);
    if (n == (ssize_t)sizeof reason) {
        errno = reason;
        error_errno(e, ERROR_MISSING, "%s cannot be started", plan->argv[0]);
        waitpid(w->pid, NULL, 0);
        worker_close(w);
        w->pid = 0;
        return false;
    }
    return true;
fail:
    for (int i = 0; i < 2; i++) {
        if (out[i] >= 0)
            close(out[i]);
        if (err[i] >= 0)
            close(err[i]);
        if (failed[i] >= 0)
            close(failed[i]);
    }
    w->pid = 0;
    return false;
}

void worker_reap(struct worker *w)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) != 0;) {
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            break;
        if (pid == w->pid)
            w->ended = true, w->status = status;
    }
}

void worker_close(struct worker *w)
{
    if (w->out >= 0)
        close(w->out);
    if (w->err >= 0)
        close(w->err);
    w->out = w->err = -1;
}
