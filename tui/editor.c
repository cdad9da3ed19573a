/*
 * editor.c - finds an editor and waits for it.
 */
#include "tui/editor.h"

#include "engine/launch/plan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *editor_command(void)
{
    char path[PATH_MAX];
    static const char *const known[] = {"nano", "vim", "vi", "emacs"};
    const char *command = getenv("VISUAL");
    if (!command || !*command)
        command = getenv("EDITOR");
    if (command && *command)
        return command;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (machine_find(known[i], path))
            return known[i];
    return NULL;
}

bool editor_run(const char *file, struct error *e)
{
    const char *command = editor_command();
    if (!command)
        return error_set(e, ERROR_MISSING, "no editor was found: set EDITOR, for example export EDITOR=nano");
    char line[4096];
    /* The shell splits the arguments an EDITOR may hold; the file is passed as "$1" and never parsed. */
    snprintf(line, sizeof line, "%s \"$1\"", command);
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return error_errno(e, ERROR_FAILED, "the editor could not be started");
    if (child == 0) {
        static const int reset[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH, SIGPIPE, SIGCONT, SIGQUIT};
        for (size_t i = 0; i < sizeof reset / sizeof *reset; i++)
            signal(reset[i], SIG_DFL);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execl("/bin/sh", "sh", "-c", line, "editor", file, (char *)NULL);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return error_errno(e, ERROR_FAILED, "the editor was lost");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return error_set(e, ERROR_MISSING,
                         "the editor '%s' could not be started: set EDITOR to one that is here", command);
    return true;
}
