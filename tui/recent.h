/*
 * recent.h - the newest runs, as a list that stays fresh at little cost.
 *
 * A run that has ended is read once; one that goes on is looked at again by its status and the end of its stream.
 * Runs that a script started for itself are left out: their parent stands for them.
 */
#ifndef RINGSIDE_TUI_RECENT_H
#define RINGSIDE_TUI_RECENT_H

#include "engine/base/rundir.h"
#include "tui/run_tail.h"

enum { RECENT_MAX = 40 };

struct recent_run {
    char *dir;
    char kind[16], label[64];
    int ranks;
    const char *origin; /* "measured", "simulated", "replayed": where its figures come from */
    bool hidden;        /* bookkeeping: a check, or the ranks of a script */
    struct run_status status;
    struct run_tail tail;
};

struct recent {
    struct recent_run *runs; /* newest first */
    int count;
};

/* True: something has changed. */
bool recent_refresh(struct recent *recent);
void recent_free(struct recent *recent);
/* Runs that are pending or running now. */
int recent_running(const struct recent *recent);

/* "now", "5 min", "3 h", "2 days" since `then`. */
void age_text(char *text, size_t size, double now, double then);

#endif
