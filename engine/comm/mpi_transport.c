/*
 * mpi_transport.c - `struct transport` over MPI point to point.
 *
 * A pending holds the MPI_Request and, for a receive, the number of bytes that must come: MPI accepts shorter
 * messages silently, so the length is checked when the message is there.
 */
#include "engine/comm/mpi_transport.h"

#include "engine/comm/idle.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* An MPI_Request is a pointer in one MPI library and a number in another: only its bytes are kept. */
struct kept {
    MPI_Request request;
};
_Static_assert(sizeof(struct kept) <= sizeof(uintptr_t), "a request must fit into a pending's handle");

/* handle[1]: 0 none, 1 a send, else a receive of handle[1] - 2 bytes. */
enum { HANDLE_SEND = 1, HANDLE_RECV = 2 };

/* While a test finds nothing, how often rank 0 looks whether another rank has reported an error. */
enum { FAULT_INTERVAL = 256 };

static void pending_set(struct pending *p, MPI_Request request, uintptr_t what)
{
    struct kept kept = {request};
    p->handle[0] = 0;
    memcpy(&p->handle[0], &kept, sizeof kept);
    p->handle[1] = what;
}

static bool peer_check(const struct transport *t, int peer, size_t bytes, const char *verb, struct error *e)
{
    if (peer < 0 || peer >= t->size)
        return error_set(e, ERROR_INPUT, "rank %d cannot %s rank %d: the ranks are 0 to %d", t->rank, verb,
                         peer, t->size - 1);
    if (bytes > INT_MAX)
        return error_set(e, ERROR_INPUT,
                         "rank %d cannot %s rank %d %zu bytes at once: a message holds at most 2 GiB",
                         t->rank, verb, peer, bytes);
    return true;
}

static bool send_start(struct transport *t, int to, int tag, const void *data, size_t bytes, bool synchronous,
                       struct pending *p, struct error *e)
{
    struct mpi_transport *m = t->self;
    memset(p, 0, sizeof *p);
    if (!peer_check(t, to, bytes, "send to", e))
        return false;
    MPI_Request request;
    int code = synchronous ? MPI_Issend(data, (int)bytes, MPI_BYTE, to, tag, m->comm, &request)
                           : MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, m->comm, &request);
    if (code != MPI_SUCCESS) {
        mpi_ok(code, "sending", e);
        return error_wrap(e, "rank %d to rank %d, %zu bytes", t->rank, to, bytes);
    }
    pending_set(p, request, HANDLE_SEND);
    return true;
}

static bool recv_start(struct transport *t, int from, int tag, void *data, size_t bytes, struct pending *p,
                       struct error *e)
{
    struct mpi_transport *m = t->self;
    memset(p, 0, sizeof *p);
    if (!peer_check(t, from, bytes, "receive from", e))
        return false;
    MPI_Request request;
    int code = MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, m->comm, &request);
    if (code != MPI_SUCCESS) {
        mpi_ok(code, "receiving", e);
        return error_wrap(e, "rank %d from rank %d, %zu bytes", t->rank, from, bytes);
    }
    pending_set(p, request, HANDLE_RECV + (uintptr_t)bytes);
    return true;
}

/* The message is there: is it the one that was expected? */
static enum progress recv_finish(const struct transport *t, int code, const MPI_Status *status,
                                 size_t expected, struct error *e)
{
    int class = MPI_SUCCESS, came = MPI_UNDEFINED;
    MPI_Error_class(code, &class);
    if (class != MPI_SUCCESS && class != MPI_ERR_TRUNCATE) {
        mpi_ok(code, "receiving", e);
        error_wrap(e, "rank %d, %zu bytes", t->rank, expected);
        return PROGRESS_FAILED;
    }
    MPI_Get_count(status, MPI_BYTE, &came);
    if (class == MPI_SUCCESS && came != MPI_UNDEFINED && (size_t)came == expected)
        return PROGRESS_DONE;
    if (came != MPI_UNDEFINED && (size_t)came != expected)
        error_set(e, ERROR_FAILED,
                  "rank %d expected a message of %zu bytes from rank %d, but %d bytes came: both must name "
                  "the same length",
                  t->rank, expected, status->MPI_SOURCE, came);
    else
        error_set(e, ERROR_FAILED,
                  "rank %d expected a message of %zu bytes from rank %d, but a longer one came: both must "
                  "name the same length",
                  t->rank, expected, status->MPI_SOURCE);
    return PROGRESS_FAILED;
}

static enum progress test(struct transport *t, struct pending *p, struct error *e)
{
    if (p->handle[1] == 0)
        return PROGRESS_DONE;
    struct mpi_transport *m = t->self;
    struct kept kept;
    memcpy(&kept, &p->handle[0], sizeof kept);
    MPI_Status status;
    int done = 0;
    int code = MPI_Test(&kept.request, &done, &status);
    if (code == MPI_SUCCESS && !done) {
        t->gave_way |= m->yields;
        if (++m->busy % FAULT_INTERVAL || fault_check(m->faults, e))
            return PROGRESS_BUSY;
        MPI_Request_free(&kept.request); /* nobody waits for it any more; the job is about to end */
        memset(p, 0, sizeof *p);
        return PROGRESS_FAILED;
    }
    uintptr_t what = p->handle[1];
    memset(p, 0, sizeof *p);
    if (what >= HANDLE_RECV)
        return recv_finish(t, code, &status, what - HANDLE_RECV, e);
    if (mpi_ok(code, "sending", e))
        return PROGRESS_DONE;
    error_wrap(e, "rank %d", t->rank);
    return PROGRESS_FAILED;
}

bool mpi_transport_listen(struct mpi_transport *m, struct error *e)
{
    int there;
    return ++m->busy % FAULT_INTERVAL ||
           (mpi_ok(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, m->comm, &there, MPI_STATUS_IGNORE), "waiting",
                   e) &&
            fault_check(m->faults, e));
}

bool mpi_transport_wait(struct transport *t, struct pending *p, int n, struct error *e)
{
    struct idle idle = idle_start(t->crowded, t->aside);
    for (int first = 0; first < n;) {
        bool moved = false;
        t->gave_way = false;
        for (int i = first; i < n; i++) {
            if (p[i].handle[1] == 0)
                continue;
            enum progress progress = t->ops->test(t, &p[i], e);
            if (progress == PROGRESS_FAILED)
                return false;
            moved |= progress == PROGRESS_DONE;
        }
        while (first < n && p[first].handle[1] == 0)
            first++;
        if (moved)
            idle_reset(&idle);
        else if (t->gave_way)
            idle_gave_way(&idle);
        else
            idle_step(&idle);
    }
    return true;
}

static const struct transport_ops mpi_ops = {
    .name = "mpi",
    .send_start = send_start,
    .recv_start = recv_start,
    .test = test,
    .wait = mpi_transport_wait,
};

void mpi_transport_init(struct mpi_transport *t, struct fault_channel *faults, MPI_Comm comm, bool crowded)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    *t = (struct mpi_transport){.comm = comm, .faults = faults};
    t->transport = (struct transport){
        .ops = &mpi_ops, .self = t, .rank = rank, .size = size, .crowded = crowded, .aside = &faults->aside};
    /* Open MPI can be told to yield wherever it looks for messages in vain; a second yield costs a turn of all ranks. */
    const char *yields = getenv("OMPI_MCA_mpi_yield_when_idle");
    t->yields = yields && strcmp(yields, "1") == 0;
}
