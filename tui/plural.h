/*
 * plural.h - which form of a word goes with a number: the Plural-Forms of a catalogue.
 *
 * "nplurals=2; plural=(n != 1);" A language's rule is an expression in C's notation over n (GNU gettext manual,
 * "Additional functions for plural forms"): numbers, n, ! * / % + - < <= > >= == != && || ?: and parentheses.
 */
#ifndef RINGSIDE_TUI_PLURAL_H
#define RINGSIDE_TUI_PLURAL_H

#include <stdbool.h>

/* The rule within a catalogue's header; NULL: there is none. *forms: how many forms the language has. */
const char *plural_rule(const char *header, int *forms);

/* The value of the rule, which ends at ';' or the text's end. False where it is none. */
bool plural_value(const char *rule, unsigned long n, unsigned long *value);

#endif
