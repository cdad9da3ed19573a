/*
 * figure.h - diagrams that the program draws: by name, from a few numbers, or from a small description.
 *
 * A figure block's `show` names one; the block's other fields are its parameters (each file says which). Figures are
 * drawn with characters on a canvas, which has ASCII for what a terminal cannot show, and are laid out for the columns
 * there are, down to 36. A figure that goes in steps (rounds of a ring) is told which one to draw.
 *
 *   boxes      rows of boxes with arrows between them, from `row` and `link` fields
 *   flow       a chain of boxes, from a `flow` field: "picture -> conv -> pool"
 *   ring       ring-allreduce on 2 to 4 ranks with its numbers, round by round, from engine/spec's schedule
 *   tree       the messages of an allreduce by a tree, round by round
 *   cluster    anatomy: login node, network, compute nodes with their GPUs, storage
 *   step       a data-parallel step on ranks over time
 *   pipeline   stages over time with their bubble
 *   memory     the hierarchy from registers to a disk
 */
#ifndef RINGSIDE_TUI_FIGURE_H
#define RINGSIDE_TUI_FIGURE_H

#include "tui/block_text.h"
#include "tui/canvas.h"

struct figure {
    const char *name;
    bool (*check)(const struct block_text *t, struct error *e); /* its fields; NULL: it has none of its own */
    int (*rows)(const struct block_text *t, int cols);
    void (*draw)(const struct block_text *t, struct canvas *c, struct rect in, int step);
    int (*steps)(const struct block_text *t); /* NULL: it stands still */
};

extern const struct figure figure_boxes, figure_flow, figure_ring, figure_tree, figure_cluster, figure_step,
    figure_pipeline, figure_memory;

/* The figure of a name; NULL and *e with the names there are. */
const struct figure *figure_find(const char *name, struct error *e);

/* --- parts ----------------------------------------------------------------------------------------------------- */

/* A box with lines of text ("first; second") in its middle. */
void figure_box(struct canvas *c, struct rect r, const char *text, enum role frame, enum role role);
/* Rows that such a text needs, without a frame, and the columns of its longest line. */
int figure_lines(const char *text, int *cols);
/* Lines with a head, with an optional word upon (right, left) or beside (down, up) them. From (row, col) on. */
void figure_right(struct canvas *c, int row, int col, int cols, enum role role, const char *word);
void figure_left(struct canvas *c, int row, int col, int cols, enum role role, const char *word);
void figure_down(struct canvas *c, int row, int col, int rows, enum role role, const char *word);
void figure_up(struct canvas *c, int row, int col, int rows, enum role role, const char *word);
/* A text in the middle of a width. */
void figure_centred(struct canvas *c, int row, int col, int cols, enum role role, int attributes,
                    const char *text);

#endif
