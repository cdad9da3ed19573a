/* control.c - the small collectives that a job is steered by: broadcast, gather, sums of a few numbers, barrier. */
#include "engine/comm/comm_internal.h"

#include <limits.h>

/* Waits for the operation that code says has been started; what it is has been noted. */
static bool finish(struct comm *c, int code, MPI_Request *request, const char *doing, struct error *e)
{
    bool ok = mpi_ok(code, doing, e) && fault_wait(&c->faults, request, doing, e);
    return order_end(&c->faults.order, ok, true, e);
}

bool comm_broadcast(struct comm *c, void *data, size_t bytes, int root, struct error *e)
{
    for (size_t at = 0; at < bytes; at += MPI_PIECE) {
        size_t piece = bytes - at < MPI_PIECE ? bytes - at : MPI_PIECE;
        MPI_Request request;
        order_begin(&c->faults.order, ORDER_BYTES, "", NULL, piece);
        int code = MPI_Ibcast((char *)data + at, (int)piece, MPI_BYTE, root, c->collective, &request);
        if (!finish(c, code, &request, "broadcasting", e))
            return false;
    }
    return true;
}

bool comm_gather(struct comm *c, const void *mine, size_t bytes, void *all, struct error *e)
{
    if (bytes > INT_MAX)
        return error_set(e, ERROR_INPUT, "gathering %zu bytes from each rank: at most 2 GiB", bytes);
    MPI_Request request;
    order_begin(&c->faults.order, ORDER_GATHER, "", NULL, bytes);
    int code = MPI_Igather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, c->collective, &request);
    return finish(c, code, &request, "gathering", e);
}

static bool doubles(struct comm *c, double *x, int n, MPI_Op op, const char *doing, struct error *e)
{
    MPI_Request request;
    order_begin(&c->faults.order, op == MPI_SUM ? ORDER_SUM : ORDER_MAX, "", NULL, (size_t)n);
    int code = MPI_Iallreduce(MPI_IN_PLACE, x, n, MPI_DOUBLE, op, c->collective, &request);
    return finish(c, code, &request, doing, e);
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
    order_begin(&c->faults.order, ORDER_WAIT, "", NULL, 0);
    return finish(c, MPI_Ibarrier(c->collective, &request), &request, "waiting for all ranks", e);
}
