/*
 * markdown.h - a lesson as lines of cells of a given width.
 *
 * CommonMark through libcmark: headings, paragraphs, lists, emphasis, code, quotes, rules; links get a number and
 * are listed at the end; HTML is left out. CommonMark has no tables, so a fenced block marked `table` is one:
 *
 *     ```table
 *     algorithm | messages per rank | data per rank
 *     ring      | 2(N-1)            | 2(N-1)/N
 *     ```
 *
 * The first row is the heading; cells are separated by '|' or by two or more blanks, and may hold emphasis and
 * `code`; a row of dashes is skipped; a column of numbers is set to the right; what is too wide is wrapped inside
 * its column. A fenced block marked `lua` is coloured. Code that is too wide goes on in the next line. Fenced blocks that
 * are live (block.h) are drawn by whoever is handed in as `md_live`; without one they are shown as code.
 */
#ifndef RINGSIDE_TUI_MARKDOWN_H
#define RINGSIDE_TUI_MARKDOWN_H

#include "engine/base/error.h"
#include "tui/canvas.h"

struct md_line {
    struct cell *cells; /* one a column */
    int count;
    int source; /* the line of the text that its block begins at, from 1: where to go on after a reflow */
    int live;   /* the number of its live block, from 0; -1: none */
    int row;    /* of that block */
};

struct md_heading {
    char *text;
    int level, line;
};

struct md_doc {
    struct md_line *lines;
    int count;
    struct md_heading *headings;
    int heading_count;
};

enum { MD_LEAST_WIDTH = 20 };

/* Who draws the n-th live block of a text, n from 0: on a canvas of `cols` columns that it makes (canvas_init). */
struct md_live {
    void *self;
    bool (*draw)(void *self, int n, int cols, bool utf8, struct canvas *out);
    bool utf8;
};

bool markdown_render(struct md_doc *doc, const char *text, int width, struct error *e);
/* The same with live blocks; live may be NULL. */
bool markdown_render_live(struct md_doc *doc, const char *text, int width, const struct md_live *live,
                          struct error *e);
void markdown_free(struct md_doc *doc);

/* Whether a fenced block is for the instructor alone (slides.h): `notes` or `slide`. */
bool markdown_hidden(const char *info);

/* Draws one line at (row, col), at most `width` columns. */
void markdown_draw(struct canvas *c, int row, int col, int width, const struct md_line *line);

/* Where `text` first stands in the line, ignoring the case of ASCII letters, from column `from`; -1. */
int markdown_find(const struct md_line *line, const char *text, int from);

/* Reads a whole file of at most 4 MiB; free() it. */
char *markdown_read(const char *file, struct error *e);

#endif
