/* clock.c - how far the clocks of the other ranks are ahead of rank 0's, by ping-pong. */
#include "engine/comm/comm_internal.h"
#include "engine/comm/tracing.h"

#include <math.h>

enum { ROUNDS = 32, TAG = 7 };

static bool pass(struct comm *c, bool send, int64_t *time, int peer, struct error *e)
{
    MPI_Request request;
    int code = send ? MPI_Isend(time, 1, MPI_INT64_T, peer, TAG, c->collective, &request)
                    : MPI_Irecv(time, 1, MPI_INT64_T, peer, TAG, c->collective, &request);
    return mpi_ok(code, "comparing clocks", e) && fault_wait(&c->faults, &request, "comparing clocks", e);
}

/* Rank 0's side: asks, and notes when the answer came. The first round only wakes the other up. */
static bool ask(struct comm *c, const struct trace *clock, int rank, double *offset_s, double *bound_s,
                struct error *e)
{
    int64_t least = INT64_MAX, ahead = 0;
    for (int i = 0; i <= ROUNDS; i++) {
        int64_t asked = trace_clock(clock), theirs = asked;
        if (!pass(c, true, &theirs, rank, e) || !pass(c, false, &theirs, rank, e))
            return false;
        int64_t way = trace_clock(clock) - asked;
        if (i > 0 && way < least) {
            least = way;
            ahead = theirs - (asked + way / 2);
        }
    }
    *bound_s = 1e-9 * (double)(least + 1) / 2; /* the clock counts whole nanoseconds */
    *offset_s = 1e-9 * (double)ahead;
    if (fabs(*offset_s) <= *bound_s)
        *offset_s = 0;
    return true;
}

static bool answer(struct comm *c, const struct trace *clock, struct error *e)
{
    for (int i = 0; i <= ROUNDS; i++) {
        int64_t time;
        if (!pass(c, false, &time, 0, e))
            return false;
        time = trace_clock(clock);
        if (!pass(c, true, &time, 0, e))
            return false;
    }
    return true;
}

bool comm_clock_offsets(struct comm *c, const struct trace *clock, double *offset_s, double *bound_s,
                        struct error *e)
{
    if (c->rank > 0)
        return answer(c, clock, e);
    offset_s[0] = bound_s[0] = 0;
    for (int r = 1; r < c->size; r++)
        if (!ask(c, clock, r, &offset_s[r], &bound_s[r], e))
            return false;
    return true;
}
