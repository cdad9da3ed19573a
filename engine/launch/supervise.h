/*
 * supervise.h - looks after one run from its first event to its last.
 */
#ifndef RINGSIDE_LAUNCH_SUPERVISE_H
#define RINGSIDE_LAUNCH_SUPERVISE_H

#include "engine/launch/plan.h"

/*
 * Runs the plan's worker for the run in dir and returns when the run has ended; the caller is in a session of
 * its own. `ready` is a pipe's end, or -1: it gets "0\n" once the first status is written, or the error's
 * kind and its sentence. Returns 0 where the run ended well, else 1.
 */
int supervise(const char *dir, const struct plan *plan, int ready);

/* The hidden command `ringside --supervise DIR [FD]`: becomes a daemon's equal, then supervises. */
int supervise_main(int argc, char **argv);

#endif
