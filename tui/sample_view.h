/*
 * sample_view.h - samples on the screen: grids of pictures, feature maps side by side, gates as strips, texts.
 *
 * A list of samples, oldest first, holds those of several evaluations; what one evaluation has left of one kind is shown
 * together. Whether the model is right is said by a sign and words, colour only repeats it.
 */
#ifndef RINGSIDE_TUI_SAMPLE_VIEW_H
#define RINGSIDE_TUI_SAMPLE_VIEW_H

#include "tui/sample.h"
#include "tui/sample_picture.h"

#include <stdio.h>

/* What is looked at, as the keys have chosen. */
struct sample_choice {
    enum sample_kind kind;
    int back; /* evaluations before the latest */
    enum picture_style style;
};

/* The samples of one kind and evaluation, in order; the caller frees them. */
struct sample_group {
    const struct sample **list;
    int count;
    long step;
    int evaluation, evaluations; /* which it is, from 1, of how many with that kind */
};

/* Of no samples: count 0, list NULL. back is cut to what there is. */
struct sample_group sample_group(const struct sample *samples, int count, enum sample_kind kind, int back);

/* Another kind that there are samples of, the choice kept where there is none. by: 1 or -1. */
void sample_choose_kind(struct sample_choice *choice, const struct sample *samples, int count, int by);
void sample_choose_evaluation(struct sample_choice *choice, const struct sample *samples, int count, int by);

/* A whole pane: which kinds there are, which evaluation is shown, and its samples. */
void samples_draw(struct canvas *c, struct rect area, const struct sample *samples, int count,
                  const struct sample_choice *choice);
/* In a few rows beside other things: the latest samples that say most. */
void samples_draw_few(struct canvas *c, struct rect area, const struct sample *samples, int count,
                      enum picture_style style);
/* What samples_draw_few shows, as a title; "" where there is nothing. */
/* Of the whole pane: of what is judged, that mistakes were looked for. */
const char *samples_title(const struct sample *samples, int count, const struct sample_choice *choice);
const char *samples_few_title(const struct sample *samples, int count);

/* Of a group, all of one kind. */
void sample_gates_draw(struct canvas *c, struct rect area, const struct sample *gates,
                       enum picture_style style);

/* All kinds of the latest evaluation as lines of at most 80 columns. */
void samples_print(FILE *to, const struct sample *samples, int count, bool utf8);

#endif
