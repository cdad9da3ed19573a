/*
 * md_table.h - the text of a fenced `table` block as aligned columns (see markdown.h for its form).
 */
#ifndef RINGSIDE_TUI_MD_TABLE_H
#define RINGSIDE_TUI_MD_TABLE_H

#include "tui/md_cells.h"

struct md_table {
    struct md_cells *lines;
    int count;
};

bool md_table_layout(struct md_table *table, const char *text, int width); /* false: out of memory */
void md_table_free(struct md_table *table);

#endif
