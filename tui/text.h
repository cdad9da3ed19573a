/*
 * text.h - what the screens say, in the learner's language.
 *
 * English stands in the source; a catalogue (tui/po/LANGUAGE.po, compiled by gettext's msgfmt) has the other
 * languages. Every text that a view shows goes through here:
 *
 *     canvas_text(c, ..., _("Recent runs"));
 *     snprintf(text, size, _("%d of %d done"), done, count);              a whole sentence, never glued parts
 *     snprintf(text, size, text_plural("%d rank", "%d ranks", n), n);
 *     static const char *const names[] = {N_("waiting"), N_("running")};  marked; translated where it is drawn:
 *     canvas_text(c, ..., _(names[state]));
 *
 * Labels and help texts of key bindings are marked by N_ and translated by keymap.c. What is returned stays
 * valid until the program ends, whatever language is chosen later. Texts of runs, files and `--json` stay as
 * they are.
 */
#ifndef RINGSIDE_TUI_TEXT_H
#define RINGSIDE_TUI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define _(english) text_translate(english)
#define N_(english) english
/* A word that another language must say differently here than elsewhere, or shorter: C_("at most 4 columns", "data"). */
#define C_(where, english) text_in(where "\004" english, english)

/* The text in the language that was chosen; as it is where the catalogue lacks it. "" is "". */
const char *text_translate(const char *english) __attribute__((format_arg(1)));

/* `key`: where it is said, \004 and the text, as gettext has it. */
const char *text_in(const char *key, const char *english) __attribute__((format_arg(2)));

/* One form of two in English, of as many as the language has elsewhere: the one for n things. */
const char *text_plural(const char *one, const char *many, long n)
    __attribute__((format_arg(1), format_arg(2)));

enum { LANGUAGE_SIZE = 16, LANGUAGES_MAX = 32 };

/*
 * Chooses a language, "de"; "en" is what stands in the source. "": what LANGUAGE, LC_ALL, LC_MESSAGES and LANG ask
 * for, in gettext's order, whether or not such a locale is installed. utf8 false: translations as near ASCII. Where there
 * is no catalogue of the language, it stays English.
 */
void text_choose(const char *language, bool utf8);
/* The language that is shown at present. */
const char *text_language(void);
/* The languages there are, English first; returns how many. */
int text_languages(char languages[LANGUAGES_MAX][LANGUAGE_SIZE]);
/* What a language calls itself: "Deutsch". */
void text_language_name(const char *language, bool utf8, char *name, size_t size);

#endif
