/* collectives.c - broadcast, reduce and the others, by their schedules or by the MPI library. */
#include "engine/comm/comm_internal.h"
#include "engine/comm/executor.h"
#include "engine/spec/collective.h"

#include <limits.h>
#include <string.h>

/* The library's, on the same buffer and with the same outcome. */
static bool by_library(struct comm *c, enum collective op, const struct element *type, char *x, size_t n,
                       struct error *e)
{
    MPI_Datatype name;
    MPI_Op sum;
    if (n > INT_MAX)
        return error_set(e, ERROR_INPUT, "%s: MPI counts at most %d elements, not %zu", collective_name(op),
                         INT_MAX, n);
    if ((op == ALLGATHER || op == REDUCE_SCATTER || op == ALLTOALL) && n % (size_t)c->size)
        return error_set(e, ERROR_INPUT, "%s: a buffer of %zu elements has no %d pieces of equal length",
                         collective_name(op), n, c->size);
    if (!comm_mpi_type(c, type, &name, &sum, e))
        return false;
    int count = (int)n, piece = count / c->size, code = MPI_SUCCESS;
    bool root = c->rank == 0;
    switch (op) {
    case BROADCAST: code = MPI_Bcast(x, count, name, 0, c->collective); break;
    case REDUCE: code = MPI_Reduce(root ? MPI_IN_PLACE : x, x, count, name, sum, 0, c->collective); break;
    case ALLGATHER: code = MPI_Allgather(MPI_IN_PLACE, 0, name, x, piece, name, c->collective); break;
    case REDUCE_SCATTER: /* leaves the sum at the front */
        code = MPI_Reduce_scatter_block(MPI_IN_PLACE, x, piece, name, sum, c->collective);
        memmove(x + (size_t)c->rank * (size_t)piece * type->bytes, x, (size_t)piece * type->bytes);
        break;
    case ALLTOALL: code = MPI_Alltoall(MPI_IN_PLACE, 0, name, x, piece, name, c->collective); break;
    case BARRIER: code = MPI_Barrier(c->collective); break;
    case ALLREDUCE:
    case COLLECTIVES: break;
    }
    return mpi_ok(code, collective_name(op), e);
}

bool comm_collective(struct comm *c, enum collective op, const char *algo, const struct element *type,
                     void *x, size_t n, struct hop_log *log, struct error *e)
{
    if (op == ALLREDUCE)
        return comm_allreduce_to(c, algo, type, x, x, n, log, e);
    hop_log_clear(log);
    if (strcmp(algo, "mpi") == 0 && c->paced)
        return error_set(e, ERROR_INPUT, "mpi goes past the link that is slowed on purpose; take %s",
                         collective_algo(op));
    struct order *order = &c->faults.order;
    if (strcmp(algo, "mpi") == 0) {
        order_begin(order, (int)op, algo, type, n);
        return order_end(order, by_library(c, op, type, x, n, e), order_due(order, n * type->bytes), e);
    }
    double token = 0; /* what a barrier passes round */
    struct plan *plan = comm_plan(c, op, collective_name(op), type, n, e);
    if (!plan)
        return false;
    order_begin(order, (int)op, "", type, n);
    bool ok = plan_run(plan, comm_transport(c), op == BARRIER ? &token : x, log, e);
    return order_end(order, ok, false, e);
}
