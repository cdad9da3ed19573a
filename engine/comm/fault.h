/*
 * fault.h - what goes wrong between ranks: MPI's errors as sentences, and the channel by which a rank that
 * fails alone tells rank 0 while both may be waiting for something else.
 *
 * The lowest layer of engine/comm: whoever waits for another rank (messages, shared memory, collectives) looks
 * at the channel while it waits, so that the other rank's sentence ends the wait, and calls nothing above it. The
 * same look notices a rank of this host that is in another collective (order.h).
 * One channel per process, owned by struct comm; it belongs to the thread that owns MPI.
 */
#ifndef RINGSIDE_COMM_FAULT_H
#define RINGSIDE_COMM_FAULT_H

#include "engine/base/error.h"
#include "engine/comm/order.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { FAULT_SENTENCE = 1024 };

struct fault_channel {
    MPI_Comm comm; /* apart from all others' messages */
    int rank;
    bool gives_way;      /* whoever waits gives its core away at once */
    MPI_Request request; /* rank 0: the receive that waits for another rank's sentence */
    char text[FAULT_SENTENCE];
    int failed_rank; /* -1: none has */
    bool told;       /* fault_tell has been called here */
    struct order order;
    /* Set by another thread than the one that waits: */
    atomic_bool aside;    /* the process computes meanwhile: whoever waits sleeps between two looks */
    atomic_bool given_up; /* what is waited for is no longer wanted: the wait is to fail */
};

/* True where code is MPI_SUCCESS; else fills e: "doing: what MPI says". */
bool mpi_ok(int code, const char *doing, struct error *e);

/* Collective over all ranks of MPI_COMM_WORLD. */
bool fault_open(struct fault_channel *f, bool gives_way, struct error *e);
void fault_close(struct fault_channel *f);

/*
 * True unless this rank has given up, a rank of this host is in another collective or, on rank 0, another one has
 * called fault_tell, whose sentence then is the error. For every hundredth look of a wait.
 */
bool fault_check(struct fault_channel *f, struct error *e);

/* Waits for one request: polls, steps aside, and listens to the channel. */
bool fault_wait(struct fault_channel *f, MPI_Request *request, const char *doing, struct error *e);

/* See comm_fail. */
bool fault_tell(struct fault_channel *f, const char *sentence, double timeout_s);

#endif
