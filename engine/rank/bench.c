/*
 * bench.c - `ringside bench`: this machine's figures, one part after the other.
 *
 * Rank 0 measures alone, with all threads, while the others sleep in a barrier; then all of them measure the allreduce.
 */
#include "engine/train/bench.h"
#include "engine/base/event.h"
#include "engine/base/rundir.h"
#include "engine/rank/rank.h"
#include "engine/train/device.h"

/* What rank 0 does alone. */
static bool measure_alone(const struct job *job, const struct device *device, const char *rundir,
                          struct event_sink *sink, bool *right, bool *stopped, struct error *e)
{
    struct bench *b = bench_new(job, device, rundir, sink, e);
    bool ok = b != NULL;
    if (ok && bench_has(job, "ladder"))
        ok = bench_ladder(b, right, e);
    if (ok && bench_has(job, "roofline") && !bench_stopped(b))
        ok = bench_roofline(b, e);
    if (ok && bench_has(job, "ladder") && !bench_stopped(b))
        ok = bench_gpu(b, right, e);
    if (ok && bench_has(job, "train") && !bench_stopped(b))
        ok = bench_train(b, e);
    *stopped = ok && bench_stopped(b);
    bench_free(b);
    return ok;
}

/* The sizes and algorithms of `ringside allreduce` as it is without options, checked. */
static bool measure_allreduce(const struct job *job, const char *rundir, struct comm *comm,
                              struct event_sink *sink, bool *right, bool *stopped, struct error *e)
{
    struct job collectives;
    job_defaults(&collectives, JOB_ALLREDUCE);
    collectives.ranks = job->ranks;
    collectives.allreduce.check = true;
    collectives.allreduce.trace = 0; /* nothing beside what is measured */
    return rank_collectives(&collectives, rundir, comm, sink, right, stopped, e);
}

bool rank_bench(const struct job *job, const char *rundir, struct comm *comm, struct event_sink *sink,
                bool *right, struct error *e)
{
    struct device device;
    bool stopped = false;
    if (!device_choose(&device, job->bench.device, comm, e) ||
        !rank_announce(job, device.name, comm, sink, e) ||
        (comm_rank(comm) == 0 && *device.notes && !sink_note(sink, "info", device.notes, e)))
        return false;
    if (comm_rank(comm) == 0 && !measure_alone(job, &device, rundir, sink, right, &stopped, e))
        return false;
    double stop = stopped;
    if (!comm_max_double(comm, &stop, 1, e))
        return false;
    stopped = stop > 0;
    if (!stopped && bench_has(job, "allreduce") &&
        !measure_allreduce(job, rundir, comm, sink, right, &stopped, e))
        return false;
    if (stopped && !sink_note(sink, "info", "stopped as asked, before everything was measured", e))
        return false;
    json_t *done = sink_event(sink, "done");
    json_object_set_new(done, "ok", json_boolean(*right));
    return sink_emit(sink, done, e);
}
