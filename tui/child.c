/*
 * child.c - fork, a pipe that does not block, and lines.
 */
#include "tui/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_SIZE = 4096, TEXT_MOST = 1 << 20 };

/* In the child: only what may be called between fork and exec. */
static void become(char *const argv[], int out)
{
    int null = open("/dev/null", O_WRONLY);
    setsid();
    signal(SIGPIPE, SIG_DFL);
    if (dup2(out, STDOUT_FILENO) >= 0 && null >= 0 && dup2(null, STDERR_FILENO) >= 0)
        execv(argv[0], argv);
    _exit(127);
}

bool child_start(struct child *child, char *const argv[], struct error *e)
{
    int ends[2];
    *child = (struct child){.pipe = -1, .code = -1};
    if (!(child->text = malloc(1)) || pipe2(ends, O_CLOEXEC) != 0) {
        child_stop(child);
        return error_errno(e, ERROR_FAILED, "%s cannot be started", argv[0]);
    }
    pid_t pid = fork();
    if (pid == 0)
        become(argv, ends[1]);
    close(ends[1]);
    child->pipe = ends[0];
    fcntl(child->pipe, F_SETFL, O_NONBLOCK);
    if (pid < 0) {
        error_errno(e, ERROR_FAILED, "%s cannot be started", argv[0]);
        child_stop(child);
        return false;
    }
    child->pid = pid;
    return true;
}

/* Takes in what is there now. */
static void fill(struct child *child)
{
    while (child->pipe >= 0 && child->used < TEXT_MOST) {
        char *larger = realloc(child->text, child->used + READ_SIZE + 1);
        if (!larger)
            return;
        child->text = larger;
        ssize_t n = read(child->pipe, child->text + child->used, READ_SIZE);
        if (n > 0) {
            child->used += (size_t)n;
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close(child->pipe);
            child->pipe = -1;
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

const char *child_line(struct child *child)
{
    if (!child->text)
        return NULL;
    memmove(child->text, child->text + child->given, child->used - child->given);
    child->used -= child->given;
    child->given = 0;
    fill(child);
    char *end = memchr(child->text, '\n', child->used);
    bool last = !end && child->used && (child->pipe < 0 || child->used >= TEXT_MOST);
    if (!end && !last)
        return NULL;
    if (last)
        end = child->text + child->used;
    *end = '\0';
    child->given = (size_t)(end - child->text) + !last;
    return child->text;
}

bool child_ended(struct child *child)
{
    int status;
    if (child->pid && child->pipe < 0 && waitpid(child->pid, &status, WNOHANG) == child->pid) {
        child->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        child->pid = 0;
    }
    return !child->pid && child->used == child->given;
}

void child_stop(struct child *child)
{
    if (child->pid) {
        kill(-child->pid, SIGKILL);
        kill(child->pid, SIGKILL); /* where it had not got to its session yet */
        waitpid(child->pid, NULL, 0);
    }
    if (child->pipe >= 0)
        close(child->pipe);
    free(child->text);
    *child = (struct child){.pipe = -1, .code = -1};
}
