/*
 * follow.h - follows a run on the command line until it ends: as event lines, or as text with a report.
 *
 * Text goes to standard output: on a terminal with one line of progress that is rewritten, elsewhere a line for each
 * evaluation, note and fault. Trouble is told on standard error.
 */
#ifndef RINGSIDE_TUI_FOLLOW_H
#define RINGSIDE_TUI_FOLLOW_H

#include "tui/run_model.h"

#include <stdio.h>

struct follow {
    bool json;   /* the lines of events.jsonl as they are, and nothing else */
    bool watch;  /* attached from outside: leaves a note that it did, and Ctrl-C ends the watching only */
    bool silent; /* no lines while it runs, only the report */
};

/*
 * Returns the exit code: 0 where the run ended well (or the watching was ended by hand), else 1. Where it is not
 * watched from outside, the first Ctrl-C stops the run and a second one leaves it to itself.
 */
int follow_run(const char *dir, const struct follow *how);

/* The report at the end of a run. */
void follow_report(FILE *to, const struct run_model *m, bool utf8);

/* Of a simulated run: its figures, labelled; and why, a line for each part of a step. */
void follow_simulated(FILE *to, const struct run_model *m);
void follow_why(FILE *to, const struct run_model *m);

/* Of standard output's terminal; 80 where it is none. */
int follow_columns(void);

/* "1 234 567" */
void text_grouped(char *text, size_t size, double value);

#endif
