/*
 * shm_internal.h - what shm.c (the memory, and keeping in step) and shm_sum.c (the sums) share.
 */
#ifndef RINGSIDE_COMM_SHM_INTERNAL_H
#define RINGSIDE_COMM_SHM_INTERNAL_H

#include "engine/comm/fault.h"
#include "engine/comm/shared.h"
#include "engine/comm/shm.h"

#include <stdatomic.h>

enum {
    SLOT =
        32 *
        1024, /* bytes that are summed at once: two slots of each rank stay in a core's second-level cache */
    WIDE_SLOT = 8 * SLOT,    /* where ranks share cores and each piece costs a turn of all of them */
    SLOTS = 2,               /* a rank may be one operation ahead of another, never two */
    BLOCK = 4096,            /* bytes summed at a time: they stay in the first-level cache */
    STAGE = 1024 * 1024,     /* bytes of private memory that go through a stage at once, */
    STAGES = 2,              /* of which each rank has two, */
    STAGE_FROM = 128 * 1024, /* where there are at least so many */
    MAX_BUFFERS = 64,        /* at once */
    LINE = 64,               /* bytes of a cache line: where parts begin, which streaming stores need */
};

/*
 * What a rank writes and the others read: how many steps it has come, and in the lowest STAMP_BITS a stamp of
 * what it sums, which must be the same where the steps are.
 */
struct flag {
    _Alignas(LINE) _Atomic uint64_t count;
};
enum { STAMP_BITS = 12 };

/* Where the memory of a rank begins; then come its slots and stages. */
struct head {
    struct flag flag;
    struct activity activity;
};

struct shm {
    struct fault_channel *faults;
    bool crowded; /* more ranks than cores */
    MPI_Comm host;
    int rank, ranks;
    struct shared control; /* of each rank: its head, slots and stages */
    uint64_t tick;         /* how many steps this rank has come */
    unsigned stamp;        /* of what is summed */
    struct shared buffers[MAX_BUFFERS];
    int buffer_count;
    const void **from; /* by rank: what a sum is taken of */
    size_t slot_bytes;
    size_t cache_bytes; /* what is longer does not stay in it */
    unsigned stages;    /* that have been used */
};

static inline struct flag *shm_flag(const struct shm *s, int rank)
{
    return &((struct head *)s->control.base[rank])->flag;
}

static inline char *shm_slot(const struct shm *s, int rank, int slot)
{
    return (char *)s->control.base[rank] + sizeof(struct head) + (size_t)slot * s->slot_bytes;
}

static inline char *shm_stage(const struct shm *s, int rank, unsigned stage)
{
    return shm_slot(s, rank, SLOTS) + (size_t)(stage % STAGES) * STAGE;
}

/* Tells that this rank has come one step further and waits until all others have. */
bool shm_step(struct shm *s, struct error *e);

#endif
