#include "engine/comm/idle.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum {
    IDLE_YIELDS = 20000,   /* a yield takes about 0.5 us where nobody else wants the core */
    IDLE_ASIDE_NS = 50000, /* a look costs some 5 us with both switches: a tenth of the core at most */
};

/* Nothing for some ten milliseconds: the others compute. 20 us at first, 200 us when it lasts. */
static void sleep_long(struct idle *idle)
{
    if (++idle->polls > 1u << 30)
        idle->polls = IDLE_YIELDS + 1000;
    struct timespec pause = {0, idle->polls < IDLE_YIELDS + 500 ? 20000 : 200000};
    nanosleep(&pause, NULL);
}

/* Where this process has better use for the core: sleeps, and true. */
static bool sleep_aside(struct idle *idle)
{
    if (!idle->aside || !atomic_load_explicit(idle->aside, memory_order_relaxed))
        return false;
    struct timespec pause = {0, IDLE_ASIDE_NS};
    nanosleep(&pause, NULL);
    idle->polls++;
    return true;
}

void idle_step(struct idle *idle)
{
    if (sleep_aside(idle))
        return;
    if (idle->polls >= IDLE_YIELDS)
        sleep_long(idle);
    else if (idle->polls++ >= idle->spins)
        sched_yield();
}

void idle_gave_way(struct idle *idle)
{
    if (sleep_aside(idle))
        return;
    if (idle->polls >= IDLE_YIELDS)
        sleep_long(idle);
    else
        idle->polls++;
}
