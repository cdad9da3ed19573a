/*
 * order.h - all ranks must call the same collectives in the same order: how that is noticed.
 *
 * Each collective is one word: operation, algorithm, type and length. A rank puts it into its activity before it
 * begins. The ranks of a host have theirs in memory they share, so whoever waits sees within a fraction of a
 * second that another rank is in something else, and fails with a sentence that names both, instead of waiting
 * for ever; rank 0 sees the same of ranks on other hosts by their heartbeats (judge.h). So that nothing is
 * summed up that does not belong together, the sums in shared memory compare a few bits of the word at each
 * step, messages carry them in their tag, and neighbours compare after MPI's own collectives, at the latest after
 * the sixth.
 */
#ifndef RINGSIDE_COMM_ORDER_H
#define RINGSIDE_COMM_ORDER_H

#include "engine/base/activity.h"
#include "engine/base/error.h"
#include "engine/comm/element.h"
#include "engine/spec/collective.h"

/* Beside those of collective.h, what a job is steered by (control.c). */
enum { ORDER_BYTES = COLLECTIVES, ORDER_GATHER, ORDER_SUM, ORDER_MAX, ORDER_WAIT };

struct order {
    struct activity *mine;
    /* The ranks of this host that can be looked at, by their number here; NULL: none can. */
    struct activity **peers;
    int *ranks; /* their numbers in the job */
    int count, self;
    char algo[32]; /* the last ones, and their numbers: most are called again and again */
    const struct element *type;
    uint64_t algo_code, type_code;
};

/* Of a collective of n elements; algo "" and type NULL where there is but one. */
uint64_t order_word(struct order *o, int op, const char *algo, const struct element *type, size_t n);
/* It begins. Returns its word. */
uint64_t order_begin(struct order *o, int op, const char *algo, const struct element *type, size_t n);
/*
 * It is over. ok: whether it went well, as e says. compare: with a neighbour, as MPI itself would not notice. Where
 * a rank of this host was in another one, that becomes the error. Returns whether all is well.
 */
bool order_end(struct order *o, bool ok, bool compare, struct error *e);
/*
 * Whether to compare after one of MPI's own of so many bytes: after each of a long one, and after every
 * ORDER_EVERY-th that is short and would notice the time it takes (so many are compared, so none is left out).
 */
enum { ORDER_EVERY = ACTIVITY_KEPT - 2 };
static inline bool order_due(const struct order *o, size_t bytes)
{
    return bytes >= 16384 || atomic_load_explicit(&o->mine->begun, memory_order_relaxed) % ORDER_EVERY == 0;
}

/* False where a rank of this host has called something else; e names both. */
bool order_check(const struct order *o, struct error *e);

/* A few bits of the word, never 0: enough to tell two collectives apart. */
static inline unsigned order_stamp(uint64_t word)
{
    return (unsigned)(word * 0x9e3779b97f4a7c15u >> 52) | 1;
}

/* "allreduce (ring) of 1024 f32 elements", "barrier" */
void order_text(uint64_t word, char *text, size_t size);

/* The first collective that both ranks have called and that differs; 0: none that is known of. */
uint64_t order_difference(const struct activity_view *a, const struct activity_view *b);
/* That sentence. */
void order_sentence(int rank_a, const struct activity_view *a, int rank_b, const struct activity_view *b,
                    uint64_t s, char *text, size_t size);

#endif
