/*
 * platform_lua.h - clusters by name or file: exercises/clusters/NAME.lua, or a file of the learner's own, which ends with
 * return cluster{...}.
 */
#ifndef RINGSIDE_SIM_PLATFORM_LUA_H
#define RINGSIDE_SIM_PLATFORM_LUA_H

#include "cluster-sim/platform.h"

/* A new reference; NULL: e names the file and line. */
json_t *platform_description(const char *name, struct error *e);
bool platform_named(const char *name, struct platform *p, struct error *e);
/* Sorted, NULL after the last; free with platform_names_free. */
char **platform_names(struct error *e);
void platform_names_free(char **names);

#endif
