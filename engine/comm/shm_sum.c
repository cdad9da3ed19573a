/*
 * shm_sum.c - the allreduce in memory that ranks share: through slots, in shared buffers, or reaching into
 * private ones.
 */
#include "engine/comm/shm_internal.h"

#include <string.h>
#include <sys/uio.h>

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
        memcpy(shm_slot(s, s->rank, slot), sum->from + at * width, piece * width);
        if (!shm_step(s, e))
            return false;
        for (int r = 0; r < s->ranks; r++)
            s->from[r] = shm_slot(s, r, slot);
        sum_all(s, sum->type, sum->to + at * width, piece);
    }
    return true;
}

/*
 * Past the cache, where it would not stay anyway: what is written need not be read first. to: on a cache
 * line.
 */
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
    if (!shm_step(s, e)) /* all buffers are ready */
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
    return shm_step(s, e); /* all parts are summed */
}

/* Reads from another rank's private memory. */
static bool reach(struct shm *s, int rank, void *here, const void *there, size_t bytes, struct error *e)
{
    for (size_t at = 0; at < bytes;) {
        struct iovec to = {(char *)here + at, bytes - at};
        struct iovec from = {(char *)(uintptr_t)there + at, bytes - at};
        ssize_t got = process_vm_readv(shm_flag(s, rank)->pid, &to, 1, &from, 1, 0);
        if (got <= 0)
            return error_errno(e, ERROR_FAILED, "reading %zu bytes of rank %d's memory", bytes - at, rank);
        at += (size_t)got;
    }
    return true;
}

/*
 * Each rank its part of all, read from the others' memory a piece at a time; then the others' parts of the
 * sum.
 */
static bool sum_reached(struct shm *s, const struct sum *sum, struct error *e)
{
    size_t width = sum->type->bytes, all = (size_t)s->ranks, first = (size_t)s->rank;
    size_t begin = chunk_offset(sum->n, s->ranks, s->rank) * width;
    size_t end = begin + chunk_length(sum->n, s->ranks, s->rank) * width;
    struct flag *mine = shm_flag(s, s->rank);
    mine->from = sum->from;
    mine->to = sum->to;
    if (!shm_step(s, e)) /* all are here */
        return false;
    for (size_t at = begin; at < end; at += REACH) {
        size_t piece = end - at < REACH ? end - at : REACH;
        for (size_t r = 0; r < all; r++) {
            char *got = s->reached + r * REACH;
            s->from[r] = r == first ? sum->from + at : got;
            if (r != first && !reach(s, (int)r, got, (const char *)shm_flag(s, (int)r)->from + at, piece, e))
                return false;
        }
        /* From the third rank on its own part is added late: the sum must not grow on top of it. */
        char *total = first < 2 ? sum->to + at : s->reached + first * REACH;
        sum_all(s, sum->type, total, piece / width);
        if (first >= 2)
            memcpy(sum->to + at, total, piece);
    }
    if (!shm_step(s, e)) /* all parts are summed */
        return false;
    for (int k = 1; k < s->ranks; k++) { /* not all from the same rank at once */
        int r = (s->rank + k) % s->ranks;
        size_t from = chunk_offset(sum->n, s->ranks, r) * width;
        if (!reach(s, r, sum->to + from, (const char *)shm_flag(s, r)->to + from,
                   chunk_length(sum->n, s->ranks, r) * width, e))
            return false;
    }
    return shm_step(s, e); /* nobody reads here any more */
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
    if (s->reaches && bytes >= REACH_FROM)
        return sum_reached(s, &sum, e);
    return sum_slots(s, &sum, e);
}
