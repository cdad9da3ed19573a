/*
 * plain.h - the application as text: a canvas printed, and plain mode (append-only lines, numbered choices)
 * for pipes, dumb terminals and screen readers.
 */
#ifndef RINGSIDE_TUI_PLAIN_H
#define RINGSIDE_TUI_PLAIN_H

#include "tui/canvas.h"

#include <stdio.h>

/* One line a row, blanks at the end left out. */
void plain_print_canvas(const struct canvas *c, FILE *out);

struct md_doc;
/* A whole lesson, without bars and rules; headings of the second level are underlined. Changes the lines. */
void plain_print_doc(const struct md_doc *doc, bool utf8, FILE *out);

struct block_set;
/* A live block in words (block.h). */
void plain_print_block(struct block_set *set, int i, bool utf8, FILE *out);

/* A text without a line's end; utf8 false: as near ASCII. Padded with blanks to `columns`. */
void plain_print_text(const char *text, int columns, bool utf8, FILE *out);

/* A row of cells (a line of a lesson) as one line; utf8 false: as near ASCII. */
void plain_print_cells(const struct cell *cells, int count, bool utf8, FILE *out);

/*
 * The roles as a second grid: a letter each (text '.', muted m, title t, accent a, good g, warn w, bad b,
 * code c, key k, selected s, border -, bar =, series 1 to 6), in capitals where bold; blanks of ROLE_TEXT are
 * ' '.
 */
void plain_print_roles(const struct canvas *c, FILE *out);

/* Plain mode, from `in` to standard output: reads choices a line at a time until q or the end of input. */
int plain_application(FILE *in, bool utf8);

#endif
