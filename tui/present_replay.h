/*
 * present_replay.h - a recorded run played within a slide, at a speed that can be changed while it plays.
 *
 * What is drawn is the application's own view of such a run (the run view, or the ring) in the slide's room. The replay is a run of its own, as with `ringside runs replay`; freeing the panel stops it.
 */
#ifndef RINGSIDE_TUI_PRESENT_REPLAY_H
#define RINGSIDE_TUI_PRESENT_REPLAY_H

#include "engine/base/error.h"
#include "tui/canvas.h"

struct app;
struct present_replay;

/* words: a recording's name, the speed to begin with, and `ring` where its hops are to be drawn: "ring-4 1 ring". */
struct present_replay *present_replay_new(const char *words, struct error *e);
void present_replay_free(struct present_replay *r);

/* Plays it from the beginning. */
bool present_replay_start(struct present_replay *r, struct app *app, struct error *e);
/* Faster (1) or slower (-1); heard by one that plays, kept for the next start. */
bool present_replay_speed(struct present_replay *r, struct app *app, int step, struct error *e);
bool present_replay_pause(struct present_replay *r, struct error *e);

/* Keys of that view; true: taken. */
bool present_replay_key(struct present_replay *r, struct app *app, int key);
/* True: something to draw has changed. */
bool present_replay_tick(struct present_replay *r, struct app *app, double now);
void present_replay_draw(struct present_replay *r, struct app *app, struct canvas *c, struct rect area);

#endif
