#include "engine/comm/tracing.h"

#include "engine/base/event.h"
#include "engine/base/trace_write.h"
#include "engine/comm/comm_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAG_NAMES = 8, TAG_SPANS = 9 };

struct tracing {
    struct tracing_spec spec;
    struct trace *trace;
    bool aligned, written;
    /* Rank 0's, one a rank: */
    struct trace_clock *clocks;
    double *offsets, *bounds;
};

/* What rank 0 must know of a rank before its spans come. */
struct tracing_head {
    struct trace_head trace;
    char host[64];
};

bool tracing_new(const struct tracing_spec *spec, struct tracing **made, struct error *e)
{
    *made = NULL;
    if (spec->steps <= 0)
        return true;
    size_t ranks = (size_t)comm_size(spec->comm);
    struct tracing *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(e, ERROR_FAILED, "not enough memory for the trace");
    t->spec = *spec;
    t->clocks = calloc(ranks, sizeof *t->clocks);
    t->offsets = calloc(ranks, sizeof *t->offsets);
    t->bounds = calloc(ranks, sizeof *t->bounds);
    t->trace = trace_new(spec->sink->started, (int)ranks, e);
    if (!t->trace || !t->clocks || !t->offsets || !t->bounds) {
        tracing_free(t);
        return error_set(e, ERROR_FAILED, "not enough memory for the trace; --trace 0 does without");
    }
    *made = t;
    return true;
}

void tracing_free(struct tracing *t)
{
    if (!t)
        return;
    trace_free(t->trace);
    free(t->clocks);
    free(t->offsets);
    free(t->bounds);
    free(t);
}

struct trace *tracing_trace(const struct tracing *t)
{
    return t ? t->trace : NULL;
}

/* Which: at the beginning (0) or at the end (1). A rank's clock at that moment follows from rank 0's. */
static bool align(struct tracing *t, int which, struct error *e)
{
    if (!comm_clock_offsets(t->spec.comm, t->trace, t->offsets, t->bounds, e))
        return false;
    for (int r = 0; r < comm_size(t->spec.comm); r++) {
        struct trace_clock *c = &t->clocks[r];
        c->at[which] = trace_clock(t->trace) + llround(1e9 * t->offsets[r]);
        c->offset_s[which] = t->offsets[r];
        c->bound_s = fmax(which ? c->bound_s : 0, t->bounds[r]);
    }
    return true;
}

/* --- rank 0 --- */

static bool emit(const struct tracing *t, const struct trace_about *a, long spans, long bytes, double time_s,
                 struct error *e)
{
    double offset = 0, bound = 0;
    for (int r = 0; r < a->ranks; r++) {
        offset = fmax(offset, fabs(a->clocks[r].offset_s[1]));
        bound = fmax(bound, a->clocks[r].bound_s);
    }
    json_t *event = sink_event(t->spec.sink, "trace");
    event_set_text(event, "file", TRACE_FILE);
    event_set_integer(event, "ranks", a->rank_0_only ? 1 : a->ranks);
    event_set_integer(event, "steps", a->last_step - a->first_step + 1);
    event_set_integer(event, "first_step", a->first_step);
    event_set_number(event, "offset_s", offset);
    event_set_number(event, "bound_s", bound);
    event_set_integer(event, "spans", spans);
    event_set_integer(event, "dropped", a->dropped);
    event_set_integer(event, "bytes", bytes);
    event_set_number(event, "time_s", time_s);
    return sink_emit(t->spec.sink, event, e);
}

static bool receive(struct comm *c, void *to, size_t bytes, int from, int tag, struct error *e)
{
    MPI_Request request;
    return mpi_ok(MPI_Irecv(to, (int)bytes, MPI_BYTE, from, tag, c->collective, &request),
                  "gathering the trace", e) &&
           fault_wait(&c->faults, &request, "gathering the trace", e);
}

/* Writes rank 0's spans and those of all others as they come. False: a rank failed; that the file did is in *why. */
static bool write_all(struct tracing *t, struct trace_file *f, const struct tracing_head *heads, bool *ok,
                      struct error *why, struct error *e)
{
    struct comm *c = t->spec.comm;
    char(*names)[TRACE_NAME] = calloc(TRACE_NAMES, sizeof *names);
    struct trace_span *spans = calloc((size_t)(TRACE_SPANS / c->size) + 1, sizeof *spans);
    bool received = names && spans;
    if (!received)
        error_set(e, ERROR_FAILED, "not enough memory to gather the trace");
    *ok = trace_file_add(f, 0, &heads[0].trace, trace_names(t->trace), trace_spans(t->trace), why);
    for (int r = 1; received && r < c->size; r++) {
        const struct trace_head *head = &heads[r].trace;
        received = receive(c, names, (size_t)head->names * sizeof *names, r, TAG_NAMES, e) &&
                   receive(c, spans, (size_t)head->spans * sizeof *spans, r, TAG_SPANS, e);
        *ok = *ok && received && trace_file_add(f, r, head, (const char(*)[TRACE_NAME])names, spans, why);
    }
    free(names);
    free(spans);
    return received;
}

