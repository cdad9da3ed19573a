#include "engine/train/agree.h"

#include "engine/base/event.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct claim {
    uint64_t hash;
    char host[64];
};

struct finding {
    int rank; /* the first that differs */
    char text[900];
};

static int alike(const struct claim *all, int ranks, uint64_t hash)
{
    int n = 0;
    for (int i = 0; i < ranks; i++)
        n += all[i].hash == hash;
    return n;
}

/* What most ranks have; rank 0's where no other is more frequent. */
static uint64_t common_hash(const struct claim *all, int ranks)
{
    uint64_t best = all[0].hash;
    for (int i = 1; i < ranks; i++)
        if (alike(all, ranks, all[i].hash) > alike(all, ranks, best))
            best = all[i].hash;
    return best;
}

static void describe(const struct claim *all, int ranks, long step, struct finding *f)
{
    uint64_t common = common_hash(all, ranks);
    char names[400] = "";
    size_t used = 0;
    int count = 0;
    for (int i = 0; i < ranks; i++) {
        if (all[i].hash == common)
            continue;
        if (count++ == 0)
            f->rank = i;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%d (%s)", count > 1 ? ", " : "", i,
                                     all[i].host);
    }
    snprintf(
        f->text, sizeof f->text,
        "after step %ld rank%s %s hold%s other parameters than the other %d rank%s: they no longer train the "
        "same model, so the run ends (faulty memory or a faulty processor there, or a bug: please report it)",
        step, count > 1 ? "s" : "", names, count > 1 ? "" : "s", ranks - count, ranks - count > 1 ? "s" : "");
}

static void emit(const struct finding *f, const struct claim *all, long step, struct event_sink *sink)
{
    json_t *event = sink_event(sink, "fault");
    event_set_integer(event, "rank", f->rank);
    event_set_text(event, "host", all[f->rank].host);
    event_set_text(event, "kind", "mismatch");
    event_set_integer(event, "step", step);
    event_set_text(event, "waiting_for", "nothing: all ranks have taken the step");
    event_set_text(event, "text", f->text);
    sink_emit(sink, event, NULL);
}

static bool name_them(struct comm *comm, uint64_t hash, long step, struct event_sink *sink, struct error *e)
{
    int ranks = comm_size(comm);
    struct claim mine = {.hash = hash}, *all = calloc((size_t)ranks, sizeof *all);
    struct finding finding = {0};
    gethostname(mine.host, sizeof mine.host - 1);
    if (!all)
        return error_set(e, ERROR_FAILED, "not enough memory to compare the parameters of %d ranks", ranks);
    bool ok = comm_gather(comm, &mine, sizeof mine, all, e);
    if (ok && comm_rank(comm) == 0) {
        describe(all, ranks, step, &finding);
        emit(&finding, all, step, sink);
    }
    ok = ok && comm_broadcast(comm, &finding, sizeof finding, 0, e);
    free(all);
    return ok && error_set(e, ERROR_FAILED, "%s", finding.text);
}

bool agree_check(struct comm *comm, uint64_t hash, long step, struct event_sink *sink, struct error *e)
{
    /* 48 bits are exact in a double, and so is the comparison of the largest with the smallest. */
    double mine = (double)(hash >> 16), range[2] = {mine, -mine};
    if (!comm_max_double(comm, range, 2, e))
        return false;
    return range[0] == -range[1] || name_them(comm, hash >> 16, step, sink, e);
}
