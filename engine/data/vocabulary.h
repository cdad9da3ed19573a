/*
 * vocabulary.h - numbers for words and for characters.
 *
 * Words are the longest runs of letters, digits and _, in lower case; all else parts them. The vocabulary
 * of a training set is its most frequent words: number 0 is padding, 1 any word that has no number, then by
 * falling frequency, equal ones in the order of the alphabet. So it follows from the text alone.
 *
 * Characters have 65 numbers: end of line, blank, a to z, 0 to 9, and . , ; : ! ? ' " ( ) [ ] < > { } - _ /
 * \ | * + = & # %. Capitals are taken as small letters, ` as ', and $ @ ^ ~ and the tabulator as blanks.
 */
#ifndef RINGSIDE_DATA_VOCABULARY_H
#define RINGSIDE_DATA_VOCABULARY_H

#include "engine/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { WORD_PADDING = 0, WORD_UNKNOWN = 1, WORD_FIRST = 2, CHARACTERS = 65 };

/* --- words --- */

struct vocabulary;

/* Finds the next word in text[*at ... bytes), moves *at behind it and tells its length; NULL: none is left. */
const char *word_next(const char *text, size_t bytes, size_t *at, size_t *length);

/* size: numbers at most, from WORD_FIRST on for words. */
struct vocabulary *vocabulary_new(int size, struct error *e);
void vocabulary_free(struct vocabulary *v);
/* Counts the words of a text; only before vocabulary_number. */
bool vocabulary_count(struct vocabulary *v, const char *text, size_t bytes, struct error *e);
/* Gives the most frequent ones their numbers. */
bool vocabulary_number(struct vocabulary *v, struct error *e);
int32_t vocabulary_find(const struct vocabulary *v, const char *word, size_t length); /* or WORD_UNKNOWN */
const char *vocabulary_word(const struct vocabulary *v,
                            int32_t number); /* "" padding, "?" unknown or unused */

/* --- characters --- */

int32_t character_number(char c);
const char *character_text(int32_t number); /* of 0 ... 64: a string of one character */

#endif
