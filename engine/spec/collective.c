#include "engine/spec/collective.h"

#include "engine/spec/small_ring.h"

#include <string.h>

static const struct {
    const char *name, *algo;
} operations[COLLECTIVES] = {
    [ALLREDUCE] = {"allreduce", NULL},
    [BROADCAST] = {"broadcast", "tree"},
    [REDUCE] = {"reduce", "tree"},
    [ALLGATHER] = {"allgather", "ring"},
    [REDUCE_SCATTER] = {"reduce_scatter", "ring"},
    [ALLTOALL] = {"alltoall", "pairwise"},
    [BARRIER] = {"barrier", "dissemination"},
};

const char *collective_name(enum collective op)
{
    return (unsigned)op < COLLECTIVES ? operations[op].name : NULL;
}

enum collective collective_named(const char *name)
{
    int op = 0;
    while (op < COLLECTIVES && strcmp(operations[op].name, name) != 0)
        op++;
    return (enum collective)op;
}

const char *collective_algo(enum collective op)
{
    return (unsigned)op < COLLECTIVES ? operations[op].algo : NULL;
}

double collective_bus_factor(enum collective op, int ranks)
{
    double share = (ranks - 1.0) / ranks;
    return op == ALLREDUCE ? 2 * share : op == BROADCAST || op == REDUCE ? 1 : share;
}

static void add_ring(struct schedule *s, bool reduce)
{
    struct small_ring r = {.stride = 1, .members = s->ranks, .length = s->length, .chunk_step = 1};
    for (int k = 0; k < s->ranks - 1; k++)
        small_ring_round(s, &r, k, k, reduce);
}

/* In round k the ranks r and k - r (of N) are partners: each swaps the other's piece for its own. */
static void add_pairs(struct schedule *s)
{
    int n = s->ranks;
    size_t piece = s->length / (size_t)n;
    for (int k = 0; k < n; k++)
        for (int from = 0; from < n; from++) {
            int to = (k - from + n) % n;
            if (from != to)
                schedule_add(s, (struct transfer){
                                    .round = k,
                                    .from = from,
                                    .to = to,
                                    .chunk = to,
                                    .offset = (size_t)to * piece,
                                    .length = piece,
                                    .shift = ((ptrdiff_t)from - to) * (ptrdiff_t)piece,
                                    .phase = PHASE_ALLTOALL,
                                });
        }
}

static void add_dissemination(struct schedule *s)
{
    for (int distance = 1; distance < s->ranks; distance *= 2) {
        int round = s->rounds;
        for (int from = 0; from < s->ranks; from++)
            schedule_add(s, (struct transfer){.round = round,
                                              .from = from,
                                              .to = (from + distance) % s->ranks,
                                              .length = 1,
                                              .phase = PHASE_BARRIER});
    }
}

bool schedule_collective(struct schedule *s, enum collective op, int ranks, size_t length, struct error *e)
{
    size_t most = ranks > 0 ? (size_t)ranks * ((size_t)ranks + 32) : 0;
    if (!collective_algo(op))
        return error_set(e, ERROR_INPUT, "there is no schedule for the collective number %d", (int)op);
    if (op == ALLTOALL && ranks > 0 && length % (size_t)ranks)
        return error_set(e, ERROR_INPUT,
                         "alltoall: a buffer of %zu elements has no %d pieces of equal length", length,
                         ranks);
    int chunks = op == ALLGATHER || op == REDUCE_SCATTER || op == ALLTOALL ? ranks : 1;
    if (!schedule_begin(s, collective_name(op), ranks, op == BARRIER ? 1 : length, chunks, most, e))
        return false;
    switch (op) {
    case BROADCAST: schedule_add_tree(s, false); break;
    case REDUCE: schedule_add_tree(s, true); break;
    case ALLGATHER: add_ring(s, false); break;
    case REDUCE_SCATTER: add_ring(s, true); break;
    case ALLTOALL: add_pairs(s); break;
    case BARRIER: add_dissemination(s); break;
    case ALLREDUCE:
    case COLLECTIVES: break;
    }
    return true;
}
