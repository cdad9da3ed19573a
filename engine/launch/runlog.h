/*
 * runlog.h - a run's log: bounded, with its last lines at hand for the sentence that says why a run failed.
 */
#ifndef RINGSIDE_LAUNCH_RUNLOG_H
#define RINGSIDE_LAUNCH_RUNLOG_H

#include <stdbool.h>
#include <stddef.h>

enum { RUNLOG_LIMIT = 16 * 1024 * 1024, RUNLOG_LAST = 3, RUNLOG_WIDTH = 240 };

struct runlog {
    int fd;
    size_t size;
    bool cut;                             /* it has reached RUNLOG_LIMIT: nothing more is written */
    char last[RUNLOG_LAST][RUNLOG_WIDTH]; /* oldest first; rulers and empty lines are left out */
};

void runlog_line(struct runlog *l, const char *line, size_t length);
/* The last lines as one text, "" where there are none. */
void runlog_tail(const struct runlog *l, char *text, size_t size);

#endif
