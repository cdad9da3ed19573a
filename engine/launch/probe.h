/*
 * probe.h - runs a command for a moment to find out what works here.
 */
#ifndef RINGSIDE_LAUNCH_PROBE_H
#define RINGSIDE_LAUNCH_PROBE_H

#include "engine/base/error.h"

#include <stddef.h>

/*
 * Runs argv without input and keeps the first bytes of what it prints (standard output in out, the rest in err;
 * both end with a 0). It and all it started are killed after limit_s. Returns the exit code, 128 + the signal that
 * ended it, or -1 with *e where it could not start or took too long.
 */
int probe_command(char *const argv[], double limit_s, char *out, size_t out_size, char *err, size_t err_size,
                  struct error *e);

#endif
