/*
 * error.h - one sentence that says what went wrong and what to do.
 *
 * A function that can fail returns bool (or a pointer) and takes a last argument `struct error *`,
 * which may be NULL. It fills in one sentence that somebody who has never seen MPI understands;
 * callers on the way up may put context in front of it. Nothing below main() prints or exits:
 * main() prints the text once and exits with the kind, which is the exit code.
 */
#ifndef RINGSIDE_BASE_ERROR_H
#define RINGSIDE_BASE_ERROR_H

#include <stdbool.h>

enum error_kind {
    ERROR_NONE = 0,
    ERROR_FAILED = 1,  /* it ran and the answer is no */
    ERROR_INPUT = 2,   /* usage or bad input: the text names file, line and what was expected */
    ERROR_MISSING = 3, /* this machine lacks something: the text says what to install or load */
};

struct error {
    enum error_kind kind;
    char text[1024];
};

/* Fills *e (where it is not NULL) and returns false, so that `return error_set(e, ...)` fails a bool function. */
bool error_set(struct error *e, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, and adds ": " and the system's words for the present errno. */
bool error_errno(struct error *e, enum error_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts context in front of the text that is there ("context: text"); keeps the kind; returns false. */
bool error_wrap(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
