/*
 * plain_settings.c - the settings in numbered choices; each holds from the next start, the language at once.
 */
#include "engine/launch/site.h"
#include "tui/plain.h"
#include "tui/plain_ask.h"
#include "tui/settings.h"
#include "tui/text.h"

#include <stdio.h>
#include <string.h>

static const char *const themes[] = {N_("the terminal's"), N_("dark"), N_("light"), N_("high contrast"),
                                     NULL};
static const char *const glyphs[] = {N_("by the locale"), N_("Unicode"), N_("ASCII"), NULL};
static const char *const switches[] = {N_("off"), N_("on"), NULL};

/* Asks for one of the names; the present one where the answer is none. */
static int choose(struct plain *p, const char *const *names, int present)
{
    char answer[PLAIN_LINE];
    int count = 0;
    for (; names[count]; count++) {
        printf("  %d  ", count + 1);
        plain_print_text(_(names[count]), 0, p->utf8, stdout);
        puts(count == present ? _(" (now)") : "");
    }
    plain_ask_line(p, _("the number; Enter: leave it"), answer);
    long number = plain_number(answer);
    if (number >= 1 && number <= count)
        return (int)number - 1;
    plain_not_understood(answer);
    return present;
}

static void choose_language(struct plain *p, struct settings *s)
{
    char languages[LANGUAGES_MAX][LANGUAGE_SIZE], names[LANGUAGES_MAX][64];
    const char *list[LANGUAGES_MAX + 2] = {N_("by the locale")};
    int count = text_languages(languages), present = 0;
    for (int i = 0; i < count; i++) {
        text_language_name(languages[i], p->utf8, names[i], sizeof names[i]);
        list[i + 1] = names[i];
        if (!strcmp(languages[i], s->language))
            present = i + 1;
    }
    int chosen = choose(p, list, present);
    snprintf(s->language, sizeof s->language, "%s", chosen ? languages[chosen - 1] : "");
    text_choose(s->language, p->utf8);
}

static void site(void)
{
    struct site site;
    struct error e = {0};
    if (site_read(&site, &e))
        printf(_("This site allows %d local ranks at once.\n"), site.local_ranks);
    else
        plain_error(&e);
}

void plain_settings(struct plain *p)
{
    static const struct plain_choice choices[] = {
        {"1", N_("theme")},
        {"2", N_("characters")},
        {"3", N_("language")},
        {"4", N_("the mouse")},
        {"b", N_("back to the course")},
        {"q", N_("quit")},
        {0},
    };
    char answer[PLAIN_LINE], language[64];
    struct settings s;
    struct error e = {0};
    if (!settings_load(&s, &e))
        plain_error(&e);
    while (!p->ended) {
        text_language_name(*s.language ? s.language : text_language(), p->utf8, language, sizeof language);
        printf(_("Theme: %s. Characters: %s. Language: %s. Mouse: %s.\n"), _(themes[s.theme]),
               _(glyphs[s.glyphs]), language, _(switches[s.mouse]));
        site();
        plain_ask(p, choices, answer);
        if (!strcmp(answer, "b"))
            return;
        else if (!strcmp(answer, "1"))
            s.theme = (enum theme)choose(p, themes, (int)s.theme);
        else if (!strcmp(answer, "2"))
            s.glyphs = (enum settings_glyphs)choose(p, glyphs, (int)s.glyphs);
        else if (!strcmp(answer, "3"))
            choose_language(p, &s);
        else if (!strcmp(answer, "4"))
            s.mouse = choose(p, switches, s.mouse);
        else {
            plain_not_understood(answer);
            continue;
        }
        if (!settings_save(&s, &e))
            plain_error(&e);
    }
}
