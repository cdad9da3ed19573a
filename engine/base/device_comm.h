/*
 * device_comm.h - sums over ranks of numbers that lie in the memory of GPUs, as a table of functions: NCCL, in the plugin.
 *
 * A sum begins behind all that the rank's backend has been asked for so far and goes on beside what it is asked for next;
 * sums are carried out one after the other, in the order in which they were started, which must be the same on all
 * ranks. None of the functions waits for another rank but open: who wants to wait polls, and can look at other things in
 * between (fault.h). Ranks are connected by an identifier that one of them makes and hands to all the others.
 */
#ifndef RINGSIDE_BASE_DEVICE_COMM_H
#define RINGSIDE_BASE_DEVICE_COMM_H

#include "engine/base/error.h"
#include "engine/base/transport.h"

#include <stddef.h>

struct device_comm_id {
    char bytes[128];
};

enum device_type { DEVICE_F32, DEVICE_F64, DEVICE_BF16, DEVICE_F16 };

struct device_comm;

struct device_comm_ops {
    /* to[0..n) becomes the sum of from[0..n) over all ranks, the same on all of them; from may be to. */
    bool (*sum)(struct device_comm *d, enum device_type type, const void *from, void *to, size_t n,
                struct error *e);
    /* What the backend is asked for from now on comes after all sums so far. */
    bool (*join)(struct device_comm *d, struct error *e);
    /* How it stands with the sums so far; a rank that is gone or a link that is broken is PROGRESS_FAILED. */
    enum progress (*poll)(struct device_comm *d, struct error *e);
    /*
     * After PROGRESS_DONE: seconds from the first sum since the last call of this to the end of the last one, and
     * those of them in which the backend had nothing left to compute (up to join).
     */
    void (*times)(struct device_comm *d, double *busy_s, double *exposed_s);
    void (*close)(struct device_comm *d); /* where ranks have failed, too: it waits for nobody */
};

struct device_comm {
    const struct device_comm_ops *ops;
    void *self;
    char name[32]; /* "NCCL 2.28.9" */
};

#endif
