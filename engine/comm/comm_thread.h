/*
 * comm_thread.h - the communication thread: collectives beside a thread that computes.
 *
 * A rank puts jobs (an allreduce, say) into a queue; the thread carries them out one after the other, in that
 * order, which must be the same on all ranks. While there is none it sleeps and costs nothing; while it waits
 * for other ranks and this rank computes, it looks for messages and sleeps in between; while this rank waits
 * for it, it may spin. MPI knows one thread at a time (MPI_THREAD_SERIALIZED): from the first job that is put
 * to the end of comm_thread_wait the thread owns the comm, otherwise whoever started it does.
 *
 * A job that fails makes those behind it be dropped; the error is told by comm_thread_wait.
 */
#ifndef RINGSIDE_COMM_COMM_THREAD_H
#define RINGSIDE_COMM_COMM_THREAD_H

#include "engine/comm/comm.h"

struct comm_thread;

/* What is to be done; the caller's, untouched by it until comm_thread_wait. */
struct comm_job {
    bool (*run)(struct comm_job *job, struct error *e);
    struct comm_job *next; /* the queue's */
};

/* Not collective. From then on "mpi" is MPI_Iallreduce, since the thread never blocks inside MPI. */
struct comm_thread *comm_thread_start(struct comm *c, struct error *e);
/* Jobs that are still under way are given up (the ranks are no longer in step then). NULL is fine. */
void comm_thread_stop(struct comm_thread *t);

/* Puts a job behind the others. False where one before has failed: comm_thread_wait tells why. */
bool comm_thread_put(struct comm_thread *t, struct comm_job *job);
/* Until all jobs are done. After an error the thread takes no more jobs. */
bool comm_thread_wait(struct comm_thread *t, struct error *e);

/*
 * All between comm_thread_wait and comm_thread_put. Seconds so far in which there were jobs, waking up for them
 * included; those of them in which comm_thread_wait waited for their end, which are never more; and of a processor in all.
 */
double comm_thread_busy_s(const struct comm_thread *t);
double comm_thread_waited_s(const struct comm_thread *t);
double comm_thread_cpu_s(const struct comm_thread *t);

#endif
