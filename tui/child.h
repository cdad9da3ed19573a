/*
 * child.h - a program that a view has started and reads line by line, without ever waiting for it.
 *
 * It has a session of its own and writes to a pipe; what it says on standard error is dropped. Whoever started it
 * stops it: the program and all it has started are then killed.
 */
#ifndef RINGSIDE_TUI_CHILD_H
#define RINGSIDE_TUI_CHILD_H

#include "engine/base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct child {
    pid_t pid; /* 0: none runs */
    int pipe;  /* -1: closed */
    char *text;
    size_t used, given; /* bytes read; those that child_line has handed out */
    int code;           /* its exit code once it has ended (128 + the signal); -1 before */
};

/* argv[0] is a path. Its standard input is ours, so that it can ask about the terminal; it must not read it. */
bool child_start(struct child *child, char *const argv[], struct error *e);
/* The next whole line (at the end a last one without a newline too); NULL: none is there now. Valid until the next call. */
const char *child_line(struct child *child);
/* Whether it has ended and all its lines were handed out. */
bool child_ended(struct child *child);
void child_stop(struct child *child);

#endif
