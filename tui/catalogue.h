/*
 * catalogue.h - a catalogue of translations as msgfmt compiles it (.mo), read by ourselves.
 *
 * Not by the C library's gettext: glibc's translates nothing while the locale is C or is not installed, and login
 * nodes seldom have the locale of every language (with LANG=de_DE.UTF-8 and no such locale, glibc 2.36 stays with
 * English). The format: GNU gettext manual, "The Format of GNU MO Files": a table of originals, sorted, beside a table of
 * translations. A damaged file is refused whole.
 */
#ifndef RINGSIDE_TUI_CATALOGUE_H
#define RINGSIDE_TUI_CATALOGUE_H

#include "engine/base/error.h"

#include <stddef.h>

struct catalogue;

/* ascii: translations are kept as near ASCII ("ä" as "ae"), for terminals that show no more. */
struct catalogue *catalogue_open(const char *file, bool ascii, struct error *e);
/* The same from memory, which is copied. */
struct catalogue *catalogue_parse(const char *bytes, size_t size, bool ascii, struct error *e);
void catalogue_free(struct catalogue *c);

/* The translation, valid as long as the catalogue; NULL: there is none. */
const char *catalogue_find(const struct catalogue *c, const char *original);
const char *catalogue_find_plural(const struct catalogue *c, const char *one, unsigned long n);

#endif
