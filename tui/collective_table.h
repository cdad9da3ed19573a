/*
 * collective_table.h - collective events as the lines of a table, as they come.
 *
 * Columns are nccl-tests' (github.com/NVIDIA/nccl-tests: size, count, type, operation, time, algbw, busbw, errors),
 * with the cost model's prediction beside each time. Where every case is measured out of place and in place the two
 * stand side by side, under a line for each size. At most 80 columns.
 */
#ifndef RINGSIDE_TUI_COLLECTIVE_TABLE_H
#define RINGSIDE_TUI_COLLECTIVE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct collective_table {
    char heading[384]; /* printed last */
    double bytes;      /* the size whose line was printed last */
    char left[192];    /* the half of a line, out of place, whose other half has not come yet; "": none */
};

/* both: each case comes out of place, then in place. ranks: where the event does not tell. */
void collective_table_line(FILE *to, struct collective_table *t, const json_t *event, bool both, int ranks);
/* Before anything else is printed, and at the end. */
void collective_table_break(FILE *to, struct collective_table *t);

#endif
