#include "engine/base/activity.h"

#include <string.h>

enum { LOOKS = 16 }; /* until nothing changes meanwhile; what is left then is cut to what is sure */

void activity_init(struct activity *a)
{
    memset(a, 0, sizeof *a);
    atomic_store(&a->bucket, -1);
    atomic_store(&a->send_to, -1);
    atomic_store(&a->receive_from, -1);
}

void activity_learner(struct activity *a, int line, int send_to, int receive_from)
{
    atomic_store_explicit(&a->phase, ACTIVITY_LEARNER, memory_order_relaxed);
    atomic_store_explicit(&a->line, line, memory_order_relaxed);
    atomic_store_explicit(&a->send_to, send_to, memory_order_relaxed);
    atomic_store_explicit(&a->receive_from, receive_from, memory_order_relaxed);
}

void activity_look(const struct activity *a, struct activity_view *v)
{
    uint64_t after;
    for (int i = 0; i < LOOKS; i++) {
        v->ended = atomic_load_explicit(&a->ended, memory_order_acquire);
        v->begun = atomic_load_explicit(&a->begun, memory_order_acquire);
        for (int k = 0; k < ACTIVITY_KEPT; k++)
            v->kept[k] = atomic_load_explicit(&a->kept[k], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&a->begun, memory_order_relaxed);
        if (after == v->begun)
            break;
    }
    /* The writer may be at collective after + 1, in the place of after + 1 - ACTIVITY_KEPT. */
    v->oldest = after + 2 > ACTIVITY_KEPT ? after + 2 - ACTIVITY_KEPT : 1;
    v->step = atomic_load_explicit(&a->step, memory_order_relaxed);
    v->measured = atomic_load_explicit(&a->measured, memory_order_relaxed);
    v->phase = atomic_load_explicit(&a->phase, memory_order_relaxed);
    v->bucket = atomic_load_explicit(&a->bucket, memory_order_relaxed);
    v->line = atomic_load_explicit(&a->line, memory_order_relaxed);
    v->send_to = atomic_load_explicit(&a->send_to, memory_order_relaxed);
    v->receive_from = atomic_load_explicit(&a->receive_from, memory_order_relaxed);
}

bool activity_collective(const struct activity_view *v, uint64_t s, uint64_t *what)
{
    if (s < v->oldest || s > v->begun || s == 0)
        return false;
    *what = v->kept[s % ACTIVITY_KEPT];
    return true;
}

bool activity_same(const struct activity_view *a, const struct activity_view *b)
{
    return a->begun == b->begun && a->ended == b->ended && a->step == b->step && a->phase == b->phase &&
           a->measured == b->measured && a->bucket == b->bucket && a->line == b->line &&
           a->send_to == b->send_to && a->receive_from == b->receive_from;
}

const char *activity_phase_text(int phase)
{
    static const char *const text[ACTIVITY_PHASES] = {
        [ACTIVITY_START] = "gets ready",
        [ACTIVITY_DATA] = "loads data",
        [ACTIVITY_FORWARD] = "computes forward",
        [ACTIVITY_BACKWARD] = "computes backward",
        [ACTIVITY_SUM] = "sums the gradients",
        [ACTIVITY_UPDATE] = "updates the parameters",
        [ACTIVITY_TEST] = "tests the model",
        [ACTIVITY_SAVE] = "saves a checkpoint",
        [ACTIVITY_MEASURE] = "measures the links between ranks",
        [ACTIVITY_LEARNER] = "is in the learner's function",
        [ACTIVITY_RETURNED] = "has come to the end of the learner's function",
    };
    return phase >= 0 && phase < ACTIVITY_PHASES ? text[phase] : "works";
}
