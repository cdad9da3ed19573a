/*
 * block_text.h - the text of a live block, taken apart.
 *
 *     ```quiz ring-messages                       kind and name (letters, digits, '-'); the name may be left out
 *     How many messages does one of 8 ranks       what belongs to no other form is the question
 *     send in a ring-allreduce?
 *     - 7                                         a choice; + marks the right one
 *     + 14
 *     > Two halves of N - 1 rounds each.          the explanation, shown once answered
 *     ```
 *
 *     ```run two-ranks
 *     title: Two ranks, 60 steps                  fields of the kind (block_text.c lists them)
 *     command: train --ranks 2 --steps 60
 *     after: faster                               waits for the predict of that name
 *
 *     print("or Lua instead of a command")        after a blank line: the body
 *     ```
 *
 * A line that begins with two blanks goes on with what stood above it. Errors name the line of the lesson's text.
 */
#ifndef RINGSIDE_TUI_BLOCK_TEXT_H
#define RINGSIDE_TUI_BLOCK_TEXT_H

#include "engine/base/error.h"

enum block_kind { BLOCK_RUN, BLOCK_SIM, BLOCK_PLOT, BLOCK_PREDICT, BLOCK_QUIZ, BLOCK_FIGURE, BLOCK_KINDS };

enum { BLOCK_MAX_FIELDS = 24, BLOCK_MAX_CHOICES = 12, BLOCK_NAME = 48 };

struct block_field {
    char *key, *value;
    int line;
};

struct block_text {
    enum block_kind kind;
    char name[BLOCK_NAME]; /* "" where it has none */
    int line;              /* of its fence */
    char *question;        /* of predict and quiz; "" */
    struct block_field fields[BLOCK_MAX_FIELDS];
    int field_count;
    char *choices[BLOCK_MAX_CHOICES];
    int choice_count, right; /* right -1: none is marked */
    char *because;           /* "" */
    char *body;              /* "" */
    int body_line;
};

/* "run", "sim", "plot", "predict", "quiz", "figure" */
const char *block_kind_name(enum block_kind kind);
/* Whether a fence's info string begins with a kind; *kind may be NULL. */
bool block_info(const char *info, enum block_kind *kind);

/* False and *e, beginning with "line N: ", where the text has not the form of its kind; *b is empty then. */
bool block_text_parse(struct block_text *b, const char *info, const char *text, int line, struct error *e);
void block_text_free(struct block_text *b);

/* The (first) value of a field; NULL where there is none. */
const char *block_text_get(const struct block_text *b, const char *key);
/* The line of that field, or the block's. */
int block_text_line(const struct block_text *b, const char *key);
/* A whole number from `least` to `most`, or `fallback` where the field is absent; false and *e: it is none. */
bool block_text_integer(const struct block_text *b, const char *key, int least, int most, int fallback,
                        int *value, struct error *e);

#endif
