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

#define _(english) text_translate(english)
#define N_(english) english

/* The text in the language that was chosen; as it is where the catalogue lacks it. "" is "". */
const char *text_translate(const char *english) __attribute__((format_arg(1)));

/* One form of two in English, of as many as the language has elsewhere: the one for n things. */
const char *text_plural(const char *one, const char *many, long n)
    __attribute__((format_arg(1), format_arg(2)));

#endif
