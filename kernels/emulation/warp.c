#include "kernels/emulation/block.h"

#include <string.h>

static bool lane_of(unsigned mask, unsigned lane)
{
    return mask >> lane & 1;
}

/* Whether these two came to do the same thing together. */
static bool together(const struct block_thread *a, const struct block_thread *b)
{
    return a->operation == b->operation && a->mask == b->mask && a->at.line == b->at.line &&
           (a->at.file == b->at.file || strcmp(a->at.file, b->at.file) == 0);
}

static uint64_t combine(enum warp_operation operation, uint64_t a, uint64_t b)
{
    switch (operation) {
    case WARP_ADD: return a + b;
    case WARP_MIN: return a < b ? a : b;
    case WARP_MAX: return a > b ? a : b;
    case WARP_SIGNED_MIN: return (int64_t)a < (int64_t)b ? a : b;
    case WARP_SIGNED_MAX: return (int64_t)a > (int64_t)b ? a : b;
    default: return a;
    }
}

/* What each of these lanes gets: all have handed over their value. */
static void finish(struct block_warp *w, unsigned first, unsigned lanes)
{
    uint64_t value[EMULATION_LANES], ballot = 0, all = 0;
    bool begun = false;
    for (unsigned i = 0; i < EMULATION_LANES; i++) {
        value[i] = ~(uint64_t)0;
        if (!lane_of(lanes, i))
            continue;
        const struct block_thread *t = block_thread(first + i);
        value[i] = t->value;
        ballot |= (uint64_t)(t->value != 0) << i;
        all = begun ? combine(t->operation, all, t->value) : t->value;
        begun = true;
    }
    for (unsigned i = 0; i < EMULATION_LANES; i++) {
        if (!lane_of(lanes, i))
            continue;
        struct block_thread *t = block_thread(first + i);
        if (t->operation == WARP_TAKE)
            t->value = value[t->lane];
        else
            t->value = t->operation == WARP_BALLOT ? ballot : all;
        w->waiting &= ~(1u << i);
        if (t->operation == WARP_SYNC)
            w->epoch = w->epoch + (i == (unsigned)__builtin_ctz(lanes));
        block_ready(t);
    }
}

void warp_release(struct block_warp *w, unsigned first, unsigned lanes)
{
    for (; lanes & w->waiting; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);
        if (!lane_of(w->waiting, lane))
            continue;
        const struct block_thread *t = block_thread(first + lane);
        unsigned expected = t->mask & w->present & ~w->gone;
        if ((expected & ~w->waiting) != 0)
            continue;
        bool agreed = true;
        for (unsigned i = 0; i < EMULATION_LANES; i++)
            agreed = agreed && (!lane_of(expected, i) || together(t, block_thread(first + i)));
        if (agreed)
            finish(w, first, expected);
    }
}

uint64_t emulation_warp(struct emulation_site at, enum warp_operation operation, unsigned mask,
                        uint64_t value, int lane)
{
    struct block_thread *t = block_current();
    struct block_warp *w = block_warp_of(t);
    const unsigned own = t->linear % EMULATION_LANES;
    if (!lane_of(mask, own))
        machine_fault("calls %s at %s:%d with a mask (%08x) that leaves it out", at.what, at.file, at.line,
                      mask);
    t->at = at;
    t->operation = operation;
    t->mask = mask;
    t->value = value;
    t->lane = lane & (EMULATION_LANES - 1);
    t->state = THREAD_IN_WARP;
    w->waiting |= 1u << own;
    warp_release(w, t->linear - own, 1u << own);
    block_wait(t);
    return t->value;
}

unsigned emulation_warp_here(void)
{
    const struct block_warp *w = block_warp_of(block_current());
    return w->present & ~w->gone;
}
