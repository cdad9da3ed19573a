/*
 * hop_log.c - the times of a collective's transfers, gathered into `hop` events.
 *
 * Both ranks of a transfer record it: the sender knows when it began, the receiver when it had arrived and
 * been added. Their clocks are CLOCK_REALTIME; on different hosts they may disagree, so an end never lies
 * before its beginning.
 */
#include "engine/base/event.h"
#include "engine/comm/comm_internal.h"

#include <stdlib.h>
#include <string.h>

struct hop_log *hop_log_new(struct error *e)
{
    struct hop_log *log = calloc(1, sizeof *log);
    if (!log)
        error_set(e, ERROR_FAILED, "out of memory for the record of an allreduce's transfers");
    return log;
}

void hop_log_free(struct hop_log *log)
{
    if (!log)
        return;
    free(log->records);
    free(log);
}

void hop_log_clear(struct hop_log *log)
{
    if (log)
        log->count = 0;
}

bool hop_log_reserve(struct hop_log *log, int count, struct error *e)
{
    log->count = 0;
    if (count <= log->capacity)
        return true;
    struct hop_record *grown = realloc(log->records, (size_t)count * sizeof *grown);
    if (!grown)
        return error_set(e, ERROR_FAILED, "out of memory for the record of an allreduce's transfers");
    log->records = grown;
    log->capacity = count;
    return true;
}

static int by_index(const void *a, const void *b)
{
    const struct hop_record *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return y->sent - x->sent; /* the sender's record first */
}

/* records: ordered so that the two records of a transfer lie side by side. */
static bool emit_all(const struct hop_record *records, int count, long op, const char *algo,
                     struct event_sink *sink, struct error *e)
{
    for (int i = 0; i + 1 < count; i += 2) {
        const struct hop_record *sender = &records[i], *receiver = &records[i + 1];
        double t0 = sender->t0 - sink->started, t1 = receiver->t1 - sink->started;
        json_t *event = sink_event(sink, "hop");
        event_set_integer(event, "op", op);
        event_set_text(event, "algo", algo);
        event_set_text(event, "phase", phase_name((enum phase)sender->phase));
        event_set_integer(event, "hop", sender->round);
        event_set_integer(event, "from", sender->from);
        event_set_integer(event, "to", sender->to);
        event_set_integer(event, "chunk", sender->chunk);
        event_set_integer(event, "bytes", (long long)sender->bytes);
        event_set_number(event, "t0", t0);
        event_set_number(event, "t1", t1 > t0 ? t1 : t0);
        if (!sink_emit(sink, event, e))
            return false;
    }
    return true;
}

bool hop_log_emit(struct comm *c, struct hop_log *log, long op, const char *algo, struct event_sink *sink,
                  struct error *e)
{
    /* Rank 0 alone needs these; a few bytes elsewhere keep the code in one piece. */
    int *counts = calloc((size_t)c->size, sizeof *counts),
        *offsets = calloc((size_t)c->size, sizeof *offsets);
    struct hop_record *all = NULL;
    bool ok = false;
    int bytes = log->count * (int)sizeof *log->records, total = 0;
    if (!counts || !offsets) {
        error_set(e, ERROR_FAILED, "out of memory for the hop events");
        goto end;
    }
    if (!comm_gather(c, &bytes, sizeof bytes, counts, e))
        goto end;
    for (int i = 0; i < c->size; i++) {
        offsets[i] = total;
        total += counts[i];
    }
    all = malloc((size_t)total + 1);
    if (!all) {
        error_set(e, ERROR_FAILED, "out of memory for the hop events");
        goto end;
    }
    MPI_Request request;
    if (!mpi_ok(MPI_Igatherv(log->records, bytes, MPI_BYTE, all, counts, offsets, MPI_BYTE, 0, c->collective,
                             &request),
                "gathering the hops", e) ||
        !fault_wait(&c->faults, &request, "gathering the hops", e))
        goto end;
    ok = true;
    if (c->rank == 0 && sink) {
        if (strcmp(algo, "auto") == 0)
            algo = log->algo;
        int count = total / (int)sizeof *all;
        qsort(all, (size_t)count, sizeof *all, by_index);
        ok = emit_all(all, count, op, algo, sink, e);
    }
end:
    free(counts);
    free(offsets);
    free(all);
    return ok;
}

void hop_log_trace(const struct hop_log *log, struct trace_lane *lane)
{
    for (int i = 0; lane && i < log->count; i++) {
        const struct hop_record *r = &log->records[i];
        trace_add(lane, r->t0, r->t1,
                  (struct trace_span){.kind = TRACE_HOP,
                                      .name = -1,
                                      .algo = -1,
                                      .bytes = (int64_t)r->bytes,
                                      .bucket = r->round,
                                      .chunk = r->chunk,
                                      .peer = (int16_t)(r->sent ? r->to : r->from),
                                      .sent = r->sent});
    }
}
