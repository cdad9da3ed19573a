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
    SLOT =
        32 *
        1024, /* bytes that are summed at once: two slots of each rank stay in a core's second-level cache */
    WIDE_SLOT = 8 * SLOT, /* where ranks share cores and each piece costs a turn of all of them */
    SLOTS = 2,            /* a rank may be one operation ahead of another, never two */
    BLOCK = 4096,         /* bytes summed at a time: they stay in the first-level cache */
    MAX_BUFFERS = 64,     /* at once */
    LINE = 64,            /* bytes of a cache line: where parts begin, which streaming stores need */
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
    const void **from; /* by rank: what a sum is taken of */
    size_t slot_bytes;
    size_t cache_bytes; /* what is longer does not stay in it */
};

static struct flag *flag_of(const struct shm *s, int rank)
{
    return s->control.base[rank];
}

static char *slot_of(const struct shm *s, int rank, int slot)
{
    return (char *)s->control.base[rank] + sizeof(struct flag) + (size_t)slot * s->slot_bytes;
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
    s->slot_bytes = c->data.transport.crowded ? WIDE_SLOT : SLOT;
    s->cache_bytes = cache > 0 ? (size_t)cache : (size_t)16 << 20;
    if (!shared_map(s, sizeof(struct flag) + SLOTS * s->slot_bytes, &s->control)) {
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

bool shm_barrier(struct shm *s, struct error *e)
{
    return s->ranks == 1 || step(s, e);
}

/* --- sums --- */

struct sum {
    const struct element *type;
    const char *from; /* what this rank adds */
    char *to;         /* where the sum goes; may be from */
    size_t n;         /* elements */
};

/* n elements of every rank, s->from by rank, into `to`. */
static void sum_all(const struct shm *s, const struct element *type, void *to, size_t n)
{
    type->sum(to, s->from[0], s->from[1], n);
    for (int r = 2; r < s->ranks; r++)
        type->add(to, s->from[r], n);
}

/* Through the slots, a piece at a time. */
static bool sum_slots(struct shm *s, const struct sum *sum, struct error *e)
{
    size_t width = sum->type->bytes, most = s->slot_bytes / width;
    for (size_t at = 0; at < sum->n; at += most) {
        size_t piece = sum->n - at < most ? sum->n - at : most;
        int slot = (int)(s->tick % SLOTS);
        memcpy(slot_of(s, s->rank, slot), sum->from + at * width, piece * width);
        if (!step(s, e))
            return false;
        for (int r = 0; r < s->ranks; r++)
            s->from[r] = slot_of(s, r, slot);
        sum_all(s, sum->type, sum->to + at * width, piece);
    }
    return true;
}

/* Past the cache, where it would not stay anyway: what is written need not be read first. to: on a cache line. */
static void stream(void *to, const void *from, size_t bytes)
{
#ifdef __SSE2__
    typedef float four __attribute__((vector_size(16)));
    size_t whole = bytes / sizeof(four) * sizeof(four);
    for (size_t i = 0; i < whole; i += sizeof(four)) {
        four value;
        memcpy(&value, (const char *)from + i, sizeof value);
        __builtin_ia32_movntps((float *)((char *)to + i), value);
    }
    memcpy((char *)to + whole, (const char *)from + whole, bytes - whole);
#else
    memcpy(to, from, bytes);
#endif
}

static void stream_end(void)
{
#ifdef __SSE2__
    __builtin_ia32_sfence();
#endif
}

/* A part of the buffers: the same one in each rank's. */
struct place {
    const struct shared *memory;
    size_t offset; /* bytes */
};

/* Each rank its part, begun on a cache line of all buffers alike. */
static bool sum_buffers(struct shm *s, const struct sum *sum, struct place from, struct place to,
                        struct error *e)
{
    size_t width = sum->type->bytes, bytes = sum->n * width;
    size_t lines = (bytes + LINE - 1) / LINE, first = (size_t)s->rank, all = (size_t)s->ranks;
    size_t begin = lines * first / all * LINE, end = lines * (first + 1) / all * LINE;
    bool streams = 2 * bytes * all > s->cache_bytes;
    _Alignas(LINE) char total[BLOCK];
    if (end > bytes)
        end = bytes;
    if (!step(s, e)) /* all buffers are ready */
        return false;
    for (size_t at = begin; at < end; at += BLOCK) {
        size_t piece = end - at < BLOCK ? end - at : BLOCK;
        for (int r = 0; r < s->ranks; r++)
            s->from[r] = (const char *)from.memory->base[r] + from.offset + at;
        sum_all(s, sum->type, total, piece / width);
        for (int r = 0; r < s->ranks; r++) {
            char *there = (char *)to.memory->base[r] + to.offset + at;
            if (streams && (uintptr_t)there % LINE == 0)
                stream(there, total, piece);
            else
                memcpy(there, total, piece);
        }
    }
    if (streams)
        stream_end();
    return step(s, e); /* all parts are summed */
}

/* Whether x is in one of the shared buffers, and where. */
static bool find(const struct shm *s, const void *x, size_t bytes, struct place *place)
{
    for (int i = 0; i < s->buffer_count; i++) {
        const struct shared *m = &s->buffers[i];
        const char *base = m->base[s->rank];
        if ((const char *)x >= base && (const char *)x + bytes <= base + m->bytes) {
            *place = (struct place){m, (size_t)((const char *)x - base)};
            return true;
        }
    }
    return false;
}

bool shm_has(const struct shm *s, const void *x, size_t bytes)
{
    struct place place;
    return find(s, x, bytes, &place);
}

bool shm_allreduce(struct shm *s, const struct element *type, const void *from, void *to, size_t n,
                   struct error *e)
{
    struct sum sum = {.type = type, .from = from, .to = to, .n = n};
    struct place source, target;
    size_t bytes = n * type->bytes;
    if (s->ranks == 1) {
        if (from != to)
            memcpy(to, from, bytes);
        return true;
    }
    if (bytes > SLOT && find(s, from, bytes, &source) && find(s, to, bytes, &target))
        return sum_buffers(s, &sum, source, target, e);
    return sum_slots(s, &sum, e);
}
