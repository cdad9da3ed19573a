/*
 * transport.h - how ranks reach each other, as a table of functions.
 *
 * Whoever needs another rank (a schedule's executor, a rank script, synchronised batchnorm) is handed a
 * `struct transport` and knows nothing of what is behind it: MPI (engine/comm), NCCL (the CUDA plugin) or
 * coroutines in one process (engine/launch). Operations are started and then tested, so that a caller that
 * is a coroutine can step aside between the two.
 *
 * A transport belongs to one thread. Buffers belong to the caller and must stay untouched from the start of
 * an operation until it is done. Messages between a pair of ranks with the same tag arrive in the order sent.
 */
#ifndef RINGSIDE_BASE_TRANSPORT_H
#define RINGSIDE_BASE_TRANSPORT_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum progress { PROGRESS_BUSY, PROGRESS_DONE, PROGRESS_FAILED };

/* One started operation; what is inside belongs to the transport. All zero: none. */
struct pending {
    uintptr_t handle[2];
};

struct transport;

struct transport_ops {
    const char *name; /* "mpi", "coroutines": shown to the learner */

    /* Starts a send. synchronous: it is done only when the receiver has taken the message. */
    bool (*send_start)(struct transport *t, int to, int tag, const void *data, size_t bytes, bool synchronous,
                       struct pending *p, struct error *e);
    /* Starts a receive of exactly `bytes`; a message of another length fails it, naming both lengths. */
    bool (*recv_start)(struct transport *t, int from, int tag, void *data, size_t bytes, struct pending *p,
                       struct error *e);
    /* Whether it is done; never blocks. After DONE or FAILED *p is none again. A none is DONE. */
    enum progress (*test)(struct transport *t, struct pending *p, struct error *e);
    /* Blocks until all n are done; false at the first that fails. */
    bool (*wait)(struct transport *t, struct pending *p, int n, struct error *e);
    /*
     * What to do between two rounds of tests that brought nothing, where the transport knows when something may
     * come; NULL: it does not.
     */
    void (*rest)(struct transport *t);
};

struct transport {
    const struct transport_ops *ops;
    void *self; /* the implementation's own */
    int rank, size;
    bool crowded;  /* this host has more ranks than cores: whoever waits should give its core away at once */
    bool gave_way; /* set by tests that found nothing and have done so already; whoever waits clears it */
    const _Atomic bool *aside; /* NULL; or true while the process computes: whoever waits sleeps in between */
};

#endif
