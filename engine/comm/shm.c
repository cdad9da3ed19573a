#include "engine/comm/shm.h"

#include "engine/comm/comm_internal.h"
#include "engine/comm/idle.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SLOT = 8192,  /* floats of a slot: 32 KiB, so that two of each rank stay in a core's second-level cache */
    SLOTS = 2,    /* a rank may be one operation ahead of another, never two */
    BLOCK = 1024, /* floats summed at a time: 4 KiB stay in the first-level cache */
    MAX_BUFFERS = 64,  /* at once */
    LINE = 64,         /* bytes of a cache line */
    STREAM_ALIGN = 16, /* floats: parts begin on a cache line, which streaming stores need */
};

/* Two words a rank writes and the others read, each rank's on a line of its own. */
struct flag {
    _Alignas(LINE) _Atomic uint64_t count;
};

/* A piece of memory of each rank, mapped into all. */
struct shared {
    size_t bytes;
    void **base; /* by local rank */
};

struct shm {
    struct comm *comm;
    MPI_Comm host;
    int rank, ranks;
    struct shared control; /* of each rank: its flag, then its slots */
    uint64_t tick;         /* what this rank's flag says */
    struct shared buffers[MAX_BUFFERS];
    int buffer_count;
    const float **from; /* by rank: what a sum is taken of */
    size_t cache_bytes; /* what is longer does not stay in it */
};

static struct flag *flag_of(const struct shm *s, int rank)
{
    return s->control.base[rank];
}

static float *slot_of(const struct shm *s, int rank, int slot)
{
    return (float *)((char *)s->control.base[rank] + sizeof(struct flag)) + (size_t)slot * SLOT;
}

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

struct shm *shm_new(struct comm *c, MPI_Comm host, char why[256])
{
    struct shm *s = calloc(1, sizeof *s);
    snprintf(why, 256, "out of memory");
    if (!s)
        return NULL;
    s->comm = c;
    s->host = host;
    MPI_Comm_rank(host, &s->rank);
    MPI_Comm_size(host, &s->ranks);
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    s->from = calloc((size_t)s->ranks, sizeof *s->from);
    s->cache_bytes = cache > 0 ? (size_t)cache : (size_t)16 << 20;
    if (!shared_map(s, sizeof(struct flag) + SLOTS * SLOT * sizeof(float), &s->control)) {
        snprintf(
            why, 256,
            "the ranks of this host may not open each other's memory (memfd_create and /proc/PID/fd), as in "
            "containers that are apart");
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

/* Tells that this rank has come one step further and waits until all others have. */
static bool step(struct shm *s, struct error *e)
{
    uint64_t tick = ++s->tick;
    atomic_store_explicit(&flag_of(s, s->rank)->count, tick, memory_order_release);
    struct idle idle = idle_start(s->comm->data.transport.crowded);
    for (int r = 0; r < s->ranks; r++)
        while (atomic_load_explicit(&flag_of(s, r)->count, memory_order_acquire) < tick) {
            if (idle.polls % 256 == 255 && !fault_check(s->comm, e))
                return false;
            idle_step(&idle);
        }
    return true;
}

/* --- sums --- */

static void add(float *restrict to, const float *restrict from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += from[i];
}

/* n floats of every rank, `from` by rank, into `to`. */
static void sum(const float *const *from, int ranks, float *restrict to, size_t n)
{
    const float *restrict a = from[0], *restrict b = from[1];
    for (size_t i = 0; i < n; i++)
        to[i] = a[i] + b[i];
    for (int r = 2; r < ranks; r++)
        add(to, from[r], n);
}

/* Through the slots, a piece at a time. */
static bool sum_slots(struct shm *s, float *x, size_t n, struct error *e)
{
    const float **from = s->from;
    for (size_t at = 0; at < n; at += SLOT) {
        size_t piece = n - at < SLOT ? n - at : SLOT;
        int slot = (int)(s->tick % SLOTS);
        memcpy(slot_of(s, s->rank, slot), x + at, piece * sizeof *x);
        if (!step(s, e))
            return false;
        for (int r = 0; r < s->ranks; r++)
            from[r] = slot_of(s, r, slot);
        sum(from, s->ranks, x + at, piece);
    }
    return true;
}

/* Past the cache, where it would not stay anyway: what is written need not be read first. */
static void stream(float *to, const float *from, size_t n)
{
#ifdef __SSE2__
    typedef float four __attribute__((vector_size(16)));
    for (size_t i = 0; i + 4 <= n; i += 4) {
        four value;
        memcpy(&value, from + i, sizeof value);
        __builtin_ia32_movntps(to + i, value);
    }
    for (size_t i = n / 4 * 4; i < n; i++)
        to[i] = from[i];
#else
    memcpy(to, from, n * sizeof *to);
#endif
}

static void stream_end(void)
{
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}

/* Each rank its part, begun on a cache line of all buffers alike. */
static bool sum_buffers(struct shm *s, const struct shared *m, size_t offset, size_t n, struct error *e)
{
    size_t lines = (n + STREAM_ALIGN - 1) / STREAM_ALIGN, first = (size_t)s->rank, all = (size_t)s->ranks;
    size_t begin = lines * first / all * STREAM_ALIGN, end = lines * (first + 1) / all * STREAM_ALIGN;
    bool streams = 2 * n * sizeof(float) * all > s->cache_bytes;
    const float **from = s->from;
    float total[BLOCK];
    if (end > n)
        end = n;
    if (!step(s, e)) /* all buffers are ready */
        return false;
    for (size_t at = begin; at < end; at += BLOCK) {
        size_t piece = end - at < BLOCK ? end - at : BLOCK;
        for (int r = 0; r < s->ranks; r++)
            from[r] = (const float *)m->base[r] + offset + at;
        sum(from, s->ranks, total, piece);
        for (int r = 0; r < s->ranks; r++) {
            float *to = (float *)m->base[r] + offset + at;
            if (streams && (uintptr_t)to % LINE == 0)
                stream(to, total, piece);
            else
                memcpy(to, total, piece * sizeof *to);
        }
    }
    if (streams)
        stream_end();
    return step(s, e); /* all parts are summed */
}

bool shm_allreduce(struct shm *s, float *x, size_t n, struct error *e)
{
    if (s->ranks == 1)
        return true;
    for (int i = 0; n > SLOT && i < s->buffer_count; i++) {
        const struct shared *m = &s->buffers[i];
        const char *base = m->base[s->rank];
        if ((char *)x >= base && (char *)(x + n) <= base + m->bytes)
            return sum_buffers(s, m, (size_t)((char *)x - base) / sizeof *x, n, e);
    }
    return sum_slots(s, x, n, e);
}
