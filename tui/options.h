/*
 * options.h - a command's options as one table, for parsing, for --help and for the sentences about mistakes.
 *
 * Options are written --name VALUE or --name=VALUE; `--` ends them. Values are checked against the table's type and
 * range before they are stored, so a mistake is told before anything starts: "--ranks: expected a whole number
 * from 1 to 4096, got 'x'". An option that belongs to the command line but is not supported yet has a refusal: the
 * reason is told instead of "unknown option".
 */
#ifndef RINGSIDE_TUI_OPTIONS_H
#define RINGSIDE_TUI_OPTIONS_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
    OPTION_FLAG,  /* bool: takes no value */
    OPTION_TEXT,  /* char[size] */
    OPTION_INT,   /* int */
    OPTION_LONG,  /* long */
    OPTION_SEED,  /* uint64_t */
    OPTION_REAL,  /* double */
    OPTION_SIZE,  /* long: bytes, "25M", binary units */
    OPTION_SIZES, /* struct option_sizes: "1K,1M,64M", binary units; "8..1K": each twice the one before */
};

enum { OPTION_MAX_SIZES = 64, OPTION_MAX_WORDS = 256 };

struct option_sizes {
    size_t value[OPTION_MAX_SIZES];
    int count;
};

struct option {
    const char *name;     /* without the dashes; NULL ends the table */
    const char *argument; /* in --help: "N"; NULL for a flag */
    enum option_type type;
    void *into;
    size_t size;         /* of a text */
    double min, max;     /* of a number */
    const char *help;    /* one line; NULL: not shown */
    bool *given;         /* set where the option appears; may be NULL */
    const char *refusal; /* why it cannot be used; NULL: it can */
};

struct option_command {
    const char *usage;   /* "ringside train [options]" */
    const char *summary; /* a sentence or two */
    const char *more;    /* after the options; may be NULL */
    const struct option *options;
};

/*
 * Parses argv[1..]; what is no option is kept in order in rest (room for OPTION_MAX_WORDS). False and ERROR_INPUT at
 * the first mistake. *help is set where --help was asked for; nothing else is then looked at.
 */
bool options_parse(const struct option_command *command, int argc, char **argv, char **rest, int *rest_count,
                   bool *help, struct error *e);

void options_help(const struct option_command *command, FILE *to);

/* "64M" in bytes (K, M, G: 2^10, 2^20, 2^30); false where it is no size. */
bool option_size(const char *text, size_t *bytes);

#endif
