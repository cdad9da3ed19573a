/*
 * exercise_files.h - the files of an exercise: its folder of the course, and the learner's own file.
 *
 * exercises/NAME/ holds start.lua, check.lua, task.md and hints.md (a hint per "## " heading, in steps); the
 * learner's file is $RINGSIDE_HOME/work/NAME.lua, a copy of the starter.
 */
#ifndef RINGSIDE_TUI_EXERCISE_FILES_H
#define RINGSIDE_TUI_EXERCISE_FILES_H

#include "engine/base/error.h"

#include <limits.h>

enum { EXERCISE_MAX_HINTS = 16 };

struct exercise_files {
    char name[64];
    char folder[PATH_MAX]; /* of the course */
    char file[PATH_MAX];   /* the learner's */
};

/* Finds the exercise, and makes the learner's file from the starter where there is none yet. */
bool exercise_files_open(struct exercise_files *x, const char *name, struct error *e);
/* Puts the starter in place again; what was there is kept as `backup`. */
bool exercise_files_reset(const struct exercise_files *x, char backup[PATH_MAX], struct error *e);
/* The hints, each a text of its own in Markdown (its heading included); returns how many. free() each. */
int exercise_files_hints(const struct exercise_files *x, char *hints[EXERCISE_MAX_HINTS]);

#endif
