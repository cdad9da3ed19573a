/*
 * mailbox.h - messages between the ranks of one host: short ones by way of memory that they share, long ones
 * by MPI.
 *
 * A `struct transport` over all ranks. Each rank has, for each other rank of its host, a ring of bytes that
 * the other alone writes and it alone reads (mail_ring.h). Every message
 * travels through the ring as its length, its tag and, where it is short, itself; a long one's bytes, and a
 * synchronous one's, follow by MPI. So messages are matched in one place and in order, and a wrong length is
 * named whatever the two lengths are. To ranks of other hosts everything goes by MPI.
 */
#ifndef RINGSIDE_COMM_MAILBOX_H
#define RINGSIDE_COMM_MAILBOX_H

#include "engine/comm/mpi_transport.h"

struct mailbox;

/*
 * Collective over the ranks of a host; host and mpi are kept. NULL: there is one rank, or they cannot share
 * memory; mpi will do.
 */
struct mailbox *mailbox_new(struct mpi_transport *mpi, MPI_Comm host);
void mailbox_free(struct mailbox *m);
struct transport *mailbox_transport(struct mailbox *m);

#endif
