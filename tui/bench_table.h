/*
 * bench_table.h - the points of a bench as lines of tables, as they come.
 */
#ifndef RINGSIDE_TUI_BENCH_TABLE_H
#define RINGSIDE_TUI_BENCH_TABLE_H

#include <jansson.h>
#include <stdio.h>

/* Prints the point, under a heading where it opens a table: where its series is another than *last, a name's buffer. */
void bench_table_line(FILE *to, const json_t *point, char last[32]);

#endif
