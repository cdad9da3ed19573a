/*
 * activity.h - a few words that say what a rank is doing, for whoever looks while it does it.
 *
 * Written by the rank's own threads before each thing they do, cheaply enough for every collective (a few stores
 * to a cache line of its own), and read at any time by a thread that sends heartbeats and by the other ranks of
 * the host, in whose memory it may lie. Each rank counts its collectives; the last few are kept, each as one
 * word (engine/comm/order.h), so that ranks that do not call the same can be told even when one is ahead.
 * Phases and steps are written by one thread, collectives by the one that owns MPI.
 */
#ifndef RINGSIDE_BASE_ACTIVITY_H
#define RINGSIDE_BASE_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum activity_phase {
    ACTIVITY_START, /* getting ready */
    ACTIVITY_DATA,
    ACTIVITY_FORWARD,
    ACTIVITY_BACKWARD,
    ACTIVITY_SUM, /* the gradients over all ranks */
    ACTIVITY_UPDATE,
    ACTIVITY_TEST,
    ACTIVITY_SAVE,
    ACTIVITY_MEASURE, /* collectives are timed */
    ACTIVITY_LEARNER, /* in the learner's function */
    ACTIVITY_RETURNED,
    ACTIVITY_PHASES
};

enum { ACTIVITY_KEPT = 8 }; /* collectives: a power of two */

struct activity {
    _Alignas(64) _Atomic uint64_t begun; /* collectives, the one under way included */
    _Atomic uint64_t ended;
    _Atomic uint64_t kept[ACTIVITY_KEPT]; /* number s at s % ACTIVITY_KEPT */
    _Atomic int bucket;                   /* that is summed; -1: gradients are not in buckets */
    _Alignas(64) _Atomic int64_t step;    /* that is being done, from 1; 0: none */
    _Atomic int phase;
    _Atomic int line;                  /* of the learner's script; 0: unknown */
    _Atomic int send_to, receive_from; /* what the learner's function waits for; -1: it does not */
    _Atomic uint64_t measured;         /* the collective that is timed, in iteration `step`; 0: none */
};

/* The same at one moment, as it travels in a heartbeat. */
struct activity_view {
    uint64_t begun, ended, oldest; /* kept[] holds the collectives from oldest to begun */
    uint64_t kept[ACTIVITY_KEPT];
    uint64_t measured;
    int64_t step;
    int32_t phase, bucket, line, send_to, receive_from;
};

void activity_init(struct activity *a);

/* A collective begins; what: its word. */
static inline void activity_begin(struct activity *a, uint64_t what)
{
    uint64_t n = atomic_load_explicit(&a->begun, memory_order_relaxed) + 1;
    atomic_store_explicit(&a->kept[n % ACTIVITY_KEPT], what, memory_order_relaxed);
    atomic_store_explicit(&a->begun, n, memory_order_release);
}

/* It has ended well. (One that fails never ends.) */
static inline void activity_end(struct activity *a)
{
    atomic_store_explicit(&a->ended, atomic_load_explicit(&a->begun, memory_order_relaxed),
                          memory_order_relaxed);
}

static inline void activity_enter(struct activity *a, enum activity_phase phase, long step)
{
    atomic_store_explicit(&a->step, step, memory_order_relaxed);
    atomic_store_explicit(&a->phase, (int)phase, memory_order_relaxed);
}

static inline void activity_bucket(struct activity *a, int bucket)
{
    atomic_store_explicit(&a->bucket, bucket, memory_order_relaxed);
}

/* An iteration of a collective that is timed begins; what: its word. 0: it is checked. */
static inline void activity_measure(struct activity *a, uint64_t what, long iteration)
{
    atomic_store_explicit(&a->measured, what, memory_order_relaxed);
    activity_enter(a, ACTIVITY_MEASURE, iteration);
}

/* The learner's function waits, in that line, for those ranks; -1 and -1: it goes on. */
void activity_learner(struct activity *a, int line, int send_to, int receive_from);

void activity_look(const struct activity *a, struct activity_view *v);

static inline bool activity_in_collective(const struct activity_view *v)
{
    return v->ended < v->begun;
}

/* The word of collective number s, where it is still kept. */
bool activity_collective(const struct activity_view *v, uint64_t s, uint64_t *what);

/* Whether a and b are the same moment of the same work. */
bool activity_same(const struct activity_view *a, const struct activity_view *b);

/* "computes forward", "is in the learner's function": what a rank that waits for nobody does. */
const char *activity_phase_text(int phase);

#endif
