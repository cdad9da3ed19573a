/*
 * ring_draw.h - draws one moment of an operation: the ranks, what each holds, and what is on its way.
 *
 * Two layouts: ranks around a ring (ring_draw.c), for algorithms that go from neighbour to neighbour; or side by side with the
 * messages of the round as arrows between them and all rounds below (ring_rows.c), for trees and pairs and for more ranks
 * than fit around a ring. Small windows get a list.
 */
#ifndef RINGSIDE_TUI_RING_DRAW_H
#define RINGSIDE_TUI_RING_DRAW_H

#include "tui/canvas.h"
#include "tui/ring_model.h"

enum ring_layout { RING_AUTO, RING_AROUND, RING_ROWS };
enum ring_times { RING_MEASURED, RING_SIMULATED, RING_PREDICTED }; /* the last: by the cost model */

struct ring_scene {
    const struct ring_model *model;
    const uint64_t *sets; /* of ring_model_state before the round */
    int round;            /* model->rounds: all is over */
    double travel;        /* 0: the messages of the round leave, 1: they have arrived */
    double shown_s;       /* how long a round takes on the screen */
    bool paused;
    enum ring_times times;
    enum ring_layout layout;
};

/* The whole picture with a sentence below it. */
void ring_draw(struct canvas *c, struct rect area, const struct ring_scene *scene);
/* Which layout RING_AUTO is for this operation. */
enum ring_layout ring_layout_of(const struct ring_scene *scene);

/* ring_words.c: what the round does, or what is wrong with it; true: something is. */
bool ring_sentence(const struct ring_scene *scene, char *text, size_t size);

/* --- shared by the layouts --- */

struct ring_figures {
    char phase[48], round[64], bytes[96], formula[96], really[64], shown[64];
};
void ring_figures_of(const struct ring_scene *s, struct ring_figures *f);
bool ring_over(const struct ring_scene *s);

enum role ring_chunk_role(int chunk);
/* One chunk of one rank: a bar whose height says how much of it is there, of `ranks`. */
void ring_draw_chunk(struct canvas *c, struct rect at, int chunk, int have, int ranks, bool hot);
/* What a rank sends in this round; NULL: nothing. */
const struct ring_message *ring_sent_by(const struct ring_scene *s, int rank);

/* ring_panel.c: the round in words, beside the picture. */
void ring_draw_panel(struct canvas *c, struct rect area, const struct ring_scene *s);
/* ring_rows.c */
void ring_draw_rows(struct canvas *c, struct rect area, const struct ring_scene *s);

#endif
