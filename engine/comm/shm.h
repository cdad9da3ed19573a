/*
 * shm.h - memory that the ranks of one host share, and the allreduce over it.
 *
 * Memory comes from memfd_create, whose size no /dev/shm limits (a container's is often 64 MB, and MPI's shared
 * windows, which lie there, then end the job); the other ranks open it through /proc/PID/fd. Where that is not
 * permitted there is none, and callers go on without. Everything here is collective over the ranks of the host.
 *
 * Ways, by what x is. Short: every rank copies its x to its slot, tells, and sums all slots in the order of
 * ranks. Long and private: through stages, each rank summing its part of each. In shared buffers: each rank
 * sums its part of all buffers and writes the sum to all of them, so that each byte crosses the memory bus once
 * each way. The sum is always in the order of ranks: the same bits on all of them.
 */
#ifndef RINGSIDE_COMM_SHM_H
#define RINGSIDE_COMM_SHM_H

#include "engine/base/error.h"
#include "engine/comm/element.h"

#include <mpi.h>
#include <stddef.h>

struct shm;
struct activity;
struct fault_channel;

/*
 * host: the ranks of this host, all of which call it; kept, as is faults, which is looked at while waiting.
 * crowded: they are more than the cores. NULL: not here, `why` says for what reason.
 */
struct shm *shm_new(struct fault_channel *faults, MPI_Comm host, bool crowded, char why[256]);
void shm_free(struct shm *s);

/*
 * A zeroed buffer of this rank that the others can reach, page-aligned; NULL on all ranks where one cannot
 * have it.
 */
float *shm_buffer(struct shm *s, size_t bytes);
/* Whether it was one: then it is given back. */
bool shm_buffer_free(struct shm *s, float *buffer);

/* Of a rank of the host, which writes it. */
struct activity *shm_activity(const struct shm *s, int rank);

/* Waits until all ranks of the host are here. */
bool shm_barrier(struct shm *s, struct error *e);

/* Whether x[0..bytes) is in one of those buffers. */
bool shm_has(const struct shm *s, const void *x, size_t bytes);

/*
 * Sums from[0..n) of all ranks of the host into to, which may be from. Both alike on all of them: private,
 * or the same part of their shm_buffers. stamp: of the collective (order.h), below 4096; where another rank's
 * differs, that is the error.
 */
bool shm_allreduce(struct shm *s, const struct element *type, const void *from, void *to, size_t n,
                   unsigned stamp, struct error *e);

#endif
