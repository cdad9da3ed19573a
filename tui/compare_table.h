/*
 * compare_table.h - a comparison as a table: a column for each group of runs; what differs first, then what came of it.
 *
 * The command line prints it, the view draws it. Each figure is the mean over the runs of its column with half the width
 * of its 95 % interval behind it; a column of one run says that it has none.
 */
#ifndef RINGSIDE_TUI_COMPARE_TABLE_H
#define RINGSIDE_TUI_COMPARE_TABLE_H

#include "tui/canvas.h"
#include "tui/compare.h"

#include <stdio.h>

enum compare_row_kind { ROW_HEAD, ROW_SETTING, ROW_RULE, ROW_FIGURE };

struct compare_row {
    enum compare_row_kind kind;
    char label[32];
    char (*cells)[48]; /* one for each group */
};

struct compare_table {
    struct compare_row *rows;
    int row_count, columns; /* groups */
    int label_width, cell_width;
    bool repeated; /* some group has several runs */
    bool replayed; /* some group has replays of one recording */
    char note
        [1024]; /* what ± means and what it does not; what does not count, and what has no speed-up, and why */
};

/* utf8: with ± and µ. False: out of memory. */
bool compare_table_build(struct compare_table *t, const struct comparison *c, bool utf8);
void compare_table_free(struct compare_table *t);

/* "A", "B" ... "Z", "A2": the name of a group. */
void compare_letter(int group, char text[8]);

/* As many groups side by side as `columns` allow, then the next ones; then which runs each group holds. */
void compare_write(FILE *to, const struct comparison *c, int columns, bool utf8);
/* The groups from `column` on, the rows from `row` on; returns how many groups found room. */
int compare_table_draw(struct canvas *c, struct rect area, const struct compare_table *t, int column,
                       int row);
/* A JSON line for each run and each group on standard output. */
bool compare_emit(const struct comparison *c, struct error *e);

#endif
