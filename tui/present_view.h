/*
 * present_view.h - what the parts of the presentation share.
 *
 * present.c is the view (keys, the state file, live panels); present_draw.c draws a slide.
 */
#ifndef RINGSIDE_TUI_PRESENT_VIEW_H
#define RINGSIDE_TUI_PRESENT_VIEW_H

#include "tui/block.h"
#include "tui/markdown.h"
#include "tui/present_jump.h"
#include "tui/present_replay.h"
#include "tui/present_state.h"
#include "tui/slides.h"

struct present {
    struct app *app;
    char *name, *title; /* the lesson's */
    char *text;
    struct slides slides;
    struct present_state state;
    struct present_jump jump;
    struct present_replay *replay; /* of the slide that is shown; NULL: it has none */
    struct block_set *blocks;      /* the lesson's live blocks */
    int block;                     /* of the slide that is shown; -1: it has none */
    int top;                       /* rows of the slide scrolled away */
    int page, below;               /* rows shown of its body and rows still below, from the last drawing */
    /* The slide's text and picture, as laid out. */
    int laid_slide, laid_cols, laid_rows;
    struct md_doc body, picture;
};

void present_draw(struct present *p, struct app *app, struct canvas *c, struct rect area);
void present_draw_free(struct present *p);

/* The lesson of a name as the presentation and its notes show it; false and *e where it cannot be read. */
bool present_lesson_read(const char *name, const char *lang, char **text, struct slides *slides,
                         struct error *e);

#endif
