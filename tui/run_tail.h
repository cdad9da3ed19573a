/*
 * run_tail.h - how far a run has come, from the end of its stream alone: cheap enough for a list of runs.
 */
#ifndef RINGSIDE_TUI_RUN_TAIL_H
#define RINGSIDE_TUI_RUN_TAIL_H

#include <stdbool.h>

struct run_tail {
    long step; /* -1: none seen */
    bool done, ok;
    double accuracy, loss, samples_per_s, wall_s; /* NaN: not known */
};

void run_tail_read(const char *dir, struct run_tail *tail);

#endif
