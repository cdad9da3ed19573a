/*
 * trace.h - what each thread of a rank did when: spans of time, kept in memory until they are merged.
 *
 * A trace belongs to one rank and has room for so many spans, all allocated at the start; what finds no room is
 * counted and dropped, so neither memory nor the file grows with the run. Threads record through lanes of their
 * own and never wait for each other. Spans are taken only while a step is open (trace_step ... trace_pause): the
 * rest of the time a lane costs one test. Spans of a lane nest: an inner one is recorded before the one around it.
 * A lane that is NULL records nothing, so callers need not ask.
 *
 * Times are nanoseconds since the run began, by the clock that the event stream goes by (sink.h). Whoever reads
 * or frees the trace sees to it that no thread records meanwhile.
 */
#ifndef RINGSIDE_BASE_TRACE_H
#define RINGSIDE_BASE_TRACE_H

#include "engine/base/error.h"

#include <stdint.h>

/* What a span is; the names are the file's categories. */
enum trace_kind {
    TRACE_STEP,           /* around all that follow, on the main thread */
    TRACE_DATA,           /* waiting for the batch, or making it */
    TRACE_FORWARD,        /* all layers, */
    TRACE_BACKWARD,       /* */
    TRACE_LAYER_FORWARD,  /* or one, inside */
    TRACE_LAYER_BACKWARD, /* */
    TRACE_COMPUTE,        /* something else that is computed: the loss, sums of several batches ... */
    TRACE_OPTIMIZER,
    TRACE_ALLREDUCE, /* on whichever thread carries it out: bucket, bytes, algorithm */
    TRACE_WAIT,      /* for the other ranks, or for the communication thread */
    TRACE_BETWEEN,   /* between two steps: tests, checkpoints, events */
    TRACE_IDLE,      /* nothing: in the file, the gaps of a lane */
    TRACE_HOP,       /* one transfer of a sampled collective, as this rank saw it */
    TRACE_KINDS
};

struct trace_span {
    int64_t t0, t1; /* nanoseconds */
    int64_t bytes;  /* -1: says nothing */
    int32_t step;   /* counted from 1 */
    int32_t bucket; /* of an allreduce; of a hop the round; -1: none */
    int32_t chunk;  /* of a hop */
    int16_t name;   /* trace_name; -1: what the kind is called */
    int16_t algo;   /* trace_name; -1: none */
    int16_t peer;   /* of a hop: the other rank */
    uint8_t kind, lane;
    bool sent; /* of a hop: this rank sent it */
};

enum {
    TRACE_LANES = 16,
    TRACE_NAMES = 1024, /* different names; further ones are called "..." */
    TRACE_NAME = 48,    /* bytes of one, its end included */
    /* In one file, all ranks together: some 35 MB of JSON at most. */
    TRACE_SPANS = 200000,
    TRACE_LANE_MAIN = 0,
    TRACE_LANE_COMM = 1,
};

struct trace;
struct trace_lane;

const char *trace_kind_name(enum trace_kind kind);  /* "step", "data", "forward", "forward_layer" ... */
const char *trace_kind_title(enum trace_kind kind); /* what its spans are called where they have no name */

/* Room for this rank's part of TRACE_SPANS. started: of the run, seconds since the epoch. It has one lane, "compute". */
struct trace *trace_new(double started, int ranks, struct error *e);
void trace_free(struct trace *t);

/* The lane of that number, TRACE_LANE_MAIN ... TRACE_LANES - 1, called so from now on. NULL where t is NULL. */
struct trace_lane *trace_lane(struct trace *t, int number, const char *name);

/* A name's number in this trace. Not to be called while a step is open by two threads at once. */
int trace_name(struct trace *t, const char *name);

/*
 * Opens step `step`: spans are taken from now on. False where there may not be room for another step as large as
 * the largest so far: then nothing is taken any more, so that what is there are whole steps.
 */
bool trace_step(struct trace *t, long step);
/* Spans are no longer taken; returns the step that was open, for trace_resume: what lies between is not recorded. */
long trace_pause(struct trace *t);
void trace_resume(struct trace *t, long step);

/* The present time of the trace's clock, recording or not. */
int64_t trace_clock(const struct trace *t);
/* The present time, or 0 where nothing is recorded now. */
int64_t trace_now(const struct trace_lane *lane);
/*
 * Records [began, now] and returns now, where the next span may begin; began as trace_now gave it: 0 records
 * nothing and returns 0.
 */
int64_t trace_span(struct trace_lane *lane, int64_t began, enum trace_kind kind, int name);
/* The same of a span with name, size and whatever else; times, step and lane are filled in. */
int64_t trace_put(struct trace_lane *lane, int64_t began, struct trace_span span);
/* An allreduce, or the wait for one. algo: trace_name; bucket -1: there is only one. */
int64_t trace_reduce(struct trace_lane *lane, int64_t began, enum trace_kind kind, int bucket, int64_t bytes,
                     int algo);
/*
 * A transfer whose times are known (seconds since the epoch, as sink_clock has them: a double of that size is exact
 * to 0.24 us, too coarse for a span that has to begin where another ends); step and lane are filled in.
 */
void trace_add(struct trace_lane *lane, double began, double ended, struct trace_span span);

/* --- for those who write it --- */

struct trace_head {
    int32_t spans, names, dropped; /* how many are here, and how many found no room */
    int32_t first_step, last_step; /* 0, 0: none */
    char lanes[TRACE_LANES][32];   /* "": there is none of that number */
};
void trace_get_head(const struct trace *t, struct trace_head *head);
struct trace_span *trace_spans(const struct trace *t); /* in the order in which they ended, about */
const char (*trace_names(const struct trace *t))[TRACE_NAME];

#endif
