/*
 * slides.h - a lesson as slides: which there are, what each shows, what the instructor reads beside it.
 *
 * The lesson's Markdown is the only source. The rule:
 *   - Every heading of the first three levels begins a slide. A section with several figures, tables, pieces of code
 *     or live blocks becomes a slide for each of them, under the same heading.
 *   - Of a list, a slide shows the first clause of each item; of the paragraphs before a picture the first sentence of
 *     the last two; of a section without pictures and lists the first sentence of each paragraph. Indented formulas
 *     stay. A paragraph that begins with a bracket is for readers only, and so is text after the last picture.
 *   - A fenced block `slide` says it in the author's words: its text takes the place of all of that, and a heading in
 *     its first line the place of the section's. `slide skip` leaves the slide out. `slide replay RUN SPEED` is a
 *     slide of its own on which that recording is played (present_replay.h).
 *   - A fenced block `notes` holds what the instructor reads; without one it is the section's text in full.
 * Which slide a `slide` or `notes` block belongs to: the one whose picture follows it, else the section's last.
 * Readers see neither of them (markdown.c).
 */
#ifndef RINGSIDE_TUI_SLIDES_H
#define RINGSIDE_TUI_SLIDES_H

#include "engine/base/error.h"

struct slide {
    char *heading;
    int level;        /* 1: the title */
    int part, parts;  /* of its section, from 1 */
    int source;       /* line of the lesson, from 1 */
    char *text;       /* Markdown, may be "" */
    char *info;       /* of the picture's fence: "" a figure, "table", "lua", "run"; NULL: no picture */
    char *picture;    /* what stands in the fence; NULL: none */
    int picture_line; /* of its fence */
    char *notes;      /* Markdown */
};

struct slides {
    struct slide *slides;
    int count;
};

/* At least one slide of any text. */
bool slides_read(struct slides *s, const char *markdown, struct error *e);
void slides_free(struct slides *s);

/* The slide's picture as a fenced block again, for whoever lays out Markdown; free() it. NULL: none, or no memory. */
char *slide_picture(const struct slide *s);

#endif
