#include "engine/rank/collective_check.h"

#include <math.h>

/* Element i of rank r, from a counter-based generator (splitmix64, S. Vigna), as the type holds it. */
static double value_of(const struct element *type, int rank, size_t i)
{
    uint64_t z = ((uint64_t)rank << 40) + i + 1;
    z *= 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    double value = (double)(int32_t)(z >> 32) / 2147483648.0, held;
    type->set(&held, 0, value);
    return type->get(&held, 0);
}

void collective_fill(struct comm *c, const struct element *type, void *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        type->set(x, i, value_of(type, comm_rank(c), i));
}

/* What element i of this rank should be, and the size of what it was made of; false: it may be anything. */
static bool expected(struct comm *c, enum collective op, const struct element *type, size_t n, size_t i,
                     double *value, double *size)
{
    int ranks = comm_size(c), rank = comm_rank(c), from = -1; /* -1: the sum */
    size_t piece = n / (size_t)ranks;
    switch (op) {
    case ALLREDUCE: break;
    case REDUCE:
        if (rank != 0)
            return false;
        break;
    case REDUCE_SCATTER:
        if (i / piece != (size_t)rank)
            return false;
        break;
    case BROADCAST: from = 0; break;
    case ALLGATHER: from = (int)(i / piece); break;
    case ALLTOALL:
        from = (int)(i / piece);
        i = (size_t)rank * piece + i % piece;
        break;
    case BARRIER:
    case COLLECTIVES: return false;
    }
    *value = *size = 0;
    for (int r = 0; r < ranks; r++) {
        if (from >= 0 && r != from)
            continue;
        double part = value_of(type, r, i);
        *value += part;
        *size += fabs(part);
    }
    return true;
}

bool collective_error(struct comm *c, enum collective op, const struct element *type, const void *x, size_t n,
                      double *worst, struct error *e)
{
    *worst = 0;
    for (size_t i = 0; i < n; i++) {
        double value, size;
        if (!expected(c, op, type, n, i, &value, &size))
            continue;
        double off = fabs(type->get(x, i) - value) / (size > 0 ? size : 1);
        if (!(off <= *worst)) /* not a number is the worst */
            *worst = isnan(off) ? INFINITY : off;
    }
    return comm_max_double(c, worst, 1, e);
}

double collective_bound(struct comm *c, enum collective op, const struct element *type)
{
    bool adds = op == ALLREDUCE || op == REDUCE || op == REDUCE_SCATTER;
    int additions = comm_size(c) - 1;
    return adds ? additions * 0.5 * type->epsilon * (1 + additions * type->epsilon) : 0;
}
