/* control.c - the small collectives that a job is steered by: broadcast, gather, sums of a few numbers, barrier. */
#include "engine/comm/comm_internal.h"

#include <limits.h>

bool comm_broadcast(struct comm *c, void *data, size_t bytes, int root, struct error *e)
{
    for (size_t at = 0; at < bytes; at += MPI_PIECE) {
        size_t piece = bytes - at < MPI_PIECE ? bytes - at : MPI_PIECE;
        MPI_Request request;
        if (!mpi_ok(MPI_Ibcast((char *)data + at, (int)piece, MPI_BYTE, root, c->collective, &request),
                    "broadcasting", e) ||
            !fault_wait(&c->faults, &request, "broadcasting", e))
            return false;
    }
    return true;
}

bool comm_gather(struct comm *c, const void *mine, size_t bytes, void *all, struct error *e)
{
    if (bytes > INT_MAX)
        return error_set(e, ERROR_INPUT, "gathering %zu bytes from each rank: at most 2 GiB", bytes);
    MPI_Request request;
    return mpi_ok(
               MPI_Igather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, c->collective, &request),
               "gathering", e) &&
           fault_wait(&c->faults, &request, "gathering", e);
}

static bool doubles(struct comm *c, double *x, int n, MPI_Op op, const char *doing, struct error *e)
{
    MPI_Request request;
    return mpi_ok(MPI_Iallreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, op, c->collective, &request), doing, e) &&
           fault_wait(&c->faults, &request, doing, e);
}

bool comm_sum_double(struct comm *c, double *x, int n, struct error *e)
{
    return doubles(c, x, n, MPI_SUM, "summing over the ranks", e);
}

bool comm_max_double(struct comm *c, double *x, int n, struct error *e)
{
    return doubles(c, x, n, MPI_MAX, "finding the largest over the ranks", e);
}

bool comm_barrier(struct comm *c, struct error *e)
{
    MPI_Request request;
    return mpi_ok(MPI_Ibarrier(c->collective, &request), "waiting for all ranks", e) &&
           fault_wait(&c->faults, &request, "waiting for all ranks", e);
}
