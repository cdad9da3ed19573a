/*
 * tracing.h - the trace of a run: which steps are recorded, and how the spans of all ranks become trace.json.
 *
 * Each rank records the same steps (trace.h). Before the first and after the last of them rank 0 compares clocks
 * with every other rank by ping-pong: the answer of rank r lies somewhere between question and arrival, so the
 * round with the shortest way there and back gives r's clock to within half that time (Cristian, Probabilistic clock
 * synchronization, 1989). An offset smaller than that cannot be told from none and is taken as none, which keeps
 * the ranks of one host, who read one clock, exactly in line. Then rank 0 receives the spans rank by rank and writes
 * them. A file that cannot be written is a note in the stream: no run fails for it.
 *
 * A tracing that is NULL does nothing.
 */
#ifndef RINGSIDE_COMM_TRACING_H
#define RINGSIDE_COMM_TRACING_H

#include "engine/base/sink.h"
#include "engine/base/trace.h"
#include "engine/comm/comm.h"

struct tracing;

struct tracing_spec {
    struct comm *comm;
    struct event_sink *sink; /* its `started` is where the times begin, on every rank */
    const char *rundir;
    const char *job; /* "train", "allreduce" */
    long first;      /* step, counted from 1 */
    long steps;      /* 0: no trace, and tracing_new gives NULL without an error */
};

/* The strings must outlive it. */
bool tracing_new(const struct tracing_spec *spec, struct tracing **t, struct error *e);
void tracing_free(struct tracing *t);

/* This rank's trace, for its lanes; NULL where t is. */
struct trace *tracing_trace(const struct tracing *t);

/*
 * Collective, before each step, with the same step on all ranks. Opens those that are recorded; before the one after
 * them the file is written and the `trace` event emitted. *seconds (may be NULL): what the clocks and the file took.
 */
bool tracing_step(struct tracing *t, long step, double *seconds, struct error *e);
/* Whether this is the first step recorded: one whose transfers should be sampled. */
bool tracing_begins(const struct tracing *t, long step);
/* Collective: the run ends here. Writes what there is, unless it is written already. */
bool tracing_finish(struct tracing *t, struct error *e);
/* For rank 0 after another rank failed: writes what rank 0 recorded, alone, unless a whole file is written already. */
void tracing_abandon(struct tracing *t);

/* Compares clocks: how far that of each rank is ahead of rank 0's, and the bound of the error, on rank 0. Collective. */
bool comm_clock_offsets(struct comm *c, const struct trace *clock, double *offset_s, double *bound_s,
                        struct error *e);

#endif
