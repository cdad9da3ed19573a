/*
 * trace_read.h - a run's trace.json read back: rows of spans, ranks in order.
 *
 * Reads what trace_write.h writes, an event a line, and refuses anything else with one sentence that names the line:
 * a damaged file, one of another program, one too large to be ours. Events of kinds and phases that are not known
 * are skipped. Memory is bounded by the file's size limit.
 */
#ifndef RINGSIDE_BASE_TRACE_READ_H
#define RINGSIDE_BASE_TRACE_READ_H

#include "engine/base/trace.h"

/* One span of a row. */
struct trace_event {
    int64_t t0, t1; /* nanoseconds since the run began, by rank 0's clock */
    int64_t self;   /* of it not spent in spans inside */
    int64_t bytes;  /* -1: not said, as below */
    int32_t step, bucket, round, chunk;
    int32_t name, algo; /* in names; algo -1: none */
    int16_t row, depth; /* depth: 0 is the outermost */
    uint8_t kind;       /* enum trace_kind */
};

/* A thread of a rank, or some of its transfers. Its events lie side by side, in time, outer ones first. */
struct trace_row {
    int rank, tid;
    char name[32];
    int first, count; /* in events */
};

struct trace_data {
    char job[32];
    char slowed[160]; /* "": it was not slowed on purpose */
    int ranks;
    long first_step, last_step, dropped;
    double offset_s, bound_s; /* the largest of any rank */
    bool incomplete;          /* the run failed: only rank 0's spans */
    struct trace_row *rows;   /* by rank, then thread */
    int row_count;
    struct trace_event *events;
    int count;
    char **names;
    int name_count;
};

/* dir: of a run. ERROR_INPUT where there is no trace or it cannot be read. Free it with trace_data_free. */
bool trace_data_read(const char *dir, struct trace_data *d, struct error *e);
void trace_data_free(struct trace_data *d);

/* A rank's thread of that number; NULL: it has none. */
const struct trace_row *trace_data_row(const struct trace_data *d, int rank, int tid);
/* A layer's, a hop's or else the kind's name. */
const char *trace_event_name(const struct trace_data *d, const struct trace_event *event);

#endif
