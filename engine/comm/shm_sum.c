/* shm_sum.c - the allreduce in memory that ranks share: through slots, through stages, or in shared buffers. */
#include "engine/comm/shm_internal.h"

#include <string.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

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
    size_t whole = bytes / sizeof(__m128) * sizeof(__m128);
    for (size_t i = 0; i < whole; i += sizeof(__m128))
        _mm_stream_ps((float *)((char *)to + i), _mm_loadu_ps((const float *)((const char *)from + i)));
    memcpy((char *)to + whole, (const char *)from + whole, bytes - whole);
#else
    memcpy(to, from, bytes);
#endif
}

static void stream_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

/* Part r of so many bytes, begun on a cache line. */
struct part {
    size_t begin, end;
};

static struct part part_of(const struct shm *s, size_t bytes, int r)
{
    size_t lines = (bytes + LINE - 1) / LINE, all = (size_t)s->ranks;
    size_t begin = lines * (size_t)r / all * LINE, end = lines * ((size_t)r + 1) / all * LINE;
    return (struct part){begin < bytes ? begin : bytes, end < bytes ? end : bytes};
}

static void put(void *to, const void *from, size_t bytes)
{
    if ((uintptr_t)to % 16 == 0)
        stream(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

/*
 * Private memory, a stage at a time: each rank puts there what the others are to sum, sums its own part of
 * all, and puts the sum there for the others to fetch. Past the cache, since a line that one core has
 * written and another reads in its cache costs more than memory does. A stage is used again only after all
 * have come past the one between.
 */
static bool sum_staged(struct shm *s, const struct sum *sum, struct error *e)
{
    size_t width = sum->type->bytes, bytes = sum->n * width;
    _Alignas(LINE) char total[BLOCK];
    for (size_t at = 0; at < bytes; at += STAGE) {
        size_t length = bytes - at < STAGE ? bytes - at : STAGE;
        unsigned stage = s->stages++;
        char *mine = shm_stage(s, s->rank, stage);
        for (int r = 0; r < s->ranks; r++) {
            struct part p = part_of(s, length, r);
            if (r != s->rank)
                put(mine + p.begin, sum->from + at + p.begin, p.end - p.begin);
        }
        stream_end();
        if (!shm_step(s, e))
            return false;
        struct part own = part_of(s, length, s->rank);
        for (size_t i = own.begin; i < own.end; i += BLOCK) {
            size_t piece = own.end - i < BLOCK ? own.end - i : BLOCK;
            for (int r = 0; r < s->ranks; r++)
                s->from[r] = r == s->rank ? sum->from + at + i : shm_stage(s, r, stage) + i;
            sum_all(s, sum->type, total, piece / width);
            memcpy(sum->to + at + i, total, piece);
            put(mine + i, total, piece);
        }
        stream_end();
        if (!shm_step(s, e))
            return false;
        for (int r = 0; r < s->ranks; r++) {
            struct part p = part_of(s, length, r);
            if (r != s->rank)
                put(sum->to + at + p.begin, shm_stage(s, r, stage) + p.begin, p.end - p.begin);
        }
    }
    stream_end();
    return true;
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
    struct part own = part_of(s, bytes, s->rank);
    bool streams = 2 * bytes * (size_t)s->ranks > s->cache_bytes;
    _Alignas(LINE) char total[BLOCK];
    if (!shm_step(s, e)) /* all buffers are ready */
        return false;
    for (size_t at = own.begin; at < own.end; at += BLOCK) {
        size_t piece = own.end - at < BLOCK ? own.end - at : BLOCK;
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
                   unsigned stamp, struct error *e)
{
    s->stamp = stamp;
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
    if (bytes >= STAGE_FROM)
        return sum_staged(s, &sum, e);
    return sum_slots(s, &sum, e);
}
