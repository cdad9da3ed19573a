/*
 * ring_schedule.c - an operation as its schedule says it, so that an algorithm can be watched without a run.
 */
#include "cluster-sim/nccl.h"
#include "engine/spec/cost.h"
#include "tui/ring_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of an element, as most buffers have. */
enum { ELEMENT = 4 };

/* NCCL's: the tree is a double one. */
static const char *const nccl[] = {"nccl_ring", "nccl_tree"};
enum { NCCL = sizeof nccl / sizeof *nccl };

const char *ring_schedule_name(int i)
{
    int algos = 0;
    while (schedule_algo(algos))
        algos++;
    if (i < algos)
        return schedule_algo(i);
    if (i < algos + NCCL)
        return nccl[i - algos];
    return collective_name((enum collective)(i - algos - NCCL + 1)); /* the allreduce itself is the first */
}

static enum hop_phase phase_of(enum phase phase)
{
    switch (phase) {
    case PHASE_REDUCE_SCATTER: return HOP_REDUCE_SCATTER;
    case PHASE_ALLGATHER: return HOP_ALLGATHER;
    case PHASE_REDUCE: return HOP_REDUCE;
    case PHASE_BROADCAST: return HOP_BROADCAST;
    case PHASE_ALLTOALL: return HOP_ALLTOALL;
    case PHASE_BARRIER: return HOP_BARRIER;
    }
    return HOP_OTHER;
}

/* When each round begins, rounds + 1 of them; a round waits for its largest message. NULL: out of memory. */
static double *round_starts(const struct schedule *s, const struct cost_link *link)
{
    double *starts = calloc((size_t)s->rounds + 1, sizeof *starts);
    for (int i = 0; starts && i < s->count; i++) {
        const struct transfer *t = &s->transfers[i];
        double bytes = (double)t->length * ELEMENT;
        double takes = link->alpha + bytes * (link->beta + (t->reduce ? link->gamma : 0));
        starts[t->round + 1] = fmax(starts[t->round + 1], takes);
    }
    for (int k = 0; starts && k < s->rounds; k++)
        starts[k + 1] += starts[k];
    return starts;
}

static bool make_schedule(struct schedule *s, const char *name, int ranks, size_t length, struct error *e)
{
    enum collective op = collective_named(name);
    /* Every rank a host of its own, a half of the buffer in one piece: the two trees as they are. */
    struct nccl_hosts hosts = {.ranks = ranks, .per_host = 1, .nics = 1};
    if (!strcmp(name, nccl[0]))
        return schedule_nccl_ring(s, &hosts, length, e);
    if (!strcmp(name, nccl[1]))
        return schedule_nccl_tree(s, &hosts, length, (int)(length / 2 + 1), e);
    if (op != COLLECTIVES && op != ALLREDUCE)
        return schedule_collective(s, op, ranks, length, e);
    return schedule_make(s, name, ranks, length, e);
}

bool ring_schedule_op(struct run_op *op, const char *name, int ranks, double bytes,
                      const struct cost_link *link, struct error *e)
{
    struct schedule s = {0};
    size_t equal = (size_t)(ranks > 0 ? ranks : 1), length = (size_t)(bytes / ELEMENT) / equal * equal;
    *op = (struct run_op){.op = 0, .ranks = ranks};
    if (!make_schedule(&s, name, ranks, length ? length : equal, e))
        return false;
    strncpy(op->algo, name, sizeof op->algo - 1);
    double *starts = round_starts(&s, link);
    op->hops = calloc((size_t)s.count + 1, sizeof *op->hops);
    bool ok = starts && op->hops;
    for (int i = 0; ok && i < s.count; i++) {
        const struct transfer *t = &s.transfers[i];
        op->hops[op->count++] = (struct run_hop){
            .phase = phase_of(t->phase),
            .hop = t->round,
            .from = t->from,
            .to = t->to,
            .chunk = t->chunk,
            .bytes = (double)t->length * ELEMENT,
            .t0 = starts[t->round],
            .t1 = starts[t->round + 1],
        };
    }
    op->capacity = op->count;
    free(starts);
    schedule_free(&s);
    if (ok)
        return true;
    free(op->hops);
    op->hops = NULL;
    return error_set(e, ERROR_FAILED, "out of memory for the schedule of %s on %d ranks", name, ranks);
}
