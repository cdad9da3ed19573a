/*
 * comm.h - all ranks of a job, and the collectives they share.
 *
 * The one owner of MPI in a process: opened once by main(), handed to whoever needs the other ranks. It
 * belongs to one thread at a time (comm_thread.h). Every function that names "all ranks" is collective: each
 * rank must call it, in the same order, with the same sizes; ranks that do not get an error that names both
 * (order.h). MPI's errors are returned as sentences. Waiting polls and steps aside, so more ranks than cores do
 * not stand in each other's way; and while rank 0 waits it hears comm_fail of the others, so that the sentence
 * of a rank that fails becomes the error of rank 0's collective instead of a hang. After an error in a
 * collective the ranks are no longer in step: report it and leave.
 */
#ifndef RINGSIDE_COMM_COMM_H
#define RINGSIDE_COMM_COMM_H

#include "engine/base/device_comm.h"
#include "engine/base/error.h"
#include "engine/base/sink.h"
#include "engine/base/trace.h"
#include "engine/base/transport.h"
#include "engine/comm/element.h"
#include "engine/spec/collective.h"
#include "engine/spec/tuning.h"

#include <stddef.h>

struct activity;
struct slow_link;
struct comm;    /* all ranks of the job */
struct hop_log; /* when each transfer of one collective began and ended, as this rank saw it */

/* MPI_Init_thread and communicators of our own, whose errors return. ERROR_MISSING where MPI cannot start. */
struct comm *comm_open(int *argc, char ***argv, struct error *e);
void comm_close(struct comm *c); /* MPI_Finalize: collective; NULL is fine */

int comm_rank(const struct comm *c);
int comm_size(const struct comm *c);
int comm_host_rank(const struct comm *c); /* among the ranks of this host, from 0 */

/*
 * Point to point over all ranks, apart from the collectives' messages: between ranks of one host short ones by
 * way of memory that they share (mailbox.h), everything else by MPI. Owned by c.
 */
struct transport *comm_transport(struct comm *c);
/* The same by MPI alone, which is what a learner's script is promised. Use one of the two. */
struct transport *comm_transport_mpi(struct comm *c);

/*
 * From now on the messages of comm_transport, and so of every collective by a schedule, are slowed to that link
 * (paced.h); once. "mpi" and "shm" are refused then, and the cost model goes by it. What ranks tell each other
 * beside (comm_broadcast ... comm_barrier) and the groups' transports are not slowed. Collective.
 */
bool comm_set_link(struct comm *c, const struct slow_link *l, struct error *e);
bool comm_is_slowed(const struct comm *c);

/*
 * A transport over the ranks that name the same colour, numbered from 0 in their order; a colour below 0
 * joins none and gets true and *t NULL. Collective over all ranks. plan_run takes it: so rows and columns of
 * a mesh of ranks have collectives of their own. Free it with comm_transport_free before comm_close.
 */
bool comm_transport_group(struct comm *c, int colour, struct transport **t, struct error *e);
/* The group of the first `ranks` ranks (for rank scripts run at several counts after one start). */
bool comm_transport_split(struct comm *c, int ranks, struct transport **t, struct error *e);
void comm_transport_free(struct transport *t);

/*
 * `elements` floats, 64-byte aligned, zeroed: the gradient buffer, where the other ranks of the host can
 * reach it. Collective over the ranks of a host, with the same size. n = 0 gives a buffer too.
 */
float *comm_buffer(struct comm *c, size_t elements, struct error *e);
/*
 * Bytes that processes of this host may still have without swapping, as the kernel estimates; -1: it does
 * not tell.
 */
double comm_memory_available(void);
void comm_buffer_free(struct comm *c, float *buffer);

/*
 * Sums from[0..n) over all ranks into to; in place where from == to, else they must not overlap. algo: "mpi"
 * (MPI_Allreduce), "shm" (in the memory of one host), "nccl" (in that of GPUs), "auto" (one of the others, by size) or
 * any name schedule_make knows; "hierarchical" alone goes by the hosts there are. log: filled with the times of this
 * operation's transfers (what was in it is dropped), or NULL. The sum is the same, bit for bit, on all
 * ranks.
 */
bool comm_allreduce_to(struct comm *c, const char *algo, const struct element *type, const void *from,
                       void *to, size_t n, struct hop_log *log, struct error *e);
/*
 * Bytes that a rank has sent in allreduces since the last call of this, the mean over the ranks; NAN where one was
 * by MPI's own or in shared memory, of which nothing is known.
 */
double comm_take_sent_bytes(struct comm *c);

/*
 * "nccl": what lies in the memory of GPUs is summed there, where each rank has one of its own. d is borrowed until it is
 * set anew; NULL: there is none. comm_allreduce_to waits until the sum is there, as ever; comm_device_sum starts it behind what
 * the rank's backend was asked for, and comm_device_wait waits for all that were started. Seconds: see device_comm.h.
 */
void comm_set_device(struct comm *c, struct device_comm *d);
bool comm_device_sum(struct comm *c, const struct element *type, const void *from, void *to, size_t n,
                     struct error *e);
