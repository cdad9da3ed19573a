/*
 * background.h - work that would hold the screen up, done by a thread of its own: reading a trace, simulating a collective.
 *
 * The work touches nothing but its argument, and nobody else touches that until background_done says so. Whoever loses
 * interest calls background_free at once: then the thread releases the argument when it has finished.
 */
#ifndef RINGSIDE_TUI_BACKGROUND_H
#define RINGSIDE_TUI_BACKGROUND_H

#include "engine/base/error.h"

struct background;

/* NULL and *e: it could not be started; the argument is still the caller's. */
struct background *background_start(void (*work)(void *argument), void (*release)(void *argument),
                                    void *argument, struct error *e);
/*
 * The same without a thread, done when it returns: where time stands still anyway, in key scripts. (Work that forks is safe in a
 * thread but for programs under AddressSanitizer, whose allocator may be locked in the child.)
 */
struct background *background_here(void (*work)(void *argument), void (*release)(void *argument),
                                   void *argument, struct error *e);
bool background_done(struct background *b);
/* Waits for it: where time stands still anyway, in key scripts and tests. */
void background_wait(struct background *b);
/* The argument is released now, or when the work is done. */
void background_free(struct background *b);

#endif
