/*
 * block_kind.h - a kind of live block, as a table of functions; block.c frames, keeps and clips what they do.
 *
 * A kind's file parses the fields it knows into a state of its own and draws the inside of the panel. It draws from
 * the area's top and its rows have to be as many as rows() said; it may assume that the whole area is on the canvas.
 */
#ifndef RINGSIDE_TUI_BLOCK_KIND_H
#define RINGSIDE_TUI_BLOCK_KIND_H

#include "tui/block.h"

struct block;

struct block_class {
    const char *label; /* in the panel's frame, marked with N_; NULL: no frame */
    /* Checks the fields and makes the state; false and *e, beginning with "line N: ". */
    bool (*open)(struct block *b, struct error *e);
    void (*close)(struct block *b);
    int (*rows)(struct block *b, int cols);
    void (*draw)(struct block *b, struct canvas *c, struct rect in, bool focused);
    /* As text that stands by itself: what is asked or shown, no answer. NULL: as drawn. */
    int (*plain)(struct block *b, struct canvas *c, struct rect in);
    const struct key_binding *keys; /* NULL: it takes no focus */
    bool (*act)(struct block *b, struct app *app, int action);
    bool (*click)(struct block *b, struct app *app, int row, int col,
                  int cols);                         /* of the inside; may be NULL */
    bool (*tick)(struct block *b, double now);       /* may be NULL */
    char *(*result)(struct block *b);                /* may be NULL */
    bool (*start)(struct block *b, struct error *e); /* may be NULL */
    const char *(*run)(const struct block *b);       /* may be NULL */
    /* A figure that its run measured, by name; NaN: not known (yet). May be NULL. */
    double (*measure)(struct block *b, const char *what);
    /* Whether there is such a figure at all, as far as can be told before; NULL: any may be. */
    bool (*measures)(const struct block *b, const char *what);
    /* A word at the right end of the frame's top line, with its role; may be NULL. */
    enum role (*status)(const struct block *b, char *text, size_t size);
};

extern const struct block_class block_predict, block_quiz, block_run_class, block_sim_class,
    block_script_sim_class, block_plot_class, block_figure_class, block_stepped_figure_class;

struct block {
    struct block_set *set;
    int index;
    struct block_text text;
    struct error error; /* text "": nothing is wrong */
    const struct block_class *class;
    void *state;
    int chosen; /* of predict and quiz: what the learner has answered; -1: not yet */
};

struct block_set {
    const char *lesson;
    struct progress *progress;
    struct block *blocks;
    int count;
    double now;
};

/* Keeps a block's answer or run under its name; nothing where it has none. */
void block_keep(struct block *b, const char *what);
/* What was kept, or NULL. */
const char *block_kept(const struct block *b);
/* The block of that name, or NULL. */
struct block *block_named(struct block_set *set, const char *name);
/* What a block of the set has measured: "NAME WHAT"; NaN: nothing yet. */
double block_measured(struct block_set *set, const char *measure);

/* "679.9 µs": exactly, as a lesson works it out by hand. */
void block_seconds(double s, char *text, size_t size);

/* Draws a sentence over as many rows as it needs and cuts them off; nothing for "". */
void block_sentence(struct canvas *c, struct rect *in, enum role role, int attributes, const char *text);

#endif
