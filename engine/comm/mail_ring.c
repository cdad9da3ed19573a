#include "engine/comm/mail_ring.h"

#include <string.h>

enum { UNIT = 16 }; /* records begin at multiples of it */
_Static_assert(sizeof(struct mail_record) == UNIT, "a record is one unit");

static void copy_in(struct mail_ring *r, uint64_t at, const void *from, size_t bytes)
{
    size_t i = at % MAIL_RING, first = bytes < MAIL_RING - i ? bytes : MAIL_RING - i;
    if (bytes == 0)
        return;
    memcpy(r->bytes + i, from, first);
    memcpy(r->bytes, (const char *)from + first, bytes - first);
}

static void copy_out(const struct mail_ring *r, uint64_t at, void *to, size_t bytes)
{
    size_t i = at % MAIL_RING, first = bytes < MAIL_RING - i ? bytes : MAIL_RING - i;
    if (bytes == 0)
        return;
    memcpy(to, r->bytes + i, first);
    memcpy((char *)to + first, r->bytes, bytes - first);
}

static size_t span(const struct mail_record *r)
{
    return UNIT + (r->elsewhere ? 0 : (r->bytes + UNIT - 1) / UNIT * UNIT);
}

bool mail_put(struct mail_writer *w, const struct mail_record *record, const void *data)
{
    size_t bytes = span(record);
    if (MAIL_RING - (w->written - w->freed) < bytes) {
        w->freed = atomic_load_explicit(&w->ring->read, memory_order_acquire);
        if (MAIL_RING - (w->written - w->freed) < bytes)
            return false;
    }
    copy_in(w->ring, w->written, record, UNIT);
    if (!record->elsewhere)
        copy_in(w->ring, w->written + UNIT, data, record->bytes);
    w->written += bytes;
    atomic_store_explicit(&w->ring->written, w->written, memory_order_release);
    return true;
}

bool mail_look(struct mail_reader *r, struct mail_record *record)
{
    if (r->read == r->seen) {
        r->seen = atomic_load_explicit(&r->ring->written, memory_order_acquire);
        if (r->read == r->seen)
            return false;
    }
    copy_out(r->ring, r->read, record, UNIT);
    return true;
}

void mail_get(const struct mail_reader *r, const struct mail_record *record, void *to)
{
    copy_out(r->ring, r->read + UNIT, to, record->bytes);
}

void mail_next(struct mail_reader *r, const struct mail_record *record)
{
    r->read += span(record);
    atomic_store_explicit(&r->ring->read, r->read, memory_order_release);
}
