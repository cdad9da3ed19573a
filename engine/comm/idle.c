#include "engine/comm/idle.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum {
    IDLE_YIELDS = 20000,   /* a yield takes about 0.5 us where nobody else wants the core */
    IDLE_ASIDE_NS = 50000, /* a look costs some 5 us with both switches: a tenth of the core at most */
};

void idle_step(struct idle *idle)
{
    unsigned n = idle->polls++;
    if (idle->aside && atomic_load_explicit(idle->aside, memory_order_relaxed)) {
        struct timespec pause = {0, IDLE_ASIDE_NS};
        nanosleep(&pause, NULL);
        return;
    }
    if (n < idle->spins)
        return;
    if (n < IDLE_YIELDS) {
        sched_yield();
        return;
    }
    if (idle->polls > 1u << 30)
        idle->polls = IDLE_YIELDS + 1000;
    /* Nothing for some ten milliseconds: the others compute. 20 us at first, 200 us when it lasts. */
    struct timespec pause = {0, n < IDLE_YIELDS + 500 ? 20000 : 200000};
    nanosleep(&pause, NULL);
}
