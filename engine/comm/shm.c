#include "engine/comm/shm_internal.h"

#include "engine/comm/idle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- memory --- */

struct shm *shm_new(struct fault_channel *faults, MPI_Comm host, bool crowded, char why[256])
{
    struct shm *s = calloc(1, sizeof *s);
    snprintf(why, 256, "out of memory");
    if (!s)
        return NULL;
    s->faults = faults;
    s->crowded = crowded;
    s->host = host;
    MPI_Comm_rank(host, &s->rank);
    MPI_Comm_size(host, &s->ranks);
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    s->from = calloc((size_t)s->ranks, sizeof *s->from);
    s->slot_bytes = crowded ? WIDE_SLOT : SLOT;
    s->cache_bytes = cache > 0 ? (size_t)cache : (size_t)16 << 20;
    if (!shared_map(s->host, sizeof(struct head) + SLOTS * s->slot_bytes + STAGES * (size_t)STAGE,
                    &s->control)) {
        snprintf(
            why, 256,
            "the ranks of this host may not open each other's memory (memfd_create and /proc/PID/fd), as in "
            "containers that are apart");
        free(s->from);
        free(s);
        return NULL;
    }
    return s;
}

void shm_free(struct shm *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->buffer_count; i++)
        shared_unmap(&s->buffers[i]);
    shared_unmap(&s->control);
    free(s->from);
    free(s);
}

float *shm_buffer(struct shm *s, size_t bytes)
{
    if (s->buffer_count == MAX_BUFFERS ||
        !shared_map(s->host, bytes ? bytes : 1, &s->buffers[s->buffer_count]))
        return NULL;
    float *mine = s->buffers[s->buffer_count++].base[s->rank];
    if (mine)
        memset(mine, 0, bytes); /* pages of its own core's memory, and none missing later */
    return mine;
}

bool shm_buffer_free(struct shm *s, float *buffer)
{
    for (int i = 0; i < s->buffer_count; i++)
        if (s->buffers[i].base[s->rank] == (void *)buffer) {
            shared_unmap(&s->buffers[i]);
            s->buffers[i] = s->buffers[--s->buffer_count];
            return true;
        }
    return false;
}

/* --- in step --- */

bool shm_step(struct shm *s, struct error *e)
{
    uint64_t tick = ++s->tick << STAMP_BITS, mine = tick | s->stamp, other;
    atomic_store_explicit(&shm_flag(s, s->rank)->count, mine, memory_order_release);
    struct idle idle = idle_start(s->crowded, &s->faults->aside);
    for (int r = 0; r < s->ranks; r++) {
        while ((other = atomic_load_explicit(&shm_flag(s, r)->count, memory_order_acquire)) < tick) {
            if (idle.polls % 256 == 255 && !fault_check(s->faults, e))
                return false;
            idle_step(&idle);
        }
        /* One that is a step ahead has made the comparison. */
        if (other != mine && other >> STAMP_BITS == s->tick)
            return fault_check(s->faults, e) &&
                   error_set(e, ERROR_FAILED,
                             "the ranks of this host are not in the same allreduce: all must call the same, "
                             "in the same order, with the same length and type");
    }
    return true;
}

struct activity *shm_activity(const struct shm *s, int rank)
{
    return &((struct head *)s->control.base[rank])->activity;
}

bool shm_barrier(struct shm *s, struct error *e)
{
    return s->ranks == 1 || shm_step(s, e);
}
