/*
 * comm_internal.h - what lies behind struct comm: the ranks' communicators and what is kept between calls.
 * Nobody outside this folder includes it. Each file calls only those below it:
 *
 *     beat.c, judge.c                     heartbeats beside MPI, and what they say of the ranks
 *     comm_thread.c                       jobs on a thread of their own, whatever they call
 *     link.c, auto.c, collectives.c       what links cost, choice of the allreduce, the other collectives
 *     allreduce.c, hop_log.c (emit)       the allreduce by its name
 *     device.c                            sums in the memory of GPUs
 *     comm.c, control.c, buffer.c         opening and groups; broadcast, gather, barrier; buffers
 *     executor.c, shm.c, shm_sum.c        any schedule over any transport; memory of one host
 *     paced.c                             messages, slowed on purpose
 *     mailbox.c, mpi_transport.c          messages: short ones inside a host, all others
 *     mail_ring.c, shared.c               bytes from rank to rank; memory of a host
 *     fault.c, idle.c                     errors and the channel that tells of them; waiting
 *     order.c                             whether all ranks are in the same collective
 */
#ifndef RINGSIDE_COMM_INTERNAL_H
#define RINGSIDE_COMM_INTERNAL_H

#include "engine/comm/comm.h"
#include "engine/comm/fault.h"
#include "engine/comm/hop_log.h"
#include "engine/comm/mailbox.h"
#include "engine/comm/mpi_transport.h"
#include "engine/spec/collective.h"
#include "engine/spec/slow_link.h"

#include <mpi.h>

enum { MPI_PIECE = 1 << 30 }; /* MPI counts in int: what is longer goes in pieces */

struct plan;
struct shm;

/* Plans that have been made: a training job sums the same buffers at each step. */
enum { COMM_PLANS = 128 };
struct plan_cache {
    struct kept_plan {
        struct plan *plan;
        size_t length;      /* that was asked for */
        unsigned long used; /* the one used longest ago gives way */
    } kept[COMM_PLANS];
    unsigned long clock;
};

struct comm {
    struct activity own_activity; /* where the ranks of the host share no memory */
    int rank, size;
    bool long_tags;     /* of messages, beyond the 15 bits that MPI promises */
    int host_ranks;     /* ranks on this host */
    int ranks_per_host; /* the same on all hosts, which have theirs in order; else 0 */
    MPI_Comm host;      /* the ranks of this host */
    struct shm *shm;    /* NULL: they share no memory, no_shm says why */
    char no_shm[256];
    MPI_Comm collective; /* broadcast, gather, MPI_Allreduce */
    struct fault_channel faults;
    struct mpi_transport data;
    struct mailbox *mailbox; /* NULL: all messages go by MPI */
    struct slow_link slow;
    struct transport *paced; /* the real one, slowed on purpose to that; NULL: it is not */
    double sent_bytes;       /* see comm_take_sent_bytes */
    struct plan_cache plans;
    struct comm_auto *automatic; /* NULL until it is asked for */
    struct device_comm *device;  /* of the GPUs' memory; NULL: there is none */
    MPI_Op sum_bf16, sum_f16;    /* MPI_OP_NULL until they are needed */
    bool threaded;               /* there is a comm_thread: nothing is to block inside MPI */
};

/* comm_transport as it is where nothing slows it. */
struct transport *comm_transport_real(struct comm *c);

/*
 * The plan of that operation (algo: of the allreduce; of others their name), kept for the next time. Owned
 * by c.
 */
struct plan *comm_plan(struct comm *c, enum collective op, const char *algo, const struct element *type,
                       size_t n, struct error *e);

/* The MPI library's own name of a type and of its sum. */
bool comm_mpi_type(struct comm *c, const struct element *type, MPI_Datatype *name, MPI_Op *sum,
                   struct error *e);

#endif
