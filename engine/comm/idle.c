#include "engine/comm/idle.h"

#include <sched.h>
#include <time.h>

/* Polls of each kind. A poll takes about 0.1 us, a yield about 0.5 us where nobody else wants the core. */
enum { IDLE_SPINS = 64, IDLE_YIELDS = 20000 };

void idle_step(struct idle *idle)
{
    unsigned n = idle->polls++;
    if (n < IDLE_SPINS)
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
