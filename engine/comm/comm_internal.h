/*
 * comm_internal.h - what the files of engine/comm share: the ranks' communicators, MPI's errors as sentences,
 * the way to wait, and the record of a collective's transfers. Nobody outside this folder includes it.
 */
#ifndef RINGSIDE_COMM_INTERNAL_H
#define RINGSIDE_COMM_INTERNAL_H

#include "engine/comm/comm.h"
#include "engine/spec/collective.h"

#include <mpi.h>

enum { COMM_HOST = 64, COMM_SENTENCE = 1024 };

struct plan;
struct shm;

/* Plans that have been made: a training job sums the same buffers at each step. */
enum { COMM_PLANS = 32 };
struct plan_cache {
    struct kept_plan {
        struct plan *plan;
        size_t length;      /* that was asked for */
        unsigned long used; /* the one used longest ago gives way */
    } kept[COMM_PLANS];
    unsigned long clock;
};

struct mpi_transport {
    struct transport transport;
    MPI_Comm comm;     /* errors return */
    unsigned busy;     /* tests that found nothing */
    struct comm *home; /* whose fault channel is looked at while waiting */
};

struct comm {
    int rank, size;
    int host_ranks;     /* ranks on this host */
    int ranks_per_host; /* the same on all hosts, which have theirs in order; else 0 */
    MPI_Comm host;      /* the ranks of this host */
    struct shm *shm;    /* NULL: they share no memory, no_shm says why */
    char no_shm[256];
    MPI_Comm collective; /* broadcast, gather, MPI_Allreduce */
    MPI_Comm fault;      /* comm_fail */
    struct mpi_transport data;
    struct plan_cache plans;
    struct comm_auto *automatic; /* NULL until it is asked for */
    MPI_Op sum_bf16;             /* MPI_OP_NULL until it is needed */
    MPI_Request fault_request;   /* rank 0: the receive that waits for a comm_fail */
    char fault_text[COMM_SENTENCE];
    int failed_rank; /* -1: none has */
    bool fault_told; /* comm_fail has been called here */
};

/* One transfer of a schedule as one of its two ranks saw it; seconds since the epoch. */
struct hop_record {
    int32_t round, from, to, chunk, phase;
    int32_t sent;  /* 1: the sender's record, 0: the receiver's */
    int64_t index; /* in the schedule */
    uint64_t bytes;
    double t0, t1;
};

struct hop_log {
    struct hop_record *records;
    int count, capacity;
    char algo[32]; /* that was carried out, as auto may have chosen it */
};

void comm_auto_free(struct comm *c);

/*
 * The plan of that operation (algo: of the allreduce; of others their name), kept for the next time. Owned
 * by c.
 */
struct plan *comm_plan(struct comm *c, enum collective op, const char *algo, const struct element *type,
                       size_t n, struct error *e);

/* The MPI library's own name of a type and of its sum. */
bool comm_mpi_type(struct comm *c, const struct element *type, MPI_Datatype *name, MPI_Op *sum,
                   struct error *e);

void hop_log_clear(struct hop_log *log);
bool hop_log_reserve(struct hop_log *log, int count, struct error *e);

/* True where code is MPI_SUCCESS; else fills e: "doing: what MPI says". */
bool mpi_ok(int code, const char *doing, struct error *e);

void mpi_transport_init(struct mpi_transport *t, struct comm *home, MPI_Comm comm, int rank, int size);

/* Rank 0: true unless another rank has called comm_fail, whose sentence then is the error. Cheap. */
bool fault_check(struct comm *c, struct error *e);

/* Waits for one request, polling, stepping aside, listening for comm_fail. */
bool comm_wait(struct comm *c, MPI_Request *request, const char *doing, struct error *e);

#endif
