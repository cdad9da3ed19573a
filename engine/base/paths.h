/*
 * paths.h - where the program's own files lie.
 *
 * The build tree (build/ringside beside lessons/ and exercises/) and an installed tree (bin/ringside with
 * share/ringside/{lessons,exercises}) are found from /proc/self/exe, so an installed tree can be moved.
 * RINGSIDE_DATA overrides.
 */
#ifndef RINGSIDE_BASE_PATHS_H
#define RINGSIDE_BASE_PATHS_H

#include "engine/base/error.h"

#include <limits.h>

/* The folder that holds lessons/ and exercises/. */
bool path_data(char path[PATH_MAX], struct error *e);
/* The folder that holds LANGUAGE/LC_MESSAGES/ringside.mo: build/locale, or share/locale of an installed tree. */
bool path_locale(char path[PATH_MAX], struct error *e);
/* A program of ours ("ringside", "ringside-rank") beside the running one. */
bool path_program(const char *name, char path[PATH_MAX], struct error *e);
/* a/b, or an error where it does not fit. */
bool path_join(char out[PATH_MAX], const char *a, const char *b, struct error *e);
/* Like mkdir -p. */
bool path_make(const char *path, struct error *e);

#endif
