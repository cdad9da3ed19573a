/*
 * formula.h - formulas of one variable, as the lessons write them: "2*(N-1)/N".
 *
 * An expression of Lua with the functions of its math library by name (sqrt, log, exp, floor, ceil, min, max, abs), read
 * in a state of its own without anything else, with bounded instructions and memory.
 */
#ifndef RINGSIDE_TUI_FORMULA_H
#define RINGSIDE_TUI_FORMULA_H

#include "engine/base/error.h"

struct formula;

/* variable: a name such as "N". NULL and *e where the text is no expression. */
struct formula *formula_new(const char *text, const char *variable, struct error *e);
void formula_free(struct formula *f);
/* NaN where it has no value there. */
double formula_at(struct formula *f, double x);

#endif
