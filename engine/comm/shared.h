/*
 * shared.h - a piece of memory of each rank of a host, mapped into all of them.
 *
 * Each rank makes its own (memfd_create: no name in any file system, gone with its last user, and no /dev/shm
 * that a container keeps small) and opens the others' by /proc/PID/fd. Either all ranks have all pieces, or
 * none has any.
 */
#ifndef RINGSIDE_COMM_SHARED_H
#define RINGSIDE_COMM_SHARED_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct shared {
    size_t bytes;
    int ranks;
    void **base; /* by rank of the host; page-aligned, zeroed */
};

/* Collective over the ranks of a host, with the same size. False: *m is empty on all of them. */
bool shared_map(MPI_Comm host, size_t bytes, struct shared *m);
void shared_unmap(struct shared *m);

#endif
