#include "engine/comm/shm_internal.h"

#include "engine/comm/idle.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- memory --- */

static void shared_unmap(const struct shm *s, struct shared *m)
{
    for (int r = 0; m->base && r < s->ranks; r++)
        if (m->base[r])
            munmap(m->base[r], m->bytes);
    free(m->base);
    *m = (struct shared){0};
}

static int create(size_t bytes)
{
    int fd = memfd_create("ringside", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Collective. Either all ranks map the memory of all, or none has any. */
static bool shared_map(struct shm *s, size_t bytes, struct shared *m)
{
    int mine[2] = {(int)getpid(), create(bytes)};
    int(*all)[2] = calloc((size_t)s->ranks, sizeof *all);
    *m = (struct shared){.bytes = bytes, .base = calloc((size_t)s->ranks, sizeof(void *))};
    int good = all && m->base && mine[1] >= 0;
    if (!all || MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, s->host) != MPI_SUCCESS)
        good = 0;
    for (int r = 0; good && r < s->ranks; r++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/fd/%d", all[r][0], all[r][1]);
        int fd = all[r][1] < 0 ? -1 : r == s->rank ? mine[1] : open(path, O_RDWR | O_CLOEXEC);
        void *base = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0 && r != s->rank)
            close(fd);
        good = base != MAP_FAILED;
        m->base[r] = good ? base : NULL;
    }
    int everywhere = 0;
    if (MPI_Allreduce(&good, &everywhere, 1, MPI_INT, MPI_MIN, s->host) != MPI_SUCCESS)
        everywhere = 0;
    /* All have opened it, or will not: what is mapped stays. */
    if (mine[1] >= 0)
        close(mine[1]);
    free(all);
    if (!everywhere)
        shared_unmap(s, m);
    return everywhere;
}

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
    if (!shared_map(s, sizeof(struct flag) + SLOTS * s->slot_bytes + STAGES * (size_t)STAGE, &s->control)) {
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
        shared_unmap(s, &s->buffers[i]);
    shared_unmap(s, &s->control);
    free(s->from);
    free(s);
}

float *shm_buffer(struct shm *s, size_t bytes)
{
    if (s->buffer_count == MAX_BUFFERS || !shared_map(s, bytes ? bytes : 1, &s->buffers[s->buffer_count]))
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
            shared_unmap(s, &s->buffers[i]);
            s->buffers[i] = s->buffers[--s->buffer_count];
            return true;
        }
    return false;
}

/* --- in step --- */

bool shm_step(struct shm *s, struct error *e)
{
    uint64_t tick = ++s->tick;
    atomic_store_explicit(&shm_flag(s, s->rank)->count, tick, memory_order_release);
    struct idle idle = idle_start(s->crowded, &s->faults->aside);
    for (int r = 0; r < s->ranks; r++)
        while (atomic_load_explicit(&shm_flag(s, r)->count, memory_order_acquire) < tick) {
            if (idle.polls % 256 == 255 && !fault_check(s->faults, e))
                return false;
            idle_step(&idle);
        }
    return true;
}

bool shm_barrier(struct shm *s, struct error *e)
{
    return s->ranks == 1 || shm_step(s, e);
}
