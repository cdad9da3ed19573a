/*
 * cli_compare.h - `ringside runs compare` and `ringside runs export`: what runs tell, beside each other and for others.
 */
#ifndef RINGSIDE_TUI_CLI_COMPARE_H
#define RINGSIDE_TUI_CLI_COMPARE_H

#include <stdbool.h>

/* Both return the exit code and print; names: runs as rundir_find takes them. all: every run that trained. */
int cli_compare(char *const *names, int count, bool all, bool json);
/* format: "csv", "text" or "" (csv); out: a file, NULL: standard output. */
int cli_export(const char *name, const char *format, const char *out, bool json);

#endif
