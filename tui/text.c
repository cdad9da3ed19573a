/*
 * text.c - the language that was chosen, and its catalogue.
 *
 * The one state of the program that is not handed around: as with gettext itself, every sentence of every view needs
 * it. Catalogues that were opened stay, so that texts in use stay valid when the language changes.
 */
#include "tui/text.h"

#include "engine/base/paths.h"
#include "tui/catalogue.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPENED_MAX = 16 };
static const char english_name[] = "en";

static struct {
    struct opened {
        char language[LANGUAGE_SIZE];
        bool ascii;
        struct catalogue *catalogue; /* NULL: there is none */
    } opened[OPENED_MAX];
    int count;
    const struct opened *chosen; /* NULL: English */
} texts;

static bool catalogue_file(const char *language, char path[PATH_MAX])
{
    char folder[PATH_MAX], rest[64];
    snprintf(rest, sizeof rest, "%s/LC_MESSAGES/ringside.mo", language);
    return path_locale(folder, NULL) && path_join(path, folder, rest, NULL);
}

/* The catalogue of a language, opened before or now; NULL: there is none. */
static const struct opened *opened(const char *language, bool ascii)
{
    for (int i = 0; i < texts.count; i++)
        if (!strcmp(texts.opened[i].language, language) && texts.opened[i].ascii == ascii)
            return texts.opened[i].catalogue ? &texts.opened[i] : NULL;
    char path[PATH_MAX];
    if (texts.count == OPENED_MAX || strchr(language, '/') || !catalogue_file(language, path))
        return NULL;
    struct opened *new = &texts.opened[texts.count++];
    snprintf(new->language, sizeof new->language, "%s", language);
    new->ascii = ascii;
    new->catalogue = catalogue_open(path, ascii, NULL);
    return new->catalogue ? new : NULL;
}

/* Takes "de_AT.UTF-8@euro", or "de"; false: neither de_AT nor de is there. */
static bool choose_locale(const char *name, size_t length, bool ascii)
{
    char language[LANGUAGE_SIZE];
    static const char *const ends[] = {".@", "_.@"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(language, sizeof language, "%.*s", (int)length, name);
        language[strcspn(language, ends[i])] = '\0';
        texts.chosen = NULL;
        if (!strcmp(language, english_name) || !strcmp(language, "C") || !strcmp(language, "POSIX"))
            return true;
        if (*language && (texts.chosen = opened(language, ascii)))
            return true;
    }
    return false;
}

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

void text_choose(const char *language, bool utf8)
{
    texts.chosen = NULL;
    if (*language) {
        choose_locale(language, strlen(language), !utf8);
        return;
    }
    const char *locale = environment("LC_ALL"), *list = environment("LANGUAGE");
    if (!locale && !(locale = environment("LC_MESSAGES")) && !(locale = environment("LANG")))
        locale = "C";
    if (!strcmp(locale, "C") || !strcmp(locale, "POSIX"))
        list = NULL; /* whoever asks for C wants the texts that programs are made for */
    for (; list && *list; list += *list == ':') {
        size_t length = strcspn(list, ":");
        if (choose_locale(list, length, !utf8))
            return;
        list += length;
    }
    choose_locale(locale, strlen(locale), !utf8);
}

const char *text_language(void)
{
    return texts.chosen ? texts.chosen->language : english_name;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

int text_languages(char languages[LANGUAGES_MAX][LANGUAGE_SIZE])
{
    char folder[PATH_MAX], path[PATH_MAX];
    int count = 1;
    snprintf(languages[0], LANGUAGE_SIZE, "%s", english_name);
    DIR *list = path_locale(folder, NULL) ? opendir(folder) : NULL;
    for (const struct dirent *d; list && count < LANGUAGES_MAX && (d = readdir(list));) {
        FILE *in = NULL;
        if (d->d_name[0] != '.' && strlen(d->d_name) < LANGUAGE_SIZE && catalogue_file(d->d_name, path) &&
            (in = fopen(path, "rbe")))
            snprintf(languages[count++], LANGUAGE_SIZE, "%.*s", LANGUAGE_SIZE - 1, d->d_name);
        if (in)
            fclose(in);
    }
    if (list)
        closedir(list);
    qsort(languages[1], (size_t)count - 1, LANGUAGE_SIZE, by_name);
    return count;
}

void text_language_name(const char *language, bool utf8, char *name, size_t size)
{
    /* Translators: the name of your language in your language. */
    static const char original[] = N_("English");
    const struct opened *o = strcmp(language, english_name) ? opened(language, !utf8) : NULL;
    const char *own = o ? catalogue_find(o->catalogue, original) : original;
    snprintf(name, size, "%s", own ? own : language);
}

const char *text_translate(const char *english)
{
    const char *found = texts.chosen && *english ? catalogue_find(texts.chosen->catalogue, english) : NULL;
    return found ? found : english;
}

const char *text_in(const char *key, const char *english)
{
    const char *found = texts.chosen ? catalogue_find(texts.chosen->catalogue, key) : NULL;
    return found ? found : english;
}

const char *text_plural(const char *one, const char *many, long n)
{
    const char *found =
        texts.chosen ? catalogue_find_plural(texts.chosen->catalogue, one, (unsigned long)labs(n)) : NULL;
    return found ? found : n == 1 ? one : many;
}
