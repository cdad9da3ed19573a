/*
 * lesson.h - what the parts of the lesson view share.
 *
 * lesson.c is the view (keys, opening, turning to other lessons); lesson_place.c lays the text out and knows where the
 * reader is (reading position, search, bookmarks, the block with the focus); lesson_draw.c draws it.
 */
#ifndef RINGSIDE_TUI_LESSON_H
#define RINGSIDE_TUI_LESSON_H

#include "tui/app.h"
#include "tui/block.h"
#include "tui/course.h"
#include "tui/markdown.h"
#include "tui/progress.h"

enum { LESSON_PATTERN = 64, LESSON_KEYS = 40, LESSON_STOPS = 120 };

/* An entry of the jump list: a heading or a bookmark. */
struct lesson_stop {
    char text[96];
    int line;  /* of the layout */
    int level; /* of a heading; 0: a bookmark */
};

struct lesson {
    struct app *app;
    int index; /* in the course; -1: a file that is not part of it */
    char *name, *text;
    struct md_doc doc;
    struct block_set *blocks;
    bool utf8;              /* what doc's blocks were drawn with */
    int width;              /* doc is laid out for; 0: not yet */
    int top;                /* first line shown */
    int source;             /* the text's line there, to stay at it when the width changes */
    int offset;             /* lines below the first one of that source */
    int rows;               /* lines that fit, from the last drawing */
    int text_row, text_col; /* where they were drawn */
    char pattern[LESSON_PATTERN * 4 + 1];
    char edit[LESSON_PATTERN * 4 + 1]; /* while a pattern is typed */
    bool typing;
    int match;    /* the line of the match shown; -1: none */
    int focus;    /* the block that has the keys; -1: none */
    bool jumping; /* the jump list is open */
    struct lesson_stop stops[LESSON_STOPS];
    int stop_count, stop, first_stop;
    int noted_source, noted_percent;
    double moved; /* when the reader last moved; 0: noted since */
    struct key_binding footer[LESSON_KEYS];
};

/* --- lesson_place.c ---------------------------------------------------------------------------------------------- */

/* Lays the text out for a width, where it is not already; `anew`: its blocks have changed. The reader stays in place. */
void lesson_layout(struct lesson *l, int width, bool utf8, bool anew);
/* Whether a block needs other rows than it was laid out with. */
bool lesson_outgrown(const struct lesson *l);
int lesson_last_top(const struct lesson *l);
int lesson_percent(const struct lesson *l);
/* Keeps top within the text and remembers it as a place of the text. */
void lesson_settle(struct lesson *l);
/* Writes the place into the learner's progress, where it is a new one. */
void lesson_note(struct lesson *l);
/* Goes to the first line from `from` on that holds the pattern, around the ends. */
bool lesson_find(struct lesson *l, int from, int step);
/* The first and the last line of a block; false: it is not laid out. */
bool lesson_block_lines(const struct lesson *l, int block, int *first, int *last);
/* Gives the focus to the next (1) or the one before (-1) that can have it, and shows it; around the ends. */
bool lesson_focus(struct lesson *l, int step);
/* Brings a block into sight: all of it where it fits, else its beginning. */
void lesson_show(struct lesson *l, int block);
/* Takes the focus from a block that cannot be seen any more. */
void lesson_unfocus_hidden(struct lesson *l);
/* Fills the jump list and selects where the reader is. */
void lesson_stops(struct lesson *l);

/* --- lesson_draw.c ------------------------------------------------------------------------------------------------ */

void lesson_draw(void *view, struct app *app, struct canvas *c, struct rect area);

#endif
