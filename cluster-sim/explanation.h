/*
 * explanation.h - the text of an answer's why: written line by line, as to a file, and handed over whole.
 */
#ifndef RINGSIDE_SIM_EXPLANATION_H
#define RINGSIDE_SIM_EXPLANATION_H

#include "engine/base/error.h"

#include <stdio.h>

/* Stays where it is from the opening to the closing. */
struct explanation {
    FILE *to;
    char *text;
    size_t length;
};

/* Where the lines go; NULL: memory is short. */
FILE *explanation_open(struct explanation *x, struct error *e);
/* The whole text, to be freed; NULL: memory was short. */
char *explanation_close(struct explanation *x, struct error *e);

#endif
