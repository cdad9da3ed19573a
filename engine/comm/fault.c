#include "engine/comm/fault.h"

#include "engine/base/sink.h"
#include "engine/comm/idle.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_EVERY = 64 }; /* polls */

bool mpi_ok(int code, const char *doing, struct error *e)
{
    if (code == MPI_SUCCESS)
        return true;
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return error_set(e, ERROR_FAILED, "%s: MPI reports: %s", doing, text);
}

bool fault_open(struct fault_channel *f, bool gives_way, struct error *e)
{
    f->comm = MPI_COMM_NULL;
    f->gives_way = gives_way;
    f->request = MPI_REQUEST_NULL;
    f->failed_rank = -1;
    int size = 1;
    if (!mpi_ok(MPI_Comm_dup(MPI_COMM_WORLD, &f->comm), "starting MPI", e) ||
        !mpi_ok(MPI_Comm_set_errhandler(f->comm, MPI_ERRORS_RETURN), "starting MPI", e) ||
        !mpi_ok(MPI_Comm_rank(f->comm, &f->rank), "starting MPI", e) ||
        !mpi_ok(MPI_Comm_size(f->comm, &size), "starting MPI", e))
        return false;
    return f->rank > 0 || size == 1 ||
           mpi_ok(MPI_Irecv(f->text, FAULT_SENTENCE, MPI_CHAR, MPI_ANY_SOURCE, 0, f->comm, &f->request),
                  "starting MPI", e);
}

void fault_close(struct fault_channel *f)
{
    if (f->request != MPI_REQUEST_NULL) {
        MPI_Cancel(&f->request);
        MPI_Wait(&f->request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&f->comm);
}

/* What others have told, or another thread of this rank. */
static bool listen(struct fault_channel *f, struct error *e)
{
    if (atomic_load_explicit(&f->given_up, memory_order_relaxed))
        return error_set(e, ERROR_FAILED, "this rank has given up");
    if (f->request == MPI_REQUEST_NULL)
        return true;
    int done = 0;
    MPI_Status status;
    if (MPI_Test(&f->request, &done, &status) != MPI_SUCCESS || !done)
        return true;
    f->failed_rank = status.MPI_SOURCE;
    return error_set(e, ERROR_FAILED, "%s", f->text);
}

bool fault_check(struct fault_channel *f, struct error *e)
{
    return order_check(&f->order, e) && listen(f, e);
}

bool fault_wait(struct fault_channel *f, MPI_Request *request, const char *doing, struct error *e)
{
    struct idle idle = idle_start(f->gives_way, &f->aside);
    for (;;) {
        int done = 0;
        if (!mpi_ok(MPI_Test(request, &done, MPI_STATUS_IGNORE), doing, e))
            return false;
        if (done)
            return true;
        if (!(idle.polls % LOOK_EVERY == LOOK_EVERY - 1 ? fault_check : listen)(f, e))
            return false;
        idle_step(&idle);
    }
}

bool fault_tell(struct fault_channel *f, const char *sentence, double timeout_s)
{
    if (f->rank == 0)
        return true;
    if (f->told)
        return false;
    f->told = true;
    char host[64] = "unknown host";
    gethostname(host, sizeof host - 1);
    /* Lives as long as the process: where the wait below gives up, MPI may still read it. */
    snprintf(f->text, sizeof f->text, "rank %d on %s: %s", f->rank, host, sentence);
    MPI_Request request;
    if (MPI_Issend(f->text, (int)strlen(f->text) + 1, MPI_CHAR, 0, 0, f->comm, &request) != MPI_SUCCESS)
        return false;
    struct idle idle = idle_start(true, NULL);
    for (double end = sink_clock() + timeout_s; sink_clock() < end; idle_step(&idle)) {
        int done = 0;
        if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (done)
            return true;
    }
    return false;
}