bool comm_device_wait(struct comm *c, struct error *e);
void comm_device_times(struct comm *c, double *busy_s, double *exposed_s);

/* The same for floats in place. */
bool comm_allreduce(struct comm *c, const char *algo, float *x, size_t n, struct hop_log *log,
                    struct error *e);

/*
 * Any of collective.h's operations on x[0..n), in place; algo: "mpi" (the library's) or anything else (its
 * schedule; of the allreduce a name as above).
 */
bool comm_collective(struct comm *c, enum collective op, const char *algo, const struct element *type,
                     void *x, size_t n, struct hop_log *log, struct error *e);

/*
 * What "auto" goes by: the table that `ringside allreduce --tune` has left for this host, library and number
 * of ranks, or else the cost model. Rank 0 decides, once, for all; the first call is collective. *about: a
 * sentence for the stream; where a table was there but unusable it says so. Owned by c.
 */
bool comm_auto(struct comm *c, const char **about, struct error *e);
/* What such a table is for. buffer: "engine" or "private". */
void comm_tuning_key(const struct comm *c, const char *buffer, struct tuning_key *key);
/* What this rank is doing, for its own threads to write (activity.h). Owned by c. */
struct activity *comm_activity(struct comm *c);
/* Says there that this collective is timed, for the iteration-th time (0: it is tried first). */
void comm_measures(struct comm *c, enum collective op, const char *algo, const struct element *type, size_t n,
                   long iteration);
/* Whether all ranks are on this host. */
bool comm_one_host(const struct comm *c);
/* Whether all ranks share memory and may use it (a slowed link forbids it), so that there is "shm". */
bool comm_shares_memory(const struct comm *c);

/* What a message costs here over the transport and by MPI alone, and a flag and a copy in shared memory. */
struct comm_links {
    struct cost_link messages, library, memory;
    struct cost_curve private_memory; /* memory.pass where buffers are private */
    bool shared;                      /* there is a memory */
};
/*
 * Measures them, for buffers up to `longest` bytes: up to half a second where these are long. Collective; the same
 * figures on all ranks. All zero with one rank.
 */
bool comm_measure_links(struct comm *c, size_t longest, struct comm_links *l, struct error *e);
/* Seconds a byte of messages that are longer than a cache; NAN where none were measured. */
double comm_far_beta(const struct cost_link *l);
/*
 * What an allreduce should take by cost.h, in seconds. shared: in comm_buffers. NAN where there is no
 * formula.
 */
double comm_predict(const struct comm *c, const struct comm_links *l, const char *algo, double bytes,
                    bool shared);
/* The algorithm that auto takes for x[0..bytes); NULL with the sentence in e. The first call is collective. */
const char *comm_auto_choose(struct comm *c, size_t bytes, const void *from, const void *to, struct error *e);

/* data of the root goes to all ranks. */
bool comm_broadcast(struct comm *c, void *data, size_t bytes, int root, struct error *e);
/* all (looked at on rank 0 only) gets size * bytes in rank order. */
bool comm_gather(struct comm *c, const void *mine, size_t bytes, void *all, struct error *e);
/* x[0..n) summed over all ranks, everywhere. */
bool comm_sum_double(struct comm *c, double *x, int n, struct error *e);
/* x[0..n): the largest over all ranks, everywhere. */
bool comm_max_double(struct comm *c, double *x, int n, struct error *e);
bool comm_barrier(struct comm *c, struct error *e);

/*
 * For a rank that fails alone: hands its sentence to rank 0, which hears it while it waits in a collective
 * (whose error it becomes: "rank 2 (host): sentence"). Waits at most timeout_s for that. True where rank 0
 * took it. On rank 0 nothing is sent: true.
 */
bool comm_fail(struct comm *c, const char *sentence, double timeout_s);
/* Whether the last error of a collective on rank 0 was another rank's comm_fail; -1: no; else that rank. */
int comm_failed_rank(const struct comm *c);
/* Ends every rank of the job at once, this one too. The last resort; does not return. */
_Noreturn void comm_abort(struct comm *c, int code);

/* "Open MPI v4.1.4 ...": the library's own words, one line. Needs no comm. */
void comm_library(char *text, size_t size);

struct hop_log *hop_log_new(struct error *e);
void hop_log_free(struct hop_log *log);

/*
 * Gathers the log from all ranks (collective: every rank calls it); rank 0 emits one `hop` event per
 * transfer through the sink (others may pass NULL): op (the caller's number of the operation), algo (of auto
 * the one it took), phase, hop (the round), from, to, chunk, bytes, t0 (the sender began), t1 (the receiver
 * had it, added where it reduces), in seconds since the run began. An empty log (one rank, no elements,
 * "mpi") emits nothing.
 */
bool hop_log_emit(struct comm *c, struct hop_log *log, long op, const char *algo, struct event_sink *sink,
                  struct error *e);

/* This rank's part of the log as spans of the step that is open there; the log may then be filled anew. */
void hop_log_trace(const struct hop_log *log, struct trace_lane *lane);

#endif