/* The steps that all ranks have; what of the others. */
static void sum_up(const struct tracing *t, const struct tracing_head *heads, int ranks,
                   struct trace_about *a, char (*hosts)[64], long *spans)
{
    *a = (struct trace_about){.job = t->spec.job,
                              .slowed = *t->spec.sink->slowed ? t->spec.sink->slowed : NULL,
                              .started = t->spec.sink->started,
                              .ranks = ranks,
                              .first_step = heads[0].trace.first_step,
                              .last_step = heads[0].trace.last_step,
                              .clocks = t->clocks,
                              .hosts = (const char(*)[64])hosts};
    *spans = 0;
    for (int r = 0; r < ranks; r++) {
        const struct trace_head *head = &heads[r].trace;
        a->first_step = head->first_step > a->first_step ? head->first_step : a->first_step;
        a->last_step = head->last_step < a->last_step ? head->last_step : a->last_step;
        a->dropped += head->dropped;
        *spans += head->spans;
        memcpy(hosts[r], heads[r].host, sizeof hosts[r]);
    }
}

/* Rank 0, once it has all heads; it tells the others whether it wants their spans. False: a rank failed. */
static bool collect(struct tracing *t, const struct tracing_head *heads, struct error *e)
{
    struct comm *c = t->spec.comm;
    struct trace_about about;
    struct error why = {0};
    long spans, bytes = 0;
    double began = sink_clock();
    char(*hosts)[64] = calloc((size_t)c->size, sizeof *hosts);
    if (!hosts)
        return error_set(e, ERROR_FAILED, "not enough memory to gather the trace");
    sum_up(t, heads, c->size, &about, hosts, &spans);
    struct trace_file *f = about.last_step > 0 ? trace_file_new(t->spec.rundir, &about, &why) : NULL;
    int go = f != NULL;
    bool ok = go, together = comm_broadcast(c, &go, sizeof go, 0, e);
    if (f && together)
        together = write_all(t, f, heads, &ok, &why, e);
    if (ok && together)
        ok = trace_file_close(f, &bytes, &why);
    else
        trace_file_drop(f);
    free(hosts);
    if (!together)
        return false;
    if (ok)
        return emit(t, &about, spans, bytes, sink_clock() - began, e);
    if (!*why.text) /* nothing was recorded */
        return true;
    char text[1200];
    snprintf(text, sizeof text, "the run has no trace: %s", why.text);
    return sink_note(t->spec.sink, "warn", text, e);
}

/* --- all ranks --- */

static bool hand_over(struct tracing *t, const struct trace_head *head, struct error *e)
{
    struct comm *c = t->spec.comm;
    int go = 0;
    if (!comm_broadcast(c, &go, sizeof go, 0, e))
        return false;
    if (!go)
        return true;
    MPI_Request request[2];
    return mpi_ok(MPI_Isend(trace_names(t->trace), head->names * TRACE_NAME, MPI_BYTE, 0, TAG_NAMES,
                            c->collective, &request[0]),
                  "handing over the trace", e) &&
           mpi_ok(MPI_Isend(trace_spans(t->trace), head->spans * (int)sizeof(struct trace_span), MPI_BYTE, 0,
                            TAG_SPANS, c->collective, &request[1]),
                  "handing over the trace", e) &&
           fault_wait(&c->faults, &request[0], "handing over the trace", e) &&
           fault_wait(&c->faults, &request[1], "handing over the trace", e);
}

static bool merge(struct tracing *t, struct error *e)
{
    struct comm *c = t->spec.comm;
    struct tracing_head mine = {0}, *heads = NULL;
    trace_pause(t->trace);
    t->written = true; /* or cannot be */
    if (!align(t, 1, e))
        return false;
    trace_get_head(t->trace, &mine.trace);
    gethostname(mine.host, sizeof mine.host - 1);
    if (c->rank == 0 && !(heads = calloc((size_t)c->size, sizeof *heads)))
        return error_set(e, ERROR_FAILED, "not enough memory to gather the trace");
    bool ok = comm_gather(c, &mine, sizeof mine, heads, e) &&
              (heads ? collect(t, heads, e) : hand_over(t, &mine.trace, e));
    free(heads);
    return ok;
}

bool tracing_begins(const struct tracing *t, long step)
{
    return t && step == t->spec.first;
}

bool tracing_step(struct tracing *t, long step, double *seconds, struct error *e)
{
    if (!t || t->written || step < t->spec.first)
        return true;
    double began = sink_clock();
    bool ok = true;
    if (!t->aligned)
        ok = t->aligned = align(t, 0, e);
    else if (step >= t->spec.first + t->spec.steps)
        ok = merge(t, e);
    if (seconds)
        *seconds += sink_clock() - began;
    if (ok && !t->written)
        trace_step(t->trace, step);
    return ok;
}

bool tracing_finish(struct tracing *t, struct error *e)
{
    return !t || t->written || !t->aligned || merge(t, e);
}

void tracing_abandon(struct tracing *t)
{
    if (!t || t->written || !t->aligned || comm_rank(t->spec.comm) != 0)
        return;
    trace_pause(t->trace);
    t->written = true;
    struct tracing_head head = {0};
    struct trace_about about;
    char host[1][64];
    long spans, bytes;
    trace_get_head(t->trace, &head.trace);
    gethostname(head.host, sizeof head.host - 1);
    sum_up(t, &head, 1, &about, host, &spans);
    about.rank_0_only = true;
    struct trace_file *f = trace_file_new(t->spec.rundir, &about, NULL);
    if (!f)
        return;
    if (trace_file_add(f, 0, &head.trace, trace_names(t->trace), trace_spans(t->trace), NULL)) {
        if (trace_file_close(f, &bytes, NULL))
            emit(t, &about, spans, bytes, 0, NULL);
    } else {
        trace_file_drop(f);
    }
}
