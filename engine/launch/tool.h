/*
 * tool.h - work that only `ringside-rank` can do (it knows the data's formats), done for a command of
 * `ringside`.
 *
 * It runs as a child on this terminal, without MPI, and prints results and mistakes itself.
 */
#ifndef RINGSIDE_LAUNCH_TOOL_H
#define RINGSIDE_LAUNCH_TOOL_H

#include "engine/base/error.h"

/*
 * Runs `ringside-rank ARGS` (args ends with NULL) and waits for it: its exit code. -1 with *e where it cannot be started:
 * ERROR_MISSING where it, or a library of its, is not there.
 */
int tool_run(const char *const args[], struct error *e);

#endif
