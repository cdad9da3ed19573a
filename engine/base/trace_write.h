/*
 * trace_write.h - the spans of all ranks as one file in the Chrome trace format, which Perfetto opens.
 *
 * The file is written rank by rank, so that memory for one rank's spans suffices, into a temporary file that takes
 * its name when it is whole. In it a rank is a process, its threads are that process's, and times are rank 0's:
 * each rank's clock is set right by what trace_clock says of it. Spans of a thread nest, whatever clocks did; the
 * gaps of a thread are named `idle`; transfers, which overlap, are spread over rows of their own.
 *
 * One event a line: whoever reads it back (trace_read.h) need not hold it all. Format: Duca and Sinclair, Trace
 * Event Format, 2016.
 */
#ifndef RINGSIDE_BASE_TRACE_WRITE_H
#define RINGSIDE_BASE_TRACE_WRITE_H

#include "engine/base/trace.h"

#include <stddef.h>

enum { TRACE_HOP_ROWS = 16 }; /* of a rank; transfers that overlap more than so many others are left out */

#define TRACE_FILE "trace.json" /* in a run's directory */

/* How far a rank's clock was ahead of rank 0's at two moments of its own clock; between them it drifts evenly. */
struct trace_clock {
    int64_t at[2];      /* nanoseconds since the run began */
    double offset_s[2]; /* 0 where it could not be told from 0 */
    double bound_s;     /* that the offsets are off by at most */
};

/* What the file says of itself: its otherData. */
struct trace_about {
    const char *job;    /* "train", "allreduce" */
    const char *slowed; /* "slowed on purpose: ..."; NULL: it was not */
    double started;     /* of the run, seconds since the epoch */
    int ranks;
    long first_step, last_step; /* that every rank has */
    const struct trace_clock *clocks;
    const char (*hosts)[64];
    long dropped;     /* spans that found no room */
    bool rank_0_only; /* the run failed: only what rank 0 saw */
};

struct trace_file;

struct trace_file *trace_file_new(const char *dir, const struct trace_about *about, struct error *e);
/* Sorts and changes the spans. */
bool trace_file_add(struct trace_file *f, int rank, const struct trace_head *head,
                    const char (*names)[TRACE_NAME], struct trace_span *spans, struct error *e);
/* The file takes its name. *bytes: how large it is. f is gone, whatever comes of it. */
bool trace_file_close(struct trace_file *f, long *bytes, struct error *e);
/* Nothing is left of it. NULL is fine. */
void trace_file_drop(struct trace_file *f);

#endif
