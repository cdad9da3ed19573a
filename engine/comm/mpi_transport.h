/*
 * mpi_transport.h - `struct transport` over MPI point to point, on a communicator of its own.
 *
 * Waiting polls, steps aside and looks at the fault channel. The communicator belongs to whoever made it.
 */
#ifndef RINGSIDE_COMM_MPI_TRANSPORT_H
#define RINGSIDE_COMM_MPI_TRANSPORT_H

#include "engine/base/transport.h"
#include "engine/comm/fault.h"

struct mpi_transport {
    struct transport transport;
    MPI_Comm comm; /* errors return */
    unsigned busy; /* tests that found nothing */
    bool yields;   /* MPI gives the core away whenever it looks for messages in vain */
    struct fault_channel *faults;
};

/* crowded: this host has more ranks than cores. */
void mpi_transport_init(struct mpi_transport *t, struct fault_channel *faults, MPI_Comm comm, bool crowded);

/*
 * For whoever waits for something else than a message of MPI's: now and then lets MPI go on and looks at the
 * fault channel. False: another rank has failed, and *e says how.
 */
bool mpi_transport_listen(struct mpi_transport *t, struct error *e);

/* transport_ops.wait of any transport that can be tested. */
bool mpi_transport_wait(struct transport *t, struct pending *p, int n, struct error *e);

#endif
