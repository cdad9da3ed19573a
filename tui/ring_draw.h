/*
 * ring_draw.h - draws one moment of an operation: ranks on a ring, what each holds, and what is on its way.
 */
#ifndef RINGSIDE_TUI_RING_DRAW_H
#define RINGSIDE_TUI_RING_DRAW_H

#include "tui/canvas.h"
#include "tui/ring_model.h"

struct ring_scene {
    const struct ring_model *model;
    const uint64_t *sets; /* of ring_model_state before the round */
    int round;            /* model->rounds: all is over */
    double travel;        /* 0: the messages of the round leave, 1: they have arrived */
    double shown_s;       /* how long a round takes on the screen */
    bool paused;
    bool simulated; /* its times are computed */
};

/* The whole picture; below 60 columns or 16 rows a list, a row for each rank. */
void ring_draw(struct canvas *c, struct rect area, const struct ring_scene *scene);

/* "Each rank sends one chunk to the right and adds the one that comes from the left.": what the round does. */
void ring_sentence(const struct ring_scene *scene, char *text, size_t size);

#endif
