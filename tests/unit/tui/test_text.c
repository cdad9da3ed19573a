/*
 * Texts: catalogues as msgfmt writes them, read with no locale at all; damaged ones are refused or harmless; plural
 * forms of several languages by their rules in the GNU gettext manual; the language by the environment.
 */
#include "engine/base/paths.h"
#include "tui/canvas.h"
#include "tui/catalogue.h"
#include "tui/plural.h"
#include "tui/text.h"
#include "tui/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned long form(const char *rule, unsigned long n)
{
    unsigned long value;
    assert_true(plural_value(rule, n, &value));
    return value;
}

static void test_plural_rules(void **state)
{
    (void)state;
    int forms;
    const char *german = plural_rule("Language: de\nPlural-Forms: nplurals=2; plural=(n != 1);\n", &forms);
    assert_int_equal(forms, 2);
    assert_int_equal(form(german, 0), 1);
    assert_int_equal(form(german, 1), 0);
    assert_int_equal(form(german, 2), 1);
    /* French: none is singular, too. */
    const char *french = plural_rule("Plural-Forms: nplurals=2; plural=n>1;", &forms);
    assert_int_equal(form(french, 0), 0);
    assert_int_equal(form(french, 2), 1);
    const char *polish = plural_rule("Plural-Forms: nplurals=3; plural=n==1 ? 0 : n%10>=2 && n%10<=4 && "
                                     "(n%100<10 || n%100>=20) ? 1 : 2;",
                                     &forms);
    static const int expected[][2] = {{0, 2},  {1, 0},  {2, 1},  {4, 1},   {5, 2},   {11, 2},
                                      {12, 2}, {21, 2}, {22, 1}, {104, 1}, {112, 2}, {122, 1}};
    assert_int_equal(forms, 3);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(form(polish, (unsigned long)expected[i][0]), expected[i][1]);
    assert_int_equal(form("!(n - 1) * 7 + 6 / 3", 1), 9);
    assert_int_equal(form("7 - 4 - 2", 0), 1); /* from the left */
    assert_null(plural_rule("no rule here", &forms));
    unsigned long value;
    static const char *const bad[] = {"", "n +", "(n", "n % 0", "n ? 1", "m", "n n", "1 +* 2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(plural_value(bad[i], 3, &value));
    char deep[4000];
    memset(deep, '(', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_false(plural_value(deep, 1, &value));
    memset(deep, '!', sizeof deep - 1);
    assert_false(plural_value(deep, 1, &value));
    for (size_t i = 0; i + 4 < sizeof deep; i += 4)
        memcpy(deep + i, "n?n:", 4);
    assert_false(plural_value(deep, 0, &value));
}

/* A catalogue laid out by hand after the manual's table; big-endian where asked for. */
struct mo {
    char bytes[1024];
    size_t size;
};

static void put_word(struct mo *m, size_t at, uint32_t value, bool swapped)
{
    value = swapped ? __builtin_bswap32(value) : value;
    memcpy(m->bytes + at, &value, sizeof value);
}

#define TEXT(text)                                                                                           \
    {                                                                                                        \
        text, sizeof text - 1                                                                                \
    }

static struct mo make_mo(bool swapped)
{
    static const struct {
        const char *text;
        size_t length;
    } originals[] = {TEXT(""), TEXT("%d rank\0%d ranks"), TEXT("empty"), TEXT("straggler")},
      translations[] = {TEXT("Plural-Forms: nplurals=2; plural=(n != 1);\n"), TEXT("%d Rang\0%d Ränge"),
                        TEXT(""), TEXT("Nachzügler – „ß“")};
    struct mo m = {.size = 28 + 2 * 4 * 8};
    put_word(&m, 0, 0x950412de, swapped);
    put_word(&m, 8, 4, swapped);
    put_word(&m, 12, 28, swapped);
    put_word(&m, 16, 28 + 4 * 8, swapped);
    for (size_t i = 0; i < 8; i++) {
        const char *text = i < 4 ? originals[i].text : translations[i - 4].text;
        size_t length = i < 4 ? originals[i].length : translations[i - 4].length;
        put_word(&m, 28 + 8 * i, (uint32_t)length, swapped);
        put_word(&m, 32 + 8 * i, (uint32_t)m.size, swapped);
        memcpy(m.bytes + m.size, text, length + 1);
        m.size += length + 1;
    }
    return m;
}

static void test_a_catalogue_is_read(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct mo m = make_mo(swapped);
        struct error e = {0};
        struct catalogue *c = catalogue_parse(m.bytes, m.size, false, &e);
        assert_non_null(c);
        assert_string_equal(catalogue_find(c, "straggler"), "Nachzügler – „ß“");
        assert_null(catalogue_find(c, "stragglers"));
        assert_null(catalogue_find(c, "empty")); /* not translated yet */
        assert_string_equal(catalogue_find_plural(c, "%d rank", 1), "%d Rang");
        assert_string_equal(catalogue_find_plural(c, "%d rank", 0), "%d Ränge");
        assert_string_equal(catalogue_find_plural(c, "%d rank", 8), "%d Ränge");
        assert_null(catalogue_find_plural(c, "%d host", 8));
        /* One form alone does not do for what needs two. */
        assert_null(catalogue_find_plural(c, "straggler", 8));
        catalogue_free(c);
        assert_non_null(c = catalogue_parse(m.bytes, m.size, true, &e));
        assert_string_equal(catalogue_find(c, "straggler"), "Nachzuegler - \"ss\"");
        assert_string_equal(catalogue_find_plural(c, "%d rank", 8), "%d Raenge");
        catalogue_free(c);
    }
}

static void test_damaged_catalogues_do_no_harm(void **state)
{
    (void)state;
    struct mo whole = make_mo(false);
    unsigned seed = 7;
    int refused = 0;
    for (int n = 0; n < 4000; n++) {
        struct mo m = whole;
        for (int k = 0; k <= n % 3; k++) {
            seed = seed * 1103515245u + 12345u;
            size_t at = (seed >> 8) % (n % 2 ? m.size : 92); /* the head and the tables more often */
            m.bytes[at] = (char)(seed >> 24);
        }
        if (n % 5 == 0)
            m.size = (seed >> 9) % m.size;
        /* In memory that ends where the file does, so that the sanitizers see a step beyond it. */
        char *bytes = malloc(m.size ? m.size : 1);
        memcpy(bytes, m.bytes, m.size);
        struct error e = {0};
        struct catalogue *c = catalogue_parse(bytes, m.size, n % 7 == 0, &e);
        free(bytes);
        if (c) {
            static const char *const asked[] = {"", "straggler", "%d rank", "zzz"};
            for (size_t i = 0; i < 4; i++) {
                const char *text = catalogue_find(c, asked[i]),
                           *plural = catalogue_find_plural(c, asked[i], 5);
                assert_true(!text || strlen(text) < sizeof m.bytes * 2);
                assert_true(!plural || strlen(plural) < sizeof m.bytes * 2);
            }
        } else {
            assert_string_equal(e.text, "this is no whole catalogue of translations, as msgfmt makes them");
            refused++;
        }
        catalogue_free(c);
    }
    assert_in_range(refused, 800, 3900);
    assert_null(catalogue_parse("", 0, false, NULL));
    assert_null(catalogue_open("/nowhere/de.mo", false, NULL));
}

static void environment(const char *language, const char *all, const char *messages, const char *lang)
{
    static const char *const names[] = {"LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"};
    const char *values[] = {language, all, messages, lang};
    for (size_t i = 0; i < 4; i++)
        if (values[i])
            setenv(names[i], values[i], 1);
        else
            unsetenv(names[i]);
    text_choose("", true);
}

static void test_the_language_follows_the_environment(void **state)
{
    (void)state;
    char names[LANGUAGES_MAX][LANGUAGE_SIZE], name[32];
    if (text_languages(names) < 2) {
        print_message("# no catalogue was built: msgfmt is not here\n");
        skip();
    }
    assert_string_equal(names[0], "en");
    assert_string_equal(names[1], "de");
    /* LANGUAGE, LC_ALL, LC_MESSAGES, LANG; no locale of these need be installed. */
    static const struct {
        const char *values[4], *expected;
    } cases[] = {
        {{NULL, NULL, NULL, NULL}, "en"},
        {{NULL, NULL, NULL, "de_DE.UTF-8"}, "de"},
        {{NULL, NULL, NULL, "de_AT@euro"}, "de"},
        {{NULL, NULL, "de", "fr_FR.UTF-8"}, "de"},
        {{NULL, "en_GB.UTF-8", "de", "de"}, "en"},
        {{"de", NULL, NULL, "en_US.UTF-8"}, "de"},
        {{"de", "C.UTF-8", NULL, NULL}, "de"},
        {{"de", "C", NULL, "de_DE.UTF-8"}, "en"},
        {{"xx:de:en", NULL, NULL, "en_US.UTF-8"}, "de"},
        {{"xx:en:de", NULL, NULL, "de_DE.UTF-8"}, "en"},
        {{"xx", NULL, NULL, "de_DE.UTF-8"}, "de"},
        {{"../../..", NULL, NULL, "xx_YY"}, "en"},
        {{"", "", "", "de"}, "de"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *v = cases[i].values;
        environment(v[0], v[1], v[2], v[3]);
        assert_string_equal(text_language(), cases[i].expected);
    }
    text_choose("de", true);
    const char *back = _("back");
    assert_string_equal(back, "zurück");
    assert_string_equal(_("no such text"), "no such text");
    assert_string_equal(_(""), "");
    text_language_name("de", true, name, sizeof name);
    assert_string_equal(name, "Deutsch");
    text_choose("de", false);
    assert_string_equal(_("back"), "zurueck");
    text_choose("en", true);
    assert_string_equal(_("back"), "back");
    assert_string_equal(back, "zurück"); /* what was given out stays */
    text_choose("xx", true);
    assert_string_equal(text_language(), "en");
    assert_string_equal(text_plural("%d rank", "%d ranks", 1), "%d rank");
    assert_string_equal(text_plural("%d rank", "%d ranks", 0), "%d ranks");
}

/* Keys of all views: labels fit into the footer in every language. */
static void test_labels_fit_in_every_language(void **state)
{
    (void)state;
    enum { LABEL_COLS = 10 };
    char names[LANGUAGES_MAX][LANGUAGE_SIZE];
    int count = text_languages(names), bad = 0;
    for (int n = 0; n < count; n++) {
        text_choose(names[n], true);
        for (int i = 0; view_at(i); i++)
            for (const struct key_binding *k = view_at(i)->keys; k && k->action; k++) {
                if (k->label && text_columns(_(k->label)) > LABEL_COLS) {
                    print_message("# %s, %s: '%s' takes %d columns\n", names[n], view_at(i)->name,
                                  _(k->label), text_columns(_(k->label)));
                    bad++;
                }
            }
    }
    text_choose("en", true);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plural_rules),
        cmocka_unit_test(test_a_catalogue_is_read),
        cmocka_unit_test(test_damaged_catalogues_do_no_harm),
        cmocka_unit_test(test_labels_fit_in_every_language),
        cmocka_unit_test(test_the_language_follows_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
