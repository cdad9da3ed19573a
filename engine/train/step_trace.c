/*
 * step_trace.c - what a trainer records of its steps: which of them, and the lanes of its threads.
 */
#include "engine/train/trainer_internal.h"

/* The first steps of a run are its slowest: caches are cold, buffers are touched for the first time. */
enum { LEFT_OUT = 10 };

bool trainer_open_trace(struct trainer *tr, struct error *e)
{
    long ahead = tr->total_steps > 0 ? tr->total_steps - tr->step : LONG_MAX;
    const struct tracing_spec spec = {.comm = tr->comm,
                                      .sink = tr->sink,
                                      .rundir = tr->rundir,
                                      .job = "train",
                                      .first = tr->step + 1 + (ahead < 2L * LEFT_OUT ? ahead / 2 : LEFT_OUT),
                                      .steps = tr->t->trace};
    if (!tracing_new(&spec, &tr->tracing, e))
        return false;
    struct trace *trace = tracing_trace(tr->tracing);
    tr->lane = trace_lane(trace, TRACE_LANE_MAIN, "compute");
    tr->loss_name = trace_name(trace, "loss");
    tr->shards_name = trace_name(trace, "shards of the batch");
    tr->sum_name = trace_name(trace, "sum of the batches");
    tr->recorded_name = trace_name(trace, "forward, loss, backward");
    /* A GPU is given work and goes on by itself: the host knows when it is done with all of it, not layer by layer. */
    if (!tr->backend->ops->host_memory)
        return true;
    if (tr->gan)
        return network_trace(tr->network, trace, tr->lane, "D ", e) &&
               network_trace(tr->gan->generator, trace, tr->lane, "G ", e) &&
               network_trace(tr->gan->judge, trace, tr->lane, "D of G ", e);
    if (tr->reproducible)
        return reproducible_trace(tr->reproducible, trace, e);
    return network_trace(tr->network, trace, tr->lane, "", e);
}

bool trainer_trace_step(struct trainer *tr, struct error *e)
{
    double seconds = 0;
    if (!tracing_step(tr->tracing, tr->step + 1, &seconds, e))
        return false;
    trainer_leave_out(tr, seconds);
    tr->sample_hops |= tracing_begins(tr->tracing, tr->step + 1);
    return true;
}

void trainer_trace_hops(struct trainer *tr)
{
    for (int i = 0; tr->sample_hops && i < REDUCER_LOGS && i < tr->logged; i++)
        hop_log_trace(tr->hops[i], tr->lane);
}
