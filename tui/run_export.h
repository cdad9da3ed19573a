/*
 * run_export.h - a run's figures for other programs: its events as rows of a CSV table, or its report as text.
 *
 * The table has a row for each event that tells figures (step, rank, eval, collective, point) and a column for each
 * figure, empty where the event does not tell it. It comes from the file itself, not from what the screen keeps, with
 * numbers as they were written. Fields are quoted as in RFC 4180; lines end with a newline. A long run takes a while:
 * the work is done in slices, and the file appears under its name when it is whole.
 */
#ifndef RINGSIDE_TUI_RUN_EXPORT_H
#define RINGSIDE_TUI_RUN_EXPORT_H

#include "engine/base/error.h"

#include <limits.h>
#include <stdio.h>

enum export_format { EXPORT_CSV, EXPORT_TEXT };

struct run_export;

/* Begins the export of the run in `dir` to a file; NULL: to standard output. NULL and *e: it cannot be begun. */
struct run_export *run_export_begin(const char *dir, enum export_format format, const char *file, bool utf8,
                                    struct error *e);
/* Works for a slice of some milliseconds; *share: how much has been done. True: there is more. */
bool run_export_step(struct run_export *x, double *share);
/* Puts the file in its place where all of it was written, else leaves nothing; frees x in any case. */
bool run_export_end(struct run_export *x, struct error *e);
/* Where it goes. */
const char *run_export_file(const struct run_export *x);

/* $RINGSIDE_HOME/exports/RUN.csv or .txt; the folder is made. */
bool run_export_path(const char *dir, enum export_format format, char path[PATH_MAX], struct error *e);

#endif
