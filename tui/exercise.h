/*
 * exercise.h - which exercises there are, and which one a learner means.
 *
 * An exercise is a folder of exercises/ with a check.lua. Its name may be shortened to a number ("4", "04") or to
 * a part that only one has ("ring"). What is inside such a folder is exercise_files.h's matter.
 */
#ifndef RINGSIDE_TUI_EXERCISE_H
#define RINGSIDE_TUI_EXERCISE_H

#include "tui/exercise_files.h"

#include <stdbool.h>
#include <stddef.h>

/* All names, sorted; the caller frees each and the array. */
bool exercise_list(char ***names, int *count, struct error *e);

/* The title of the exercise's lesson, or of its task.md, or its name. */
void exercise_title(const char *name, char *title, size_t size);

/* $RINGSIDE_HOME/work/NAME.lua; nothing is made. */
bool exercise_learner_file(const char *name, char path[PATH_MAX], struct error *e);

/*
 * Finds the exercise; nothing is made yet. file: the learner's file where it is not the usual one, else "".
 * ERROR_INPUT names the exercises there are.
 */
bool exercise_find(struct exercise_files *x, const char *name, const char *file, struct error *e);

/* Makes the learner's file from the starter, with its folder; *made false: it was there and is untouched. */
bool exercise_make_file(const struct exercise_files *x, bool *made, struct error *e);

#endif
