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
    struct fault_channel *faults;
};

/* crowded: this host has more ranks than cores. */
void mpi_transport_init(struct mpi_transport *t, struct fault_channel *faults, MPI_Comm comm, bool crowded);

#endif
