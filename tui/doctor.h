/*
 * doctor.h - what works on this machine, what does not, and how to mend it: one finding after another.
 */
#ifndef RINGSIDE_TUI_DOCTOR_H
#define RINGSIDE_TUI_DOCTOR_H

#include <stdbool.h>

enum finding_result { FINDING_FOUND, FINDING_WARNING, FINDING_MISSING };

struct finding {
    const char *what; /* "mpirun" */
    enum finding_result result;
    bool needed;     /* training does not work without it */
    char text[256];  /* what was found */
    char cause[768]; /* why it is missing or may cause trouble, "" where all is well */
    char cure[512];  /* what to do about it */
};

const char *finding_result_name(enum finding_result result); /* "found", "warning", "missing" */

/* Looks at everything in turn; each finding is handed to take() as soon as it is known. */
void doctor_examine(void (*take)(void *self, const struct finding *f), void *self);

#endif
